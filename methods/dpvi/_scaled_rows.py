"""DPVI and the posteriors made from its trace, on inputs scaled to [-1, 1] (``models.bounded``).

The numerics are those of ``methods.dpvi._noise_aware``. This file computes the settings that they need from public
numbers: rows n, inputs d, the prior, and the noise multiplier sigma that the budget leaves to the steps. The constants
were tried on synthetic scaled rows (n 1,400 to 44,000, d 4 to 100), and on no data set of the suite.

Notation: kappa sampling rate, T steps, K draws of theta per step, D coordinates of theta, C clip, s = :attr:`Guess.sd`.
The variational parameters mu and rho give theta = mu + softplus(rho) e. The noise variance of the linear model is v.

========================  =============================================================================================
start                     mu: 0 for a weight, and log(e^v - 1) with v at its prior's mean. rho: posterior deviations s
                          for n rows of inputs that are uniform on [-1, 1], with v at its prior's mean
clip C                    norm of the gradient of such a row. Its residual is one standard deviation, with v at its
                          prior's 5 % quantile (linear), or 1/2 (logistic). C is up to 4 times that if the noise is
                          small (:func:`widening`)
``deviation_scale``       sqrt(K) / s, with s of a weight. The gradient in rho is then about as long as that in mu
step sizes                the published rule: noise alone moves a coordinate by v_step / sqrt(2 D) over the run. They
                          are at most what keeps the descent stable if the noise is small (:func:`stable`)
========================  =============================================================================================

The authors' code has no such upper bound, so its steps become infinite as the noise goes to 0. In the linear model the
curvature in a weight is that of the inputs divided by v, so the stable step is proportional to the current v. It is
therefore recomputed every ``BLOCK`` steps from the released iterate, which is post-processing.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from methods._shared.frames import InFrame, left_for
from methods._shared.requests import Together
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Constants, Counterpart, Diverged, Fit, Leak, LeakKind
from methods.dpvi._noise_aware.settings import SQRT2, DPVISettings
from models.noise_aware import Priors, Statistics, TracePosterior
from models.task import Task
from models.unconstrained import inverse_softplus
from privacy.budget import Budget
from privacy.ledger import Relation

#: mean square of an input that is spread evenly on [-1, 1].
SPREAD = 1.0 / 3.0
#: quantile of the prior of the noise variance; the clip assumes this noise variance.
LOW = 0.05
#: steps between two updates of the largest step sizes from the current v.
BLOCK = 20
LEAKS = (
    Leak(
        LeakKind.PUBLIC_N,
        "the number of rows scales prior and entropy exactly and is treated as public under add/remove",
    ),
)
#: settings to try, for every method of this file; the first is the default.
GRID: tuple[dict, ...] = (
    {},
    {"location_step": 0.5},
    {"location_step": 4.0},
    {"clip": 0.5},
    {"clip": 2.0},
    {"burn_in": 0.2},
)


@dataclass(frozen=True)
class StepSettings:
    """Settings of a noisy descent on scaled rows. None means the formula of this module.

    Raises ValueError for a value out of range.
    """

    steps: int = 4000  # T, noisy gradient steps
    sampling_rate: float | None = None  # kappa, chance of a row to be in a batch; None: min(0.1, 1500 / n), for time
    clip: float = 1.0  # factor of C as the formula gives it
    #: v_step of mu: the privacy noise alone moves a coordinate by v_step / sqrt(2 D) (standard deviation) over the run.
    location_step: float = SQRT2
    burn_in: float = 0.5  # part of the steps that the kept trace leaves out

    def __post_init__(self) -> None:
        whole("dpvi", self, "steps")
        within("dpvi", self, "(0, 1]", "sampling_rate", optional=True)
        within("dpvi", self, "[0, 0.9]", "burn_in")
        if self.steps - int(self.burn_in * self.steps) < 2:
            raise ValueError(f"dpvi: steps = {self.steps} with burn_in = {self.burn_in} keep fewer than 2; make more")
        positive("dpvi", self, "clip", "location_step")

    def rate(self, n: int) -> float:
        """kappa for n rows."""
        return min(0.1, 1500.0 / n) if self.sampling_rate is None else self.sampling_rate


@dataclass(frozen=True)
class TraceSettings(StepSettings):
    """Settings of DPVI on scaled rows, and of the methods that post-process its trace."""

    draws: int = 4  # K, draws of theta per step, shared by all rows
    deviation_step: float = SQRT2  # v_step of rho, as ``location_step`` is that of mu

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("dpvi", self, "draws")
        positive("dpvi", self, "deviation_step")


@dataclass(frozen=True)
class NoiseAwareTraceSettings(TraceSettings):
    """Settings of DPVI on scaled rows, with the priors of the noise-aware model."""

    optimum_sd: float = 1.0  # tau, prior standard deviation of phi* about the mean of the trace (as published)
    slope_widening: float = 1.0  # prior standard deviation of A over its standard error (as published)
    #: prior standard deviation of s, with s^2 the variance that the batches add to a gradient. None: C sqrt(kappa n),
    #: the most that a batch of clipped rows can add. Published: 1, for gradients of size 1.
    noise_sd: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("dpvi", self, "optimum_sd", "slope_widening")
        positive("dpvi", self, "noise_sd", optional=True)


@dataclass(frozen=True)
class Guess:
    """A guess at the posterior given scaled rows, from public numbers only; arrays (D,) over theta.

    ``mean`` and ``sd`` are the starting values of location and deviation. ``gradient`` is the norm of a row's gradient
    of -log p in theta. ``curvature`` is that of one row's -log p. Every weight has the largest eigenvalue of the
    weights' block.
    """

    mean: np.ndarray
    sd: np.ndarray
    gradient: float
    curvature: np.ndarray


def guess(model, n: int, d: int) -> Guess:
    """The guess for a linear or logistic regression (the model on the scaled rows) with n rows of d inputs."""
    size = 1.0 + d * SPREAD  # mean squared norm of [x, 1]
    squares = np.append(np.full(d, SPREAD), 1.0)
    if model.kind == "logistic_regression_normal_prior":
        sd = (n * squares / 4.0 + model.prior_sd**-2.0) ** -0.5
        return Guess(np.zeros(d + 1), sd, 0.5 * math.sqrt(size), np.full(d + 1, size / 4.0))
    mean, low = noise_levels(model.shape, model.scale)
    sd = np.append(np.sqrt(mean / (n * squares + model.precision)), math.sqrt(2.0 / n))
    start = np.append(np.zeros(d + 1), inverse_softplus(mean))
    return Guess(start, sd, math.sqrt(size / low), np.append(np.full(d + 1, size / low), 0.5))


@lru_cache(maxsize=8)
def noise_levels(shape: float, scale: float) -> tuple[float, float]:
    """Mean and ``LOW`` quantile of the inverse-gamma prior of the noise variance; its mode if it has no mean."""
    from scipy.stats import invgamma

    mean = scale / (shape - 1.0) if shape > 1.0 else scale / (shape + 1.0)
    return mean, float(invgamma.ppf(LOW, shape, scale=scale))


def widening(sigma: float, n: int, sampling_rate: float, steps: int) -> float:
    """Factor by which the clip is widened, in [1, 4].

    It is 0.05 / (u sqrt(n)) with u = sigma / (kappa n sqrt(T)), held in that range. The noise moves the mean iterate by
    about u C over the curvature of one row. A posterior deviation is 1 / sqrt(n curvature). A wider clip reduces the
    bias, because clipped residuals make v too small, while the noise stays below a posterior deviation.
    """
    return float(np.clip(0.05 * sampling_rate * math.sqrt(n * steps) / sigma, 1.0, 4.0))


def clip_of(s: StepSettings, model, n: int, d: int, sigma: float) -> float:
    """The clip C, a Euclidean norm of a row's gradient, for n rows of d inputs."""
    return s.clip * guess(model, n, d).gradient * widening(sigma, n, s.rate(n), s.steps)


