"""Concentrated posterior sampling in an exponential family (Geumlek, Song & Chaudhuri 2017, algorithm 3)."""

from __future__ import annotations

import numpy as np

from methods._shared import linear_draw_guarantee as guarantee
from methods._shared.exponential_family.release import one_draw
from methods.contract import Apart, Constants, Counterpart, Fit, Method
from methods.posterior_sampling._linear import LinearPosteriorDraw
from models.exponential_family import statistic_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingConcentrated(Method):
    """One posterior sample under a prior eta0 / m that is strong enough for the budget.

    The posterior's parameter is eta0 / m plus the sum of [S(x_i), 1]. m is the largest number, at most 1, at which the
    exact supremum over neighbours keeps the Renyi budget. A small m pulls the sample towards the mean of the prior.
    Public rows in the prior (the model's ``public``, section 3.3) remove that bias.
    """

    name = "posterior_sampling_concentrated"
    title = "Posterior sample, concentrated"
    reference = "geumlek2017rdp, algorithm 3"
    models = ("exponential_family",)
    privacy = Relation.REPLACE_ONE
    counterparts = (Counterpart(apart=Apart.NO_TWIN, reason="no method without privacy fits this kind of model"),)
    releases_a_draw = True

    def fit(self, task: Task, settings: Method.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw. The budget states a Renyi order and epsilon.

        Raises ValueError for a budget without them, order < 1, epsilon <= 0, and invalid rows
        (``models.exponential_family.statistic_of``).
        """
        return one_draw(task, statistic_of(task), "concentrated", budget, rng, self.name)


# One draw of the weights of linear regression on inputs scaled to [-1, 1] from a posterior with a stronger prior.
class PosteriorSamplingConcentratedLinear(LinearPosteriorDraw):
    """One posterior sample of Bayesian linear regression, under a prior that is narrow enough for the budget.

    The factor on the prior precision is the smallest one, at least 1, at which the sample fits the budget that remains
    after the scaling.
    """

    name = "posterior_sampling_concentrated"
    title = PosteriorSamplingConcentrated.title
    reference = PosteriorSamplingConcentrated.reference
    models = ("bounded_linear_regression",)
    constants = (Constants.FORMULA,)

    def tempered(self, budget: Budget, v0: float, a: float, norm2: float, n: int) -> tuple[float, float]:
        """(1, strength) with the strength of ``guarantee.smallest_strength``."""
        return 1.0, guarantee.smallest_strength(tuple(budget.ledger), budget.epsilon, budget.delta, v0, a, norm2, n)
