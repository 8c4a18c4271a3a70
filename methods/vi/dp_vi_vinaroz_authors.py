"""DP-VI as the authors' code for DP-SEP runs it: with noise, but without clipping and so without a guarantee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive, whole, within
from methods.contract import Diverged, Fit, Leak, LeakKind, Method
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling


class VinarozDPVIAuthors(Method):
    """The authors' script for DP-VI: plain SGD on noisy sums of per-row gradients that are not clipped.

    A step adds noise of standard deviation C sigma to the sum over the batch, and divides by B. A row's loss is that of
    ``vi_authors`` and contains the whole (beta / B) KL'. The code passes each row's gradient to a clipping function.
    That function looks for a ``.grad`` which the copied tensor does not have, and so changes nothing. C only scales the
    noise. A sum of unclipped gradients has no finite sensitivity. So the ledger has a release without effective noise,
    however much noise is added. Per-row gradients are not needed to run it, because their sum is the gradient of the
    sum.

    Batches are consecutive slices in the same order every epoch, as in ``vi_authors``. sigma is the budget's
    ``noise_multiplier``: the noise's standard deviation over C, as in Table 7.
    """

    name = "dp_vi_vinaroz_authors"
    title = "DP-VI (Vinaroz & Park, authors' code)"
    seed_name = "dp_vi_released"
    reference = "vinaroz2023dpsep, appendix D and Table 7, as released"
    models = ("bnn_regression",)
    privacy = None
    leaks = (
        Leak(
            LeakKind.NO_NOISE,
            "clipping has no effect in the authors' code: one row can move the released gradient without bound",
        ),
        Leak(LeakKind.STANDARDISATION, "inputs and target are standardised by the private mean and standard deviation"),
        Leak(
            LeakKind.BATCHES,
            "batches are consecutive rows in a fixed order; the authors' accountant assumes fresh random batches",
        ),
        Leak(
            LeakKind.ACCOUNTING,
            "the authors' accountant composes over epochs, and the code makes floor(N / B) releases per epoch",
        ),
        Leak(LeakKind.TUNED, "the hyper-parameters of Table 7 were chosen on the private data at no cost"),
    )

    @dataclass(frozen=True)
    class Settings:
        """Defaults: row Kin8nm of Table 7. sigma comes with the budget."""

        epochs: int = 100  #: passes over the data
        batch_size: int = 100  #: rows B
        learning_rate: float = 1e-3  #: of the mean loss of a batch
        noise_precision: float = 10.0  #: gamma, in standardised units of the target
        prior_precision: float = 100.0  #: lambda
        draws: int = 20  #: L, Monte Carlo draws of each layer
        kl_weight: float = 0.01  #: beta
        clip: float = 1.0  #: C; scales the noise and nothing else

        def __post_init__(self) -> None:
            whole("dp_vi_vinaroz_authors", self, "epochs", least=0)
            whole("dp_vi_vinaroz_authors", self, "batch_size", "draws")
            positive("dp_vi_vinaroz_authors", self, "learning_rate", "noise_precision", "prior_precision", "clip")
            within("dp_vi_vinaroz_authors", self, "[0, inf)", "kl_weight")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.vi._mean_field_training import compile_kernels

        compile_kernels(np.float32, "pair")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.vi import _mean_field as mf
        from methods.vi._mean_field_training import require_noise_multiplier, require_rows

        s = settings
        require_rows(self.name, task.name, task.n)
        noise = require_noise_multiplier(self.name, budget) * s.clip
        layout = mf.Layout(task.x.shape[1], task.model.hidden)
        scale = Standardiser.from_moments(task.x, task.y)
        x1, y = mf.design(scale, task.x, task.y, np.float32)
        engine = mf.Gradients(layout, s.draws, np.float32)
        theta = layout.standard_normal(rng)
        size = min(s.batch_size, task.n)
        per_epoch = len(range(0, task.n - size + 1, size))
        mechanism = budget.unbounded_gaussian(
            "sum of unclipped per-row gradients",
            noise_scale=noise,
            relation=Relation.REPLACE_ONE,
            sampling=Sampling.FIXED_PARTITION,
            steps=s.epochs,
            releases=s.epochs * per_epoch,
        )
        steps = 0
        for epoch in range(s.epochs):
            for lo in range(0, task.n - size + 1, size):
                rows = slice(lo, lo + size)
                total = engine.pair(theta, x1[rows], y[rows], s.noise_precision, engine.draw0(rng), engine.draw1(rng))
                total += s.kl_weight * mf.kl_gradient(theta, s.prior_precision, halved_log=True)  # B times (beta/B)
                if not np.isfinite(total).all():
                    raise Diverged(f"{self.name}: gradients not finite in epoch {epoch + 1}; lower learning_rate")
                theta -= (s.learning_rate / size) * mechanism.release(total)
                steps += 1
            if not np.isfinite(theta).all():
                raise Diverged(f"{self.name}: parameters not finite after epoch {epoch + 1}; lower learning_rate")
        posterior = mf.posterior(layout, theta, s.noise_precision, s.draws, scale)
        return Fit(posterior, budget.ledger, {"steps": float(steps), "kl_nats": mf.kl(theta, s.prior_precision)})
