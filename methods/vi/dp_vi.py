"""DP-VI as the DP-SEP paper prints it: DP-SGD, with clipping that clips, on the bound of appendix D."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods._shared.conjugate_linear import descent
from methods._shared.logistic_gaussian.plans import Descent, DescentSettings
from methods.contract import Diverged, Fit, Leak, LeakKind, Method
from models.bounded_logistic import LogisticGaussian
from models.linear_posteriors import NormalTimesLogNormal
from models.standardise import Standardiser
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling


class VinarozDPVI(Method):
    """DP-SGD on the negative lower bound of appendix D (119, 123): "the sample-wise gradient to be limited by a
    clipping threshold C and then adding the Gaussian noise with a noise scale tuned by sigma C".

    A step draws a fresh uniform batch of B rows without replacement (the sampling that the paper's accountant, Wang
    et al. 2019, is for), clips the gradient of every row's share of the bound, data term plus (beta / N) KL, to C,
    adds N(0, (sigma C)^2) to the sum and moves by learning_rate / B times it. Steps: epochs x floor(N / B).

    Not printed, and decided here: the KL is part of the clipped gradient ("the sample-wise gradient of this objective
    function"); ``kl_inside`` = False adds it after the noise, which is equally private since it reads no data. Start
    and weight of the KL as in ``vi``, momentum none (the authors' script; the text says DP-SGD).

    The event is what happens, not what the paper counts: with the batch size fixed the neighbouring relation is
    replace-one, under which the sum moves by up to 2C while the noise has standard deviation sigma C; all steps count.
    sigma is the budget's ``noise_multiplier``: the noise's standard deviation over C, as in Table 7.
    """

    name = "dp_vi"
    title = "DP-VI (Vinaroz & Park)"
    reference = "vinaroz2023dpsep, appendix D, equations 119 and 123, Table 7"
    models = ("bnn_regression",)
    privacy = Relation.REPLACE_ONE
    leaks = (
        Leak(LeakKind.STANDARDISATION, "inputs and target are standardised by the private mean and standard deviation"),
        Leak(LeakKind.TUNED, "the hyper-parameters of Table 7 were chosen on the private data at no cost"),
    )

    @dataclass(frozen=True)
    class Settings:
        """Defaults: row Kin8nm of Table 7; sigma comes with the budget."""

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
            from methods.vi._mean_field_training import check

            check(self)

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.vi._mean_field_training import compile_kernels

        compile_kernels(np.float64)

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
        # Functions of the released parameters alone: no diagnostic reads the rows again.
        diagnostics = {
            "steps": float(steps),
            "kl_nats": mf.kl(theta, s.prior_precision),
            "distance_from_start": float(np.linalg.norm(theta - start)),
        }
        return Fit(posterior, budget.ledger, diagnostics)


# DP-VI (DP-SGD on the lower bound) for linear regression in the box.
class VinarozDPVILinear(descent.Descent):
    """DP-SGD on the lower bound of q(w) = N(m, diag(s^2)), log v ~ N(mu, t^2) (``conjugate_linear.descent``).

    The paper's network has Monte Carlo draws and a fixed noise precision; one layer needs no draws, and the noise
    variance is part of q: at the optimum t^2 = 1 / (shape + (n + p) / 2), which is public. Parts of a row's gradient
    are scaled by released and public numbers before they are clipped, and the prior's part is added after the noise.

    The paper's guarantee is for replace-one with batches of fixed size, where a sum moves by up to 2 C. Here batches
    are Poisson and neighbours add or remove a row, n public: a row is in the sum or it is not, which moves it by at
    most C (``methods._shared.conjugate_linear.kernel.clipped_sum``). All T steps are in the ledger, as one event of
    the Poisson-subsampled Gaussian, and the noise multiplier is what the frame has left of the budget.
    """

    name = "dp_vi"
    title = "DP-VI (Vinaroz & Park)"
    reference = "vinaroz2023dpsep, appendix D; add/remove and Poisson batches: this suite"

    def fit_unit(self, task: Task, settings: descent.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises what ``descent.train`` raises."""
        found = descent.train(self.name, task, settings, budget, self.privacy, bayes=True)
        shape = task.model.shape + 0.5 * (task.public.n + len(found.mean))
        posterior = NormalTimesLogNormal(found.mean, found.sd, found.log_variance, math.sqrt(1.0 / shape))
        return Fit(posterior, budget.ledger, found.diagnostics)


# DP-VI: DP-SGD on the mean-field evidence lower bound of logistic regression in the box.
class VinarozDPVILogistic(Descent):
    """DP-SGD on the bound: clipped gradient of each row in means and log standard deviations, together one vector.

    Against the paper's network: the gradient of a row's expected log-likelihood is one-dimensional quadrature, not a
    Monte Carlo draw; the KL, which reads no row, is added after the noise. Poisson batches under add/remove, where the
    clipped sum has sensitivity C (the paper's batches of fixed size are a matter of replace-one, with 2 C). q is
    mean-field for rows around bought column means (``logistic_gaussian.centred``), so the intercept and the weights
    are correlated in the box; without centring a diagonal covariance would be far off. Steps, step size and clipping
    norm by ``logistic_gaussian.gradients.plan_of``.
    """

    name = "dp_vi"
    title = "DP-VI"
    reference = "vinaroz2023dpsep, appendix D; abadi2016deep, algorithm 1"

    def prepare(self, task: Task, settings: DescentSettings) -> None:
        from methods._shared.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: DescentSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged for numbers that overflow."""
        from methods._shared.logistic_gaussian import gradients

        mean, root, plan = gradients.mean_field(task, settings, budget, name=self.name, relation=self.privacy)
        return Fit(LogisticGaussian(mean, root), budget.ledger, plan.told)
