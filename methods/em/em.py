"""EM for the MAP estimate of a mixture of Gaussians, as the authors' code of Park et al. 2017 runs without privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.framed_mixture import RegressionInFrame
from methods._shared.frames import InFrame
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Constants, Fit, Method
from models.task import Task
from privacy.budget import Budget


class EM(Method):
    """EM for a mixture of Gaussians, a MAP estimate without privacy, from a start that reads no row.

    The start often leaves two components in one cluster. Weights, means and covariances are estimated even if the task
    knows the noise.
    """

    name = "em"
    title = "EM"
    reference = "park2017dpem, the authors' code with epsilon = 0"
    models = ("mixture_of_gaussians",)

    @dataclass(frozen=True)
    class Settings:
        #: M-steps (authors' code: maxIter = 10, but it stops after the 11th).
        iterations: int = 11
        #: stops if log-likelihood + log prior change by less than this part (authors' code: 1e-4; 0: never).
        tolerance: float = 1e-4
        #: kappa0, pseudo-rows of the prior of the means (authors' code: 1.01).
        kappa0: float = 1.01
        #: S0 = this x I, squared units of the rows that EM sees (authors' code: 0.1).
        prior_scale: float = 0.1
        #: concentration of the Dirichlet prior of the weights (authors' code: 2).
        dirichlet: float = 2.0
        #: rows are divided by their largest norm first (authors' code: yes).
        scale_rows: bool = True
        #: means and covariances are returned in data units; False: for the divided rows (Vinaroz & Park 2023).
        scale_back: bool = True

        def __post_init__(self) -> None:
            whole("em", self, "iterations")
            within("em", self, "[0, inf)", "tolerance")
            positive("em", self, "kappa0", "prior_scale")
            within("em", self, "[1, inf)", "dirichlet")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Run EM. Raises ValueError for a task without rows, and Diverged if a number is not finite."""
        from methods.em import _em as engine

        s = settings
        if task.n < 1:
            raise ValueError(f"{task.name}: em needs at least 1 training row, got {task.n}")
        scale = engine.largest_norm(task.x) if s.scale_rows else 1.0
        x = task.x / scale
        prior = engine.Prior(s.kappa0, s.prior_scale, s.dirichlet)
        start = engine.initial(x.shape[1], task.model.components, rng, 1.0 / scale)

        def m_step(responsibilities, _):
            return engine.map_m_step(engine.moments(x, responsibilities, 1.0, 1.01), prior)

        found, objectives = engine.iterate(x, start, m_step, s.iterations, s.tolerance, prior)
        if s.scale_back:
            found = engine.scaled(found, scale)
        return Fit(
            found, budget.ledger, {"m_steps": len(objectives), "log_posterior": objectives[-1], "row_scale": scale}
        )


# EM for a mixture of Gaussians on inputs scaled to [-1, 1].
class EMMixture(InFrame, EM):
    """EM for a mixture of Gaussians on columns scaled to [-1, 1]: the MAP estimate of weights, means and covariances.

    The code of Park et al. 2017 divides rows by their largest norm and stops after 11 M-steps, often before the
    components have separated. Here columns already have a standard deviation near 1, so rows are not divided. EM runs
    until the objective stops changing, for at most ``iterations`` M-steps.
    """

    models = ("bounded_mixture",)
    constants = (Constants.PROGRAM, Constants.GUESSED)
    name = "em"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 11}, {"iterations": 30}, {"prior_scale": 1.0}, {"prior_scale": 0.01}, {"scale_rows": True},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(EM.Settings):
        """Settings with which it converges. They were not chosen on data."""

        iterations: int = 100  #: largest number of M-steps
        tolerance: float = 1e-5  #: stops if log-likelihood + log prior change by less than this part
        scale_rows: bool = False  #: rows are divided by their largest norm first

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return EM.fit(self, task, settings, budget, rng)


# EM as Gaussian-mixture regression on inputs scaled to [-1, 1].
class EMLinear(RegressionInFrame, EM):
    """Regression by EM for a mixture of Gaussians of inputs and target; the prediction is the target given the inputs.

    The method is that of Ghahramani & Jordan (1994). The settings are those for a density of scaled columns.
    """

    models = ("bounded_linear_regression",)
    constants = (Constants.PROGRAM, Constants.PRINTED, Constants.GUESSED)
    name = "em"
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1}, {"components": 2}, {"components": 5}, {"components": 8}, {"prior_scale": 0.01},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(EMMixture.Settings):
        components: int = 3  #: K (Park et al. 2017, for densities: 3)

        def __post_init__(self) -> None:
            super().__post_init__()
            whole("em", self, "components")

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return EM.fit(self, task, settings, budget, rng)
