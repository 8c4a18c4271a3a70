"""One sample of the logistic posterior as the model states it: no budget, the baseline of the two private variants."""

from __future__ import annotations

from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LogisticPosteriorDraw, Release, SamplerSettings
from methods.engines.logistic.sampler import Target
from models.logistic_regression import LogisticRegression
from privacy.budget import Budget


class PosteriorSamplingGLMDirect(LogisticPosteriorDraw):
    """A draw from the posterior with the prior beta = beta0 and the whole likelihood.

    Calibrated to no budget. It has a price all the same (theorem 16 at beta0), which the ledger holds; a budget in mode
    ``enforce`` refuses it where that is too much. A Renyi order of the budget is one of the orders of the curve.
    """

    name = "posterior_sampling_glm_direct"
    title = "Posterior sample (GLM)"
    reference = "geumlek2017rdp, equation 17 and theorem 16"

    def release(self, model: LogisticRegression, n: int, settings: SamplerSettings, budget: Budget) -> Release:
        order = None if budget.renyi is None else budget.renyi[0]
        precision = n * model.beta0
        event = guarantee.draw_event(1.0, precision, model.norm_bound, order)
        return Release(Target(1.0, precision), event, {"beta": model.beta0, "power": 1.0})
