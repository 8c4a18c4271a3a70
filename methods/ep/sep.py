"""Stochastic expectation propagation (Li et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Fit, Method
from methods.engines.known_noise import needs_known_noise
from models.task import Task
from privacy.budget import Budget


class SEP(Method):
    """One average site f with theta = theta_0 + N f; each row moves theta by f_n - f.

    On the network the prior is refined after each epoch.
    """

    name = "sep"
    title = "SEP"
    reference = "li2015sep, algorithm 1; network of hernandezlobato2015pbp, mixture of li2015sep"
    models = ("bnn_regression", "mixture_of_gaussians")
    constants = (Constants.PRINTED,)

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: coefficient k of theta <- theta + k (f_n - f); 1 is damping 1/N of the average site (Li et al. 2015). For the
        #: mixture Vinaroz & Park 2023 use k = 1/N.
        damping: float = 1.0

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.engines.pbp import training

        self._train(*training.tiny(task.x.shape[1] + 1), task, settings, 1, np.random.default_rng(0))

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        if task.model.kind == "mixture_of_gaussians":
            from methods.engines.mixture import training as mixture

            return mixture.sep(
                task, rng, method=self.name, epochs=settings.epochs, damping=settings.damping, ledger=budget.ledger
            )
        from methods.engines.pbp import training

        training.require(self.name, task, settings.epochs)
        x, y, scale = training.standardised(task)
        q, diagnostics = self._train(x, y, task, settings, settings.epochs, rng)
        return training.finish(q, scale, budget.ledger, diagnostics)

    def _train(self, x, y, task: Task, settings: Settings, epochs: int, rng: np.random.Generator):
        from methods.engines.pbp import natural_training, state, training

        natural_training.require_positive(self.name, damping=settings.damping)
        noise = (task.model.noise_shape, task.model.noise_rate)
        q, prior = state.initial(task.model, x.shape[1], rng)
        if settings.damping == 1.0:
            q, _, diagnostics = training.train_moments(
                x, y, q, prior, rng, method=self.name, epochs=epochs, power=1.0 / len(y), noise_prior=noise
            )
        else:
            rules = natural_training.Rules(coefficient=settings.damping)
            q, _, diagnostics = natural_training.train_naturals(
                x, y, q, prior, lambda f: f.naturals(*noise), rng, rules, method=self.name, epochs=epochs,
                refine_prior=True,
            )  # fmt: skip
        return q, diagnostics
