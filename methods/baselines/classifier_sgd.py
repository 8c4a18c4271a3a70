"""Point estimate of the classification network, with which DP-SGD and Bayes by backprop are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import TrainingSettings
from methods.contract import Fit, Method
from models.task import Task
from privacy.budget import Budget


class ClassifierSGD(Method):
    """Maximum likelihood by stochastic gradients in single precision, without privacy.

    Every epoch has a fresh permutation of the rows.
    """

    name = "classifier_sgd"
    title = "SGD (classification)"
    reference = "blundell2015weight, table 1, row SGD"
    models = ("bnn_classification",)
    single_precision = True

    @dataclass(frozen=True)
    class Settings(TrainingSettings):
        """Numbers without a source are choices of this suite."""

        epochs: int = 60  # passes over the rows (blundell2015weight: 600)
        batch_size: int = 128  # rows per step (blundell2015weight, section 5.1)
        optimiser: str = "sgd"  # with momentum; or "adam"
        learning_rate: float = 0.01  # per step, of the mean gradient
        momentum: float = 0.9  # of "sgd": share of the last step that is kept

    def prepare(self, task: Task, settings: Settings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Raises ValueError for a task without rows or a label that is no class. Raises Diverged if the weights leave the
        finite range.
        """
        import torch

        from methods._shared.bayes_by_backprop import gradients, variational

        s, rows = settings, training.rows_of(task, private=False)
        w = variational.start(rows.widths, rng).float()
        optimiser = variational.optimiser(s, [{"params": [w]}])
        recorder = variational.Recorder(s.snapshots)
        for epoch in range(s.epochs):
            loss = 0.0
            for batch in training.partition(task.n, s.batch_size, rng):
                w.grad, mean_loss = gradients.mean_gradient(w, rows.widths, *rows.batch(batch, torch.float32))
                optimiser.step()
                loss += mean_loss * len(batch)
            training.require_finite(self.name, task.name, bool(w.isfinite().all()))
            recorder.after(epoch + 1, w)
        posterior = variational.point(w, rows, recorder)
        return Fit(posterior, budget.ledger, {"training_loss": loss / task.n})
