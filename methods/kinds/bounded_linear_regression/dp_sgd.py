"""Yardstick: a point estimate of linear regression in the box by DP-SGD."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Fit
from methods.engines.conjugate_linear import descent
from methods.engines.conjugate_linear.release import InKnownBox, point_estimate
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPSGD(InKnownBox):
    """Abadi et al. 2016, algorithm 1, on the likelihood of (w, log v): the gradients of DP-VI without a spread of w.

    Poisson batches, no prior and no weight decay; steps and noise as in ``dp_vi``. The result is a private point
    estimate, weights and residual variance, without a posterior.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    models = ("bounded_linear_regression",)
    privacy = Relation.ADD_REMOVE
    leaks: ClassVar[tuple[str, ...]] = ()
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"clip": 0.5},
        {"clip": 2.0},
        {"travel": 0.2},
        {"travel": 1.0},
        {"max_rate": 3.0},
    )

    @dataclass(frozen=True)
    class Settings(descent.Settings):
        """Those of ``conjugate_linear.descent``."""

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.conjugate_linear import kernel  # noqa: F401 - loads numba and the cached kernel

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises what ``descent.train`` raises."""
        found = descent.train(self.name, task, settings, budget, self.privacy, bayes=False)
        point = point_estimate(found.mean, math.exp(found.log_variance))
        return Fit(point, budget.ledger, found.diagnostics)
