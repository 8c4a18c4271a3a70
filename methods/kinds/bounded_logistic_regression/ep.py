"""Expectation propagation on logistic regression in the box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class EP(InFrame):
    """One Gaussian site a row along its margin, full covariance; all sites of a pass from one q (parallel EP).

    Against Minka 2001: parallel, not one row after another, so that a pass is matrix products; same fixed points. The
    tilted moments are one-dimensional integrals of a logistic by a normal (``logistic_gaussian.kernel``). A pass takes
    0.3 s at 44,000 rows and 101 parameters; it takes about six.
    """

    name = "ep"
    title = "EP"
    reference = "minka2001ep, parallel, damped"
    models = ("bounded_logistic_regression",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        passes: int = 30  #: most passes over the rows; ends earlier at the fixed point (choice of this suite)
        damping: float = 1.0  #: fraction of a new site that is taken, in (0, 1] (choice of this suite)

        def __post_init__(self) -> None:
            if self.passes < 1 or not 0 < self.damping <= 1:
                raise ValueError(
                    f"ep: passes = {self.passes}, damping = {self.damping}; give at least 1, and a number in (0, 1]"
                )

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1, Diverged where q is no density."""
        from methods.engines.logistic_gaussian import posterior

        q, told = posterior.ep(
            posterior.signed(task), 1.0 / task.model.prior_sd**2, name=self.name, passes=settings.passes,
            damping=settings.damping,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)
