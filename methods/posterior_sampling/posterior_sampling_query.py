"""A statistical query answered by Beta sampling (Geumlek, Song & Chaudhuri 2017, algorithm 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.exponential_family.release import one_draw
from methods._shared.settings_checks import one_of
from methods.contract import Apart, Counterpart, Fit, Method
from models.exponential_family import statistic_of
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class PosteriorSamplingQuery(Method):
    """The mean of values phi(x_i) in [0, 1] over n rows, released as rho = sigmoid(theta).

    The rows of the task are the values phi(x_i), one column. theta is drawn by algorithm 2 or 3 of the Beta system with
    S = phi, so rho has a Beta distribution. By algorithm 2 its parameters are a + r sum phi and b + r sum [1 - phi]. By
    algorithm 3 they are a / m + sum phi and b / m + sum [1 - phi]. The guarantee covers values between 0 and 1. The
    released number is the posterior's ``value``.
    """

    name = "posterior_sampling_query"
    title = "Statistical query by Beta sampling"
    reference = "geumlek2017rdp, algorithm 4"
    models = ("exponential_family",)
    privacy = Relation.REPLACE_ONE
    counterparts = (Counterpart(apart=Apart.NO_TWIN, reason="no method without privacy fits this kind of model"),)
    releases_a_draw = True

    @dataclass(frozen=True)
    class Settings:
        #: "diffused" (algorithm 2) or "concentrated" (algorithm 3); the paper leaves the choice open.
        sampler: str = "diffused"

        def __post_init__(self) -> None:
            one_of("posterior_sampling_query", self, "sampler", ("diffused", "concentrated"))

    def supports(self, task: Task) -> str | None:
        if reason := super().supports(task):
            return reason
        if task.model.family != "beta_bernoulli":
            return f"{self.name} answers by the Beta system, not by {task.model.family}"
        return None

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Make one draw. The budget states a Renyi order and epsilon.

        Raises ValueError for a budget without them, order < 1, epsilon <= 0, a family that is not the Beta system, and
        a value outside [0, 1].
        """
        if reason := self.supports(task):
            raise ValueError(reason)
        return one_draw(task, statistic_of(task, fractional=True), settings.sampler, budget, rng, self.name)
