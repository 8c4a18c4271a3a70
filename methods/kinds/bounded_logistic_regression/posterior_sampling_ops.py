"""One-posterior-sample mechanism on logistic regression in the box, by a pure epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import chdtr

from methods.contract import Constants, Fit, MethodError
from methods.engines.frames import InFrame
from methods.engines.logistic.release import MARKOV_CHAIN, NO_DRAW, SamplerSettings
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Event, Relation

if TYPE_CHECKING:
    from methods.engines.logistic.sampler import Target

#: a ball that holds less of the prior makes another prior of it, and the sampler finds next to no draw inside. Added
#: after a fit on Adult, at the setting that a stand-in had chosen (4e-6 of the prior), found none; no score was seen.
LEAST_MASS = 1e-3


class PosteriorSamplingOPS(InFrame):
    """One draw from a tempered posterior, prior N(0, prior_sd^2 I) truncated to the ball |theta| <= radius.

    The draw is pure power c radius DP under add/remove (``logistic_gaussian.draws.pure_bound``; twice that for an
    exchanged record). The power is the largest, at most 1, at which the whole ledger keeps (epsilon, delta), where the
    pure epsilon enters by the Renyi divergence that it implies. The radius is ``radius_factor`` prior_sd sqrt(D): the
    root mean square norm of theta under the prior.
    """

    name = "posterior_sampling_ops"
    title = "One posterior sample (OPS)"
    reference = "wang2015privacy, algorithm 1"
    models = ("bounded_logistic_regression",)
    constants = (Constants.FORMULA, Constants.GUESSED)
    privacy = Relation.ADD_REMOVE
    #: the release is one draw from a posterior: there is no noise to add and none to record.
    releases_a_draw = True
    leaks = (MARKOV_CHAIN, NO_DRAW)
    grid: ClassVar[tuple[dict, ...]] = tuple(
        {} if f == 2.0 else {"radius_factor": f} for f in (2.0, 0.7, 1.0, 1.4, 3.0, 4.0)
    )

    @dataclass(frozen=True)
    class Settings(SamplerSettings):
        #: radius of the ball over the root mean square norm of theta under the prior (choice of this suite).
        radius_factor: float = 2.0

        def __post_init__(self) -> None:
            super().__post_init__()
            if not (math.isfinite(self.radius_factor) and self.radius_factor > 0):
                raise ValueError(f"posterior_sampling_ops: radius_factor = {self.radius_factor}; give a number above 0")

    def law(self, model, d: int, settings: Settings, budget: Budget) -> tuple[Target, Event]:
        """What one draw from d inputs is from and costs, by public numbers alone.

        Raises ValueError for a budget with nothing for the draw, MethodError for a ball that holds less than
        ``LEAST_MASS`` of the prior (of D and the radius alone).
        """
        from methods.engines.logistic.sampler import Target
        from methods.engines.logistic_gaussian import draws

        precision, c = 1.0 / model.prior_sd**2, draws.norm_bound(d)
        radius = settings.radius_factor * model.prior_sd * math.sqrt(d + 1.0)
        mass = float(chdtr(d + 1.0, (radius / model.prior_sd) ** 2))
        if mass < LEAST_MASS:
            raise MethodError(
                f"{self.name}: a ball of radius {radius:.4g} holds {mass:.2g} of the prior; raise radius_factor above "
                f"{settings.radius_factor:g}"
            )
        power = min(1.0, draws.largest(lambda v: draws.pure_event(v, c, radius), budget, self.name))
        return Target(power, precision, radius), draws.pure_event(power, c, radius)

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows, and what :meth:`law` raises."""
        from methods.engines.logistic_gaussian import draws

        target, event = self.law(task.model, task.x.shape[1], settings, budget)
        return draws.draw(task, target, event, budget, rng, settings, self.name)
