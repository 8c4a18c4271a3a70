"""The exact conjugate posterior of linear regression in the box: reference and positive control."""

from __future__ import annotations

import numpy as np

from methods import exact_posterior
from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class ExactPosterior(InFrame, exact_posterior.ExactPosterior):
    """Normal-inverse-gamma (Bishop 2006, exercise 3.12)."""

    name = "exact_posterior"
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Rows in the box."""
        return Fit(task.model.exact_posterior(task.x, task.y), budget.ledger)
