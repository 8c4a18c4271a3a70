"""DP-EM as released (Park et al. 2017) as Gaussian-mixture regression in the box. It is not private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import dp_em
from methods.contract import Constants, Fit
from methods.engines.framed_mixture import RegressionInFrame, require_components
from methods.kinds.bounded_mixture import dp_em as density
from models.task import Task
from privacy.budget import Budget


class DPEM(RegressionInFrame, dp_em.DPEM):
    """``methods.dp_em`` on the joint of inputs and target, read as the target given the inputs.

    Its ledger says infinity at every budget; mode ``record``. Settings as for a density in the box.
    """

    models = ("bounded_linear_regression",)
    constants = (Constants.PROGRAM, Constants.PRINTED)
    name = "dp_em"
    leaks = (*dp_em.DPEM.leaks, density.FRAME_LEAK)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1}, {"components": 2}, {"components": 5}, {"iterations": 5}, {"iterations": 20},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(density.DPEM.Settings):
        components: int = 3  #: K (Park et al. 2017, for densities: 3)

        def __post_init__(self) -> None:
            super().__post_init__()
            require_components("dp_em", self.components)

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return dp_em.DPEM.fit(self, task, settings, budget, rng)
