"""Mean-field variational inference for linear regression in the box, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.conjugate_linear import naturals
from methods.engines.frames import InFrame
from models.linear_posteriors import NormalTimesInverseGamma
from models.task import Task
from privacy.budget import Budget


class VI(InFrame):
    """q(w) q(v), q(w) a Gaussian with full covariance (Bishop 2006, 10.3, with an unknown noise variance).

    With A = X'X + precision I, m = A^-1 X'y and R = y'y - m'A m, the updates are

        q(w) = N(m, (E[1/v] A)^-1),
        q(v) = InvGamma(a + (n + p) / 2, b'),   b' = b + (R + p / E[1/v]) / 2.

    m does not change, and the fixed point of the two solves a linear equation: E[1/v] = (a + n / 2) / (b + R / 2), the
    value of the exact posterior. So coordinate ascent is not run: this is where it ends.
    """

    name = "vi"
    title = "VI"
    reference = "bishop2006, section 10.3"
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)

    @dataclass(frozen=True)
    class Settings:
        """No hyper-parameter."""

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        exact = naturals.moments(task.x, task.y).posterior(task.model)
        precision = exact.shape / exact.scale  # E[1/v]
        shape = exact.shape + 0.5 * len(exact.mean)
        posterior = NormalTimesInverseGamma(exact.mean, math.sqrt(precision) * exact.factor, shape, shape / precision)
        return Fit(posterior, budget.ledger, {"noise_precision": precision})
