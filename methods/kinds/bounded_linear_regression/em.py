"""EM as Gaussian-mixture regression in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import em
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import RegressionInFrame, require_components
from methods.kinds.bounded_mixture import em as density
from models.task import Task
from privacy.budget import Budget


class EM(RegressionInFrame, em.EM):
    """A mixture of Gaussians for the joint of inputs and target by MAP EM; prediction by the conditional of the target.

    Ghahramani & Jordan (1994). Settings as for a density in the box.
    """

    models = ("bounded_linear_regression",)
    constants = (Constants.PROGRAM, Constants.PRINTED, Constants.GUESSED)
    name = "em"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1}, {"components": 2}, {"components": 5}, {"components": 8}, {"prior_scale": 0.01},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(density.EM.Settings):
        components: int = 3  #: K (Park et al. 2017, for densities: 3)

        def __post_init__(self) -> None:
            super().__post_init__()
            require_components("em", self.components)

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return em.EM.fit(self, task, settings, budget, rng)
