"""NA-DPVI by a Laplace approximation: a Gaussian about the mode of the noise-aware posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from methods.contract import Fit, Method
from methods.engines.noise_aware.settings import LEAKS, NoiseAwareSettings, Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class NADPVILaplace(Together, Method):
    """theta_j ~ N(mu*_j, softplus(rho*_j)^2 + variance of mu*_j) at the mode; the uncertainty of rho* is dropped.

    The mode is found on nested grids; the authors run Adam with learning rate 1 for 100,000 steps, which does not stop
    exactly there.
    """

    name = "na_dpvi_laplace"
    title = "NA-DPVI (Laplace)"
    reference = "alrawajfeh2024nadpvi_rebuttal, Tables 2 and 3"
    models = ("conjugate_simulator", "linear_regression_unknown_noise", "logistic_regression_normal_prior")
    privacy = Relation.ADD_REMOVE
    leaks = LEAKS

    @dataclass(frozen=True)
    class Settings(NoiseAwareSettings):
        """As :class:`NoiseAwareSettings`, and one quirk of the published program."""

        extra_term: bool = True  # adds log sigmoid(a) once a step to the log density, as published; False: the model's

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.noise_aware.training import compile_kernels

        compile_kernels(task, settings)

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states a noise multiplier, or epsilon and delta."""
        from methods.engines.noise_aware import training

        fit = training.fit(task, settings, budget, rng, self.privacy, "laplace")
        return replace(fit, posterior=fit.posterior.read("laplace", extra_term=settings.extra_term))
