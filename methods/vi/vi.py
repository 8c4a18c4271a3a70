"""Mean-field variational inference for the network by the text of the DP-SEP paper's appendix D."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Constants, Diverged, Fit, Method
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget


class VI(Method):
    """Stochastic gradient descent on the negative lower bound a row: equation 123 for the data term, KL by (119),

        (1/B) sum over the batch of (gamma/2) mean_l [(m1 . z - y)^2 + v1 . z^2]  +  (beta / N) KL.

    Printed: the bound, the integrated w1, the settings of Table 6, SGD by the learning rate's name alone.
    Not printed, and decided here:
      - beta "KL-divergence regularizing parameter" multiplies the KL of the bound over all N rows, so that
        beta = 1 is the bound itself; the learning rate belongs to the mean over rows (as in the authors' script);
      - batches are drawn by a fresh permutation every epoch, the remainder left out;
      - momentum 0.2 and the start (every m and rho from N(0, 1)) are the authors' script's, the only source;
        ``start_scale`` multiplies that start's standard deviation.
    A training set smaller than one batch makes one batch.
    """

    name = "vi"
    title = "VI"
    reference = "vinaroz2023dpsep, appendix D, equations 112-123 (after graves2011practical)"
    models = ("bnn_regression",)
    constants = (Constants.PRINTED, Constants.PROGRAM)
    privacy = None
    leaks = ()

    @dataclass(frozen=True)
    class Settings:
        """Defaults: row Kin8nm of Table 6; momentum and start from the authors' script (not printed)."""

        epochs: int = 100  #: passes over the data
        batch_size: int = 100  #: rows B
        learning_rate: float = 1e-3  #: of the mean loss of a batch
        noise_precision: float = 10.0  #: gamma, in standardised units of the target
        prior_precision: float = 100.0  #: lambda
        draws: int = 20  #: L, Monte Carlo draws of the first layer
        kl_weight: float = 0.01  #: beta
        momentum: float = 0.2
        start_scale: float = 1.0  #: standard deviation of the start of every m and rho

        def __post_init__(self) -> None:
            from methods.engines.mean_field_training import check

            check(self)

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.mean_field_training import compile_kernels

        compile_kernels(np.float32)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.engines import mean_field as mf
        from methods.engines.mean_field_training import require_rows

        s = settings
        require_rows(self.name, task.name, task.n)
        layout = mf.Layout(task.x.shape[1], task.model.hidden)
        scale = Standardiser.from_moments(task.x, task.y)
        x1, y = mf.design(scale, task.x, task.y, np.float32)
        engine = mf.Gradients(layout, s.draws, np.float32)
        theta = s.start_scale * layout.standard_normal(rng)
        velocity = np.zeros(layout.size)
        size = min(s.batch_size, task.n)
        steps = 0
        for epoch in range(s.epochs):
            order = rng.permutation(task.n)
            for lo in range(0, task.n - size + 1, size):
                rows = order[lo : lo + size]
                gradient = engine.marginal(theta, x1[rows], y[rows], s.noise_precision, engine.draw0(rng))
                gradient /= size
                gradient += (s.kl_weight / task.n) * mf.kl_gradient(theta, s.prior_precision)
                velocity *= s.momentum
                velocity += gradient
                theta -= s.learning_rate * velocity
                steps += 1
            if not np.isfinite(theta).all():
                raise Diverged(f"vi: parameters not finite after epoch {epoch + 1}; lower learning_rate")
        posterior = mf.posterior(layout, theta, s.noise_precision, s.draws, scale)
        kl = mf.kl(theta, s.prior_precision)
        return Fit(posterior, budget.ledger, {"steps": float(steps), "kl_nats": kl})
