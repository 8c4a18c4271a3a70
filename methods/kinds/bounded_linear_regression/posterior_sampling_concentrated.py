"""One draw of the weights of linear regression in the box from a posterior with a stronger prior."""

from __future__ import annotations

from methods import posterior_sampling_concentrated as published
from methods.contract import Constants
from methods.engines.linear_posterior_sampling import guarantee
from methods.engines.linear_posterior_sampling.release import LinearPosteriorDraw
from privacy.budget import Budget


class PosteriorSamplingConcentrated(LinearPosteriorDraw):
    """The smallest factor >= 1 of the prior precision at which the draw fits what the frame has left of the budget."""

    name = "posterior_sampling_concentrated"
    title = published.PosteriorSamplingConcentrated.title
    reference = published.PosteriorSamplingConcentrated.reference
    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA,)

    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """``guarantee.smallest_strength``."""
        return 1.0, guarantee.smallest_strength(tuple(budget.ledger), budget.epsilon, budget.delta, v0, a, norm2, n)
