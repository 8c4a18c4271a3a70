"""Reference: an ensemble of networks, each trained from its own start with Adam and early stopping.

A Bayesian method should be close to it in error and log-likelihood. Unlike published deep ensembles, a network has one
noise variance, as in the model, instead of a variance head. There is no adversarial training and no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive, whole, within
from methods.contract import Diverged, Fit, Method
from models.bnn_regression import NetworkEnsemble
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget


class DeepEnsemble(Method):
    """An ensemble of neural networks, each trained from its own start with Adam and early stopping.

    Each network has one noise variance, as in the model, and is trained without adversarial examples. The ensemble
    shows what error and log-likelihood the data allow.
    """

    name = "deep_ensemble"
    title = "Deep ensemble"
    reference = "Lakshminarayanan, Pritzel & Blundell 2017, algorithm 1 without adversarial training"
    models = ("bnn_regression",)

    @dataclass(frozen=True)
    class Settings:
        """Adam (Kingma & Ba 2015) with its default constants except the learning rate."""

        members: int = 5  # networks in the ensemble (Lakshminarayanan et al. 2017, section 3.1)
        epochs: int = 200  # largest number of passes over the rows (choice of this suite; early stopping decides)
        patience: int = 20  # passes without a new least validation error before a member stops (choice of this suite)
        batch_size: int = 32  # rows per step (choice of this suite)
        learning_rate: float = 0.003  # of Adam, scaled units (choice of this suite)
        validation: float = 0.1  # share of the training rows held out, drawn anew for each member

        def __post_init__(self) -> None:
            whole("deep_ensemble", self, "members", "epochs", "patience", "batch_size")
            positive("deep_ensemble", self, "learning_rate")
            within("deep_ensemble", self, "(0, 1)", "validation")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.baselines import _network as network

        network.compile_kernels()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Each member's noise variance is its mean squared error on its own held-out rows.

        Raises ValueError below 2 rows and :class:`Diverged` where a member leaves the finite range.
        """
        from methods.baselines import _network as network

        scale = Standardiser.from_moments(task.x, task.y)
        x, y = scale.x(task.x), scale.y(task.y)
        members, noise = [], []
        for stream in rng.spawn(settings.members):
            kept, held = network.hold_out(task.n, settings.validation, stream)
            member = network.train(
                x[kept],
                y[kept],
                task.model.hidden,
                optimiser="adam",
                epochs=settings.epochs,
                batch_size=settings.batch_size,
                learning_rate=settings.learning_rate,
                rng=stream,
                validation=(x[held], y[held]),
                patience=settings.patience,
            )
            error = network.mean_square(member, x[held], y[held])
            if not math.isfinite(error):
                raise Diverged(
                    f"{task.name}: a member of deep_ensemble left the finite range at learning_rate = "
                    f"{settings.learning_rate}; lower it"
                )
            members.append(member)
            noise.append(error)
        posterior = NetworkEnsemble(
            np.stack([m.w1 for m in members]), np.stack([m.w2 for m in members]), np.array(noise), scale
        )
        diagnostics = {
            "validation_rmse": math.sqrt(float(np.mean(noise))) * scale.y_scale,
            "mean_epochs": float(np.mean([m.epochs for m in members])),
        }
        return Fit(posterior, budget.ledger, diagnostics)
