"""DP Bayes by backprop as the note prints it: fixed batches, composition over epochs alone, no entropy gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.bayes_by_backprop import training
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling

_PROOF = "methods.engines.bayes_by_backprop.gradients.clipped_sum"


class DPBayesByBackpropNote(Method):
    """Algorithm 1 of the note.

    Rows are split into batches once; every epoch releases, batch by batch, the clipped sum plus N(0, sigma^2 C^2). The
    update adds m_b and r_b, the gradients of log q with w held fixed, and no path term of log q: in expectation the
    entropy has no gradient. The note weighs prior and q once a batch (``kl_weight`` 1) and sums over rows.

    What the note claims, and what the ledger holds. One record is in one batch an epoch, so composing over epochs is
    right (parallel composition; the assignment of rows to batches reads no row, and replacing one leaves the others
    where they are). But there is no sampling left to amplify anything: T epochs of a plain Gaussian release. The note
    bounds the change by two rows' gradients (2 C) and sets the noise for C; the ledger says 2 C. It then states the
    bound of DP-SGD. That statement sets the noise here: sigma is what DP-SGD with Poisson batches of the same size
    needs for the budget's (epsilon, delta), which so is the claim; the ledger's epsilon is far above it, and a budget
    in mode ``enforce`` refuses the release. A budget without epsilon gives sigma as its noise multiplier.
    """

    name = "dp_bayes_by_backprop_note"
    title = "DP Bayes by backprop (note)"
    reference = "dp_bayes_by_backprop2020note, algorithm 1 and section 3"
    models = ("bnn_classification",)
    privacy = Relation.REPLACE_ONE

    @dataclass(frozen=True)
    class Settings:
        """The note states no value; those that it has in common with the corrected method are that one's."""

        epochs: int = 30  # T, passes over the batches
        batch_size: int = 256  # rows of a batch; the last one of a pass may be smaller
        clip: float = 1.5  # C, L2 norm of a row's gradient in w over all layers
        learning_rate: float = 0.25  # over batch_size: eta of the note, whose gradients are sums
        rho_rate: float = 1.0  # learning rate of rho over that of mu
        rho_start: float = -5.0  # rho at the start (the note's theta_0)
        kl_weight: float = 1.0  # weight of log q and log P in each batch (the note: 1)
        prior: str = "gaussian"  # or "scale_mixture"; the note leaves P open
        prior_sd: float = 1.0  # standard deviation of the Gaussian prior, or of the mixture's wide component
        prior_sd_narrow: float = math.exp(-6.0)  # of the mixture's narrow component
        prior_share: float = 0.5  # share of the wide component
        predictive_draws: int = 20  # draws of the weights in a prediction

        def __post_init__(self) -> None:
            training.check(self)

    def prepare(self, task: Task, settings: Settings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged where the parameters leave the finite range."""
        from methods.engines.bayes_by_backprop import gradients, variational

        s, rows = settings, training.rows_of(task, private=True)
        prior = training.prior_of(s)
        claimed = training.poisson_plan(task.public.n, s.batch_size, s.epochs)
        sigma = training.poisson_noise_multiplier(self.name, budget, claimed)
        batches = training.partition(task.n, s.batch_size, rng)
        noise = budget.gaussian(
            "sum of clipped per-row gradients of a fixed batch",
            sensitivity=2.0 * s.clip,
            noise_multiplier=sigma / 2.0,
            relation=self.privacy,
            sampling=Sampling.FIXED_PARTITION,
            steps=s.epochs,
            releases=s.epochs * len(batches),
            proof=_PROOF,
        )
        q = variational.MeanField(variational.start(rows.widths, rng), s.rho_start)
        normals = variational.Normals(len(q.mean), rng)
        rate = s.learning_rate / s.batch_size
        for _ in range(s.epochs):
            for batch in batches:
                w = q.draw(normals)
                total = gradients.clipped_sum(w, rows.widths, *rows.batch(batch), s.clip)
                mean, rho = q.printed_gradients(training.noisy(total, noise), s.kl_weight, prior)
                q.mean.sub_(mean, alpha=rate)
                q.rho.sub_(rho, alpha=rate * s.rho_rate)
        training.require_finite(self.name, task.name, q.finite)
        posterior = q.posterior(rows.widths, rows.input_scale, s.predictive_draws)
        diagnostics = {
            "releases": float(s.epochs * len(batches)),
            "noise_multiplier": sigma,
            "mean_sd": float(posterior.sd.mean(dtype=np.float64)),
        }
        return Fit(posterior, budget.ledger, diagnostics)
