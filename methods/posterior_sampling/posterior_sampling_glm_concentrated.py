"""Concentrated posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 5)."""

from __future__ import annotations

from methods._shared.logistic.sampler import Target
from methods.contract import Constants
from methods.posterior_sampling._logistic import guarantee
from methods.posterior_sampling._logistic.release import (
    BoundedLogisticDraw,
    LogisticPosteriorDraw,
    Release,
    SamplerSettings,
)
from models.logistic_regression import LogisticRegression
from privacy.budget import Budget
from privacy.ledger import Event


class PosteriorSamplingGLMConcentrated(LogisticPosteriorDraw):
    """One posterior sample under a prior that is narrow enough for the budget, with the untempered likelihood.

    beta is the larger of beta0 and 2 c^2 order / (n epsilon). The sample has (order, epsilon)-RDP by theorem 16.
    """

    name = "posterior_sampling_glm_concentrated"
    title = "Posterior sample, concentrated (GLM)"
    reference = "geumlek2017rdp, algorithm 5"

    def release(self, model: LogisticRegression, n: int, settings: SamplerSettings, budget: Budget) -> Release:
        order, epsilon = budget.require_renyi(self.name)
        beta = guarantee.concentrated_beta(order, epsilon, n, model.beta0, model.norm_bound)
        event = guarantee.draw_event(1.0, n * beta, model.norm_bound, order)
        return Release(Target(1.0, n * beta), event, {"beta": beta, "power": 1.0})


# Concentrated posterior sampling on logistic regression on inputs scaled to [-1, 1].
class PosteriorSamplingGLMConcentratedLogistic(BoundedLogisticDraw):
    """One posterior sample with the untempered likelihood, under a prior that is narrow enough for the budget.

    The precision is the smallest at which the whole ledger keeps (epsilon, delta), but not below the model's. The paper
    has replace-one neighbours. Here a row is added or removed, for which the curve is a quarter of theorem 16's. Inputs
    are scaled to [-1, 1], so rows have norm at most sqrt(D). There is an intercept.
    """

    name = "posterior_sampling_glm_concentrated"
    title = "Posterior sample, concentrated (GLM)"
    reference = "geumlek2017rdp, algorithm 5"
    constants = (Constants.FORMULA, Constants.GUESSED)

    def law(self, model, d: int, settings: SamplerSettings, budget: Budget) -> tuple[Target, Event]:
        """The distribution of one draw from d inputs, and its cost, from public numbers only.

        Raises ValueError for a budget with nothing left for the draw.
        """
        from methods.posterior_sampling import _bounded_logistic as draws

        c = draws.norm_bound(d)
        variance = draws.largest(lambda v: draws.draw_event(1.0, 1.0 / v, c), budget, self.name)
        precision = max(1.0 / variance, 1.0 / model.prior_sd**2)
        return Target(1.0, precision), draws.draw_event(1.0, precision, c)
