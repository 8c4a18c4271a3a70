"""Yardstick: DP-SGD on the log-posterior of logistic regression in the box, a point estimate."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Role
from methods.engines.logistic_gaussian.plans import Descent, DescentSettings
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget


class DPSGD(Descent):
    """Abadi et al. 2016, algorithm 1, on minus the log-posterior; the mean of the second half of the path.

    Poisson batches under add/remove (as in the paper: the clipped sum has sensitivity C); the prior, which reads no
    row, is added after the noise. Rows around bought column means (``logistic_gaussian.centred``); steps, step size
    and clipping norm by ``logistic_gaussian.gradients.plan_of``.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    role = Role.YARDSTICK

    def fit_unit(self, task: Task, settings: DescentSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged for numbers that overflow."""
        from methods.engines.logistic_gaussian import gradients

        theta, plan = gradients.point(task, settings, budget, name=self.name, relation=self.privacy)
        return Fit(LogisticPoint(theta), budget.ledger, plan.told)
