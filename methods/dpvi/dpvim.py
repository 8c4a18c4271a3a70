"""DPVIm: DPVI with aligned gradients and averaged iterates (Jalko, Prediger, Honkela & Kaski 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared.requests import Together
from methods._shared.settings_checks import one_of, positive, whole
from methods.contract import Apart, Counterpart, Fit, Method
from methods.dpvi._noise_aware.settings import GROWING, LEAKS, SQRT2, per_coordinate, shares
from methods.dpvi._scaled_rows import OnScaledRows, StepSettings, clip_of, guess
from models.task import Task
from models.unconstrained import inverse_softplus
from privacy.budget import Budget
from privacy.ledger import Relation


class DPVIM(Together, Method):
    """DPVIm: the gradient of the deviations is computed from the released gradient of the means, at no cost in privacy.

    The settings of DPVIm in NA-DPVI's experiments are not public, so that published row cannot be rerun. The settings
    here follow NA-DPVI's convention (Poisson batches, sums, plain descent), or use Adam as in the original code. With
    ``trace_variance``, the noise-aware step, the variance of the kept means is added.
    """

    name = "dpvim"
    title = "DPVIm"
    reference = "jalko2023dpvim; alrawajfeh2024nadpvi_rebuttal, Tables 1 and 3"
    models = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart(apart=Apart.STEPS, reason=GROWING),)
    leaks = LEAKS

    @dataclass(frozen=True)
    class Settings:
        """The settings of DPVIm. Defaults are choices of this suite for beta-bernoulli, as no source states them."""

        steps: int = 10_000  # T, noisy gradient steps (NA-DPVI)
        sampling_rate: float = 0.1  # kappa (NA-DPVI)
        clip: float = 2.0  # C, Euclidean norm of a row's gradient in mu
        #: v: the privacy noise alone moves a coordinate of mu by v / sqrt(2 D) over the run (NA-DPVI's rule); sgd only
        location_step: tuple[float, ...] = (SQRT2,)
        deviation_ratio: float = 1.0  # learning rate of rho over that of mu; sgd only
        optimiser: str = "sgd"  # "sgd" (NA-DPVI's convention) or "adam" (authors' code)
        adam_rate: float = 1e-3  # learning rate of adam (authors' code)
        start_location: tuple[float, ...] = (0.0,)  # mu before the first step
        start_deviation: tuple[float, ...] = (-4.0,)  # rho before the first step; the deviation is softplus(rho)
        average_from: str = "fraction"  # "fraction": leave out burn_in of the run; "slope": rule of the authors' code
        burn_in: float = 0.2  # part of the steps that the average leaves out
        trace_variance: bool = True  # add the variance of the kept iterates of mu
        scaling_share: float = 0.1  # part of mu^2 for the moments, if scaling is 'paid' (estimated privately)

        def __post_init__(self) -> None:
            whole("dpvim", self, "steps")
            positive("dpvim", self, "clip", "adam_rate", "deviation_ratio")
            per_coordinate("dpvim", self, "location_step", "start_location", "start_deviation")
            shares("dpvim", self)
            one_of("dpvim", self, "optimiser", ("sgd", "adam"))
            one_of("dpvim", self, "average_from", ("fraction", "slope"))

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.dpvi._noise_aware.aligned import fit
        from methods.dpvi._noise_aware.training import compile_kernels

        compile_kernels(task, settings, lambda *a: fit(*a, self.privacy))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit DPVIm. The budget states a noise multiplier, or epsilon and delta."""
        from methods.dpvi._noise_aware import aligned

        return aligned.fit(task, settings, budget, rng, self.privacy)


class AlignedOnScaledRows(OnScaledRows):
    """DPVIm on scaled rows: aligned gradients, Adam as in the authors' code, and averaged iterates.

    Adam is used because it needs no curvature. When noise is most of a gradient, its steps of v / sqrt(2 D T) are those
    of the rule for DPVI. When there is little noise, it takes the unit of each coordinate from the gradients. The clip
    is that of DPVI.
    """

    def descend(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit the scaled rows by ``methods.dpvi._noise_aware.aligned.fit``."""
        from methods.dpvi._noise_aware import aligned

        s, n, inputs = settings, task.public.n, task.x.shape[1]
        q = guess(task.model, n, inputs)
        told = DPVIM.Settings(
            steps=s.steps,
            sampling_rate=s.rate(n),
            clip=clip_of(s, task.model, n, inputs, budget.noise_multiplier),
            optimiser="adam",
            adam_rate=s.location_step / math.sqrt(2 * len(q.mean) * s.steps),
            start_location=tuple(q.mean),
            start_deviation=tuple(inverse_softplus(q.sd)),
            burn_in=s.burn_in,
            trace_variance=s.trace_variance,
        )
        return aligned.fit(task, told, budget, rng, self.privacy)


# DPVIm for linear regression on inputs scaled to [-1, 1].
class DPVIMLinear(AlignedOnScaledRows):
    """DPVIm on columns scaled to [-1, 1], with Adam as in the authors' code, at averaged iterates.

    The clip is that of DPVI. Adam needs no curvature. When noise is most of a gradient, its steps are those of the rule
    for DPVI. When there is little noise, it takes the unit of each coordinate from the gradients.
    """

    name = "dpvim"
    title = DPVIM.title
    reference = DPVIM.reference
    models = ("bounded_linear_regression",)

    @dataclass(frozen=True)
    class Settings(StepSettings):
        """The settings of :class:`StepSettings`."""

        trace_variance: bool = True  # add the variance of the kept iterates of mu


# DPVIm for logistic regression on inputs scaled to [-1, 1].
class DPVIMLogistic(AlignedOnScaledRows):
    """DPVIm on columns scaled to [-1, 1], with Adam as in the authors' code, at averaged iterates.

    The clip is that of DPVI. Adam needs no curvature. When noise is most of a gradient, its steps are those of the rule
    for DPVI. When there is little noise, it takes the unit of each coordinate from the gradients.
    """

    name = "dpvim"
    title = DPVIM.title
    reference = DPVIM.reference
    models = ("bounded_logistic_regression",)

    @dataclass(frozen=True)
    class Settings(StepSettings):
        """The settings of :class:`StepSettings`."""

        steps: int = 2000  # T, noisy gradient steps
        trace_variance: bool = True  # add the variance of the kept iterates of mu
