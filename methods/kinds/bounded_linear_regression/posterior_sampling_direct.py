"""One draw of the weights of linear regression in the box from the posterior as it stands."""

from __future__ import annotations

from methods import posterior_sampling_direct as published
from methods.contract import Constants, MethodError
from methods.engines.linear_posterior_sampling import guarantee
from methods.engines.linear_posterior_sampling.release import LinearPosteriorDraw, refusal
from models.task import Task
from privacy.budget import Budget


class PosteriorSamplingDirect(LinearPosteriorDraw):
    """Neither flattened nor concentrated; refused where its price is infinite or above the budget."""

    name = "posterior_sampling_direct"
    title = published.PosteriorSamplingDirect.title
    reference = published.PosteriorSamplingDirect.reference
    models = ("bounded_linear_regression",)
    constants = (Constants.NONE,)

    def supports(self, task: Task) -> str | None:
        """None, or why no budget covers the draw."""
        return super().supports(task) or refusal(self.name, task)

    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """Nothing is tempered. Raises MethodError that tells the epsilon it would need."""
        event = guarantee.draw_event(1.0 / v0, a, norm2, n)
        needs = guarantee.cost(guarantee.plain(budget.ledger), event, budget.delta)
        if not needs <= budget.epsilon:
            raise MethodError(
                f"{self.name}: one draw costs epsilon = {needs:.4g} at delta = {budget.delta:g}; the budget is "
                f"{budget.epsilon:g}; take the diffused or the concentrated draw"
            )
        return 1.0, 1.0
