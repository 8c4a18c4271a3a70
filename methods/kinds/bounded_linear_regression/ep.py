"""Expectation propagation for linear regression in the box: exact sites, so it ends at the exact posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.conjugate_linear import naturals
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class EP(InFrame):
    """EP with one site a row (Minka 2001), damped, started at sites of 0.

    A row's likelihood is a member of the conjugate family, so the site that matches the tilted distribution is T(z)
    (``methods.engines.conjugate_linear.naturals``) whatever the cavity. A damped update of every row in each of E
    epochs then leaves (1 - (1 - damping)^E) T(z) in every site, in any order of the rows: computed by that formula
    from the sums over all rows, not row by row. With the defaults the share is 1 to 1e-8: the exact posterior.
    """

    name = "ep"
    title = "EP"
    reference = "minka2001ep; damping of the program of vinaroz2023dpsep"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED, Constants.PROGRAM)

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows (Vinaroz & Park 2023: 40)
        damping: float = 0.4  #: fraction of a new site that is taken, in (0, 1] (program of Vinaroz & Park 2023: 0.4)

        def __post_init__(self) -> None:
            naturals.require("ep", self, whole=("epochs",))
            if not (0 < self.damping <= 1):
                raise ValueError(f"ep: damping = {self.damping}; give a number above 0 and at most 1")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        share = -math.expm1(settings.epochs * math.log1p(-settings.damping)) if settings.damping < 1 else 1.0
        posterior = naturals.moments(task.x, task.y).times(share).posterior(task.model)
        return Fit(posterior, budget.ledger, {"fraction_absorbed": share})
