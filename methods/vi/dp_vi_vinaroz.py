"""DP-VI as the DP-SEP paper prints it: DP-SGD with effective clipping on the lower bound of appendix D."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.settings_checks import positive, whole, within
from methods.contract import Apart, Counterpart, Diverged, Fit, Leak, LeakKind, Method
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling


class VinarozDPVI(Method):
    """DP-SGD on the negative lower bound of appendix D (119, 123).

    The paper says: "the sample-wise gradient to be limited by a clipping threshold C and then adding the Gaussian noise
    with a noise scale tuned by sigma C".

    A step draws a fresh uniform batch of B rows without replacement, which is the sampling of the paper's accountant
    (Wang et al. 2019). It clips the gradient of every row's share of the bound, data term plus (beta / N) KL, to C. It
    adds noise of variance (sigma C)^2 to the sum and moves by learning_rate / B times the result. The number of steps
    is epochs x floor(N / B).

    Two things are not printed, and are decided here. First, the KL is part of the clipped gradient ("the sample-wise
    gradient of this objective function"). ``kl_inside`` = False adds it after the noise, which is equally private since
    it reads no data. Second, start and weight of the KL are as in ``vi``. There is no momentum, as in the authors'
    script. The text says DP-SGD.

    The ledger has the event as it happens, not as the paper counts it. With the batch size fixed, the neighbouring
    relation is replace-one, under which the sum moves by up to 2 C. The noise has standard deviation sigma C, and all
    steps count. sigma is the budget's ``noise_multiplier``: the noise's standard deviation over C, as in Table 7.
    """

    name = "dp_vi_vinaroz"
    title = "DP-VI (Vinaroz & Park)"
    seed_name = "dp_vi"
    reference = "vinaroz2023dpsep, appendix D, equations 119 and 123, Table 7"
    models = ("bnn_regression",)
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(
            apart=Apart.NOISE, reason="the noise multiplier is an input of the algorithm; epsilon does not set it"
        ),
    )
    leaks = (
        Leak(LeakKind.STANDARDISATION, "inputs and target are standardised by the private mean and standard deviation"),
        Leak(LeakKind.TUNED, "the hyper-parameters of Table 7 were chosen on the private data at no cost"),
    )

    @dataclass(frozen=True)
    class Settings:
        """Defaults: row Kin8nm of Table 7. sigma comes with the budget."""

        epochs: int = 100  #: epochs x floor(N / B) steps
        batch_size: int = 100  #: rows B
        learning_rate: float = 1e-3  #: of the mean over the batch
        noise_precision: float = 10.0  #: gamma, in standardised units of the target
        prior_precision: float = 100.0  #: lambda
        draws: int = 20  #: L, Monte Carlo draws of the first layer
        kl_weight: float = 0.01  #: beta
        clip: float = 1.0  #: C, Euclidean norm of a row's whole gradient
        start_scale: float = 1.0  #: standard deviation of the start of every m and rho
        kl_inside: bool = True  #: clip the share of the KL together with the data term

        def __post_init__(self) -> None:
            whole("dp_vi_vinaroz", self, "epochs", least=0)
            whole("dp_vi_vinaroz", self, "batch_size", "draws")
            positive("dp_vi_vinaroz", self, "learning_rate", "noise_precision", "prior_precision")
            positive("dp_vi_vinaroz", self, "clip", "start_scale")
            within("dp_vi_vinaroz", self, "[0, inf)", "kl_weight")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.vi._mean_field_training import compile_kernels

        compile_kernels(np.float64, "clipped_sum")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        from methods.vi import _mean_field as mf
        from methods.vi._mean_field_training import require_noise_multiplier, require_rows

        s, n = settings, task.n
        require_rows(self.name, task.name, n)
        sigma = require_noise_multiplier(self.name, budget)
        layout = mf.Layout(task.x.shape[1], task.model.hidden)
        scale = Standardiser.from_moments(task.x, task.y)
        x1, y = mf.design(scale, task.x, task.y, np.float64)
        engine = mf.Gradients(layout, s.draws, np.float64)
        theta = s.start_scale * layout.standard_normal(rng)
        start = theta.copy()
        size = min(s.batch_size, n)
        steps = s.epochs * (n // size)
        mechanism = budget.gaussian(
            "sum of clipped per-row gradients of the lower bound",
            sensitivity=2.0 * s.clip,
            noise_multiplier=sigma / 2.0,
            relation=Relation.REPLACE_ONE,
            sampling=Sampling.WITHOUT_REPLACEMENT,
            sampling_rate=size / n,
            steps=steps,
            proof="methods.vi._mean_field.Gradients.clipped_sum",
        )
        for step in range(steps):
            rows = rng.choice(n, size, replace=False, shuffle=False)
            share = (s.kl_weight / n) * mf.kl_gradient(theta, s.prior_precision)
            total, _ = engine.clipped_sum(
                theta,
                x1[rows],
                y[rows],
                s.noise_precision,
                engine.draw0(rng),
                s.clip,
                offset=share if s.kl_inside else None,
            )
            released = mechanism.release(total)
            if not s.kl_inside:
                released = released + size * share
            theta -= (s.learning_rate / size) * released
            if not np.isfinite(theta).all():
                raise Diverged(f"{self.name}: parameters not finite after step {step + 1}; lower learning_rate")
        posterior = mf.posterior(layout, theta, s.noise_precision, s.draws, scale)
        # functions of the released parameters alone, so no diagnostic reads the rows again
        diagnostics = {
            "steps": float(steps),
            "kl_nats": mf.kl(theta, s.prior_precision),
            "distance_from_start": float(np.linalg.norm(theta - start)),
        }
        return Fit(posterior, budget.ledger, diagnostics)