def plan(s: TraceSettings, model, n: int, d: int, sigma: float) -> DPVISettings:
    """The settings of ``methods.dpvi._noise_aware`` for n scaled rows of d inputs."""
    q = guess(model, n, d)
    return DPVISettings(
        steps=s.steps,
        sampling_rate=s.rate(n),
        draws=s.draws,
        clip=clip_of(s, model, n, d, sigma),
        deviation_scale=math.sqrt(s.draws) / float(q.sd[0]),
        location_step=(s.location_step,),
        deviation_step=(s.deviation_step,),
        start_location=tuple(q.mean),
        start_deviation=tuple(inverse_softplus(q.sd)),
        burn_in=s.burn_in,
    )


def stable(model, n: int, d: int, phi: np.ndarray, sampling_rate: float, steps: int) -> np.ndarray:
    """The largest step sizes (2 D,) at phi (2 D,).

    For a weight's mu, the step size times the curvature of a batch is 1 if all inputs are alike, with v as phi has it.
    The largest eigenvalue of the weights' block is then its trace. For log v, where the curvature of all rows is n / 2,
    the product is 1/4.
    For rho, the curvature is 2 kappa at the optimum, and the gradient in mu disturbs rho until mu has converged. The
    largest step gives 20 time constants over the run.
    """
    size, dimension = 1.0 + d * SPREAD, len(phi) // 2
    if model.kind == "logistic_regression_normal_prior":
        curvature = np.full(dimension, n * size / 4.0 + model.prior_sd**-2.0)
    else:
        v = float(np.logaddexp(0.0, phi[dimension - 1]))
        curvature = np.append(np.full(dimension - 1, (n * size + model.precision) / v), 2.0 * n)
    mu = 1.0 / (sampling_rate * curvature)
    return np.append(mu, np.full(dimension, 10.0 / (sampling_rate * steps)))


