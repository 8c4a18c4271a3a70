"""The authors' code for the column "DP-SEP" of Vinaroz & Park 2023."""

from __future__ import annotations

import numpy as np

from methods._shared.known_noise import needs_known_noise
from methods.contract import Fit, Leak, LeakKind, Method, Rerun
from methods.ep._dpsep_program import FROZEN_NOISE, STANDARDISED, Settings
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling


class DPSEPAuthors(Method):
    """The authors' code for the column "DP-SEP" of Vinaroz & Park 2023: its noise is drawn and not used.

    It is ``clipped_sep_authors`` with other permutations. The code draws normals, two per weight and step, and discards
    them. They are skipped in the random stream after each epoch, so the next permutation differs. That is the only
    difference between the two columns.
    """

    name = "dp_sep_authors"
    title = "DP-SEP (authors' code)"
    seed_name = "dp_sep_released"
    reference = "authors' code of vinaroz2023dpsep, repository stochastic-EP"
    models = ("bnn_regression", "mixture_of_gaussians")
    rerun = Rerun.CHAOTIC  # its noise makes precisions jump between their floor and large values
    leaks = (
        Leak(
            LeakKind.NO_NOISE,
            "on the network clipped sites and noised parameters go into variables that are never used: q leaves "
            "without noise",
            models=("bnn_regression",),
        ),
        Leak(
            LeakKind.FAILING,
            "on the mixture an update that would leave a precision not positive definite is skipped without noise",
            models=("mixture_of_gaussians",),
        ),
        Leak(
            LeakKind.BATCHES,
            "on the mixture rows are read in the order of the file while the accountant assumes random ones",
            models=("mixture_of_gaussians",),
        ),
        FROZEN_NOISE,
        STANDARDISED,
    )

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

            return mixture.released(task, method=self.name, settings=settings, budget=budget, noise=True)
        if settings.add_noise == "none":
            budget.no_noise(
                "natural parameters of q after each step: neither clipped nor noised",
                relation=Relation.REPLACE_ONE,
                steps=settings.epochs,
                sampling=Sampling.SHUFFLED_EPOCHS,
            )
        hidden, inputs = task.model.hidden, task.x.shape[1] + 1
        draws = 2 * (hidden * inputs + hidden + 1) * task.n

        def skip() -> None:
            if hasattr(rng.bit_generator, "advance"):
                rng.bit_generator.advance(draws)
            else:
                rng.standard_normal()

        from methods.ep._pbp import program

        return program.fit(self.name, task, settings, budget, rng, skip)
