"""The free baseline of NA-DPVI: mean of the iterates, and their variance added to that of q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.noise_aware.settings import LEAKS, DPVISettings, Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPVITraceAverage(Together, Method):
    """N(mean of mu, softplus(mean of rho)^2 + variance of mu) over the kept iterates: post-processing of one run."""

    name = "dpvi_trace_average"
    title = "DPVI (trace average)"
    reference = "baseline of this suite; after jalko2023dpvim, section 3.2"
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

        return training.fit(task, settings, budget, rng, self.privacy, "trace_average")
