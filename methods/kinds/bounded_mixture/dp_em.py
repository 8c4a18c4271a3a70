"""DP-EM as released (Park et al. 2017) for a mixture of Gaussians in the box. It is not private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import dp_em
from methods.contract import Constants, Fit, Leak, LeakKind
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget

#: what rows in the box add to the leaks of the program
FRAME_LEAK = Leak(
    LeakKind.STANDARDISATION,
    "columns without a documented range are framed by the mean and standard deviation of the private rows",
)


class DPEM(InFrame, dp_em.DPEM):
    """``methods.dp_em`` on rows in the box: the released program, whose ledger says infinity at every budget.

    The budget's (epsilon, delta) is what it believes to spend, in mode ``record``. The composition is the moments
    accountant by consistent formulas, because the program's own grid has no entry at epsilon = 0.1.
    """

    models = ("bounded_mixture",)
    constants = (Constants.PROGRAM,)
    name = "dp_em"
    leaks = (*dp_em.DPEM.leaks, FRAME_LEAK)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 5}, {"iterations": 20}, {"prior_scale": 1.0}, {"composition": "zcdp"}, {"early_stop": 0.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(dp_em.DPEM.Settings):
        as_released: bool = False  #: the program's composition formulas with their slips; False: the consistent ones

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return dp_em.DPEM.fit(self, task, settings, budget, rng)
