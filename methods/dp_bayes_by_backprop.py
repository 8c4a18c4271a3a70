"""DP Bayes by backprop with a guarantee that holds: the note's algorithm 1 put right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.bayes_by_backprop import training
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation

_PROOF = "methods.engines.bayes_by_backprop.gradients.clipped_sum"


class DPBayesByBackprop(Method):
    """One draw of the weights a step, shared by the batch; the clipped sum of the rows' gradients at it is released.

    What follows is post-processing of that release, of the draw and of the variational parameters, none of which reads
    a row: the prior's part, the chain rule to (mu, rho) and the gradient of the entropy. So rho costs no privacy of its
    own, and the ledger is that of DP-SGD. Against the note: the path term d log q / dw is kept (without it the gradient
    of the entropy is lost), the KL term counts kappa / N a step instead of once a batch, batches are Poisson, and the
    sums are divided by the public L.
    """

    name = "dp_bayes_by_backprop"
    title = "DP Bayes by backprop (corrected)"
    reference = "this suite; after dp_bayes_by_backprop2020note, algorithm 1, and abadi2016deep"
    models = ("bnn_classification",)
    privacy = Relation.ADD_REMOVE

    @dataclass(frozen=True)
    class Settings:
        """Clip, rate and batch as in dp_sgd (the note states none)."""

        epochs: int = 30  # passes over the rows, in expectation
        batch_size: int = 256  # L, expected rows a step
        clip: float = 1.5  # C, L2 norm of a row's gradient in w over all layers
        learning_rate: float = 0.25  # per step, of the mean gradient; for mu
        rho_rate: float = 1.0  # learning rate of rho over that of mu
        rho_start: float = -5.0  # rho at the start; the standard deviation of a weight is log(1 + exp(rho))
        kl_weight: float = 1.0  # kappa, weight of the KL term; 1 is the evidence bound
        prior: str = "gaussian"  # or "scale_mixture" (blundell2015weight, equation 7)
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
        plan = training.poisson_plan(task.public.n, s.batch_size, s.epochs)
        sigma = training.poisson_noise_multiplier(self.name, budget, plan)
        noise = budget.gaussian(
            "sum of clipped per-row gradients",
            sensitivity=s.clip,
            noise_multiplier=sigma,
            relation=self.privacy,
            sampling=plan.sampling,
            sampling_rate=plan.rate,
            steps=plan.steps,
            proof=_PROOF,
        )
        batches = budget.poisson(task.n, plan.rate)
        q = variational.MeanField(variational.start(rows.widths, rng), s.rho_start)
        normals = variational.Normals(len(q.mean), rng)
        weight = s.kl_weight / task.public.n
        for step in range(plan.steps):
            w = q.draw(normals)
            total = gradients.clipped_sum(w, rows.widths, *rows.batch(batches.draw(step)), s.clip)
            data = training.noisy(total, noise).div_(plan.expected)
            mean, rho = q.gradients(data, weight, prior)
            q.mean.sub_(mean, alpha=s.learning_rate)
            q.rho.sub_(rho, alpha=s.learning_rate * s.rho_rate)
        training.require_finite(self.name, task.name, q.finite)
        posterior = q.posterior(rows.widths, rows.input_scale, s.predictive_draws)
        diagnostics = {
            "steps": float(plan.steps),
            "noise_multiplier": sigma,
            "mean_sd": float(posterior.sd.mean(dtype=np.float64)),  # a function of released numbers
        }
        return Fit(posterior, budget.ledger, diagnostics)
