"""Gaussian variational inference on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class VI(InFrame):
    """The Gaussian with full covariance that is closest to the posterior in KL(q || p).

    Against the paper's network: the bound's expectations are one-dimensional integrals, done by quadrature, so there
    is no sampling and no step size; its optimum is found by a fixed point (Opper & Archambeau 2009).
    """

    name = "vi"
    title = "VI"
    reference = "opper2009variational, equations 12 and 13"
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        passes: int = 30  #: most passes over the rows; ends earlier at the fixed point (choice of this suite)

        def __post_init__(self) -> None:
            if self.passes < 1:
                raise ValueError(f"vi: passes = {self.passes}; give at least 1")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1, Diverged for numbers that do."""
        from methods.engines.logistic_gaussian import posterior

        q, told = posterior.variational(
            posterior.signed(task), 1.0 / task.model.prior_sd**2, name=self.name, passes=settings.passes
        )
        return Fit(q, budget.ledger, told)
