"""DPVI read at its last iterate: the naive posterior, which takes the privacy noise for nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.noise_aware.settings import LEAKS, DPVISettings, Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPVILastIterate(Together, Method):
    """q at the last iterate: N(mu_T, softplus(rho_T)^2)."""

    name = "dpvi_last_iterate"
    title = "Naive (last iterate)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 1 to 3, naive"
    models = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
    privacy = Relation.ADD_REMOVE
    leaks = LEAKS

    @dataclass(frozen=True)
    class Settings(DPVISettings):
        """As :class:`DPVISettings`."""

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.noise_aware.training import compile_kernels

        compile_kernels(task, settings)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states a noise multiplier, or epsilon and delta."""
        from methods.engines.noise_aware import training

        return training.fit(task, settings, budget, rng, self.privacy, "last_iterate")
