"""Yardstick of DP Bayes by backprop: DP-SGD on the same network, a point estimate."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Method, Role
from methods.engines.bayes_by_backprop import training
from methods.engines.bayes_by_backprop.settings import LEAKS, PrivateSettings
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPSGD(Method):
    """Abadi et al. 2016, algorithm 1: w <- w - rate (sum of clipped gradients + noise) / L, L = q n fixed and public.

    Poisson batches; an empty one releases noise alone. The noise multiplier is the smallest that keeps the budget's
    (epsilon, delta), or the budget's own where it states no epsilon. No weight decay.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    role = Role.YARDSTICK
    models = ("bnn_classification",)
    privacy = Relation.ADD_REMOVE
    leaks = LEAKS

    Settings = PrivateSettings

    def prepare(self, task: Task, settings: PrivateSettings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: PrivateSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged where the weights leave the finite range."""
        from methods.engines.bayes_by_backprop import variational

        s, sums = settings, training.PoissonSums(self, task, settings, budget)
        plan = sums.plan
        w = variational.start(sums.rows.widths, rng)
        recorder = variational.Recorder(s.snapshots, plan.steps / s.epochs)
        for step in range(plan.steps):
            w.sub_(sums.release(w, step), alpha=s.learning_rate / plan.expected)
            recorder.after(step + 1, w)
        training.require_finite(self.name, task.name, bool(w.isfinite().all()))
        posterior = variational.point(w, sums.rows, recorder)
        diagnostics = {"steps": float(plan.steps), "noise_multiplier": sums.noise_multiplier}
        return Fit(posterior, budget.ledger, diagnostics)
