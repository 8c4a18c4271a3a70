"""Variational inference for a mixture of Gaussians in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Constants, Diverged, Fit
from methods.engines.framed_mixture import MeansInFrame
from models.task import Task
from privacy.budget import Budget


class VI(MeansInFrame):
    """Coordinate ascent on the mean-field bound (Bishop 2006, section 10.2), means unknown, noise and weights known.

    ``methods.vi`` is stochastic gradient descent for a network; this model is conditionally conjugate, and each update
    is exact. Deterministic: it starts at the prior.
    """

    name = "vi"
    title = "VI"
    reference = "bishop2006pattern, section 10.2, with known noise and weights"
    models = ("bounded_mixture",)
    constants = (Constants.GUESSED,)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 10}, {"iterations": 30}, {"iterations": 100}, {"tolerance": 1e-6}, {"tolerance": 0.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """Not chosen on data: enough to converge."""

        iterations: int = 300  #: largest number of rounds
        tolerance: float = 1e-9  #: stops where the bound grows by less than this part of itself

        def __post_init__(self) -> None:
            if not (self.iterations >= 1 and self.tolerance >= 0):
                raise ValueError(
                    f"vi: iterations = {self.iterations}, tolerance = {self.tolerance}; give at least 1, and at least 0"
                )

    def prepare(self, task: Task, settings: Settings) -> None:
        """Nothing to compile."""

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.engines.mixture import variational

        found, bounds = variational.coordinate_ascent(task.x, task.model, settings.iterations, settings.tolerance)
        if not np.isfinite(found.means).all():
            raise Diverged(f"{task.name}: vi left the finite range")
        return Fit(found, budget.ledger, {"rounds": float(len(bounds)), "lower_bound": bounds[-1]})
