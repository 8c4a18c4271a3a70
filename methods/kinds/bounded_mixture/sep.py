"""Stochastic expectation propagation for a mixture of Gaussians in the box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from methods import sep
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import MeansInFrame, passes
from models.task import Task
from privacy.budget import Budget


class SEP(MeansInFrame, sep.SEP):
    """``methods.sep`` on rows in the box: one average site for all component means (Li et al. 2015, algorithm 1)."""

    models = ("bounded_mixture",)
    constants = (Constants.FORMULA, Constants.PRINTED)
    name = "sep"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"damping": 0.1}, {"damping": 0.3}, {"damping": 0.6}, {"epochs": 3}, {"epochs": 10},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows; None: by ``methods.engines.framed_mixture.passes``.
        epochs: int | None = None
        #: coefficient k of theta <- theta + k (f_n - f); 1 is damping 1/N of the average site (Li et al. 2015).
        damping: float = 1.0

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        epochs = passes(task.public.n) if settings.epochs is None else settings.epochs
        return sep.SEP.fit(self, task, replace(settings, epochs=epochs), budget, rng)
