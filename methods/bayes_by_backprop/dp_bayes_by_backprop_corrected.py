"""DP Bayes by backprop with a valid guarantee: a corrected version of the note's algorithm 1."""

from __future__ import annotations

import numpy as np

from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import LEAKS, PrivateVariationalSettings, prior_of
from methods.contract import Apart, Counterpart, Fit, Method
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPBayesByBackpropCorrected(Method):
    """Bayes by backprop that releases one noisy sum of clipped per-row gradients in each step.

    The gradients are taken at one posterior sample of the weights, which the whole batch shares. The rest of the step
    reads no row, so it is post-processing. It computes the prior's part, the chain rule to (mu, rho) and the gradient
    of the entropy from the release, the sample and the variational parameters. So rho has no privacy cost of its own,
    and the ledger is that of DP-SGD.

    It differs from the note in four ways. The path term d log q / dw is kept, because without it the gradient of the
    entropy is lost. The KL term counts kappa / N per step instead of once per batch. Batches are Poisson. The sums are
    divided by the public L.
    """

    name = "dp_bayes_by_backprop_corrected"
    title = "DP Bayes by backprop (corrected)"
    seed_name = "dp_bayes_by_backprop"
    reference = "this suite; after dp_bayes_by_backprop2020note, algorithm 1, and abadi2016deep"
    models = ("bnn_classification",)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(apart=Apart.CLIPPING, reason="gradients of rows are clipped at a norm that is a setting"),
    )
    leaks = LEAKS

    Settings = PrivateVariationalSettings

    def prepare(self, task: Task, settings: PrivateVariationalSettings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: PrivateVariationalSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged if the parameters leave the finite range.
        """
        from methods._shared.bayes_by_backprop import variational

        s, sums = settings, training.PoissonSums(self, task, settings, budget)
        plan, prior = sums.plan, prior_of(s)
        q = variational.MeanField(variational.start(sums.rows.widths, rng), s.rho_start)
        normals = variational.Normals(len(q.mean), rng)
        recorder = variational.Recorder(s.snapshots, plan.steps / s.epochs)
        weight = s.kl_weight / task.public.n
        for step in range(plan.steps):
            total = sums.release(q.draw(normals), step)
            q.step(total, 1.0 / plan.expected, weight, prior, s.learning_rate, s.rho_rate)
            recorder.after(step + 1, q.mean)
        training.require_finite(self.name, task.name, q.finite)
        posterior = q.posterior(sums.rows, s.predictive_draws, recorder)
        diagnostics = {
            "steps": float(plan.steps),
            "noise_multiplier": sums.noise_multiplier,
            "mean_sd": float(posterior.sd.mean(dtype=np.float64)),  # a function of released numbers
        }
        return Fit(posterior, budget.ledger, diagnostics)
