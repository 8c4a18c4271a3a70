"""Yardstick: AdaSSP for linear regression in the box, a point estimate."""

from __future__ import annotations

import math

import numpy as np

from methods.contract import Fit, Role
from methods.dp_linear_regression import second_moments
from methods.engines.conjugate_linear import release
from methods.engines.frames import left_for
from models.task import Task
from privacy.budget import Budget

_WHAT = "second moments of the clipped rows [x, 1, y]"


class DPLinearRegression(release.OneRelease):
    """Sufficient-statistics perturbation with an adaptive ridge (AdaSSP, Wang 2018, algorithm 2), read as a point.

    Against the printed AdaSSP: its three releases are one, as in ``methods.dp_linear_regression``, and the noise's norm
    is its expected one. Against that file: rows are in the box, so that nothing is bought for documented ranges; the
    least penalty is the prior's precision; rows are clipped less where the noise allows it. The result is a private
    point estimate, weights and residual variance, without a posterior.
    """

    name = "dp_linear_regression"
    title = "DP linear regression"
    reference = "yardstick of this suite; Wang 2018, AdaSSP, algorithm 2"
    role = Role.YARDSTICK

    def fit_unit(self, task: Task, settings: release.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a budget that states neither (epsilon, delta) nor a noise multiplier."""
        n, d = task.public.n, task.x.shape[1]
        multiplier = left_for(budget, _WHAT, self.privacy)
        squared = release.squared_bound(task.public, multiplier, settings.margin, settings.noise_part)
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=squared,
            noise_multiplier=multiplier,
            relation=self.privacy,
            proof="methods.dp_linear_regression.second_moments",
        )
        rows = np.column_stack([task.x, np.ones(task.n), task.y])
        released = mechanism.release(second_moments(rows, math.sqrt(squared)))
        found = release.read(release.unpacked(released, d + 2), mechanism.noise_scale, task.model.precision)
        point = release.point_estimate(found.weights, found.residual / n)
        diagnostics = {"noise_multiplier": multiplier, "clip": math.sqrt(squared), "penalty": found.penalty}
        return Fit(point, budget.ledger, diagnostics)
