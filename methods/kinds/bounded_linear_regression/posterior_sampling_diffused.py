"""One draw of the weights of linear regression in the box from a flattened posterior."""

from __future__ import annotations

from methods import posterior_sampling_diffused as published
from methods.contract import Constants
from methods.engines.linear_posterior_sampling import guarantee
from methods.engines.linear_posterior_sampling.release import LinearPosteriorDraw
from privacy.budget import Budget


class PosteriorSamplingDiffused(LinearPosteriorDraw):
    """The likelihood to the largest power <= 1 at which the draw fits what the frame has left of the budget."""

    name = "posterior_sampling_diffused"
    title = published.PosteriorSamplingDiffused.title
    reference = published.PosteriorSamplingDiffused.reference
    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA,)

    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """``guarantee.largest_power``."""
        return guarantee.largest_power(tuple(budget.ledger), budget.epsilon, budget.delta, v0, a, norm2, n), 1.0
