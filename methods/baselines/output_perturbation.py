"""Baseline: the regularised logistic fit, released with Gaussian noise (output perturbation)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.settings_checks import positive
from methods.contract import Constants, Counterpart, Fit, Leak, LeakKind, Role
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class OutputPerturbation(InFrame):
    """Regularised logistic regression released with Gaussian noise for (epsilon, delta); a point estimate.

    It differs from algorithm 1 of Chaudhuri, Monteleoni & Sarwate 2011 in five ways. Neighbours add or remove a row, so
    the minimiser moves by at most R / convexity, half of the bound for a replaced row. The noise is Gaussian. The model
    has an intercept. Rows are centred by privately estimated column means and clipped to a norm R near their typical
    one. The regularisation follows from a formula.
    """

    name = "output_perturbation"
    title = "Output perturbation"
    reference = "chaudhuri2011erm, algorithm 1, with Gaussian noise"
    role = Role.YARDSTICK
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA,)
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart("ep", 0.02, "a point where EP averages, under the same prior; .004 seen"),)
    leaks = (Leak(LeakKind.FAILING, "where the minimiser is not found the fit fails, and that it does is not counted"),)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"ridge_factor": 0.3}, {"ridge_factor": 3.0}, {"norm_factor": 0.7}, {"norm_factor": 1.4},
        {"ridge_factor": 3.0, "norm_factor": 1.4},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        ridge_factor: float = 1.0  #: times the regularisation of the formula (without unit)
        norm_factor: float = 1.0  #: clipping norm of rows, over their typical norm (without unit)

        def __post_init__(self) -> None:
            positive("output_perturbation", self, "ridge_factor", "norm_factor")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged if the minimiser is not found.
        """
        from methods.baselines import _logistic_minimiser as minimiser

        return minimiser.output_perturbation(task, settings, budget, name=self.name, relation=self.privacy)
