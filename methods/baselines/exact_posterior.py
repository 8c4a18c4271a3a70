"""Reference: the exact conjugate posterior, without privacy. Its coverage error is due to chance alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.requests import Together
from methods.contract import Constants, Fit, Method, Role
from models.task import Task
from privacy.budget import Budget


class ExactPosterior(Together, Method):
    """The exact posterior of a conjugate model, computed in closed form from all rows."""

    name = "exact_posterior"
    title = "Exact posterior"
    reference = "reference of this suite; conjugate updates (Bishop 2006, sections 2.1 to 2.3, exercise 3.12)"
    role = Role.CONTROL
    models = ("conjugate_simulator", "linear_regression_unknown_noise")

    @dataclass(frozen=True)
    class Settings:
        """There are no hyper-parameters."""

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task. Raises ValueError for a task without rows, or a row outside the support."""
        if task.n < 1:
            raise ValueError(f"{task.name}: exact_posterior needs at least 1 training row, got {task.n}")
        data = (task.x,) if task.y is None else (task.x, task.y)
        return Fit(task.model.exact_posterior(*data), budget.ledger)


# The exact conjugate posterior of linear regression on inputs scaled to [-1, 1]: a reference.
class ExactPosteriorLinear(InFrame, ExactPosterior):
    """The exact posterior of Bayesian linear regression: normal-inverse-gamma (Bishop 2006, exercise 3.12)."""

    name = "exact_posterior"
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Compute the posterior from rows scaled to [-1, 1]."""
        return Fit(task.model.exact_posterior(task.x, task.y), budget.ledger)
