"""Yardstick: AdaSSP for linear regression in the box, a point estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Fit
from methods.dp_linear_regression import second_moments
from methods.engines.conjugate_linear import naturals, release
from methods.engines.frames import left_for
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_WHAT = "second moments of the clipped rows [x, 1, y]"


class DPLinearRegression(release.InKnownBox):
    """Sufficient-statistics perturbation with an adaptive ridge (AdaSSP, Wang 2018, algorithm 2), read as a point.

    Against the printed AdaSSP: its three releases are one, as in ``methods.dp_linear_regression``, and the noise's norm
    is its expected one. Against that file: rows are in the box, so that nothing is bought for documented ranges; the
    least penalty is the prior's precision; rows are clipped less where the noise allows it. The result is a private
    point estimate, weights and residual variance, without a posterior.
    Constants were chosen on synthetic rows (4 to 16 columns, 500 to 40,000 rows), on no data set of the suite.
    """

    name = "dp_linear_regression"
    title = "DP linear regression"
    reference = "yardstick of this suite; Wang 2018, AdaSSP, algorithm 2"
    models = ("bounded_linear_regression",)
    privacy = Relation.ADD_REMOVE
    leaks: ClassVar[tuple[str, ...]] = ()
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"margin": 0.5},
        {"margin": 2.0},
        {"noise_part": 0.001},
        {"noise_part": 0.01},
        {"noise_part": 0.1},
    )

    @dataclass(frozen=True)
    class Settings:
        margin: float = 1.0  #: least squared norm of (x, y) at which a row is clipped, over the typical one
        noise_part: float = 0.003  #: noise (standard deviation, over n) up to which rows are not clipped more than that

        def __post_init__(self) -> None:
            naturals.require("dp_linear_regression", self, positive=("margin", "noise_part"))

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
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
