"""The exact posterior by the No-U-Turn sampler (NumPyro), as a reference without privacy.

It is exact asymptotically and slow, so it is meant for one split of one small data set. The weights of a network are
identified only up to permutation and sign of the hidden units. Convergence is therefore judged on quantities that are
identified: the function at training inputs, the noise precision and the weight precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import whole, within
from methods.contract import Constants, Diverged, Fit, Method, Rerun
from models.bnn_regression import BNNRegression, NetworkEnsemble
from models.standardise import Standardiser
from models.task import Task
from models.unconstrained import UnconstrainedDraws
from privacy.budget import Budget


class NUTS(Method):
    """The exact posterior by the No-U-Turn sampler of NumPyro, without privacy.

    The weights of a network are identified only up to permutation and sign of the hidden units. So convergence is
    judged on the function at training inputs, the noise precision and the weight precision.
    """

    name = "nuts"
    title = "NUTS"
    reference = "Hoffman & Gelman 2014, algorithm 6; NumPyro; R-hat and ESS as in Gelman et al. 2013, section 11.4"
    models = ("bnn_regression", "mixture_of_gaussians")
    rerun = Rerun.CHAIN
    single_precision = True

    @dataclass(frozen=True)
    class Settings:
        """The settings of the chains, which run one after the other, in single precision."""

        num_warmup: int = 500  # steps per chain to adapt step size and mass matrix, discarded (choice of this suite)
        num_samples: int = 1000  # draws per chain after that (choice of this suite)
        chains: int = 4  # independent chains; R-hat needs 2 or more (choice of this suite)
        max_tree_depth: int = 10  # at most 2^this leapfrog steps per draw (NumPyro's default)
        target_accept: float = 0.8  # target of the mean acceptance probability (Hoffman & Gelman 2014, section 4.2)
        networks: int = 500  # largest number of networks stored, evenly spaced over all draws
        probes: int = 50  # training inputs at which the function's R-hat and ESS are computed

        def __post_init__(self) -> None:
            whole("nuts", self, "num_warmup", "chains", "max_tree_depth", "networks", "probes")
            whole("nuts", self, "num_samples", least=4)  # R-hat of half chains needs them
            within("nuts", self, "(0, 1)", "target_accept")

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        import numpyro  # noqa: F401 - the import alone takes seconds

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Sample (w, gamma, lambda) given the standardised training rows.

        Diagnostics: largest split R-hat and smallest effective sample size over the probes and the two precisions,
        number of divergent transitions, mean leapfrog steps. Raises ValueError below 2 rows, and :class:`Diverged` if a
        draw is not finite.
        """
        if task.model.kind == "mixture_of_gaussians":
            from methods.mcmc import _mixture as sampling

            return sampling.fit(task, settings, budget, rng, method=self.name)
        import jax
        import jax.numpy as jnp
        from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

        if task.n < 2:
            raise ValueError(f"{task.name}: nuts needs at least 2 training rows, got {task.n}")
        scale = Standardiser.from_moments(task.x, task.y)
        x, y = scale.x(task.x), scale.y(task.y)
        # the setting is per thread and ends with the block, so no other method in this process sees it
        with jax.enable_x64(False):
            sampler = _sampler(task.model, task.x.shape[1], settings)
            sampler.run(
                jax.random.PRNGKey(int(rng.integers(2**31))),
                jnp.asarray(x, jnp.float32),
                jnp.asarray(y, jnp.float32),
                extra_fields=("diverging", "num_steps"),
            )
            draws = {k: np.asarray(v) for k, v in sampler.get_samples(group_by_chain=True).items()}
            extra = {k: np.asarray(v) for k, v in sampler.get_extra_fields(group_by_chain=True).items()}
        if not all(np.isfinite(v).all() for v in draws.values()):
            raise Diverged(f"{task.name}: nuts drew a value that is not finite; raise target_accept")
        posterior = _posterior(draws, settings.networks, scale)
        rows = np.linspace(0, task.n - 1, min(settings.probes, task.n)).round().astype(int)
        chains, samples = draws["gamma"].shape
        everything = _posterior(draws, chains * samples, scale).predictive(task.x[rows]).means
        watched = [everything.reshape(chains, samples, -1), *(np.log(draws[k])[..., None] for k in ("gamma", "lambda"))]
        watched = np.concatenate(watched, axis=2, dtype=np.float64)
        size = effective_sample_size(watched)
        diagnostics = {
            "ess_min": float(np.min(size)),
            "ess_median": float(np.median(size)),
            "divergences": float(extra["diverging"].sum()),
            "mean_leapfrog_steps": float(extra["num_steps"].mean()),
            "draws": float(chains * samples),
            "networks_stored": float(len(posterior.noise)),
        }
        rhat = split_gelman_rubin(watched)
        diagnostics["rhat_function_max"] = float(np.max(rhat[:-2]))
        diagnostics["rhat_noise_precision"] = float(rhat[-2])
        diagnostics["rhat_weight_precision"] = float(rhat[-1])
        return Fit(posterior, budget.ledger, diagnostics)


