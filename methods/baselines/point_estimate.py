"""Point estimate of the network by stochastic gradient descent, the baseline of DP-SEP's appendix C, without privacy.

The printed column equals the back-propagation column of Hernandez-Lobato & Adams (2015). They chose the learning rates
by Bayesian optimisation and trained for 40 epochs. Here learning rate and weight decay come from a small stated grid,
chosen by the error on a part of each training split. No test row is used.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import all_within, whole, within
from methods.contract import Constants, Diverged, Fit, Method, Role
from models.bnn_regression import NetworkEnsemble
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget


class PointEstimate(Method):
    """A point estimate of the network's weights by stochastic gradient descent, without privacy.

    Learning rate and weight decay come from a small grid, chosen by the error on a part of each training split. The
    noise variance is estimated on that part, and the network is then trained on all training rows.
    """

    name = "point_estimate"
    title = "Point estimate (SGD)"
    reference = "vinaroz2023dpsep, appendix C, table 5; Hernandez-Lobato & Adams 2015, column BP"
    role = Role.YARDSTICK
    models = ("bnn_regression",)
    constants = (Constants.PRINTED, Constants.GUESSED)

    @dataclass(frozen=True)
    class Settings:
        """Stochastic gradient descent with momentum on the squared loss, constant learning rate."""

        epochs: int = 40  # passes over the training rows (Hernandez-Lobato & Adams 2015, section 5.1)
        batch_size: int = 10  # rows per step (choice of this suite; the source does not print it)
        momentum: float = 0.9  # fraction of the last step that is kept (choice of this suite)
        learning_rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # grid, per step (choice of this suite)
        weight_decays: tuple[float, ...] = (0.0, 1e-4, 1e-3)  # grid, times |u|^2 / 2 (choice of this suite)
        validation: float = 0.1  # share of the training rows that chooses from the grid and gives the noise variance

        def __post_init__(self) -> None:
            for key in ("learning_rates", "weight_decays"):
                object.__setattr__(self, key, tuple(float(v) for v in getattr(self, key)))
            whole("point_estimate", self, "epochs", "batch_size")
            within("point_estimate", self, "[0, 1)", "momentum")
            all_within("point_estimate", self, "(0, inf)", "learning_rates")
            all_within("point_estimate", self, "[0, inf)", "weight_decays")
            within("point_estimate", self, "(0, 1)", "validation")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.baselines import _network as network

        network.compile_kernels()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Choose on the held-out part, estimate the noise variance there, then train on all training rows.

        Every point of the grid starts from the same weights and has the rows in the same order. Raises ValueError below
        2 rows. Raises :class:`Diverged` if no point of the grid stays finite.
        """
        from methods.baselines import _network as network

        scale = Standardiser.from_moments(task.x, task.y)
        kept, held = network.hold_out(task.n, settings.validation, rng)
        x, y = scale.x(task.x), scale.y(task.y)
        seed, last = (int(s) for s in rng.integers(2**63, size=2))

        def train(rows: np.ndarray | slice, rate: float, decay: float, seed: int) -> network.Network:
            return network.train(
                x[rows],
                y[rows],
                task.model.hidden,
                optimiser="sgd",
                epochs=settings.epochs,
                batch_size=settings.batch_size,
                learning_rate=rate,
                momentum=settings.momentum,
                weight_decay=decay,
                rng=np.random.default_rng(seed),
            )

        # the smallest setting wins a tie, and is used below if the chosen one diverges on all rows
        grid = sorted(itertools.product(settings.learning_rates, settings.weight_decays))
        errors = {g: network.mean_square(train(kept, *g, seed), x[held], y[held]) for g in grid}
        ranked = sorted((g for g in grid if math.isfinite(errors[g])), key=errors.get)
        if not ranked:
            raise Diverged(
                f"{task.name}: point_estimate left the finite range for every learning rate of "
                f"{settings.learning_rates}; add smaller ones"
            )
        rejected = 0
        for chosen in ranked:
            final = train(slice(None), *chosen, last)
            if math.isfinite(network.mean_square(final, x, y)):
                break
            rejected += 1
        else:
            raise Diverged(f"{task.name}: point_estimate left the finite range on all training rows")
        posterior = NetworkEnsemble(final.w1[None], final.w2[None], np.array([errors[chosen]]), scale)
        diagnostics = {
            "learning_rate": chosen[0],
            "weight_decay": chosen[1],
            "validation_rmse": math.sqrt(errors[chosen]) * scale.y_scale,
            "diverged_in_grid": float(len(grid) - len(ranked)),
            "diverged_on_all_rows": float(rejected),
        }
        return Fit(posterior, budget.ledger, diagnostics)
