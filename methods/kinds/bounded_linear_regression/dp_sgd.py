"""Yardstick: a point estimate of linear regression in the box by DP-SGD."""

from __future__ import annotations

import math

import numpy as np

from methods.contract import Fit, Role
from methods.engines.conjugate_linear import descent
from methods.engines.conjugate_linear.release import point_estimate
from models.task import Task
from privacy.budget import Budget


class DPSGD(descent.Descent):
    """Abadi et al. 2016, algorithm 1, on the likelihood of (w, log v): the gradients of DP-VI without a spread of w.

    Poisson batches, no prior and no weight decay; steps and noise as in ``dp_vi``. The result is a private point
    estimate, weights and residual variance, without a posterior.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    role = Role.YARDSTICK

    def fit_unit(self, task: Task, settings: descent.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises what ``descent.train`` raises."""
        found = descent.train(self.name, task, settings, budget, self.privacy, bayes=False)
        point = point_estimate(found.mean, math.exp(found.log_variance))
        return Fit(point, budget.ledger, found.diagnostics)
