"""Baseline: one Gaussian. A mixture that has found clusters should beat it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.frames import InFrame
from methods._shared.settings_checks import positive
from methods.contract import Constants, Fit, Role
from models.mixture_of_gaussians import MixtureParameters
from models.task import Task
from privacy.budget import Budget


class SingleGaussian(InFrame):
    """One Gaussian with the mean and the covariance of the training rows (maximum likelihood), without privacy.

    A mixture that does not beat it has found no clusters.
    """

    name = "single_gaussian"
    title = "One Gaussian"
    reference = "baseline of this suite"
    role = Role.YARDSTICK
    models = ("bounded_mixture",)
    constants = (Constants.GUESSED,)

    @dataclass(frozen=True)
    class Settings:
        eigenvalue_floor: float = 1e-6  #: smallest eigenvalue of the covariance, units of the scaled columns, squared

        def __post_init__(self) -> None:
            positive("single_gaussian", self, "eigenvalue_floor")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(task.x.T, bias=True)))
        covariance = (vectors * np.maximum(values, settings.eigenvalue_floor)) @ vectors.T
        return Fit(MixtureParameters(np.ones(1), task.x.mean(axis=0)[None], covariance[None]), budget.ledger)
