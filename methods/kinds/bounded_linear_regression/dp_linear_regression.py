"""Yardstick: AdaSSP for linear regression in the box, a point estimate."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from methods.contract import Fit, Role
from methods.engines import adassp
from methods.engines.adassp import ClipRule
from methods.engines.conjugate_linear import release
from methods.engines.frames import left_for
from models.linear_regression import with_bias
from models.task import Task
from privacy.budget import Budget


class DPLinearRegression(release.OneRelease):
    """Sufficient-statistics perturbation with an adaptive ridge (AdaSSP, Wang 2018, algorithm 2), read as a point.

    The same as ``methods.dp_linear_regression`` (``methods.engines.adassp``) but for how rows come to scale and what is
    given back: they are in the box, so that nothing is bought for documented ranges and no row exceeds a public norm;
    the result is a private point estimate, weights and residual variance, without a posterior.
    """

    name = "dp_linear_regression"
    title = "DP linear regression"
    reference = "yardstick of this suite; Wang 2018, AdaSSP, algorithm 2"
    role = Role.YARDSTICK
    leaks = (adassp.CLIP_LEAK,)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"margin": 0.5}, {"margin": 1.0}, {"noise_part": 0.001}, {"noise_part": 0.01}, {"noise_part": 0.1}
    )  # fmt: skip

    def fit_unit(self, task: Task, settings: ClipRule, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier."""
        n, multiplier = task.public.n, left_for(budget, adassp.WHAT, self.privacy)
        squared = release.squared_bound(settings, task.public, multiplier)
        moments = adassp.release(np.column_stack([with_bias(task.x), task.y]), squared, multiplier, budget)
        found = adassp.read(moments, task.model.precision)
        point = release.point_estimate(found.weights, adassp.residual_variance(found, adassp.counted(moments, n)))
        diagnostics = {"noise_multiplier": multiplier, "clip": math.sqrt(squared), "penalty": found.penalty}
        return Fit(point, budget.ledger, diagnostics)
