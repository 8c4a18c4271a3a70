"""DP Bayes by backprop as the note prints it: fixed batches, composition over epochs only, no entropy gradient."""

from __future__ import annotations

import numpy as np

from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import LEAKS, PrivateVariationalSettings, prior_of
from methods.contract import Apart, Counterpart, Fit, Method
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling


class DPBayesByBackprop(Method):
    """Bayes by backprop with clipped and noisy gradients, as in algorithm 1 of a note of 2020.

    Rows are split into batches once. Every epoch releases, batch by batch, the clipped sum plus N(0, sigma^2 C^2). The
    update adds m_b and r_b, the gradients of log q with w held fixed. It has no path term of log q, so in expectation
    the entropy has no gradient. The note weighs prior and q once per batch (``kl_weight`` 1) and sums over rows.

    The note's claim and the ledger differ.

    - One record is in one batch per epoch, so composing over epochs is right. This is parallel composition: the
      assignment of rows to batches reads no row, and replacing one row leaves the others where they are.
    - There is no sampling left that could amplify privacy. T epochs are T plain Gaussian releases.
    - The note bounds the change by two rows' gradients (2 C) and sets the noise for C. The ledger says 2 C.

    The note then states the bound of DP-SGD, and that statement sets the noise here. DP-SGD with Poisson batches of the
    same size needs a certain sigma for the budget's (epsilon, delta). This sigma is used, so the budget is the claim.
    The ledger's epsilon is far above it, and a budget in mode ``enforce`` refuses the release. A budget without epsilon
    gives sigma as its noise multiplier.
    """

    name = "dp_bayes_by_backprop"
    title = "DP Bayes by backprop (note)"
    seed_name = "dp_bayes_by_backprop_note"
    reference = "dp_bayes_by_backprop2020note, algorithm 1 and section 3"
    models = ("bnn_classification",)
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(apart=Apart.CLIPPING, reason="gradients of rows are clipped at a norm that is a setting"),
    )
    leaks = LEAKS

    #: the note states no value, so the values are those of the corrected method. Here `learning_rate` is divided by
    #: batch_size (eta of the note, whose gradients are sums), `rho_start` is the note's theta_0, and `kl_weight` is
    #: that of log q and log P in each batch.
    Settings = PrivateVariationalSettings

    def prepare(self, task: Task, settings: PrivateVariationalSettings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: PrivateVariationalSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged if the parameters leave the finite range.
        """
        from methods._shared.bayes_by_backprop import gradients, variational

        s, rows = settings, training.rows_of(task, private=True)
        prior = prior_of(s)
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
            proof=training.PROOF,
        )
        q = variational.MeanField(variational.start(rows.widths, rng), s.rho_start)
        normals = variational.Normals(len(q.mean), rng)
        recorder = variational.Recorder(s.snapshots)
        for epoch in range(s.epochs):
            for batch in batches:
                w = q.draw(normals)
                total = gradients.clipped_sum(w, rows.widths, *rows.batch(batch), s.clip)
                steps = q.printed_gradients(training.noisy(total, noise), s.kl_weight, prior)
                q.descend(steps, s.learning_rate / s.batch_size, s.rho_rate)
            recorder.after(epoch + 1, q.mean)
        training.require_finite(self.name, task.name, q.finite)
        posterior = q.posterior(rows, s.predictive_draws, recorder)
        diagnostics = {
            "releases": float(s.epochs * len(batches)),
            "noise_multiplier": sigma,
            "mean_sd": float(posterior.sd.mean(dtype=np.float64)),
        }
        return Fit(posterior, budget.ledger, diagnostics)
