"""Stochastic expectation propagation for linear regression in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.conjugate_linear import naturals
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class SEP(InFrame):
    """SEP (Li et al. 2015, algorithm 1) from f = 0: theta <- theta + damping (f_n - f), theta = theta_0 + N f.

    The site f_n is T(z_n) whatever the cavity (``methods.engines.conjugate_linear.naturals``), so N f is a weighted
    sum of the rows' T(z) in which late rows count more: the weights follow from the order alone and are computed at
    once. It is the posterior of rows weighted like this, not the exact one; a smaller damping evens the weights out.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1"
    models = ("bounded_linear_regression",)
    constants = (Constants.PRINTED,)
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"damping": 0.5},
        {"damping": 0.2},
        {"damping": 0.1},
        {"damping": 0.1, "epochs": 100},
        {"damping": 0.05, "epochs": 200},
    )

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 40  #: passes over the rows, a fresh order each (Vinaroz & Park 2023: 40)
        damping: float = 1.0  #: k of theta <- theta + k (f_n - f); 1 is damping 1/N of f (Li et al. 2015); at most N

        def __post_init__(self) -> None:
            naturals.require("sep", self, whole=("epochs",), positive=("damping",))

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a damping above the number of rows: weights would change their sign."""
        if settings.damping > task.n:
            raise ValueError(f"sep: damping = {settings.damping}; give at most the number of rows, {task.n}")
        rate, epochs = settings.damping / task.n, int(settings.epochs)
        weights = naturals.averaging_weights(task.n, epochs, rate, rng)
        posterior = naturals.moments(task.x, task.y, weights).posterior(task.model)
        return Fit(posterior, budget.ledger, {"fraction_absorbed": naturals.absorbed(rate, epochs * task.n)})
