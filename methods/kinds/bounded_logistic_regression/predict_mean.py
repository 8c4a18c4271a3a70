"""Negative control: the rate of class 1 among the training rows, whatever the inputs. Gives no privacy."""

from __future__ import annotations

import math

import numpy as np

from methods import predict_mean
from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget


class PredictMean(InFrame, predict_mean.PredictMean):
    """P(y = 1) = (rows of class 1 + 1/2) / (rows + 1): Jeffreys' prior keeps it off 0 and 1."""

    name = "predict_mean"
    title = "Training rate of class 1"
    models = ("bounded_logistic_regression",)
    constants = (Constants.NONE,)

    def fit_unit(self, task: Task, settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1."""
        from methods.engines.logistic_gaussian.posterior import signed

        ones = float((signed(task)[:, -1] > 0).sum())
        theta = np.zeros(task.x.shape[1] + 1)
        theta[-1] = math.log((ones + 0.5) / (task.n - ones + 0.5))
        return Fit(LogisticPoint(theta), budget.ledger)
