"""From a task and a budget to a chain: targets, charged mechanisms, and the posterior that is stored."""

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

#: expected rows of a batch: all rows, in every table of the suite; and those of a network, whose chain needs many steps
#: (500 and 2,000 were tried on rows of Friedman's function).
BATCH_ROWS, NETWORK_BATCH_ROWS = 50_000, 500
#: a sampling rate above this becomes a full batch: amplification would buy next to nothing there.
LARGEST_RATE = 0.5
#: part of mu^2 that standardises the rows of a network (as in ``dp_vi_vinaroz_corrected``).
SCALING_SHARE = 0.1
#: most networks that are kept of a chain, and made-up inputs at which the mixing of their function is watched.
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
    """What every chain is told; None: by the formulas of ``methods.mcmc._plans``. Raises ValueError out of range."""

    steps: int | None = None  #: T noisy gradient steps; of penalty and HMC k accept steps, and those of their start
    batch_rows: int | None = None  #: expected rows of a gradient's batch; None: ``BATCH_ROWS``, network 500
    clip: float = 1.0  #: gradients: norm at which a row is clipped, over the target's ``norm`` (choice of this suite)
    burn_in: float = 0.5  #: part of the chain that is thrown away (choice of this suite)
    #: most draws that are kept, evenly spaced after burn-in; 1: the last one only. All are charged to the budget.
    draws: int = 500

    def __post_init__(self) -> None:
        whole("chain", self, "steps", "batch_rows", optional=True)
        whole("chain", self, "draws")
        within("chain", self, "[0, 1)", "burn_in")
        positive("chain", self, "clip")

    def rate(self, task: Task) -> float:
        """q, the chance of a row to be in a batch."""
        n, rows = task.public.n, self.batch_rows
        if rows is None:
            rows = BATCH_ROWS
        return rows / n if rows < n * LARGEST_RATE else 1.0


@dataclass(frozen=True)
class TestedSettings(ChainSettings):
    """And what a chain with accept steps is told: it starts where DP-SGLD, paid from the same budget, has led."""

    burn_in: float = 0.2  #: part of the accept steps that is thrown away (choice of this suite)
    #: part of mu^2 for the DP-SGLD run that finds the start; 0: the prior's mean, where far too little is left to leave
    #: it (published: the truth, or not said)
    start_share: float = 0.5
    #: a row's log-likelihood ratio is cut at this many of its typical deviations, or at the bound that no scaled
    #: row exceeds if that is smaller; None: only at that bound, so that nothing is cut and the test is exact
    ratio_clip: float | None = 4.0
    noise: float = 1.0  #: S, standard deviation of the noise in the log acceptance ratio (published: about 1 to 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("chain", self, "noise")
        positive("chain", self, "ratio_clip", optional=True)
        within("chain", self, "[0, 1)", "start_share")


class Purse(NamedTuple):
    """What a budget has left for Gaussian releases. ``share``: part of its mu^2."""

    budget: Budget
    relation: Relation
    share: float = 1.0

    def multiplier(self, steps: int, rate: float = 1.0) -> float:
        """Noise multiplier of each of ``steps`` releases that together cost that part.

        With sampling the part is kept by the noise, not to the digit; what is left afterwards is read from the ledger.
        T full-batch releases cost what one does with sqrt(T) times less noise.
        """
        if rate == 1 and self.budget.epsilon is not None:
            return math.sqrt(steps) * left_for(self.budget, GRADIENTS, self.relation) / math.sqrt(self.share)
        all_of_it = left_for(self.budget, GRADIENTS, self.relation, sampling_rate=rate, steps=steps)
        return all_of_it / math.sqrt(self.share)

    @property
    def mu(self) -> float:
        """Of one full-batch release."""
        return 1.0 / self.multiplier(1)


