"""Fits of the private chains: settings, releases charged to the budget, targets, and stored posteriors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from methods._shared.frames import InFrame, left_for
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Apart, Constants, Counterpart, Diverged, Fit, Leak, LeakKind, Method
from models.task import Task
from privacy.budget import Budget, GaussianMechanism
from privacy.ledger import Relation, Sampling

#: expected rows of a batch. The first makes all rows one batch in every table of the suite. The second is for networks,
#: whose chains need many steps (500 and 2,000 were tried on rows of Friedman's function).
BATCH_ROWS, NETWORK_BATCH_ROWS = 50_000, 500
#: a larger sampling rate becomes a full batch, because amplification would lower epsilon hardly at all.
LARGEST_RATE = 0.5
#: part of mu^2 for the privately estimated moments of a network's rows (as in ``dp_vi_vinaroz_corrected``).
SCALING_SHARE = 0.1
#: largest number of networks kept of a chain, and number of synthetic inputs at which the mixing of f is measured.
NETWORKS, PROBES = 100, 20
GRADIENTS = "sum of clipped gradients of a batch"
RATIOS = "sum of clipped log-likelihood ratios over their bound"
NETWORK = "bnn_regression"
LOGISTIC = "bounded_logistic_regression"
LINEAR = "bounded_linear_regression"


_CHAIN = "Monte Carlo error of a few hundred correlated draws and the step's own bias"
PUBLIC_N = Leak(
    LeakKind.PUBLIC_N,
    "the number of rows sets steps and step sizes, and enters the part of the noise variance that reads no row; it is "
    "treated as public under add/remove",
)


@dataclass(frozen=True)
class ChainSettings:
    """Settings of every chain. None means the formula of ``methods.mcmc._plans``.

    Raises ValueError for a value out of range.
    """

    #: T noisy gradient steps. For DP-penalty and DP-HMC it is k accept steps, and the steps of the run that starts
    #: them.
    steps: int | None = None
    batch_rows: int | None = None  #: expected rows of a gradient's batch; None: ``BATCH_ROWS``, for a network 500
    clip: float = 1.0  #: norm at which a row's gradient is clipped, over the target's ``norm`` (choice of this suite)
    burn_in: float = 0.5  #: part of the chain that is discarded (choice of this suite)
    #: largest number of kept draws, evenly spaced after burn-in; 1: the last one only. All are charged to the budget.
    draws: int = 500

    def __post_init__(self) -> None:
        whole("chain", self, "steps", "batch_rows", optional=True)
        whole("chain", self, "draws")
        within("chain", self, "[0, 1)", "burn_in")
        positive("chain", self, "clip")

    def rate(self, task: Task) -> float:
        """The sampling rate q, the probability of a row to be in a batch."""
        n, rows = task.public.n, self.batch_rows
        if rows is None:
            rows = BATCH_ROWS
        return rows / n if rows < n * LARGEST_RATE else 1.0


@dataclass(frozen=True)
class TestedSettings(ChainSettings):
    """Settings of a chain with accept steps, which starts at the end of a DP-SGLD run charged to the same budget."""

    burn_in: float = 0.2  #: part of the accept steps that is discarded (choice of this suite)
    #: part of mu^2 for the DP-SGLD run that finds the start. 0: start at the prior's mean, but the budget is then far
    #: too small to move away from it (published: start at the truth, or not stated)
    start_share: float = 0.5
    #: a row's log-likelihood ratio is clipped at this many of its typical deviations, or at the bound that no scaled
    #: row exceeds if that is smaller. None: only at that bound, so that nothing is clipped and the test is exact
    ratio_clip: float | None = 4.0
    noise: float = 1.0  #: S, standard deviation of the noise in the log acceptance ratio (published: about 1 to 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("chain", self, "noise")
        positive("chain", self, "ratio_clip", optional=True)
        within("chain", self, "[0, 1)", "start_share")


class Purse(NamedTuple):
    """A ``share``, in mu^2, of what a budget has left for Gaussian releases."""

    budget: Budget
    relation: Relation
    share: float = 1.0

    def multiplier(self, steps: int, rate: float = 1.0) -> float:
        """The noise multiplier of each of ``steps`` releases that together cost the share.

        T full-batch releases cost as much as one release with sqrt(T) times less noise. With sampling, the multiplier
        is that of the whole rest divided by sqrt(share), so the cost is only near the share. What is left afterwards is
        computed from the ledger.
        """
        if rate == 1 and self.budget.epsilon is not None:
            return math.sqrt(steps) * left_for(self.budget, GRADIENTS, self.relation) / math.sqrt(self.share)
        all_of_it = left_for(self.budget, GRADIENTS, self.relation, sampling_rate=rate, steps=steps)
        return all_of_it / math.sqrt(self.share)

    @property
    def mu(self) -> float:
        """The mu of one full-batch release that costs the share."""
        return 1.0 / self.multiplier(1)


def gradients(target, purse: Purse, clip: float, multiplier: float, rate: float, steps: int):
    """Charge ``steps`` releases of clipped gradient sums, and return the function that makes them for a chain."""
    mechanism: GaussianMechanism = purse.budget.gaussian(
        GRADIENTS,
        sensitivity=clip,
        noise_multiplier=multiplier,
        relation=purse.relation,
        sampling=Sampling.POISSON if rate < 1 else Sampling.FULL_BATCH,
        sampling_rate=rate,
        steps=steps,
        proof=f"{type(target).__module__}.{type(target).__qualname__}.clipped_gradients",
    )
    batches = mechanism.batches(target.n) if rate < 1 else None

    def ask(theta: np.ndarray, scale: np.ndarray, step: int) -> np.ndarray:
        rows = None if batches is None else batches.draw(step)
        total = target.clipped_gradients(theta, scale, rows, clip)
        return mechanism.release(total) / rate

    return ask


def ratios(purse: Purse, multiplier: float, steps: int):
    """Charge ``steps`` releases of clipped ratio sums over their bound, and return the function that makes them."""
    from methods.mcmc._targets import clipped_ratio_sum

    mechanism: GaussianMechanism = purse.budget.gaussian(
        RATIOS,
        sensitivity=1.0,
        noise_multiplier=multiplier,
        relation=purse.relation,
        steps=steps,
        proof="methods.mcmc._targets.clipped_ratio_sum",
    )

    def ask(energy: np.ndarray, proposed: np.ndarray, bound: float) -> float:
        total = np.array([clipped_ratio_sum(energy, proposed, bound)])
        return float(mechanism.release(total)[0])

    return ask


class Chain(InFrame):
    """A private Markov chain on inputs scaled to [-1, 1] and centred by privately estimated column means.

    A subclass defines :meth:`run`, whose releases are all charged to the ``Purse``.
    """

    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart("exact_posterior", 0.05, f"{_CHAIN}; the largest seen is .02", models=(LINEAR,)),
        Counterpart("nuts", 0.05, f"{_CHAIN}; the largest seen is .02", models=(LOGISTIC,)),
    )
    # the largest step sizes were set after looking at synthetic rows of the size of Adult
    constants = (Constants.FORMULA, Constants.DEVELOPED, Constants.GUESSED)
    leaks: ClassVar[tuple[Leak, ...]] = (PUBLIC_N,)

    def fit_unit(self, task: Task, settings: ChainSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Run the chain on scaled rows and store its draws.

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise
        multiplier, and Diverged for a chain that leaves the finite range.
        """
        from models.unconstrained import UnconstrainedDraws

        target = scaled_target(task, budget)
        path, told = self.run(target, settings, Purse(budget, self.privacy), settings.rate(task), rng)
        draws = stored(target.on_scaled_rows(path.draws))
        posterior = UnconstrainedDraws(draws, task.model.likelihood)
        return Fit(posterior, budget.ledger, told | mixing(path.draws))

    def run(self, target, settings: ChainSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """The path and its diagnostics, which are functions of public numbers and releases alone."""
        raise NotImplementedError


class TestedChain(Chain):
    """A private chain with accept steps. It does not support networks, and says why."""

    def supports(self, task: Task) -> str | None:
        if task.model.kind == NETWORK:
            return (
                f"{self.name} stays where it starts on a network: what the noise of its accept steps allows at "
                "epsilon = 1 moves a weight by less than a third of its posterior deviation in the whole run, so that "
                "it would be DP-SGLD at half the budget"
            )
        return super().supports(task)


class NetworkChain(Method):
    """A private chain on the weights of a network. A subclass defines ``run`` as one of :class:`Chain` does.

    Rows are standardised by privately estimated moments, as in ``dp_vi_vinaroz_corrected``. The rest of the budget goes
    to the chain. At most ``NETWORKS`` draws are kept. Since hidden units can be exchanged, R-hat and effective sample
    size are those of log v and of the network's function at ``PROBES`` synthetic inputs. Both are functions of released
    draws and of random numbers that read no row.
    """

    models = (NETWORK,)
    privacy = Relation.ADD_REMOVE
    reads_ranges = True
    counterparts = (
        Counterpart(
            apart=Apart.STEPS,
            reason="a chain of a few thousand steps is far from the posterior of a network, private or not",
        ),
    )
    constants = (Constants.FORMULA, Constants.DEVELOPED, Constants.GUESSED)
    leaks: ClassVar[tuple[Leak, ...]] = (PUBLIC_N,)

    def fit(self, task: Task, settings: ChainSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Standardise the rows, run the chain and store its networks.

        Raises ValueError for a task without rows or a budget without (epsilon, delta), and Diverged for a chain that
        leaves the finite range.
        """
        from methods.mcmc._network import Network
        from models.bnn_regression import NetworkEnsemble
        from models.standardise import Standardiser
        from privacy.scaling import private_scaling, scaling_noise_multiplier

        if task.n < 1 or task.public.n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        if budget.epsilon is None or budget.delta is None:
            raise ValueError(f"{self.name}: the budget has no epsilon and delta; give both")
        whole = scaling_noise_multiplier(budget.epsilon, budget.delta, SCALING_SHARE)
        scale = Standardiser(*private_scaling(task.x, task.y, task.public, budget, whole))
        target = Network(scale.x(task.x), scale.y(task.y), task.model, task.public.n, rng)
        rows = NETWORK_BATCH_ROWS if settings.batch_rows is None else settings.batch_rows
        settings = replace(settings, draws=min(settings.draws, NETWORKS), batch_rows=rows)
        path, told = self.run(target, settings, Purse(budget, self.privacy), settings.rate(task), rng)
        first, second = target.layers(stored(path.draws))
        noise = np.exp(np.clip(path.draws[:, -1], -60.0, 60.0))
        watched = target.function(path.draws, rng.standard_normal((PROBES, task.x.shape[1])))
        told |= mixing(np.column_stack([watched, path.draws[:, -1]]))
        return Fit(NetworkEnsemble(first, second, noise, scale), budget.ledger, told)

    run = Chain.run


def stored(draws: np.ndarray) -> np.ndarray:
    """The draws in single precision. Raises Diverged for a draw beyond its range."""
    if not (np.abs(draws) < np.finfo(np.float32).max).all():
        raise Diverged("a draw is beyond the range of single precision; make more steps")
    return draws.astype(np.float32)


def scaled_target(task: Task, budget: Budget):
    """The target of a regression on scaled rows. Column means and deviations are estimated from the budget."""
    from methods._shared.logistic_gaussian import centred
    from methods.mcmc._targets import Linear, Logistic

    centre = centred.private_centre(task, budget)
    if task.model.kind == "logistic_regression_normal_prior":
        return Logistic(centre.rows(task), centre, 1.0 / task.model.prior_sd**2, task.public.n)
    return Linear(task.x, task.y, centre, task.model, task.public.n)


def langevin_run(target, settings: ChainSettings, purse: Purse, rate: float, *, steps: int | None, burn_in: float):
    """One DP-SGLD run, as (path, plan)."""
    from methods.mcmc import _kernels, _plans

    plan = _plans.langevin(
        target.size, purse.mu, lambda t: purse.multiplier(t, rate), steps=steps, clip=settings.clip, rate=rate
    )
    ask = gradients(target, purse, plan.clip, plan.noise_multiplier, rate, plan.steps)
    path = _kernels.sgld(
        target, target.start, ask,
        step_size=plan.step_size, steps=plan.steps, burn_in=int(burn_in * plan.steps), draws=settings.draws,
    )  # fmt: skip
    return path, plan


def started(target, settings: TestedSettings, purse: Purse, rate: float):
    """The start (theta, scale) of an accept-reject chain: the end of a DP-SGLD run at ``start_share`` of mu^2."""
    if not settings.start_share:
        return target.start, target.unit(target.start)
    share = purse._replace(share=settings.start_share)
    path, _ = langevin_run(target, settings, share, rate, steps=settings.steps, burn_in=0.5)
    return path.theta, path.scale


def told(target, plan, **more: float) -> dict[str, float]:
    """The numbers of a plan as diagnostics."""
    numbers = {k: float(v) for k, v in vars(plan).items() if v is not None}
    return numbers | {"norm": target.size.norm, **more}


def mixing(draws: np.ndarray) -> dict[str, float]:
    """The largest split R-hat and the smallest effective sample size of the draws (m, D) of one chain.

    R-hat compares the two halves (Gelman et al. 2013, section 11.4). Autocorrelations are summed by Geyer's initial
    monotone sequence. The result is empty below 8 draws. A single chain cannot show that it has not converged.
    """
    m = len(draws)
    if m < 8:
        return {}
    half = m // 2
    parts = np.stack([draws[:half], draws[m - half :]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = half * parts.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt((half - 1) / half + between / (half * within))
    sizes = [effective_size(draws[:, j]) for j in range(draws.shape[1])]
    return {"rhat_max": float(np.max(np.nan_to_num(rhat, nan=np.inf, posinf=np.inf))), "ess_min": min(sizes)}


def effective_size(x: np.ndarray) -> float:
    """The effective sample size of one series (m,), which is 1 for a constant one."""
    m, c = len(x), x - x.mean()
    power = np.abs(np.fft.rfft(c, 2 * m)) ** 2
    acov = np.fft.irfft(power)[:m]
    if not acov[0] > 0:
        return 1.0
    rho = acov / acov[0]
    pairs = rho[: m - m % 2].reshape(-1, 2).sum(axis=1)
    last = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    return float(m / max(2.0 * np.minimum.accumulate(pairs[:last]).sum() - 1.0, 1.0 / m)) if last else float(m)
