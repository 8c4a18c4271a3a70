"""DP-EM repaired, for a mixture of Gaussians in the box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import dp_em_joint
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import RADIUS, ball
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPEMJoint(InFrame, dp_em_joint.DPEMJoint):
    """``methods.dp_em_joint`` on rows in the box: one noisy vector of all moments a M-step, rows clipped to a ball.

    The ball is public, around the centre of the box; its radius is ``radius`` sqrt(d), where the corners of the box
    are at 3 sqrt(d): a column has a standard deviation near 1, and the noise grows with the square of the radius. The
    noise of the M-steps uses up what the frame has left of the budget.
    """

    models = ("bounded_mixture",)
    constants = (Constants.DEVELOPED, Constants.PROGRAM)
    name = "dp_em_joint"
    privacy = Relation.ADD_REMOVE
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 5}, {"iterations": 20}, {"iterations": 40}, {"radius": 2.0}, {"radius": 3.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """The constants were chosen on synthetic mixtures, none on a data set of the suite."""

        iterations: int = 10  #: J, full-batch M-steps, all charged (the program of Park et al.: 10)
        radius: float = RADIUS  #: of the ball, over sqrt(d), box units
        start_variance: float = 0.1  #: variance of the components at the start, squared units of the unit ball
        eigenvalue_floor: float = 1e-5  #: smallest eigenvalue of a covariance, squared units of the unit ball

        def __post_init__(self) -> None:
            if not self.iterations >= 1:
                raise ValueError(f"dp_em_joint: iterations = {self.iterations}; give at least 1")
            for what in ("radius", "start_variance", "eigenvalue_floor"):
                if not (0 < getattr(self, what) < math.inf):
                    raise ValueError(f"dp_em_joint: {what} = {getattr(self, what)}; give a finite number above 0")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return dp_em_joint.DPEMJoint.fit(self, task, settings, budget, rng)

    def _frame(self, task: Task, s: Settings, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
        return ball(task.x.shape[1], s.radius)
