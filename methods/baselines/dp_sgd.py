"""Baseline of DP Bayes by backprop: DP-SGD on the same network, a point estimate."""

from __future__ import annotations

import math

import numpy as np

from methods._shared.bayes_by_backprop import training
from methods._shared.bayes_by_backprop.settings import LEAKS, PrivateSettings
from methods._shared.conjugate_linear import descent
from methods._shared.conjugate_linear.release import point_estimate
from methods._shared.logistic_gaussian.plans import Descent, DescentSettings
from methods.contract import Apart, Counterpart, Fit, Method, Role
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPSGD(Method):
    """DP-SGD on a classification network, a private point estimate (Abadi et al. 2016, algorithm 1).

    A step is w <- w - rate (sum of clipped gradients + noise) / L, where L = q n is fixed and public. Batches are
    Poisson, and an empty one releases only noise. The noise multiplier is the smallest that keeps the budget's
    (epsilon, delta), or the budget's own if it states no epsilon. There is no weight decay.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    role = Role.YARDSTICK
    models = ("bnn_classification",)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart(apart=Apart.CLIPPING, reason="gradients of rows are clipped at a norm that is a setting"),
    )
    leaks = LEAKS

    Settings = PrivateSettings

    def prepare(self, task: Task, settings: PrivateSettings) -> None:
        training.warm_up()

    def fit(self, task: Task, settings: PrivateSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged if the weights leave the finite range.
        """
        from methods._shared.bayes_by_backprop import variational

        s, sums = settings, training.PoissonSums(self, task, settings, budget)
        plan = sums.plan
        w = variational.start(sums.rows.widths, rng)
        recorder = variational.Recorder(s.snapshots, plan.steps / s.epochs)
        for step in range(plan.steps):
            w.sub_(sums.release(w, step), alpha=s.learning_rate / plan.expected)
            recorder.after(step + 1, w)
        training.require_finite(self.name, task.name, bool(w.isfinite().all()))
        posterior = variational.point(w, sums.rows, recorder)
        diagnostics = {"steps": float(plan.steps), "noise_multiplier": sums.noise_multiplier}
        return Fit(posterior, budget.ledger, diagnostics)


# Baseline: a point estimate of linear regression on inputs scaled to [-1, 1] by DP-SGD.
class DPSGDLinear(descent.Descent):
    """DP-SGD on the likelihood of (w, log v) in linear regression (Abadi et al. 2016, algorithm 1).

    The gradients are those of DP-VI without a spread of w. Batches are Poisson, and there is no prior and no weight
    decay. Steps and noise are as in ``dp_vi_vinaroz_corrected``. The result is a private point estimate, weights and
    residual variance, without a posterior.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    counterparts = (Counterpart("ridge", 0.05, "a fixed number of steps on clipped gradients; .03 seen"),)
    role = Role.YARDSTICK

    def fit_unit(self, task: Task, settings: descent.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit scaled rows. Raises the errors of ``descent.train``."""
        found = descent.train(self.name, task, settings, budget, self.privacy, bayes=False)
        point = point_estimate(found.mean, math.exp(found.log_variance))
        return Fit(point, budget.ledger, found.diagnostics)


# Baseline: DP-SGD on the log-posterior of logistic regression on inputs scaled to [-1, 1], a point estimate.
class DPSGDLogistic(Descent):
    """DP-SGD on minus the log-posterior of logistic regression (Abadi et al. 2016, algorithm 1).

    The result is a private point estimate, the mean of the second half of the path. Batches are Poisson under
    add/remove, as in the paper: the clipped sum has sensitivity C. The prior reads no row and is added after the noise.
    Rows are centred by privately estimated column means. Steps, step size and clipping norm follow from public and
    released numbers.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    counterparts = (Counterpart("ep", 0.02, "a point where EP averages, under the same prior; .002 seen"),)
    role = Role.YARDSTICK

    def fit_unit(self, task: Task, settings: DescentSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        Raises ValueError for a budget that states neither (epsilon, delta) nor a noise
        multiplier. Raises Diverged for numbers that overflow.
        """
        from methods._shared.logistic_gaussian import gradients

        theta, plan = gradients.point(task, settings, budget, name=self.name, relation=self.privacy)
        return Fit(LogisticPoint(theta), budget.ledger, plan.told)
