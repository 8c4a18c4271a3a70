"""Yardstick: DP-SGD on the log-posterior of logistic regression in the box, a point estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Fit
from methods.engines.frames import InFrame
from models.bounded_logistic import LogisticPoint
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPSGD(InFrame):
    """Abadi et al. 2016, algorithm 1, on minus the log-posterior; the mean of the second half of the path.

    Poisson batches under add/remove (as in the paper: the clipped sum has sensitivity C); the prior, which reads no
    row, is added after the noise. Rows around bought column means (``logistic_gaussian.centred``); steps, step size
    and clipping norm by ``logistic_gaussian.gradients.plan_of``.
    """

    name = "dp_sgd"
    title = "DP-SGD"
    reference = "abadi2016deep, algorithm 1"
    models = ("bounded_logistic_regression",)
    privacy = Relation.ADD_REMOVE
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"rate_factor": 0.3}, {"rate_factor": 1.7}, {"clip_factor": 0.5}, {"clip_factor": 2.0}, {"batch_rows": 250}
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        """None: by the formula of ``logistic_gaussian.gradients.plan_of``."""

        batch_rows: int = 1000  #: expected rows of a batch, q = min(1, batch_rows / n) (choice of this suite)
        steps: int | None = None  #: K; None: by formula
        rate_factor: float = 1.0  #: times the step size of the formula (without unit)
        clip_factor: float = 1.0  #: clipping norm over the typical norm of a centred row (without unit)

        def __post_init__(self) -> None:
            from methods.engines.logistic_gaussian.plans import check

            check("dp_sgd", self)

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a budget that states neither (epsilon, delta) nor a noise
        multiplier, Diverged for numbers that overflow."""
        from methods.engines.logistic_gaussian import gradients

        theta, plan = gradients.point(task, settings, budget, name=self.name, relation=self.privacy)
        return Fit(LogisticPoint(theta), budget.ledger, plan.told)
