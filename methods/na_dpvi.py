"""NA-DPVI by exact independent draws: DPVI, then the posterior of its optimum given the whole noisy trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.noise_aware.settings import LEAKS, NoiseAwareSettings, Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class NADPVI(Together, Method):
    """The density that the authors sample by NUTS, collapsed into six numbers a coordinate and drawn exactly.

    What is stored are those numbers (``models.noise_aware.TracePosterior``): draws are made where they are scored.
    """

    name = "na_dpvi"
    title = "NA-DPVI"
    reference = "alrawajfeh2024nadpvi_rebuttal, algorithm 2"
    models = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
    privacy = Relation.ADD_REMOVE
    leaks = LEAKS

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`."""

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.noise_aware.training import compile_kernels

        compile_kernels(task, settings)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states a noise multiplier, or epsilon and delta."""
        from methods.engines.noise_aware import training

        return training.fit(task, settings, budget, rng, self.privacy, "noise_aware")
