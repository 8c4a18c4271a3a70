"""Trivial baseline: the mean and the variance of the training targets, whatever the inputs are.

A method that does not beat it has learned nothing from the inputs. It gives no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared.frames import InFrame
from methods.contract import Constants, Fit, Method, Rerun, Role
from models.bounded_logistic import LogisticPoint
from models.linear_regression import ConstantGaussian
from models.task import Task
from privacy.budget import Budget


class PredictMean(Method):
    """A Gaussian with the mean and the variance of the training targets, whatever the inputs.

    A method that does not beat it has learned nothing from the inputs. It gives no privacy.
    """

    name = "predict_mean"
    title = "Training mean"
    reference = "trivial baseline of this suite"
    role = Role.CONTROL
    models = ("bnn_regression", "linear_regression")
    rerun = Rerun.CLOSED_FORM

    @dataclass(frozen=True)
    class Settings:
        """There are no hyper-parameters."""

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task. Raises ValueError if the targets do not differ: their variance would be 0."""
        if task.n < 2 or np.ptp(task.y) == 0:
            raise ValueError(
                f"{task.name}: predict_mean needs at least 2 rows with different targets, got {task.n} row(s)"
            )
        posterior = ConstantGaussian(float(task.y.mean()), float(task.y.var(ddof=1)))
        return Fit(posterior, budget.ledger, {})


# Trivial baseline: mean and variance of the training targets, original units.
class PredictMeanLinear(PredictMean):
    """A Gaussian with the mean and the variance of the training targets, whatever the inputs, in original units."""

    name = "predict_mean"
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)


# Trivial baseline: the rate of class 1 among the training rows, whatever the inputs. Gives no privacy.
class PredictMeanLogistic(InFrame, PredictMean):
    """The rate of class 1 among the training rows, whatever the inputs.

    P(y = 1) = (rows of class 1 + 1/2) / (rows + 1). Jeffreys' prior keeps it away from 0 and 1.
    """

    name = "predict_mean"
    title = "Training rate of class 1"
    models = ("bounded_logistic_regression",)
    constants = (Constants.NONE,)

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1]. Raises ValueError for a task without rows or a class that is not 0 or 1."""
        from methods._shared.logistic_gaussian.posterior import signed

        ones = float((signed(task)[:, -1] > 0).sum())
        theta = np.zeros(task.x.shape[1] + 1)
        theta[-1] = math.log((ones + 0.5) / (task.n - ones + 0.5))
        return Fit(LogisticPoint(theta), budget.ledger)
