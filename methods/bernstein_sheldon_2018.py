"""Bernstein & Sheldon 2018: noise-aware inference for conjugate families from Laplace-noised sufficient statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Leak, LeakKind, Method
from methods.engines.requests import Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class BernsteinSheldon2018(Together, Method):
    """One release of the sufficient statistics with Laplace noise, pure epsilon, then Gibbs.

    The neighbouring relation is another than DPVI's: one row replaced, the number of rows public. The released program
    draws one number of noise for all counts of the Dirichlet; here each has its own.
    """

    name = "bernstein_sheldon_2018"
    title = "Bernstein & Sheldon (2018)"
    reference = "bernstein2018differentially, as alrawajfeh2024nadpvi_rebuttal, Table 1, uses it"
    models = ("conjugate_simulator",)
    privacy = Relation.REPLACE_ONE
    leaks = (
        Leak(
            LeakKind.RANGES,
            "with section_from 'data' the bounds of the gamma-exponential's sum come from the mean of the private rows "
            "(as published: from the true parameter), unpaid",
            datasets=("gamma_exponential",),
        ),
    )

    @dataclass(frozen=True)
    class Settings:
        """Sampler: as NA-DPVI's benchmark; the two switches set what the released program does beside what is right."""

        burn_in_sweeps: int = 500  # Gibbs sweeps thrown away (released program)
        sweeps: int = 1000  # Gibbs sweeps kept, one chain, none left out (released program)
        #: "corrected": noise scale = proven sensitivity over epsilon; "released": the program's sensitivity (1 for the
        #: Dirichlet's counts, width of the section for gamma-exponential), so that the ledger shows a larger epsilon.
        calibration: str = "corrected"
        #: gamma-exponential: "prior": section (0, 97.5 % point of the prior predictive); "data": 2.5 and 97.5 % points
        #: of Exp(1 / mean of the rows), the nearest to the published program, which uses the true parameter.
        section_from: str = "prior"

        def __post_init__(self) -> None:
            me = "bernstein_sheldon_2018"
            if self.burn_in_sweeps < 0:
                raise ValueError(f"{me}: burn_in_sweeps = {self.burn_in_sweeps}; give a whole number >= 0")
            if self.sweeps < 1:
                raise ValueError(f"{me}: sweeps = {self.sweeps}; give a whole number >= 1")
            if self.calibration not in ("corrected", "released"):
                raise ValueError(f"{me}: calibration = '{self.calibration}'; give 'corrected' or 'released'")
            if self.section_from not in ("prior", "data"):
                raise ValueError(f"{me}: section_from = '{self.section_from}'; give 'prior' or 'data'")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states epsilon. Raises ValueError for a task without rows or a budget without epsilon."""
        from methods.engines.bernstein_sheldon import families

        model, n = task.model, task.public.n
        model.dimension(task.x.shape[1])
        if task.n < 1 or n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        if budget.epsilon is None:
            raise ValueError(f"{self.name}: the budget states no epsilon; give one")
        section = families.section(model, task.x if settings.section_from == "data" else None)
        value, proven, declared, proof = families.release_of(model, task.x, section)
        used = declared if settings.calibration == "released" else proven
        noise = budget.laplace(
            "sufficient statistics of the rows",
            sensitivity=proven,
            noise_scale=used / budget.epsilon,
            relation=self.privacy,
            proof=f"methods.engines.bernstein_sheldon.families.{proof}",
        )
        z = noise.release(value)
        posterior = families.gibbs(
            model, z, noise.noise_scale, n, settings.burn_in_sweeps, settings.sweeps, rng, section
        )
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale, "sweeps": float(settings.sweeps)})
