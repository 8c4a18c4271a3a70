"""Concentrated posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 5)."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Method
from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LEAKS, SamplerSettings, one_draw, order_and_epsilon
from methods.engines.logistic.sampler import Target
from models.logistic_regression import rows_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingGLMConcentrated(Method):
    """One draw from the posterior with a prior that is narrow enough for the budget.

    beta = max(2 c^2 order / (n epsilon), beta0), whole likelihood; (order, epsilon)-RDP by theorem 16, proved in
    ``methods.engines.logistic.guarantee.renyi_bound``.
    """

    name = "posterior_sampling_glm_concentrated"
    title = "Posterior sample, concentrated (GLM)"
    reference = "geumlek2017rdp, algorithm 5"
    models = ("logistic_regression",)
    privacy = Relation.REPLACE_ONE
    releases_a_draw = True
    leaks = LEAKS

    Settings = SamplerSettings

    def fit(self, task: Task, settings: SamplerSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states a Renyi order and epsilon.

        Raises ValueError for a budget without them, order < 1, epsilon <= 0, and for rows, labels or a range that do
        not fit (``models.logistic_regression.rows_of``).
        """
        rows = rows_of(task)
        model, n = task.model, task.public.n
        order, epsilon = order_and_epsilon(budget, self.name)
        beta = guarantee.concentrated_beta(order, epsilon, n, model.beta0, model.norm_bound)
        event = guarantee.draw_event(1.0, n * beta, model.norm_bound, order)
        told = {"beta": beta, "power": 1.0}
        return one_draw(rows, Target(1.0, n * beta), event, settings.plan, budget, rng, told)
