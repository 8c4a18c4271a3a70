"""DP-SEP with a valid guarantee: joint clipping, noise matched to the update, and every release in the ledger."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.framed_mixture import MeansInFrame
from methods._shared.frames import InFrame
from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Constants, Counterpart, Diverged, Fit, Leak, LeakKind, Method
from methods.ep._pbp.layout import Layout
from models.bnn_regression import NetworkMoments
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Mechanism, Relation, Sampling

_WHAT = "sum of the clipped sites of a batch"
_PROOF = "methods.ep._pbp.sites.clipped_site_sum"

#: e-folds of the whole run: 1 - exp(-2.5) = 92 % of the data are absorbed.
E_FOLDS = 2.5
#: standard deviation of the noise in a natural parameter at the end, over the prior's precision.
NOISE_OVER_PRIOR = 0.8
#: shares of the squared sensitivity: GAMMA_PART of the whole for the noise Gamma, LAYER1_PART of the rest for layer 1.
GAMMA_PART = 0.1
LAYER1_PART = 0.8
#: clipping norm of a row's site for the noise Gamma, (1/2, residual^2 / 2) to leading order; standardised units.
GAMMA_CAP = 1.5
#: factor of the damping for the noise Gamma, which must forget the large residuals of the start.
GAMMA_SPEED = 2.0
#: upper limit of C times rho; see :func:`schedule`.
LARGEST_MOVE = 0.0125
#: upper limit of C times rho times the square root of the number of rows; see :func:`schedule`.
LARGEST_ROOT_MOVE = 1.5


@dataclass(frozen=True)
class Schedule:
    """The settings of a run. ``caps`` are the clipping norms of layer 1, layer 2, both together, and the noise Gamma.

    ``gamma_scale`` is the factor of the noise Gamma's part in the released vector. It follows from that part's cap.
    """

    steps: int
    rate: float
    damping: float
    clip: float
    caps: tuple[float, float, float, float]
    gamma_scale: float


def schedule(
    steps: int,
    rate: float,
    noise_multiplier: float,
    prior_variance: float,
    rows: int,
    *,
    damping: float | None = None,
    clip: float | None = None,
) -> Schedule:
    """The damping and clipping norm, from the sizes, the prior and the noise. No data are read.

    Parameters
    ----------
    steps : K, number of releases.
    rate : q, probability that a row is in a batch.
    noise_multiplier : sigma of one release, noise over sensitivity.
    prior_variance : of a weight.
    rows : N, public.
    damping, clip : override rho and C (for a published curve).

    Raises ValueError for an argument out of range.

    Damping. With S the clipped sum over the batch and z standard normal, the state N theta_f moves as

        N theta_f <- (1 - rho) N theta_f + rho (S + C sigma z) / q.

    After K steps the share 1 - (1 - rho)^K of the data is absorbed, and (1 - rho)^K of the arbitrary start is left. So
    rho = 1 - exp(-E_FOLDS / K) absorbs 1 - exp(-E_FOLDS) for every K. (Equation 5 with gamma = 1 is rho = 1 / N^2 for
    one row per step: 40 / N of the data in 40 epochs.)

    Noise. The noise in N theta_f is then a geometric sum with standard deviation

        C (sigma / q) r,    r^2 = rho (1 - (1 - rho)^(2K)) / (2 - rho).

    sigma / q grows like sqrt(K) and r falls like 1 / sqrt(K), so the noise hardly depends on K. More steps are more
    stable and only take more time.

    Clipping norm. A weight's mean is a noisy natural parameter divided by its precision, and the floor keeps this
    precision at or above the prior's. C is therefore such that the noise is NOISE_OVER_PRIOR times the prior's
    precision:

        C = NOISE_OVER_PRIOR q / (prior_variance sigma r).

    A larger C passes more of each site, but the noise dominates the weights about which the data hold little
    information. A smaller C leaves more of the prior.

    Two upper limits hold with little noise. Sites that are hardly clipped overshoot when they are updated in parallel,
    because each weight corrects the same residual, unless rho is small.

    - C <= LARGEST_MOVE / rho. A large budget is therefore used in full only with more steps.
    - C <= LARGEST_ROOT_MOVE / (rho sqrt(N)), because overshooting starts earlier with more rows. With 4,000 synthetic
      rows the error is least at C rho sqrt(N) = 1.58. It is 2 % higher at 2.25 and 8 % higher at 3.16, and the fit
      diverges at 6.3. With 40,000 rows it diverges at 2.5 and at 5.

    Choice of the constants. Their values were chosen on synthetic regression problems. Three faults that led to a
    constant were first seen on test scores of a data set of the suite:

    - the divergence that LARGEST_MOVE prevents, and the slow noise Gamma behind GAMMA_PART, GAMMA_CAP and GAMMA_SPEED
      (power, epsilon = 10);
    - the same divergence with more rows, which LARGEST_ROOT_MOVE prevents (protein, epsilon = 8).
    """
    if min(steps, rows) < 1 or not (0 < rate <= 1) or not (noise_multiplier > 0) or not (prior_variance > 0):
        raise ValueError(
            f"dp_sep_corrected: steps = {steps}, rate = {rate}, noise_multiplier = {noise_multiplier}, "
            f"prior_variance = {prior_variance}, rows = {rows}; all must be above 0, and the rate at most 1"
        )
    rho = 1.0 - math.exp(-E_FOLDS / steps) if damping is None else damping
    if not (0 < rho <= 1):
        raise ValueError(f"dp_sep_corrected: damping = {rho}; give a number in (0, 1]")
    spread = math.sqrt(rho * (1.0 - (1.0 - rho) ** (2 * steps)) / (2.0 - rho))
    move = min(LARGEST_MOVE, LARGEST_ROOT_MOVE / math.sqrt(rows))
    c = min(NOISE_OVER_PRIOR * rate / (prior_variance * noise_multiplier * spread), move / rho)
    c = c if clip is None else clip
    if not (0 < c < math.inf):
        raise ValueError(f"dp_sep_corrected: clip = {c}; give a finite number above 0")
    weights = c * math.sqrt(1.0 - GAMMA_PART)
    caps = (weights * math.sqrt(LAYER1_PART), weights * math.sqrt(1.0 - LAYER1_PART), weights, GAMMA_CAP)
    return Schedule(steps, rate, rho, c, caps, c * math.sqrt(GAMMA_PART) / GAMMA_CAP)


class DPSEPCorrected(Method):
    """Corrected DP-SEP: theta = theta_0 + N theta_f over the naturals of all weights and of the noise precision.

    Each of K steps has five parts.

    - A Poisson batch is drawn at rate q.
    - The site of every row in it follows by moment matching from the common cavity theta - theta_f.
    - The clipped sum is one vector of sensitivity C under add/remove. It is released once with Gaussian noise, also if
      the batch is empty.
    - The average site moves: N theta_f <- (1 - rho) N theta_f + rho release / q.
    - The precisions of theta are bounded from below by the prior's, and likewise the shape and rate of the noise
      precision. This is post-processing of releases. No update is skipped or undone because of a row.

    It differs from algorithm 3 in these ways.

    - One vector is clipped instead of blocks that each have norm C. Its mean naturals and precisions are scaled
      together, so a clipped site keeps its mean.
    - The noise is calibrated to the update that is made.
    - The accountant knows the batches. By default a batch is the whole data set, because amplification by
      subsampling gains nothing over fewer and larger steps.
    - The sensitivity is C under add/remove instead of 2 C.
    - The noise precision is learned inside the released vector, not frozen from a non-private run.
    - Standardisation uses documented or privately estimated ranges, and released moments.

    The prior's precision is fixed at b / (a - 1), without refinement, as in the published variant.
    """

    name = "dp_sep_corrected"
    title = "DP-SEP (corrected)"
    seed_name = "dp_sep_honest"
    reference = "vinaroz2023dpsep, algorithm 3 and equation 5, corrected by this suite"
    models = ("bnn_regression", "mixture_of_gaussians")
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            "sep",
            0.15,
            "another order of updates; .07 seen, .04 between two seeds of SEP; with the clipping of the defaults .40",
            settings={"clip": 1e3},
            models=("bnn_regression",),
        ),
        Counterpart(
            "ep",
            0.05,
            "a fixed number of steps; .02 seen; .26 with clipping and damping of the defaults",
            settings={"clip": 1e3, "damping": 0.1},
        ),
    )
    reads_ranges = True
    leaks = (
        Leak(
            LeakKind.TUNED,
            "on kin8nm, power and wine only: three guards (largest step, range of an input hidden by noise, funding of "
            "the noise precision) were added after looking at scores of split 0; scaling_share went from .08 to .1 on "
            "synthetic data after that, and a grid of 15 values of damping and clip was scored on split 0 and not used",
            datasets=("kin8nm", "power", "wine"),
        ),
        Leak(
            LeakKind.TUNED,
            "on protein only: its test scores at epsilon = 8 raised the question of the largest step; the answer "
            "was chosen on synthetic rows",
            models=("bnn_regression",),
            datasets=("protein",),
        ),
    )

    @dataclass(frozen=True)
    class Settings:
        """Values chosen on synthetic regression problems; :func:`schedule` says what was seen of the suite's data."""

        steps: int = 120  #: K, number of releases
        batch_rows: int = 20000  #: expected rows of a batch, which sets q = min(1, batch_rows / N); bounds the time
        scaling_share: float = 0.1  #: part of the budget (of mu^2, Gaussian DP) for standardisation
        clip: float | None = None  #: C, norm of the whole vector of one row; None: by :func:`schedule`
        damping: float | None = None  #: rho; None: by :func:`schedule`

        def __post_init__(self) -> None:
            whole("dp_sep_corrected", self, "steps", "batch_rows")
            within("dp_sep_corrected", self, "(0, 1)", "scaling_share")
            positive("dp_sep_corrected", self, "clip", optional=True)
            within("dp_sep_corrected", self, "(0, 1]", "damping", optional=True)

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            return
        from methods.ep._pbp import sites

        sites.compile_kernel()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit under the budget, which is (epsilon, delta) or the noise multiplier of one training release.

        Raises ValueError for a task without rows or a budget that states neither. Raises Diverged for numbers that
        overflow.
        """
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import corrected

            return corrected.fit(task, settings, budget, method=self.name, relation=self.privacy)
        from methods.ep._pbp import sites
        from privacy.scaling import private_scaling

        model, n = task.model, task.public.n
        if task.n < 1 or n < 1:
            raise ValueError(f"{task.name}: dp_sep_corrected needs at least 1 training row, got {task.n} (public: {n})")
        if not model.noise_shape > 1:
            raise ValueError(f"{task.name}: noise_shape = {model.noise_shape}; dp_sep_corrected needs a shape above 1")
        rate = min(1.0, settings.batch_rows / n)
        sampling = Sampling.FULL_BATCH if rate == 1.0 else Sampling.POISSON
        planned = Event(_WHAT, Mechanism.GAUSSIAN, self.privacy, 1.0, 1.0, sampling, rate, settings.steps, proof=_PROOF)
        for_scaling = self._scaling_multiplier(budget, settings, rate)
        scale = Standardiser(*private_scaling(task.x, task.y, task.public, budget, for_scaling))
        sigma = self._training_multiplier(budget, planned)
        prior_variance = model.weight_rate / (model.weight_shape - 1.0)
        plan = schedule(settings.steps, rate, sigma, prior_variance, n, damping=settings.damping, clip=settings.clip)
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=sites.sensitivity(plan.caps, plan.gamma_scale),
            noise_multiplier=sigma,
            relation=self.privacy,
            sampling=sampling,
            sampling_rate=rate,
            steps=plan.steps,
            proof=_PROOF,
        )
        batches = mechanism.batches(task.n)
        layout = Layout(task.x.shape[1] + 1, model.hidden, prior_variance, model.noise_shape, model.noise_rate)
        x1 = np.column_stack([scale.x(task.x), np.ones(task.n)])
        y = scale.y(task.y)
        absorbed = layout.start(rng)  # N theta_f
        prior = layout.prior()
        caps = np.array(plan.caps)
        rho = np.full(len(prior), plan.damping)
        rho[-2:] = min(1.0, GAMMA_SPEED * plan.damping)
        for step in range(plan.steps):
            cavity = layout.read(prior + absorbed * (1.0 - 1.0 / n))
            total = sites.clipped_site_sum(x1, y, batches.draw(step), *cavity, caps, plan.gamma_scale)
            released = mechanism.release(total)
            released[-2:] /= plan.gamma_scale
            absorbed = (1.0 - rho) * absorbed + rho * (released / rate)
            if not np.isfinite(absorbed).all():  # a function of releases alone: stopping here reveals nothing more
                raise Diverged(f"{task.name}: dp_sep_corrected left the finite range in step {step + 1}; lower damping")
        m1, v1, m2, v2, a, b = layout.read(prior + absorbed)
        return Fit(
            NetworkMoments(m1, v1, m2, v2, a, b, scale),
            budget.ledger,
            {
                "noise_multiplier": sigma,
                "scaling_noise_multiplier": for_scaling,
                "sampling_rate": rate,
                "clip": plan.clip,
                "damping": plan.damping,
                "absorbed": 1.0 - (1.0 - plan.damping) ** plan.steps,
            },
        )

    def _scaling_multiplier(self, budget: Budget, settings: Settings, rate: float) -> float:
        from privacy.scaling import scaling_noise_multiplier

        if budget.epsilon is not None and budget.delta is not None:
            return scaling_noise_multiplier(budget.epsilon, budget.delta, settings.scaling_share)
        if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
            raise ValueError("dp_sep_corrected: the budget states no (epsilon, delta) and no noise_multiplier above 0")
        # the same share of mu^2 as of a training whose mu is about q sqrt(K) / sigma
        share = settings.scaling_share
        return budget.noise_multiplier / (rate * math.sqrt(settings.steps * share / (1.0 - share)))

    def _training_multiplier(self, budget: Budget, planned: Event) -> float:
        from privacy.scaling import remaining_noise_multiplier

        if budget.epsilon is not None and budget.delta is not None:
            return remaining_noise_multiplier(budget.ledger, planned, budget.epsilon, budget.delta)
        return budget.noise_multiplier


# Corrected DP-SEP on logistic regression on inputs scaled to [-1, 1].
class DPSEPCorrectedLogistic(InFrame):
    """Corrected DP-SEP: K releases of the clipped sum of all rows' sites, mean naturals and full precision matrix.

    Each step has four parts. No update is skipped because of a row.

    - The site of every row follows from the common cavity q.
    - The clipped sum is one vector of sensitivity C under add/remove, released once with Gaussian noise.
    - The precision is the average of the releases so far, in which release j counts in proportion to j. This is a
      damping of 2 / (j + 1). Its eigenvalues are raised to the largest eigenvalue of the noise alone.
    - The mean makes a damped step by that precision.

    It differs from algorithm 3 as the version for networks does: joint clipping, noise calibrated to the update that is
    made, and whole batches. No amplification is used, because few steps suffice.

    One part is specific to this version: a site's mean natural is written relative to the cavity's mean. So its norm
    does not grow with theta, and the noise of the precision does not reach the mean. Rows are centred by privately
    estimated means.

    Under replace-one the clipped sum moves by up to 2 C. Under add/remove with n public, one contribution of norm at
    most C is present or absent, so the sensitivity is C.

    The covariance is full also for 101 parameters at epsilon = 1. The 5,151 entries of the precision have noise near 20
    each. The largest eigenvalue of that noise, near 300, is far below those of the data (thousands) in the directions
    that matter. A diagonal q would need many small steps instead, since the columns of one attribute move together.

    C is clip_factor R / sqrt(2), with R the typical norm of a centred row. A row with slope 1/2 and precision 1/4 has
    |g z| = R / 2, and weight k |z|^2 = R / 2 with the weight 2 / R. Such a row is just not clipped.

    The choice was compared on synthetic tables of 101 columns (39,600 rows) and 9 columns (3,384 rows) at epsilon = 1.
    Changes are in the log-likelihood of a test row, in nats. K = 16 instead of 8 changes it by -.006 to .001, half this
    C by -.03 to -.007, and twice this C by -.005 to -.003. The noise of the mean is added to the covariance.
    """

    name = "dp_sep_corrected"
    title = "DP-SEP (corrected)"
    seed_name = "dp_sep_honest"
    reference = "vinaroz2023dpsep, algorithm 3 and equation 5, corrected by this suite"
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart("sep", 0.03, "sites are clipped, and a fixed number of steps; .015 seen"),)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"steps": 5}, {"steps": 16}, {"clip_factor": 0.5}, {"clip_factor": 2.0}, {"steps": 5, "clip_factor": 0.5}
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        steps: int = 8  #: K, number of releases (chosen on synthetic tables)
        clip_factor: float = 1.0  #: times the clipping norm of the formula (without unit)

        def __post_init__(self) -> None:
            whole("dp_sep_corrected", self, "steps")
            positive("dp_sep_corrected", self, "clip_factor")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods._shared.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged for numbers that overflow.
        """
        from methods.ep import _logistic_corrected as corrected

        return corrected.fit(task, settings, budget, name=self.name, relation=self.privacy)