def _sampler(model: BNNRegression, d: int, settings: NUTS.Settings):
    """The sampler, not yet run."""
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as Sampler

    return MCMC(
        Sampler(
            _model(model, d),
            target_accept_prob=settings.target_accept,
            max_tree_depth=settings.max_tree_depth,
        ),
        num_warmup=settings.num_warmup,
        num_samples=settings.num_samples,
        num_chains=settings.chains,
        chain_method="sequential",
        progress_bar=False,
        jit_model_args=True,  # x and y are arguments, not constants of the compiled program
    )


def _model(model: BNNRegression, d: int):
    """The NumPyro model of ``models.bnn_regression``, not centred: w = z / sqrt(lambda) with z ~ N(0, 1)."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def program(x, y):
        precision = numpyro.sample("lambda", dist.Gamma(model.weight_shape, model.weight_rate))
        gamma = numpyro.sample("gamma", dist.Gamma(model.noise_shape, model.noise_rate))
        z1 = numpyro.sample("z1", dist.Normal(0.0, 1.0).expand([model.hidden, d + 1]).to_event(2))
        z2 = numpyro.sample("z2", dist.Normal(0.0, 1.0).expand([model.hidden + 1]).to_event(1))
        w1, w2 = z1 / jnp.sqrt(precision), z2 / jnp.sqrt(precision)
        hidden = jnp.maximum((x @ w1[:, :-1].T + w1[:, -1]) / np.sqrt(d + 1), 0.0)
        mean = (hidden @ w2[:-1] + w2[-1]) / np.sqrt(model.hidden + 1)
        numpyro.sample("y", dist.Normal(mean, 1.0 / jnp.sqrt(gamma)), obs=y)

    return program


def _posterior(draws: dict[str, np.ndarray], most: int, scale: Standardiser) -> NetworkEnsemble:
    """At most ``most`` networks, evenly spaced over the concatenated draws of all chains."""
    flat = {k: v.reshape(-1, *v.shape[2:]) for k, v in draws.items()}
    total = len(flat["gamma"])
    keep = np.linspace(0, total - 1, min(most, total)).round().astype(int)
    root = np.sqrt(flat["lambda"][keep])
    return NetworkEnsemble(
        flat["z1"][keep] / root[:, None, None], flat["z2"][keep] / root[:, None], 1.0 / flat["gamma"][keep], scale
    )


# The exact posterior of logistic regression on inputs scaled to [-1, 1], as a reference without privacy.
class NUTSLogistic(InFrame):
    """The exact posterior of Bayesian logistic regression by the No-U-Turn sampler of NumPyro, without privacy.

    It runs in double precision in the coordinates of the Laplace approximation, in which the posterior is nearly
    normal. This whitening is a linear map, so the target stays the same. All draws are stored, in single precision.
    Diagnostics over all parameters: largest split R-hat, smallest effective sample size.
    """

    name = "nuts"
    title = "NUTS"
    reference = "Hoffman & Gelman 2014, algorithm 6; NumPyro; R-hat and ESS as in Gelman et al. 2013, section 11.4"
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        """The settings of the chains, which run in parallel from draws of the Laplace approximation."""

        chains: int = 4  #: independent chains; R-hat needs 2 or more (choice of this suite)
        num_warmup: int = 100  #: steps per chain to adapt step size and mass matrix, discarded (choice of this suite)
        num_samples: int = 250  #: draws per chain after that (choice of this suite)

        def __post_init__(self) -> None:
            whole("nuts", self, "chains", "num_warmup")
            whole("nuts", self, "num_samples", least=4)

    def prepare(self, task: Task, settings: Settings) -> None:
        import numpyro  # noqa: F401 - the import alone takes seconds

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Sample the scaled rows' posterior and store all draws.

        Raises ValueError for a task without rows or a class that is not 0 or 1, and Diverged if a draw is not finite.
        """
        from methods._shared.logistic.reference import long_chains
        from methods._shared.logistic.sampler import Target
        from methods._shared.logistic_gaussian.posterior import signed

        found = long_chains(
            signed(task), Target(1.0, 1.0 / task.model.prior_sd**2), rng, chains=settings.chains,
            warmup=settings.num_warmup, samples=settings.num_samples,
        )  # fmt: skip
        draws = found.draws.reshape(-1, found.draws.shape[2]).astype(np.float32)
        told = {"rhat_max": found.rhat, "ess_min": float(found.ess.min()), "draws": float(len(draws))}
        return Fit(UnconstrainedDraws(draws, task.model.likelihood), budget.ledger, told)
