"""The No-U-Turn sampler for the means of a mixture of Gaussians, with the assignments summed out (NumPyro)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from methods._shared import nuts_chains
from methods.contract import Diverged, Fit
from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians
from models.task import Task
from privacy.budget import Budget

#: number of starts of EM; the one with the largest likelihood is kept.
STARTS = 10
#: steps of EM per start, which are enough for well separated clusters, and largest number of steps for the best start.
SHORT, LONG = 50, 500
#: the chains start at the mode plus this many posterior standard deviations of a cluster of average size.
JITTER = 0.5


def fit(task: Task, settings, budget: Budget, rng: np.random.Generator, *, method: str) -> Fit:
    """Posterior over the component means, as the mean and covariance of the draws of each component.

    It gives no privacy and draws in double precision. ``settings`` is a ``methods.mcmc.nuts.NUTS.Settings``.

    The posterior has J! modes, which are equal except for the weak prior. Chains that start apart therefore settle in
    different modes, and an R-hat over them would judge the labels, not the sampling. So all chains start near one mode,
    which :func:`mode` finds without labels, and the posterior is that of this labelling. R-hat and the effective sample
    size describe this one mode only. A chain that moves to another labelling is counted in ``label_switches``.

    Diagnostics, over the J x D coordinates: largest split R-hat, smallest and median effective sample size. Further
    diagnostics: number of divergent transitions, mean leapfrog steps per draw, draws, and ``label_switches``. That is
    the number of chains whose mean, under the best matching of components, is not in the order of the mode.

    Raises ValueError below 2 rows or if noise_sd is unknown, and :class:`Diverged` if a draw is not finite.
    """
    import jax
    import jax.numpy as jnp
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    model = task.model
    if task.n < 2:
        raise ValueError(f"{task.name}: {method} needs at least 2 training rows, got {task.n}")
    if model.noise_sd is None:
        raise ValueError(f"{task.name}: {method} samples the component means only; give the mixture a noise_sd")
    start = mode(task.x, model, rng)
    sd = model.noise_sd * np.sqrt(model.components / task.n)
    starts = start + JITTER * min(sd, np.sqrt(model.prior_variance)) * rng.standard_normal(
        (settings.chains, *start.shape)
    )
    # the setting is per thread and ends with the block, so no other method in this process sees it
    with jax.enable_x64(True):
        run = _sampler(
            model.noise_sd**2, model.prior_variance, settings.num_warmup, settings.num_samples,
            settings.max_tree_depth, settings.target_accept,
        )  # fmt: skip
        key = jax.random.PRNGKey(int(rng.integers(2**31)))
        out = run(key, jnp.asarray(starts), jnp.asarray(task.x), jnp.asarray(model.prior_means(task.x.shape[1])))
        draws, diverging, leapfrog = (np.asarray(a) for a in out)
    if not np.isfinite(draws).all():
        raise Diverged(f"{task.name}: {method} drew a value that is not finite; raise target_accept")
    chains, samples, components, d = draws.shape
    watched = draws.reshape(chains, samples, -1)
    with np.errstate(invalid="ignore", divide="ignore"):  # R-hat of chains that do not move is NaN, and is reported so
        rhat, size = split_gelman_rubin(watched), effective_sample_size(watched)
    flat = draws.reshape(-1, components, d)
    centred = flat - flat.mean(axis=0)
    covariances = np.einsum("njd,nje->jde", centred, centred) / (len(flat) - 1)
    return Fit(
        MixtureMeans(flat.mean(axis=0), covariances, model.noise_sd),
        budget.ledger,
        {
            "rhat_max": float(np.max(rhat)),
            "ess_min": float(np.min(size)),
            "ess_median": float(np.median(size)),
            "divergences": float(diverging.sum()),
            "mean_leapfrog_steps": float(leapfrog.mean()),
            "draws": float(chains * samples),
            "label_switches": float(sum(not _same_order(chain.mean(axis=0), start) for chain in draws)),
        },
    )


def mode(x: np.ndarray, model: MixtureOfGaussians, rng: np.random.Generator) -> np.ndarray:
    """A mode of the posterior over the means, (J, D), found by EM for rows ``x`` (n, D) with n at least 1.

    EM starts ``STARTS`` times from k-means++ seeds, and the start with the largest likelihood is run to convergence.
    The components are then ordered so that they are as near to their prior means as possible, and EM continues with the
    prior. It uses no labels. Sources: k-means++ seeding, Arthur & Vassilvitskii 2007; EM, Dempster, Laird & Rubin 1977.
    """
    found = []
    for _ in range(STARTS):
        means, likelihood = _em(x, model, _seeds(x, model.components, rng), SHORT, 0.0)
        found.append((likelihood, means))
    means, _ = _em(x, model, max(found, key=lambda pair: pair[0])[1], LONG, 0.0)
    prior = model.prior_means(x.shape[1])
    _, order = linear_sum_assignment(np.square(prior[:, None] - means).sum(axis=2))
    return _em(x, model, means[order], LONG, 1.0 / model.prior_variance)[0]


def _seeds(x: np.ndarray, components: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn with probability proportional to their squared distance from the rows drawn before."""
    chosen = x[[rng.integers(len(x))]]
    while len(chosen) < components:
        distance = np.square(x[:, None] - chosen).sum(axis=2).min(axis=1)
        total = distance.sum()
        row = rng.choice(len(x), p=distance / total) if total > 0 else rng.integers(len(x))
        chosen = np.vstack([chosen, x[row]])
    return chosen


def _em(
    x: np.ndarray, model: MixtureOfGaussians, means: np.ndarray, steps: int, prior_precision: float
) -> tuple[np.ndarray, float]:
    """EM on the means: the means, and the log-likelihood without constants before the last step."""
    s2, prior = model.noise_sd**2, model.prior_means(x.shape[1])
    squares = np.square(x).sum(axis=1)
    for _ in range(steps):
        joint = -0.5 / s2 * (squares[:, None] - 2.0 * x @ means.T + np.square(means).sum(axis=1))
        total = logsumexp(joint, axis=1, keepdims=True)
        r = np.exp(joint - total)
        # the tiny weight keeps a component without rows at its place
        weight = 1e-9 if prior_precision == 0.0 else 0.0
        top = (r.T @ x) / s2 + prior_precision * prior + weight * means
        new = top / (r.sum(axis=0)[:, None] / s2 + prior_precision + weight)
        done = np.abs(new - means).max() <= 1e-9 * np.abs(means).max()
        means = new
        if done:
            break
    return means, float(total.sum())


def _same_order(means: np.ndarray, start: np.ndarray) -> bool:
    _, order = linear_sum_assignment(np.square(means[:, None] - start).sum(axis=2))
    return bool((order == np.arange(len(start))).all())


@lru_cache(maxsize=4)
def _sampler(
    noise_variance: float,
    prior_variance: float,
    num_warmup: int,
    num_samples: int,
    max_tree_depth: int,
    target_accept: float,
):
    """The sampler ``nuts_chains.compiled`` for data x (n, D), prior means (J, D) and starts (chains, J, D)."""
    import jax
    import jax.numpy as jnp

    def potential(x, prior_means):
        def energy(means):
            # |x|^2 is a constant of the rows, left out
            joint = (x @ means.T - 0.5 * jnp.square(means).sum(axis=1)) / noise_variance
            likelihood = jax.scipy.special.logsumexp(joint, axis=1).sum()
            return 0.5 * jnp.square(means - prior_means).sum() / prior_variance - likelihood

        return energy

    return nuts_chains.compiled(potential, num_warmup, num_samples, max_tree_depth, target_accept)
