"""Diffused posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 6)."""

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


class PosteriorSamplingGLMDiffused(Method):
    """One draw from the posterior of a likelihood that is flat enough for the budget.

    beta = beta0, likelihood to the power min(1, sqrt(epsilon n beta / (2 c^2 order))); (order, epsilon)-RDP, proved in
    ``methods.engines.logistic.guarantee.renyi_bound``.
    """

    name = "posterior_sampling_glm_diffused"
    title = "Posterior sample, diffused (GLM)"
    reference = "geumlek2017rdp, algorithm 6"
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
        power = guarantee.diffused_power(order, epsilon, n, model.beta0, model.norm_bound)
        precision = n * model.beta0
        event = guarantee.draw_event(power, precision, model.norm_bound, order)
        told = {"beta": model.beta0, "power": power}
        return one_draw(rows, Target(power, precision), event, settings.plan, budget, rng, told)
