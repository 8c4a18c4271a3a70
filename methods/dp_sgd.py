"""Yardstick of DP Bayes by backprop: DP-SGD on the same network, a point estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.bayes_by_backprop import training
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_PROOF = "methods.engines.bayes_by_backprop.gradients.clipped_sum"


class DPSGD(Method):
    """Abadi et al. 2016, algorithm 1: w <- w - rate (sum of clipped gradients + noise) / L, L = q n fixed and public.

    Poisson batches; an empty one releases noise alone. The noise multiplier is the smallest that keeps the budget's
    (epsilon, delta), or the budget's own where it states no epsilon. No weight decay.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    models = ("bnn_classification",)
    privacy = Relation.ADD_REMOVE

    @dataclass(frozen=True)
    class Settings:
        """Clip, rate and batch of Opacus' MNIST example (the row of 1.19 and of 7.10)."""

        epochs: int = 30  # passes over the rows, in expectation
        batch_size: int = 256  # L, expected rows a step
        clip: float = 1.5  # C, L2 norm of a row's gradient over all layers
        learning_rate: float = 0.25  # per step, of the mean gradient

        def __post_init__(self) -> None:
            training.check(self)

    def prepare(self, task: Task, settings: Settings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged where the weights leave the finite range."""
        from methods.engines.bayes_by_backprop import gradients, variational

        s, rows = settings, training.rows_of(task, private=True)
        plan = training.poisson_plan(task.public.n, s.batch_size, s.epochs)
        sigma = training.poisson_noise_multiplier(self.name, budget, plan)
        noise = budget.gaussian(
            "sum of clipped per-row gradients",
            sensitivity=s.clip,
            noise_multiplier=sigma,
            relation=self.privacy,
            sampling=plan.sampling,
            sampling_rate=plan.rate,
            steps=plan.steps,
            proof=_PROOF,
        )
        batches = budget.poisson(task.n, plan.rate)
        w = variational.start(rows.widths, rng)
        for step in range(plan.steps):
            total = gradients.clipped_sum(w, rows.widths, *rows.batch(batches.draw(step)), s.clip)
            w.sub_(training.noisy(total, noise), alpha=s.learning_rate / plan.expected)
        training.require_finite(self.name, task.name, bool(w.isfinite().all()))
        posterior = variational.point(w, rows.widths, rows.input_scale)
        return Fit(posterior, budget.ledger, {"steps": float(plan.steps), "noise_multiplier": sigma})
