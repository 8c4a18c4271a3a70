"""Diffused posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 6)."""

from __future__ import annotations

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.logistic.sampler import Target
from methods.contract import Constants, Counterpart, Fit
from methods.posterior_sampling._logistic import guarantee
from methods.posterior_sampling._logistic.release import (
    MARKOV_CHAIN,
    NO_DRAW,
    LogisticPosteriorDraw,
    Release,
    SamplerSettings,
)
from models.logistic_regression import LogisticRegression
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Relation


class PosteriorSamplingGLMDiffused(LogisticPosteriorDraw):
    """One posterior sample under a likelihood that is flat enough for the budget, with beta = beta0.

    The likelihood has the power sqrt(epsilon n beta / [2 c^2 order]), at most 1. The sample has (order, epsilon)-RDP.
    """

    name = "posterior_sampling_glm_diffused"
    title = "Posterior sample, diffused (GLM)"
    reference = "geumlek2017rdp, algorithm 6"

    def release(self, model: LogisticRegression, n: int, settings: SamplerSettings, budget: Budget) -> Release:
        order, epsilon = budget.require_renyi(self.name)
        power = guarantee.diffused_power(order, epsilon, n, model.beta0, model.norm_bound)
        precision = n * model.beta0
        event = guarantee.draw_event(power, precision, model.norm_bound, order)
        return Release(Target(power, precision), event, {"beta": model.beta0, "power": power})


# Diffused posterior sampling on logistic regression on inputs scaled to [-1, 1].
class PosteriorSamplingGLMDiffusedLogistic(InFrame):
    """One posterior sample with the model's prior and a likelihood that is flat enough for the budget.

    The paper has replace-one neighbours. Here a row is added or removed, for which the curve is a quarter of theorem
    16's. The power is the largest at which the whole ledger keeps (epsilon, delta). Inputs are scaled to [-1, 1], so
    rows have norm at most sqrt(D). There is an intercept.
    """

    name = "posterior_sampling_glm_diffused"
    title = "Posterior sample, diffused (GLM)"
    reference = "geumlek2017rdp, algorithm 6"
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.GUESSED)
    privacy = Relation.ADD_REMOVE
    counterparts = (
        Counterpart("ep", 0.15, "one posterior sample, and EP averages over all; .05 seen, and .3 at epsilon = 1"),
    )
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (MARKOV_CHAIN, NO_DRAW)
    Settings = SamplerSettings

    def law(self, model, d: int, settings: SamplerSettings, budget: Budget) -> tuple[Target, Event]:
        """The distribution of one draw from d inputs, and its cost, by public numbers only. Raises ValueError for a
        budget with nothing for the draw."""
        from methods._shared.logistic.sampler import Target
        from methods.posterior_sampling import _bounded_logistic as draws

        precision, c = 1.0 / model.prior_sd**2, draws.norm_bound(d)
        power = min(1.0, draws.largest(lambda v: draws.draw_event(v, precision, c), budget, self.name))
        return Target(power, precision), draws.draw_event(power, precision, c)

    def fit_unit(self, task: Task, settings: SamplerSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows, and what :meth:`law` raises."""
        from methods.posterior_sampling import _bounded_logistic as draws

        target, event = self.law(task.model, task.x.shape[1], settings, budget)
        return draws.draw(task, target, event, budget, rng, settings, self.name)
