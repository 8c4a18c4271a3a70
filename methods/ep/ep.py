"""Expectation propagation with one site per row (Minka 2001)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.known_noise import needs_known_noise
from models.task import Task
from privacy.budget import Budget


class EP(Method):
    """Damped sites of all rows are stored. On the network the prior is refined after each epoch."""

    name = "ep"
    title = "EP"
    reference = "minka2001ep; damping and network of the program of vinaroz2023dpsep"
    models = ("bnn_regression", "mixture_of_gaussians")

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: fraction of a new site that is taken, in (0, 1] (program of Vinaroz & Park 2023: 0.4; for the
        #: mixture 1/N).
        damping: float = 0.4
        #: storage of the sites: float64, float32, int8 (one scale per row, unit and natural), or auto: the most
        #: precise that needs at most 1 GiB, else int8. Choice of this suite. The mixture always stores float64.
        site_storage: str = "auto"

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.engines.pbp import training

        x, y = training.tiny(task.x.shape[1] + 1)
        self._train(x, y, task, settings, 1, self._storage(task, settings), np.random.default_rng(0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Memory: N times ``ep_kernel.Sites.bytes_per_row``; 8.4 GiB in int8 for 463,715 rows, 90 inputs, 100 units."""
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.ep(
                task, rng, method=self.name, epochs=settings.epochs, damping=settings.damping, ledger=budget.ledger
            )
        from methods.engines.pbp import training

        training.require(self.name, task, settings.epochs)
        if not 0 < settings.damping <= 1:
            raise ValueError(f"ep: damping = {settings.damping}; give a number above 0 and at most 1")
        storage = self._storage(task, settings)
        x, y, scale = training.standardised(task)
        q, diagnostics = self._train(x, y, task, settings, settings.epochs, storage, rng)
        return training.finish(q, scale, budget.ledger, diagnostics)

    def _storage(self, task: Task, settings: Settings) -> str:
        from methods.engines.pbp.natural_training import storage_for

        return storage_for(task.n, task.model.hidden, task.x.shape[1] + 1, settings.site_storage)

    def _train(self, x, y, task: Task, settings: Settings, epochs: int, storage: str, rng: np.random.Generator):
        from methods.engines.pbp import natural_training, state

        q, prior = state.initial(task.model, x.shape[1], rng)
        q, _, sites, diagnostics = natural_training.train_sites(
            x, y, q, prior, rng, method=self.name, epochs=epochs, damping=settings.damping, storage=storage
        )
        return q, {**diagnostics, "bytes_per_site": float(sites.bytes_per_row(q.hidden, q.inputs, storage))}
