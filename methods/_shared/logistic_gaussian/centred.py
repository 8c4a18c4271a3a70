"""Rows centred at privately estimated column means, to which a private method applies its clipping norm.

Most columns of a table with nominal attributes are dummies, which scaling maps to -1 and 1. So a row [x, 1] has norm
sqrt(D), and nearly all rows point the same way. One direction dominates their sum, and a clipping norm must let it
through. After centring a row is several times shorter. The means, and the standard deviations for the typical length,
are one Gaussian release at the share ``SHARE`` of the budget. The rest is a linear map of theta:

    margin = w . x + b = w . (x - centre) + b',    b' = b + w . centre.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared.logistic_gaussian.posterior import signed
from models.task import Task
from privacy.budget import Budget
from privacy.scaling import private_moments, scaling_noise_multiplier

#: share of the budget (of mu^2, Gaussian DP) for the centre. For more than a few hundred rows at epsilon = 1 its noise,
#: sqrt(5 D / 4) / (n mu) per column, is then small compared with the range [-1, 1] (choice of this suite).
SHARE = 0.05


@dataclass(frozen=True)
class Centre:
    """Released moments ``mean`` and ``sd`` (d,) of the columns, in scaled units."""

    mean: np.ndarray
    sd: np.ndarray

    @property
    def length(self) -> float:
        """Typical norm of a centred row [x - mean, 1]: sqrt(1 + sum of sd^2)."""
        return math.sqrt(1.0 + float(np.square(self.sd).sum()))

    @property
    def map(self) -> np.ndarray:
        """(D, D): theta = map theta' converts the parameters of centred rows to those of rows scaled to [-1, 1]."""
        out = np.eye(len(self.mean) + 1)
        out[-1, :-1] = -self.mean
        return out

    def rows(self, task: Task) -> np.ndarray:
        """Signed centred rows (2 y - 1) [x - mean, 1], (n, D); see ``posterior.signed`` (not strict)."""
        z = signed(task, strict=False)
        for j, mean in enumerate(self.mean):  # by column, to avoid a further copy of many rows
            z[:, j] -= z[:, -1] * mean
        return z

    def prior(self, precision: float) -> np.ndarray:
        """Precision (D, D) of theta' if theta ~ N(0, I / precision)."""
        return precision * self.map.T @ self.map


def private_centre(task: Task, budget: Budget) -> Centre:
    """The privately estimated centre, by one full-batch Gaussian release under add/remove.

    The release and its sensitivity are those of ``privacy.scaling.private_moments``. The budget is (epsilon, delta), of
    which the share ``SHARE`` of mu^2 is spent, or a noise multiplier, which is that of the whole. Raises ValueError for
    a budget that states neither, or a public number of rows below 1.
    """
    if task.public.n < 1:
        raise ValueError(f"{task.name}: logistic regression needs a public number of rows of at least 1")
    if budget.epsilon is not None and budget.delta is not None:
        multiplier = scaling_noise_multiplier(budget.epsilon, budget.delta, SHARE)
    elif budget.noise_multiplier is not None and budget.noise_multiplier > 0:
        multiplier = budget.noise_multiplier / math.sqrt(SHARE)
    else:
        raise ValueError("the budget states no (epsilon, delta) and no noise_multiplier above 0; give one of them")
    one = np.ones(task.x.shape[1])
    return Centre(*private_moments(task.x, -one, one, task.public.n, budget, multiplier))
