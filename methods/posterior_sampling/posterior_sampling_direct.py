"""One sample of a conjugate posterior as the model states it (Geumlek, Song & Chaudhuri 2017, algorithm 1)."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Method
from methods.engines.exponential_family.release import one_draw
from models.exponential_family import statistic_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingDirect(Method):
    """A draw from the posterior: no tempering, calibrated to no budget.

    It has a price all the same, which the ledger holds (``methods.engines.exponential_family.guarantee.supremum``):
    finite at orders below 1 + the smallest Beta or Dirichlet parameter of the prior. A budget in mode ``enforce``
    refuses it where that is too much.
    """

    name = "posterior_sampling_direct"
    title = "Posterior sample"
    reference = "geumlek2017rdp, algorithm 1"
    models = ("exponential_family",)
    privacy = Relation.REPLACE_ONE
    releases_a_draw = True

    def fit(self, task: Task, settings: Method.Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget may state a Renyi order, which then is one of the orders of the ledger's curve.

        Raises ValueError for rows that do not fit (``models.exponential_family.statistic_of``).
        """
        return one_draw(task, statistic_of(task), "direct", budget, rng, self.name)
