"""Expectation propagation for a mixture of Gaussians in the box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from methods import ep
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import MeansInFrame, passes
from models.task import Task
from privacy.budget import Budget


class EP(MeansInFrame, ep.EP):
    """``methods.ep`` on rows in the box: one damped site a row for all component means, sites in float64.

    Minka (2001) visits rows until nothing moves; here the number of passes is fixed by n, and 1 - (1 - damping)^passes
    of the data are absorbed.
    """

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PROGRAM)
    name = "ep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"damping": 0.2}, {"damping": 0.7}, {"damping": 1.0}, {"epochs": 3}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods.engines.framed_mixture.passes``.
        epochs: int | None = None
        #: fraction of a new site that is taken, in (0, 1] (program of Vinaroz & Park 2023: 0.4).
        damping: float = 0.4

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        epochs = passes(task.public.n) if settings.epochs is None else settings.epochs
        return ep.EP.fit(self, task, replace(settings, epochs=epochs), budget, rng)
