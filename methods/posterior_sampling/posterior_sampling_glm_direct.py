"""One sample of the model's own logistic posterior, not calibrated: the baseline of the two private variants."""

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


class PosteriorSamplingGLMDirect(LogisticPosteriorDraw):
    """A posterior sample with the prior beta = beta0 and the untempered likelihood, not calibrated to a budget.

    The sample still has a privacy cost (theorem 16 at beta0), which the ledger holds. An enforced budget refuses a
    sample whose cost is above it. A Renyi order of the budget is one of the orders of the curve.
    """

    name = "posterior_sampling_glm_direct"
    title = "Posterior sample (GLM)"
    reference = "geumlek2017rdp, equation 17 and theorem 16"

    def release(self, model: LogisticRegression, n: int, settings: SamplerSettings, budget: Budget) -> Release:
        order = None if budget.renyi is None else budget.renyi[0]
        precision = n * model.beta0
        event = guarantee.draw_event(1.0, precision, model.norm_bound, order)
        return Release(Target(1.0, precision), event, {"beta": model.beta0, "power": 1.0})


# One sample of the model's own logistic posterior on inputs scaled to [-1, 1].
class PosteriorSamplingGLMDirectLogistic(BoundedLogisticDraw):
    """A sample of the model's own posterior: prior N(0, prior_sd^2 I), untempered likelihood, not calibrated.

    Its cost is the curve order x D prior_sd^2 / 2. This is a quarter of theorem 16, which is for a replaced record:
    here one term of the log-likelihood differs, not two. A smaller enforced budget is refused, with the epsilon that
    the sample needs.
    """

    name = "posterior_sampling_glm_direct"
    title = "Posterior sample (GLM)"
    reference = "geumlek2017rdp, equation 17 and theorem 16"
    constants = (Constants.GUESSED,)

    def law(self, model, d: int, settings: SamplerSettings, budget: Budget) -> tuple[Target, Event]:
        """The distribution of one draw from d inputs, and its cost. Raises BudgetExceeded for a budget below it."""
        from methods.posterior_sampling import _bounded_logistic as draws

        precision = 1.0 / model.prior_sd**2
        event = draws.draw_event(1.0, precision, draws.norm_bound(d))
        draws.afford(event, budget, self.name)
        return Target(1.0, precision), event
