"""Diffused posterior sampling on logistic regression in the box."""

from __future__ import annotations

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from methods.engines.logistic.release import MARKOV_CHAIN, NO_DRAW, SamplerSettings
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingGLMDiffused(InFrame):
    """One draw from the posterior with the model's prior and a likelihood that is flat enough for the budget.

    Against the paper: add/remove neighbours, for which the curve is a quarter of theorem 16's (``logistic_gaussian.
    draws.renyi_bound``), and the power is the largest at which the whole ledger keeps (epsilon, delta). Rows have norm
    at most sqrt(D) as the box has it; there is an intercept.
    """

    name = "posterior_sampling_glm_diffused"
    title = "Posterior sample, diffused (GLM)"
    reference = "geumlek2017rdp, algorithm 6"
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.GUESSED)
    privacy = Relation.ADD_REMOVE
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (MARKOV_CHAIN, NO_DRAW)
    Settings = SamplerSettings

    def fit_unit(self, task: Task, settings: SamplerSettings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget with nothing for the draw."""
        from methods.engines.logistic.sampler import Target
        from methods.engines.logistic_gaussian import draws

        precision, c = 1.0 / task.model.prior_sd**2, draws.norm_bound(task.x.shape[1])
        power = min(1.0, draws.largest(lambda v: draws.draw_event(v, precision, c), budget, self.name))
        event = draws.draw_event(power, precision, c)
        return draws.draw(task, Target(power, precision), event, budget, rng, settings, self.name)
