"""EM for a mixture of Gaussians, MAP, without privacy: the non-private run of the program of Park et al. 2017."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Method
from models.task import Task
from privacy.budget import Budget


class EM(Method):
    """MAP EM from a start that looks at no row (a poor one: it often leaves two components in one cluster).

    Weights, means and covariances are estimated even where the task knows the noise.
    """

    name = "em"
    title = "EM"
    reference = "park2017dpem, the program's run with epsilon = 0"
    models = ("mixture_of_gaussians",)

    @dataclass(frozen=True)
    class Settings:
        #: M-steps (the program: maxIter = 10, but it stops after the 11th).
        iterations: int = 11
        #: stops where log-likelihood + log prior change by less than this part (the program: 1e-4; 0: never).
        tolerance: float = 1e-4
        #: kappa0, pseudo-rows of the prior of the means (the program: 1.01).
        kappa0: float = 1.01
        #: S0 = this x I, squared units of the rows that EM sees (the program: 0.1).
        prior_scale: float = 0.1
        #: concentration of the Dirichlet prior of the weights (the program: 2).
        dirichlet: float = 2.0
        #: rows are divided by their largest norm first (the program: yes).
        scale_rows: bool = True
        #: means and covariances are returned in data units; False: for the divided rows (Vinaroz & Park 2023).
        scale_back: bool = True

        def __post_init__(self) -> None:
            if not (self.iterations >= 1 and self.tolerance >= 0):
                raise ValueError(
                    f"em: iterations = {self.iterations}, tolerance = {self.tolerance}; give at least 1, and at least 0"
                )
            if not (self.kappa0 > 0 and self.prior_scale > 0 and self.dirichlet >= 1):
                raise ValueError(
                    f"em: kappa0 = {self.kappa0}, prior_scale = {self.prior_scale}, dirichlet = {self.dirichlet}; "
                    "give numbers above 0, and dirichlet at least 1"
                )

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows, Diverged where the likelihood leaves the finite range."""
        from methods.engines.mixture import em as engine

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