def gradients(target, purse: Purse, clip: float, multiplier: float, rate: float, steps: int):
    """Charge ``steps`` releases of clipped gradient sums; the function that a chain asks for them."""
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
    """Charge ``steps`` releases of clipped ratio sums over their bound; the function that a chain asks for them."""
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
    """A private Markov chain on rows in the box, around bought column means.

    A subclass gives :meth:`run`, which asks the purse for all that it releases.
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
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged for a chain that leaves the finite range."""
        from models.unconstrained import UnconstrainedDraws

        target = in_the_box(task, budget)
        path, told = self.run(target, settings, Purse(budget, self.privacy), settings.rate(task), rng)
        draws = stored(target.in_box(path.draws))
        posterior = UnconstrainedDraws(draws, task.model.likelihood)
        return Fit(posterior, budget.ledger, told | mixing(path.draws))

    def run(self, target, settings: ChainSettings, purse: Purse, rate: float, rng: np.random.Generator):
        """(path, diagnostics), the latter functions of public numbers and releases alone."""
        raise NotImplementedError


class TestedChain(Chain):
    """A chain with accept steps, which says why it is not for a network."""

    def supports(self, task: Task) -> str | None:
        if task.model.kind == NETWORK:
            return (
                f"{self.name} stays where it starts on a network: what the noise of its accept steps allows at "
                "epsilon = 1 moves a weight by less than a third of its posterior deviation in the whole run, so that "
                "it would be DP-SGLD at half the budget"
            )
        return super().supports(task)


class NetworkChain(Method):
    """A private chain on a network. A subclass gives ``run``, as below :class:`Chain`.

    Rows are standardised by bought moments, as in ``dp_vi_vinaroz_corrected``; what is left goes to the chain. At most
    ``NETWORKS`` draws are kept. R-hat and effective sample size are of the function at ``PROBES`` made-up inputs and of
    log v, since hidden units can be exchanged: functions of released draws and of coins.
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
        """Raises ValueError for a task without rows or a budget without (epsilon, delta), Diverged for a chain that
        leaves the finite range."""
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
    """In single precision. Raises Diverged where that cannot hold them."""
    if not (np.abs(draws) < np.finfo(np.float32).max).all():
        raise Diverged("a draw is beyond the range of single precision; make more steps")
    return draws.astype(np.float32)


def in_the_box(task: Task, budget: Budget):
    """The target of a regression in the box; its column means and deviations are charged to the budget."""
    from methods._shared.logistic_gaussian import centred
    from methods.mcmc._targets import Linear, Logistic

    centre = centred.bought(task, budget)
    if task.model.kind == "logistic_regression_normal_prior":
        return Logistic(centre.rows(task), centre, 1.0 / task.model.prior_sd**2, task.public.n)
    return Linear(task.x, task.y, centre, task.model, task.public.n)


def langevin_run(target, settings: ChainSettings, purse: Purse, rate: float, *, steps: int | None, burn_in: float):
    """One DP-SGLD run: (path, plan)."""
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
    """(theta, scale) where an accept-reject chain starts: the end of a DP-SGLD run at ``start_share`` of mu^2."""
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
    """Largest split R-hat of the two halves and smallest effective sample size of the draws (m, D) of one chain.

    R-hat as in Gelman et al. 2013, section 11.4; autocorrelations by Geyer's initial positive sequence. Empty below
    8 draws. One chain cannot tell that it has not arrived.
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
    """Effective sample size of one series (m,); 1 for a constant one."""
    m, c = len(x), x - x.mean()
    power = np.abs(np.fft.rfft(c, 2 * m)) ** 2
    acov = np.fft.irfft(power)[:m]
    if not acov[0] > 0:
        return 1.0
    rho = acov / acov[0]
    pairs = rho[: m - m % 2].reshape(-1, 2).sum(axis=1)
    last = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    return float(m / max(2.0 * np.minimum.accumulate(pairs[:last]).sum() - 1.0, 1.0 / m)) if last else float(m)
