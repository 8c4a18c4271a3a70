"""Diffused posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 6)."""

from __future__ import annotations

from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LogisticPosteriorDraw, Release, SamplerSettings
from methods.engines.logistic.sampler import Target
from models.logistic_regression import LogisticRegression
from privacy.budget import Budget


class PosteriorSamplingGLMDiffused(LogisticPosteriorDraw):
    """One draw from the posterior of a likelihood that is flat enough for the budget.

    beta = beta0, likelihood to the power min(1, sqrt(epsilon n beta / (2 c^2 order))); (order, epsilon)-RDP, proved in
    ``methods.engines.logistic.guarantee.renyi_bound``.
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
