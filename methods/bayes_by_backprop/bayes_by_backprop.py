"""Bayes by backprop without privacy: mean-field posterior, Gaussian or scale-mixture prior (Blundell et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import VariationalSettings, prior_of
from methods.contract import Fit, Method
from models.task import Task
from privacy.budget import Budget


class BayesByBackprop(Method):
    """Bayes by backprop (Blundell et al. 2015, equation 8 with equal weights) in single precision, without privacy.

    Each step uses one posterior sample of the weights, which the whole batch shares. The KL term counts 1 / N per step.
    Every epoch has a fresh permutation of the rows.

    Blundell et al. train for 600 epochs by gradient descent. Adam is used here, so that the standard deviations of the
    weights, whose gradient is of order 1 / N, move in fewer epochs.
    """

    name = "bayes_by_backprop"
    title = "Bayes by backprop"
    reference = "blundell2015weight, section 3.2"
    models = ("bnn_classification",)
    single_precision = True

    @dataclass(frozen=True)
    class Settings(VariationalSettings):
        """Numbers without a source are choices of this suite."""

        epochs: int = 60  # passes over the rows (blundell2015weight: 600)
        batch_size: int = 128  # rows per step (blundell2015weight, section 5.1)
        optimiser: str = "adam"  # or "sgd", with momentum
        learning_rate: float = 1e-3  # per step, of the mean gradient
        momentum: float = 0.9  # of "sgd": fraction of the last step that is kept

    def prepare(self, task: Task, settings: Settings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Raises ValueError for a task without rows or a label that is no class. Raises Diverged if the parameters leave
        the finite range.
        """
        import torch

        from methods._shared.bayes_by_backprop import gradients, variational

        s, rows = settings, training.rows_of(task, private=False)
        prior = prior_of(s)
        q = variational.MeanField(variational.start(rows.widths, rng).float(), s.rho_start)
        normals = variational.Normals(len(q.mean), rng)
        groups = [{"params": [q.mean]}, {"params": [q.rho], "lr": s.learning_rate * s.rho_rate}]
        optimiser = variational.optimiser(s, groups)
        recorder = variational.Recorder(s.snapshots)
        for epoch in range(s.epochs):
            loss = 0.0
            for batch in training.partition(task.n, s.batch_size, rng):
                w = q.draw(normals)
                data, mean_loss = gradients.mean_gradient(w, rows.widths, *rows.batch(batch, torch.float32))
                q.mean.grad, q.rho.grad = q.gradients(data, s.kl_weight / task.n, prior)
                optimiser.step()
                loss += mean_loss * len(batch)
            training.require_finite(self.name, task.name, q.finite)
            recorder.after(epoch + 1, q.mean)
        posterior = q.posterior(rows, s.predictive_draws, recorder)
        diagnostics = {"training_loss": loss / task.n, "mean_sd": float(posterior.sd.mean(dtype=np.float64))}
        return Fit(posterior, budget.ledger, diagnostics)
