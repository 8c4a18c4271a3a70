"""Settings and base class of the methods that use a DPVI run.

It imports nothing heavy, because listing the methods imports it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.requests import Together
from methods._shared.settings_checks import all_within, positive, whole, within
from methods.contract import Apart, Counterpart, Fit, Leak, LeakKind, Method
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

SQRT2 = math.sqrt(2.0)

#: leaks of every method of this engine that the ledger does not count.
LEAKS = (
    Leak(
        LeakKind.TUNED,
        "clipping norm, gradient scales, step sizes and starting values were chosen by the authors with the (simulated "
        "or private) data in view; their program prints the largest per-example gradient norms",
    ),
    Leak(
        LeakKind.PUBLIC_N,
        "the number of rows scales prior and entropy exactly and is treated as public under add/remove",
    ),
    Leak(
        LeakKind.STANDARDISATION,
        "where the model's scaling is 'moments' (Adult as published), mean and spread of the private rows scale the "
        "inputs, which is not charged",
        models=("logistic_regression_normal_prior",),
        scaling=("moments",),
    ),
)


@dataclass(frozen=True)
class DPVISettings:
    """Settings of DPVI, with the defaults of the code of Alrawajfeh, Jalko & Honkela 2025.

    Where that code differs between models, the default is that of beta-bernoulli. A tuple holds one number per
    coordinate of theta, or one for all.
    """

    steps: int = 10_000  # T, noisy gradient steps
    sampling_rate: float = 0.1  # kappa, chance of a row to be in a batch
    draws: int = 10  # K, draws of theta per step, shared by all rows
    clip: float = 2.0  # C, Euclidean norm of a row's scaled gradient in (mu, rho)
    location_scale: float = 1.0  # c_mu, factor of the gradient in mu before it is clipped
    deviation_scale: float = 120.0  # c_rho, factor of the gradient in rho before it is clipped
    #: v of mu: the privacy noise alone moves a coordinate by v / sqrt(2 D) (standard deviation) over the whole run.
    location_step: tuple[float, ...] = (SQRT2,)
    deviation_step: tuple[float, ...] = (SQRT2,)  # v of rho, likewise
    start_location: tuple[float, ...] = (0.0,)  # mu before the first step
    start_deviation: tuple[float, ...] = (-4.0,)  # rho before the first step; the deviation is softplus(rho)
    burn_in: float = 0.2  # part of the steps that the kept trace leaves out
    scaling_share: float = 0.1  # part of mu^2 for the moments, if the model's scaling is 'paid' (estimated privately)

    def __post_init__(self) -> None:
        whole("dpvi", self, "steps", "draws")
        positive("dpvi", self, "clip", "location_scale", "deviation_scale")
        per_coordinate("dpvi", self, "location_step", "deviation_step", "start_location", "start_deviation")
        shares("dpvi", self)


def per_coordinate(who: str, settings, *names: str) -> None:
    """Convert each named setting to a tuple of floats, a number to a tuple of one.

    Raises ValueError for a value out of range.
    """
    for name in names:
        value = getattr(settings, name)
        object.__setattr__(settings, name, (value,) if isinstance(value, int | float) else tuple(value))
        all_within(who, settings, "(0, inf)" if name.endswith("_step") else "(-inf, inf)", name)
        object.__setattr__(settings, name, tuple(float(v) for v in getattr(settings, name)))


def shares(who: str, settings) -> None:
    """Check sampling rate, burn-in and scaling share. Raises ValueError for one out of range."""
    within(who, settings, "(0, 1]", "sampling_rate")
    within(who, settings, "[0, 1)", "burn_in")
    within(who, settings, "(0, 1)", "scaling_share")


@dataclass(frozen=True)
class NoiseAwareSettings(DPVISettings):
    """The settings of DPVI, and the priors of the noise-aware model with published defaults."""

    optimum_sd: float = 1.0  # tau, prior standard deviation of phi* about the mean of the trace
    slope_widening: float = 1.0  # prior standard deviation of A over its standard error; .inf: flat within +-8 errors
    noise_sd: float = 1.0  # prior standard deviation of s, with s^2 the variance that the batches add to a gradient

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.priors

    @property
    def priors(self):
        from models.noise_aware import Priors

        return Priors(self.optimum_sd, self.slope_widening, self.noise_sd)


#: why there is no non-private limit. At epsilon = 1e6, on synthetic rows, the methods are 0.1 to 2.3 nats per row away
#: from the exact posterior (0.005 for the conjugate simulator with both steps at 1e-4).
GROWING = "step sizes go as one over the noise: the published rule makes them too large to settle where there is none"


class Reading(Together, Method):
    """A method that post-processes the trace of a DPVI run.

    One run serves all such methods, which use the random numbers of the method ``run_of``. So methods with one seed
    post-process the same run, whether they are fitted together (``workflow.worker``) or alone. A subclass sets
    ``reading``, the name of its post-processing (``models.noise_aware.READINGS``).
    """

    run_of: ClassVar[str] = "dpvi"
    reading: ClassVar[str]
    models = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart(apart=Apart.STEPS, reason=GROWING),)
    leaks = LEAKS

    def prepare(self, task: Task, settings: DPVISettings) -> None:
        from methods.dpvi._noise_aware.training import compile_kernels

        compile_kernels(task, settings)

    def read(self, run: Fit, settings: DPVISettings, rng: np.random.Generator) -> Fit:
        """The posterior of this method from a run of any method of ``run_of``; spends no budget.

        ``rng`` has the state at the end of the run.
        """
        changes = {"priors": settings.priors} if isinstance(settings, NoiseAwareSettings) else {}
        return Fit(run.posterior.read(self.reading, **changes), run.ledger, run.diagnostics)

    def fit(self, task: Task, settings: DPVISettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Run DPVI and post-process its trace. The budget states a noise multiplier, or epsilon and delta."""
        from methods.dpvi._noise_aware import training

        return self.read(training.fit(task, settings, budget, rng, self.privacy), settings, rng)
