"""One sample of the logistic posterior as the model states it: no budget, the baseline of the two private variants."""

from __future__ import annotations

import numpy as np

from methods.contract import Fit, Method
from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LEAKS, SamplerSettings, one_draw
from methods.engines.logistic.sampler import Target
from models.logistic_regression import rows_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingGLMDirect(Method):
    """A draw from the posterior with the prior beta = beta0 and the whole likelihood.

    Calibrated to no budget. It has a price all the same (theorem 16 at beta0), which the ledger holds; a budget in mode
    ``enforce`` refuses it where that is too much.
    """

    name = "posterior_sampling_glm_direct"
    title = "Posterior sample (GLM)"
    reference = "geumlek2017rdp, equation 17 and theorem 16"
    models = ("logistic_regression",)
    privacy = Relation.REPLACE_ONE
    releases_a_draw = True
    leaks = LEAKS

    Settings = SamplerSettings

    def fit(self, task: Task, settings: SamplerSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget may state a Renyi order, which then is one of the orders of the ledger's curve.

        Raises ValueError for rows, labels or a range that do not fit (``models.logistic_regression.rows_of``).
        """
        rows = rows_of(task)
        model = task.model
        order = None if budget.spec.renyi is None else float(budget.spec.renyi[0])
        precision = task.public.n * model.beta0
        event = guarantee.draw_event(1.0, precision, model.norm_bound, order)
        told = {"beta": model.beta0, "power": 1.0}
        return one_draw(rows, Target(1.0, precision), event, settings.plan, budget, rng, told)
