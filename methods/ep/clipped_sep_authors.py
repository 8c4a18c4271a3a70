"""The authors' code for the column "SEP clipped" of Vinaroz & Park 2023."""

from __future__ import annotations

import numpy as np

from methods._shared.known_noise import needs_known_noise
from methods.contract import Fit, Method
from methods.ep._dpsep_program import FROZEN_NOISE, STANDARDISED, Settings
from models.task import Task
from privacy.budget import Budget


class ClippedSEPAuthors(Method):
    """SEP as the authors' code runs it for the column "SEP clipped" of Vinaroz & Park 2023: no site is clipped.

    It starts from clipped parameters, under a broad prior, with a frozen noise precision.
    """

    name = "clipped_sep_authors"
    title = "SEP clipped (authors' code)"
    seed_name = "clipped_sep_released"
    reference = "authors' code of vinaroz2023dpsep, repository stochastic-EP"
    models = ("bnn_regression", "mixture_of_gaussians")
    leaks = (FROZEN_NOISE, STANDARDISED)

    Settings = Settings

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.ep._pbp import program

        program.prepare(self.name, task, settings)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.released(task, method=self.name, settings=settings, budget=budget, noise=False)
        from methods.ep._pbp import program

        return program.fit(self.name, task, settings, budget, rng)
