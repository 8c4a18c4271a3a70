"""Diffused posterior sampling for logistic regression (Geumlek, Song & Chaudhuri 2017, algorithm 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.logistic import guarantee
from methods.engines.logistic.release import one_draw, order_and_epsilon
from methods.engines.logistic.sampler import Plan, Target
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
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (
        "where the model's scaling is 'data', the range of each input is that of the private rows",
        "the guarantee is for an exact sample; the draw is the end of a Markov chain, whose distance is not counted",
    )

    @dataclass(frozen=True)
    class Settings:
        #: Hamiltonian trajectories of one run (choice of this suite).
        trajectories: int = 10
        #: leapfrog steps of a trajectory, one gradient each (choice of this suite).
        leapfrog_steps: int = 8

        def __post_init__(self) -> None:
            Plan(self.trajectories, self.leapfrog_steps)  # checks both

        @property
        def plan(self) -> Plan:
            return Plan(self.trajectories, self.leapfrog_steps)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
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
