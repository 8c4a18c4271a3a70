"""The authors' program behind the column "SEP clipped" of Vinaroz & Park 2023."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Method
from methods.engines.pbp import program
from methods.engines.pbp.settings import Settings
from models.task import Task
from privacy.budget import Budget


class ClippedSEPReleased(Method):
    """SEP from a clipped start, under a broad prior, with a frozen noise precision; no site is clipped."""

    name = "clipped_sep_released"
    title = "SEP clipped (released program)"
    reference = "program of vinaroz2023dpsep, repository stochastic-EP"
    models = ("bnn_regression",)
    leaks = (
        "the noise precision is frozen at the result of an earlier non-private run on the same data set",
        "inputs and target are standardised by the mean and standard deviation of the private training rows",
    )

    Settings = Settings

    def prepare(self, task: Task, settings: Settings) -> None:
        program.prepare(self.name, task, settings)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return program.fit(self.name, task, settings, budget, rng)
