"""Baseline: differentially private linear regression by AdaSSP. A private network should beat it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared import adassp
from methods._shared.adassp import ClipRule
from methods._shared.conjugate_linear import release
from methods._shared.frames import left_for
from methods._shared.settings_checks import within
from methods.contract import Constants, Counterpart, Fit, Leak, LeakKind, Method, Rerun, Role
from models.bounded import DEVIATIONS
from models.linear_regression import LinearGaussian
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

#: prior precision of a weight, standardised units: the least ridge penalty.
PRIOR_PRECISION = 1.0


class AdaSSP(Method):
    """AdaSSP of Wang 2018 (algorithm 2): ridge regression from one noisy release of the second moments.

    The penalty adapts to the noise. Rows are standardised under the same budget, and rows longer than three standard
    deviations in every column are clipped. The posterior is Gaussian. Its covariance is the Bayesian one plus the
    first-order effect of the noise on the solution, A^-1 (noise^2 / 2) (1 + |w|^2) A^-1.
    """

    name = "adassp"
    title = "AdaSSP"
    seed_name = "dp_linear_regression"
    reference = "baseline of this suite; Wang 2018, AdaSSP, algorithm 2"
    role = Role.YARDSTICK
    models = ("bnn_regression", "linear_regression")
    rerun = Rerun.CLOSED_FORM
    constants = (Constants.GUESSED,)
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart("ridge", 0.05, "both regularise, by different formulas; .02 seen"),)
    reads_ranges = True
    leaks = (
        adassp.CLIP_LEAK,
        Leak(
            LeakKind.TUNED,
            "on wine only: one guard of the standardisation (range of an input hidden by noise) was added after "
            "looking at a score of split 0",
            datasets=("wine",),
        ),
    )

    @dataclass(frozen=True)
    class Settings(ClipRule):
        scaling_share: float = 0.2  #: part of the budget (of mu^2, Gaussian DP) for standardisation

        def __post_init__(self) -> None:
            super().__post_init__()
            within("adassp", self, "(0, 1)", "scaling_share")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task. The budget is (epsilon, delta), or the noise multiplier of the release of the second moments.

        Raises ValueError for a task without rows or a budget that states neither.
        """
        from privacy.scaling import private_scaling

        if task.n < 1 or task.public.n < 1:
            raise ValueError(f"{task.name}: adassp needs at least 1 training row, got {task.n}")
        for_scaling = scaling_multiplier(budget, settings.scaling_share)
        scale = Standardiser(*private_scaling(task.x, task.y, task.public, budget, for_scaling))
        multiplier, columns = left_for(budget, adassp.WHAT, self.privacy), task.x.shape[1] + 1
        most = 1.0 + DEVIATIONS**2 * columns
        squared = settings.squared_bound([1.0] * columns, most, task.public.n, multiplier)
        rows = np.column_stack([scale.x(task.x), np.ones(task.n), scale.y(task.y)])
        moments = adassp.release(rows, squared, multiplier, budget)
        found = adassp.read(moments, PRIOR_PRECISION)
        variance = adassp.residual_variance(found, adassp.counted(moments, task.public.n))
        told = {"penalty": found.penalty, "scaling_noise_multiplier": for_scaling, "clip": math.sqrt(squared)}
        return Fit(gaussian(found, moments.noise, variance, scale), budget.ledger, told)


def scaling_multiplier(budget: Budget, share: float) -> float:
    """Noise multiplier of the scaling: ``share`` of mu^2 of (epsilon, delta), or of that of both releases together.

    Raises ValueError for a budget that states neither.
    """
    from privacy.scaling import scaling_noise_multiplier

    if budget.epsilon is not None and budget.delta is not None:
        return scaling_noise_multiplier(budget.epsilon, budget.delta, share)
    if budget.noise_multiplier is None or not budget.noise_multiplier > 0:
        raise ValueError("adassp: the budget states no (epsilon, delta) and no noise_multiplier above 0")
    return budget.noise_multiplier * math.sqrt((1.0 - share) / share)


def gaussian(found: adassp.Reading, noise: float, variance: float, scale: Standardiser) -> LinearGaussian:
    """Posterior of the weights; ``noise``: standard deviation of the moments' diagonal, ``variance``: of the target."""
    inverse = np.linalg.inv(found.matrix)
    covariance = variance * inverse + 0.5 * noise**2 * found.reach * inverse @ inverse
    return LinearGaussian(found.weights, 0.5 * (covariance + covariance.T), variance, scale)


# Baseline: AdaSSP for linear regression on inputs scaled to [-1, 1], a point estimate.
class AdaSSPLinear(release.OneRelease):
    """AdaSSP of Wang 2018 (algorithm 2) on inputs and target scaled to [-1, 1], as a point estimate.

    Columns with documented ranges are not charged, and no row exceeds a public norm. The result is a private point
    estimate of weights and residual variance, without a posterior.
    """

    name = "adassp"
    title = "AdaSSP"
    seed_name = "dp_linear_regression"
    reference = "baseline of this suite; Wang 2018, AdaSSP, algorithm 2"
    counterparts = (Counterpart("ridge", 0.05, "both regularise, by different formulas; .01 seen"),)
    role = Role.YARDSTICK
    leaks = (adassp.CLIP_LEAK,)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"margin": 0.5}, {"margin": 1.0}, {"noise_part": 0.001}, {"noise_part": 0.01}, {"noise_part": 0.1}
    )  # fmt: skip

    def fit_unit(self, task: Task, settings: ClipRule, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier.
        """
        n, multiplier = task.public.n, left_for(budget, adassp.WHAT, self.privacy)
        squared = release.squared_bound(settings, task.public, multiplier)
        moments = adassp.release(np.column_stack([task.x, np.ones(task.n), task.y]), squared, multiplier, budget)
        found = adassp.read(moments, task.model.precision)
        point = release.point_estimate(found.weights, adassp.residual_variance(found, adassp.counted(moments, n)))
        diagnostics = {"noise_multiplier": multiplier, "clip": math.sqrt(squared), "penalty": found.penalty}
        return Fit(point, budget.ledger, diagnostics)
