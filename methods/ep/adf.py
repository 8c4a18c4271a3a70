"""Probabilistic backpropagation (Hernandez-Lobato & Adams 2015): assumed-density filtering with prior refinement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from models.task import Task
from privacy.budget import Budget


class ADF(Method):
    """Probabilistic backpropagation (Hernandez-Lobato & Adams 2015): assumed-density filtering for a network.

    The approximation q is updated with one row after the other, and each epoch updates with all rows again. So the data
    are counted once per epoch.
    """

    name = "adf"
    title = "PBP (ADF)"
    reference = "hernandezlobato2015pbp, section 3"
    models = ("bnn_regression",)

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Hernandez-Lobato & Adams 2015, section 5.1: 40).
        epochs: int = 40

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.ep._pbp import training

        self._train(*training.tiny(task.x.shape[1] + 1), task, 1, np.random.default_rng(0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.ep._pbp import training

        training.require(self.name, task, settings.epochs)
        x, y, scale = training.standardised(task)
        q, diagnostics = self._train(x, y, task, settings.epochs, rng)
        return training.finish(q, scale, budget.ledger, diagnostics)

    def _train(self, x, y, task: Task, epochs: int, rng: np.random.Generator):
        from methods.ep._pbp import state, training

        q, prior = state.initial(task.model, x.shape[1], rng)
        q, _, diagnostics = training.train_moments(
            x,
            y,
            q,
            prior,
            rng,
            method=self.name,
            epochs=epochs,
            power=0.0,
            noise_prior=(task.model.noise_shape, task.model.noise_rate),
            reject_noise=False,
            variance_range=training.ADF_RANGE,
        )
        return q, diagnostics