def scaled_plan(s: DPVISettings, model, n: int, d: int, sigma: float):
    """The plan (``training.Plan``) with a gradient scale of its own for log v of the linear model.

    A row's gradient in log v is about 1, and that in the weights is about C. So both scales of log v, in mu and in rho,
    get this factor:

        max(1, gradient / 16 / widening^2)

    It reduces the noise in log v if there is much noise. In return more rows are clipped because of their residual
    alone. ``d``: coordinates of theta.
    """
    from methods.dpvi._noise_aware import training

    made = training.make_plan(s, d, sigma)
    if model.kind == "logistic_regression_normal_prior":
        return made
    wide = widening(sigma, n, s.sampling_rate, s.steps)
    factor = np.ones(2 * d)
    factor[[d - 1, 2 * d - 1]] = max(1.0, guess(model, n, d - 2).gradient / 16.0 / wide**2)
    return replace(made, scale=made.scale * factor, step=made.step * factor)


def run(task: Task, settings: TraceSettings, budget: Budget, rng: np.random.Generator, relation: Relation) -> Fit:
    """One run of DPVI on scaled rows, with the noise multiplier that the budget states (``Budget.stating``).

    It is ``training.run`` with a bound on the step sizes and a gradient scale for log v. The posterior is a
    ``TracePosterior``. Raises ValueError for rows that do not suit the likelihood, and Diverged if a parameter is not
    finite.
    """
    from methods.dpvi._noise_aware import kernels, training
    from privacy.normal import NormalStream

    n, inputs, sigma = task.public.n, task.x.shape[1], budget.noise_multiplier
    s, d = plan(settings, task.model, n, inputs, sigma), task.model.dimension(inputs)
    likelihood = task.model.likelihood
    rows = training.prepare_rows(task, likelihood, s.sampling_rate)
    made, prior = scaled_plan(s, task.model, n, d, sigma), training.prior_numbers(task.model)
    noise = training.mechanism(s, sigma, budget, relation)
    key, burn_in = noise.batches(task.n, rng).key, int(s.burn_in * s.steps)
    normals = NormalStream(rng)
    phi, kept = made.start.copy(), np.zeros((5, 2 * d))
    size = noise.at_once(BLOCK)
    for first in range(0, s.steps, size):
        count = min(size, s.steps - first)
        step = np.minimum(made.step, stable(task.model, n, inputs, phi, s.sampling_rate, s.steps))
        e = np.empty((count, s.draws, d))
        normals.fill(e.reshape(-1), 1.0)
        if noise.audited:
            for t in range(first, first + count):
                value = kernels.clipped_sum(
                    rows, prior, float(n), phi, e[t - first], made.scale, s.clip, s.sampling_rate, key, t
                )
                kernels.update(phi, noise.release(value), made.scale, step, kept, max(0, t + 1 - burn_in))
        else:
            kernels.advance(
                rows, prior, float(n), phi, e, noise.noise(count, 2 * d), made.scale, s.clip, s.sampling_rate, key,
                first, step, kept, burn_in,
            )  # fmt: skip
        if not np.isfinite(phi).all():
            raise Diverged(f"{task.name}: a variational parameter is not finite; lower location_step or deviation_step")
    trace = Statistics(float(s.steps - burn_in), *kept)
    found = TracePosterior(trace, phi, (noise.noise_scale / made.scale) ** 2, s.sampling_rate, likelihood)
    told = {"noise_multiplier": sigma, "steps": float(s.steps), "clip": s.clip, "batch": s.sampling_rate * n}
    return Fit(found, budget.ledger, told)


