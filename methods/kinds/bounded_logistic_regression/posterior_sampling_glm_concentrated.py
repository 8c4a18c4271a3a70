"""Concentrated posterior sampling on logistic regression in the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from methods.engines.logistic.release import MARKOV_CHAIN, NO_DRAW, SamplerSettings
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Relation

if TYPE_CHECKING:
    from methods.engines.logistic.sampler import Target


class PosteriorSamplingGLMConcentrated(InFrame):
    """One draw from the posterior of the whole likelihood with a prior that is narrow enough for the budget.

    The precision is the smallest, but not below the model's, at which the whole ledger keeps (epsilon, delta).
    Against the paper: add/remove neighbours, for which the curve is a quarter of theorem 16's
    (``logistic_gaussian.draws.renyi_bound``). Rows have norm at most sqrt(D) as the box has it; there is an intercept.
    """

    name = "posterior_sampling_glm_concentrated"
    title = "Posterior sample, concentrated (GLM)"
    reference = "geumlek2017rdp, algorithm 5"
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.GUESSED)
    privacy = Relation.ADD_REMOVE
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (MARKOV_CHAIN, NO_DRAW)
    Settings = SamplerSettings

    def law(self, model, d: int, settings: SamplerSettings, budget: Budget) -> tuple[Target, Event]:
        """What one draw from d inputs is from and costs, by public numbers alone. Raises ValueError for a budget with
        nothing for the draw."""
        from methods.engines.logistic.sampler import Target
        from methods.engines.logistic_gaussian import draws

        c = draws.norm_bound(d)
        variance = draws.largest(lambda v: draws.draw_event(1.0, 1.0 / v, c), budget, self.name)
        precision = max(1.0 / variance, 1.0 / model.prior_sd**2)
        return Target(1.0, precision), draws.draw_event(1.0, precision, c)

    def fit_unit(self, task: Task, settings: SamplerSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows, and what :meth:`law` raises."""
        from methods.engines.logistic_gaussian import draws

        target, event = self.law(task.model, task.x.shape[1], settings, budget)
        return draws.draw(task, target, event, budget, rng, settings, self.name)
