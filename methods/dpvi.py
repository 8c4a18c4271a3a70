"""Differentially private variational inference, read at the mean of its iterates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from methods.engines.noise_aware.settings import LEAKS, DPVISettings, Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPVI(Together, Method):
    """Mean-field DP-SGD on the negative lower bound; q at the mean of the kept iterates, privacy noise ignored.

    The stored posterior holds the sufficient statistics of the trace, so that every other reading of the same run
    (last iterate, noise-aware, Laplace, trace average) can be had from it: ``models.noise_aware.TracePosterior.read``.
    """

    name = "dpvi"
    title = "DPVI (mean iterate)"
    reference = "jalko2017dpvi; alrawajfeh2024nadpvi_rebuttal, algorithm 1"
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

        return training.fit(task, settings, budget, rng, self.privacy, "trace_mean")
