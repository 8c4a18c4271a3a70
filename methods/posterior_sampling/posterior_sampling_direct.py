"""One sample of a conjugate posterior as the model states it (Geumlek, Song & Chaudhuri 2017, algorithm 1)."""

from __future__ import annotations

import numpy as np

from methods._shared import linear_draw_guarantee as guarantee
from methods._shared.exponential_family.release import one_draw
from methods.contract import Apart, Constants, Counterpart, Fit, Method, MethodError
from methods.posterior_sampling._linear import LinearPosteriorDraw, refusal
from models.exponential_family import statistic_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingDirect(Method):
    """A posterior sample without tempering, not calibrated to a budget.

    The sample still has a privacy cost, which the ledger holds. It is finite at orders below 1 + the smallest Beta or
    Dirichlet parameter of the prior. An enforced budget refuses a sample whose cost is above it.
    """

    name = "posterior_sampling_direct"
    title = "Posterior sample"
    reference = "geumlek2017rdp, algorithm 1"
    models = ("exponential_family",)
    privacy = Relation.REPLACE_ONE
    counterparts = (Counterpart(apart=Apart.NO_TWIN, reason="no method without privacy fits this kind of model"),)
    releases_a_draw = True

    def fit(self, task: Task, settings: Method.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw. If the budget states a Renyi order, that is one of the orders of the ledger's curve.

        Raises ValueError for invalid rows (``models.exponential_family.statistic_of``).
        """
        return one_draw(task, statistic_of(task), "direct", budget, rng, self.name)


# One draw of the weights of linear regression on inputs scaled to [-1, 1] from the untempered posterior.
class PosteriorSamplingDirectLinear(LinearPosteriorDraw):
    """One posterior sample of Bayesian linear regression, with the model's own prior and likelihood.

    The sample is refused if its cost is infinite or above the budget.
    """

    name = "posterior_sampling_direct"
    title = PosteriorSamplingDirect.title
    reference = PosteriorSamplingDirect.reference
    models = ("bounded_linear_regression",)
    counterparts = (
        Counterpart(
            apart=Apart.REFUSED, reason="no accountant charges a draw of the untempered posterior, whatever the budget"
        ),
    )
    constants = (Constants.NONE,)

    def supports(self, task: Task) -> str | None:
        """None, or the reason why no budget covers the draw."""
        return super().supports(task) or refusal(self.name, task)

    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """(1, 1). Raises MethodError, which names the epsilon needed, for a budget that is too small."""
        event = guarantee.draw_event(1.0 / v0, a, norm2, n)
        needs = guarantee.cost(guarantee.plain(budget.ledger), event, budget.delta)
        if not needs <= budget.epsilon:
            raise MethodError(
                f"{self.name}: one draw costs epsilon = {needs:.4g} at delta = {budget.delta:g}; the budget is "
                f"{budget.epsilon:g}; take the diffused or the concentrated draw"
            )
        return 1.0, 1.0
