"""DP-VI: DP-SGD on the mean-field evidence lower bound of logistic regression in the box."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit
from methods.engines.logistic_gaussian.plans import Descent, DescentSettings
from models.bounded_logistic import LogisticGaussian
from models.task import Task
from privacy.budget import Budget


class DPVI(Descent):
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
        from methods.engines.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: DescentSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged for numbers that overflow."""
        from methods.engines.logistic_gaussian import gradients

        mean, root, plan = gradients.mean_field(task, settings, budget, name=self.name, relation=self.privacy)
        return Fit(LogisticGaussian(mean, root), budget.ledger, plan.told)
