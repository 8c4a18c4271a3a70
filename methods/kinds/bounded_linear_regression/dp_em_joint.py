"""DP-EM repaired, as Gaussian-mixture regression in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import dp_em_joint
from methods.contract import Fit
from methods.engines.framed_mixture import RegressionInFrame, require_components
from methods.kinds.bounded_mixture import dp_em_joint as density
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPEMJoint(RegressionInFrame, density.DPEMJoint):
    """``methods.dp_em_joint`` on the joint of inputs and target, read as the target given the inputs.

    Ball and noise as for a density in the box; a row is [x, y].
    """

    models = ("bounded_linear_regression",)
    name = "dp_em_joint"
    privacy = Relation.ADD_REMOVE
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1, "iterations": 1}, {"components": 2}, {"components": 5}, {"iterations": 5},
        {"iterations": 20},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(density.DPEMJoint.Settings):
        components: int = 3  #: K (Park et al. 2017, for densities: 3)

        def __post_init__(self) -> None:
            super().__post_init__()
            require_components("dp_em_joint", self.components)

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return dp_em_joint.DPEMJoint.fit(self, task, settings, budget, rng)
