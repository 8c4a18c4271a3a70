"""Algorithm 3 of Vinaroz & Park 2023 without its noise, literally."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from methods.contract import Fit, Method
from methods.engines.known_noise import needs_known_noise
from models.task import Task
from privacy.budget import Budget


class ClippedSEP(Method):
    """``dp_sep`` with the noise left out: the same code, no mechanism, no guarantee."""

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bnn_regression", "mixture_of_gaussians")

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: C, bound on the Euclidean norms of theta_0, theta_f and theta_fn (Vinaroz & Park 2023: 1).
        clip: float = 1.0
        #: damping value gamma of eq. (5): a step moves theta by gamma / N of a site (Vinaroz & Park 2023: 1).
        gamma: float = 1.0
        #: replaces a precision, a - 1 or b that is not positive (their program, for precisions: 1e-4).
        floor: float = 1e-4
        #: network only: where q starts, which the paper does not say: "printed" (SEP's random q) or "program" (the
        #: same means, mean naturals and precisions of each layer scaled to norm <= C).
        start: str = field(default="printed", metadata={"later": True})

        def __post_init__(self) -> None:
            if self.start not in ("printed", "program"):
                raise ValueError(f"clipped_sep: start = '{self.start}'; give one of printed, program")

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.engines.pbp import natural_training, training

        x, y = training.tiny(task.x.shape[1] + 1)
        natural_training.algorithm3(
            x, y, task.model, np.random.default_rng(0), method=self.name, epochs=1, clip=1.0, gamma=1.0,
            floor=1e-4, mechanism=None,
        )  # fmt: skip

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.algorithm3(
                task, rng, method=self.name, epochs=settings.epochs, clip=settings.clip, gamma=settings.gamma,
                floor=settings.floor, mechanism=None, ledger=budget.ledger,
            )  # fmt: skip
        from methods.engines.pbp import natural_training, training

        training.require(self.name, task, settings.epochs)
        x, y, scale = training.standardised(task)
        state, diagnostics = natural_training.algorithm3(
            x, y, task.model, rng, method=self.name, epochs=settings.epochs, clip=settings.clip,
            gamma=settings.gamma, floor=settings.floor, mechanism=None, start=settings.start,
        )  # fmt: skip
        return training.finish(state, scale, budget.ledger, diagnostics)
