"""Stochastic expectation propagation for the network of probabilistic backpropagation (Li et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from models.task import Task
from privacy.budget import Budget


class SEP(Method):
    """One average site f with theta = theta_0 + N f; each row moves theta by f_n - f; prior refinement each epoch."""

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1; network of hernandezlobato2015pbp"
    models = ("bnn_regression",)

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.pbp import state, training

        x, y = training.tiny(task.model.hidden, task.x.shape[1] + 1)
        rng = np.random.default_rng(0)
        q, prior = state.initial(task.model, x.shape[1], rng)
        training.train_moments(x, y, q, prior, rng, method=self.name, epochs=1, power=0.5, noise_prior=(6.0, 6.0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.engines.pbp import state, training

        training.require_epochs(self.name, settings.epochs)
        x, y, scale = training.standardised(task)
        q, prior = state.initial(task.model, x.shape[1], rng)
        q, _, diagnostics = training.train_moments(
            x,
            y,
            q,
            prior,
            rng,
            method=self.name,
            epochs=settings.epochs,
            power=1.0 / len(y),
            noise_prior=(task.model.noise_shape, task.model.noise_rate),
        )
        return training.finish(q, scale, budget.ledger, diagnostics)