#: settings for the comparison with the non-private limit: the noise of full batches is calibrated without a search
FULL_BATCHES = {"sampling_rate": 1.0}


class OnScaledRows(Together, InFrame):
    """A noisy descent on scaled rows, with the budget that the private scaling has left (``InFrame``).

    A subclass defines :meth:`descend`.
    """

    privacy = Relation.ADD_REMOVE
    constants = (Constants.FORMULA, Constants.DEVELOPED)
    leaks = LEAKS
    counterparts = (Counterpart("vi", 0.05, "a fixed number of steps on clipped gradients", settings=FULL_BATCHES),)
    grid: ClassVar[tuple[dict, ...]] = GRID

    def prepare(self, task: Task, settings: StepSettings) -> None:
        """Compile the loops on two synthetic rows of the task's shape."""
        from methods.dpvi._noise_aware.training import compile_kernels

        compile_kernels(replace(task, model=task.model.inner), settings, self.descend)

    def fit_unit(self, task: Task, settings: StepSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Calibrate the noise of the steps to what is left of the budget, and run. Raises what the run raises."""
        rate = settings.rate(task.public.n)
        sigma = left_for(budget, self.name, self.privacy, sampling_rate=rate, steps=settings.steps)
        return self.descend(task, settings, budget.stating(sigma), rng)

    @abc.abstractmethod
    def descend(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit the scaled rows of ``task``. The budget states the noise multiplier."""


class TraceMethod(OnScaledRows):
    """A method that post-processes the trace of a DPVI run on scaled rows.

    One run serves all such methods (``workflow.worker``), which use the random numbers of the method ``run_of``. A
    subclass sets ``reading``, the name of its post-processing (``models.noise_aware.READINGS``).
    """

    run_of: ClassVar[str] = "dpvi"
    reading: ClassVar[str]

    def descend(self, task: Task, settings: TraceSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit the scaled rows by :func:`run`."""
        return run(task, settings, budget, rng, self.privacy)

    def fit(self, task: Task, settings: TraceSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Scale the rows, run DPVI and post-process its trace.

        The budget states epsilon and delta, or a noise multiplier.
        """
        return self.read(super().fit(task, settings, budget, rng), settings, rng)

    def read(self, run: Fit, settings: TraceSettings, rng: np.random.Generator) -> Fit:
        """The posterior of this method from a run on scaled rows of any method of ``run_of``; spends no budget."""
        changes = {}
        if isinstance(settings, NoiseAwareTraceSettings):
            told, noise = run.diagnostics, settings.noise_sd
            noise = told["clip"] * math.sqrt(told["batch"]) if noise is None else noise
            changes["priors"] = Priors(settings.optimum_sd, settings.slope_widening, noise)
        framed = run.posterior
        inner = framed.posterior.read(self.reading, **changes)
        return Fit(replace(framed, posterior=inner), run.ledger, run.diagnostics)
