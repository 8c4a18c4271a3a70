"""Negative control: the mean and the variance of the training targets, whatever the inputs.

A method that does not beat it has learned nothing from the inputs. Gives no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method, Role
from models.linear_regression import ConstantGaussian
from models.task import Task
from privacy.budget import Budget


class PredictMean(Method):
    name = "predict_mean"
    title = "Training mean"
    reference = "negative control of this suite"
    role = Role.CONTROL
    models = ("bnn_regression", "linear_regression")

    @dataclass(frozen=True)
    class Settings:
        """None: there is nothing to set."""

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError where the targets do not differ: their variance would be 0."""
        if task.n < 2 or np.ptp(task.y) == 0:
            raise ValueError(
                f"{task.name}: predict_mean needs at least 2 rows with different targets, got {task.n} row(s)"
            )
        posterior = ConstantGaussian(float(task.y.mean()), float(task.y.var(ddof=1)))
        return Fit(posterior, budget.ledger, {})
