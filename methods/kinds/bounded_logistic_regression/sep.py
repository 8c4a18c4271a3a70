"""Stochastic expectation propagation on logistic regression in the box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class SEP(InFrame):
    """One average site f in full natural parameters, theta = theta_0 + n f; a row moves theta by f_n - f.

    Against Li et al. 2015: the rows of a batch share their cavity and move theta together, because a move of one row
    costs D^2 with full covariance and no matrix product. With ``batches`` = n it is the algorithm to the letter.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1"
    models = ("bounded_logistic_regression",)
    constants = (Constants.PRINTED, Constants.GUESSED)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"epochs": 4}, {"epochs": 16}, {"coefficient": 0.5, "epochs": 16}, {"batches": 10}, {"batches": 40}
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 8  #: passes over the rows; leaves exp(-8) of the start (choice of this suite)
        coefficient: float = 1.0  #: k of theta <- theta + k (f_n - f); 1: damping 1 / n of f (Li et al. 2015)
        batches: int = 20  #: batches an epoch; a batch replaces about 1 / batches of theta (choice of this suite)

        def __post_init__(self) -> None:
            if self.epochs < 1 or self.batches < 1:
                raise ValueError(f"sep: epochs = {self.epochs}, batches = {self.batches}; give at least 1 of each")
            if not (math.isfinite(self.coefficient) and self.coefficient > 0):
                raise ValueError(f"sep: coefficient = {self.coefficient}; give a finite number above 0")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1, Diverged where q is no density."""
        from methods.engines.logistic_gaussian import posterior

        q, told = posterior.sep(
            posterior.signed(task), 1.0 / task.model.prior_sd**2, rng, name=self.name, epochs=settings.epochs,
            coefficient=settings.coefficient, batches=settings.batches,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)
