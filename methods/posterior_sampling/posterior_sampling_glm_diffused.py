"""Diffused posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 6)."""

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


class PosteriorSamplingGLMDiffused(LogisticPosteriorDraw):
    """One posterior sample under a likelihood tempered for the budget, with beta = beta0.

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
class PosteriorSamplingGLMDiffusedLogistic(BoundedLogisticDraw):
    """One posterior sample with the model's prior and a likelihood tempered for the budget.

    The paper has replace-one neighbours. Here a row is added or removed, for which the curve is a quarter of theorem
    16's. The power is the largest at which the whole ledger keeps (epsilon, delta). Inputs are scaled to [-1, 1], so
    rows have norm at most sqrt(D). There is an intercept.
    """

    name = "posterior_sampling_glm_diffused"
    title = "Posterior sample, diffused (GLM)"
    reference = "geumlek2017rdp, algorithm 6"
    constants = (Constants.FORMULA, Constants.GUESSED)

    def law(self, model, d: int, settings: SamplerSettings, budget: Budget) -> tuple[Target, Event]:
        """The distribution of one draw from d inputs, and its cost, from public numbers only.

        Raises ValueError for a budget with nothing left for the draw.
        """
        from methods.posterior_sampling import _bounded_logistic as draws

        precision, c = 1.0 / model.prior_sd**2, draws.norm_bound(d)
        power = min(1.0, draws.largest(lambda v: draws.draw_event(v, precision, c), budget, self.name))
        return Target(power, precision), draws.draw_event(power, precision, c)
