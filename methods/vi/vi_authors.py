"""Mean-field variational inference as in the authors' code for the "VI" column of the DP-SEP paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive, whole, within
from methods.contract import Diverged, Fit, Method
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget


class VIAuthors(Method):
    """The authors' script for VI: stochastic gradient descent with momentum. Its objective is

        mean over the batch and all L x L pairs of draws of 0.5 gamma (y - f)^2,  plus  (beta / B) KL'.

    It departs from the lower bound of appendix D in two ways. First, KL' has its logarithm halved, because it takes
    logarithms of standard deviations in place of variances. Second, KL' is divided by the batch size B, while the bound
    has the number of rows N. So it weighs N / B times as much.

    Both layers are drawn, so w1 is not integrated as in equation 123. Batches are consecutive slices of the training
    rows in the same order every epoch, and the remainder is never read. A training set smaller than one batch makes one
    batch. Every m and rho starts from a standard normal.
    """

    name = "vi_authors"
    title = "VI (authors' code)"
    seed_name = "vi_released"
    reference = "vinaroz2023dpsep, appendix D, as released"
    models = ("bnn_regression",)
    privacy = None
    leaks = ()

    @dataclass(frozen=True)
    class Settings:
        """Defaults: row Kin8nm of Table 6; momentum from the authors' script (not printed)."""

        epochs: int = 100  #: passes over the data
        batch_size: int = 100  #: rows B
        learning_rate: float = 1e-3  #: of the mean loss of a batch
        noise_precision: float = 10.0  #: gamma, in standardised units of the target
        prior_precision: float = 100.0  #: lambda
        draws: int = 20  #: L, Monte Carlo draws of each layer
        kl_weight: float = 0.01  #: beta
        momentum: float = 0.2  #: fraction of the last step that is kept

        def __post_init__(self) -> None:
            whole("vi_authors", self, "epochs", least=0)
            whole("vi_authors", self, "batch_size", "draws")
            positive("vi_authors", self, "learning_rate", "noise_precision", "prior_precision")
            within("vi_authors", self, "[0, inf)", "kl_weight")
            within("vi_authors", self, "[0, 1)", "momentum")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.vi._mean_field_training import compile_kernels

        compile_kernels(np.float32, "pair")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.vi import _mean_field as mf
        from methods.vi._mean_field_training import require_rows

        s = settings
        require_rows(self.name, task.name, task.n)
        layout = mf.Layout(task.x.shape[1], task.model.hidden)
        scale = Standardiser.from_moments(task.x, task.y)
        x1, y = mf.design(scale, task.x, task.y, np.float32)
        engine = mf.Gradients(layout, s.draws, np.float32)
        theta = layout.standard_normal(rng)
        velocity = np.zeros(layout.size)
        size = min(s.batch_size, task.n)
        steps = 0
        for epoch in range(s.epochs):
            for lo in range(0, task.n - size + 1, size):
                rows = slice(lo, lo + size)
                gradient = engine.pair(
                    theta, x1[rows], y[rows], s.noise_precision, engine.draw0(rng), engine.draw1(rng)
                )
                gradient += s.kl_weight * mf.kl_gradient(theta, s.prior_precision, halved_log=True)
                gradient /= size
                velocity *= s.momentum
                velocity += gradient
                theta -= s.learning_rate * velocity
                steps += 1
            if not np.isfinite(theta).all():
                raise Diverged(f"vi_authors: parameters not finite after epoch {epoch + 1}; lower learning_rate")
        posterior = mf.posterior(layout, theta, s.noise_precision, s.draws, scale)
        kl = mf.kl(theta, s.prior_precision)
        return Fit(posterior, budget.ledger, {"steps": float(steps), "kl_nats": kl})
