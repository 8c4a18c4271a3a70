"""Concentrated posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 5)."""

from __future__ import annotations

from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LogisticPosteriorDraw, Release, SamplerSettings
from methods.engines.logistic.sampler import Target
from models.logistic_regression import LogisticRegression
from privacy.budget import Budget


class PosteriorSamplingGLMConcentrated(LogisticPosteriorDraw):
    """One draw from the posterior with a prior that is narrow enough for the budget.

    beta = max(2 c^2 order / (n epsilon), beta0), whole likelihood; (order, epsilon)-RDP by theorem 16, proved in
    ``methods.engines.logistic.guarantee.renyi_bound``.
    """

    name = "posterior_sampling_glm_concentrated"
    title = "Posterior sample, concentrated (GLM)"
    reference = "geumlek2017rdp, algorithm 5"

    def release(self, model: LogisticRegression, n: int, settings: SamplerSettings, budget: Budget) -> Release:
        order, epsilon = budget.require_renyi(self.name)
        beta = guarantee.concentrated_beta(order, epsilon, n, model.beta0, model.norm_bound)
        event = guarantee.draw_event(1.0, n * beta, model.norm_bound, order)
        return Release(Target(1.0, n * beta), event, {"beta": beta, "power": 1.0})