# Corrected DP-SEP for a mixture of Gaussians on inputs scaled to [-1, 1].
class DPSEPCorrectedMixture(MeansInFrame, DPSEPCorrected):
    """The corrected DP-SEP on columns scaled to [-1, 1]: the clipped sites of a Poisson batch, one release per step.

    The steps use the budget that remains after the scaling. Damping and clipping norm follow from sizes and noise.
    """

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    name = "dp_sep_corrected"
    seed_name = "dp_sep_honest"
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(
            "ep",
            0.05,
            "a fixed number of steps; .03 seen; .61 with clipping and damping of the defaults, which forgets too "
            "little of the first steps (.39 with that clipping alone, .42 with that damping alone)",
            settings={"clip": 1e3, "damping": 0.05},
        ),
    )
    leaks = ()
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"steps": 120, "batch_rows": 5000}, {"steps": 480}, {"clip": 1.0}, {"clip": 3.0}, {"damping": 0.003},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(DPSEPCorrected.Settings):
        """Twice the steps of the network version, with smaller batches, which limits the time.

        They were chosen on synthetic mixtures (n = 8000, d = 6). At epsilon = 8, where single steps are largest, 3 of 7
        ended at a wrong clustering in 120 steps and 1 of 7 in 240. ``scaling_share`` is not used: the scaling has its
        own share.
        """

        steps: int = 240  #: K, number of releases
        batch_rows: int = 2500  #: expected rows of a batch, q = min(1, batch_rows / N)

    def prepare(self, task: Task, settings: Settings) -> None:
        """Nothing to compile."""

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return DPSEPCorrected.fit(self, task, settings, budget, rng)
