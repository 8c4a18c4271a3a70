"""EM for a mixture of Gaussians in the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import em
from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class EM(InFrame, em.EM):
    """``methods.em`` on rows in the box: MAP estimate of weights, means and covariances, though the task knows two.

    The program of Park et al. 2017 divides rows by their largest norm and stops after 11 M-steps, often before the
    components have parted. Here columns have a standard deviation near 1 already, rows are not divided, and it runs
    until it stops.
    """

    models = ("bounded_mixture",)
    constants = (Constants.PROGRAM, Constants.GUESSED)
    name = "em"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 11}, {"iterations": 30}, {"prior_scale": 1.0}, {"prior_scale": 0.01}, {"scale_rows": True},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(em.EM.Settings):
        """Not chosen on data: enough to converge."""

        iterations: int = 100  #: largest number of M-steps
        tolerance: float = 1e-5  #: stops where log-likelihood + log prior change by less than this part
        scale_rows: bool = False  #: rows are divided by their largest norm first

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return em.EM.fit(self, task, settings, budget, rng)
