"""Bernstein & Sheldon 2019 (Gibbs-SS-Noisy), corrected: tight sensitivity, each moment once, public law of x."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from methods.contract import Fit, Leak, LeakKind, Method
from methods.engines.requests import Together
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class BernsteinSheldon2019(Together, Method):
    """Noise-aware linear regression from Laplace-noised second moments of clipped rows; pure epsilon, one row replaced.

    Against the released program: rows are clipped to public bounds; the sensitivity is that of the distinct moments;
    these are the sampler's coordinates; the inputs' law N(0, I) is public, so that all of epsilon goes to the moments.
    """

    name = "bernstein_sheldon_2019"
    title = "Bernstein & Sheldon (2019, corrected)"
    reference = "bernstein2019differentially, section 4.3, Gibbs-SS-Noisy; corrections of this suite"
    models = ("linear_regression_unknown_noise",)
    privacy = Relation.REPLACE_ONE
    leaks = (
        Leak(
            LeakKind.PRIORS,
            "the law N(0, I) of the inputs and their bounds are taken as public (they are those of the simulator)",
        ),
    )

    @dataclass(frozen=True)
    class Settings:
        """The sampler's lengths are choices of this suite (authors: 2,000 and 5,000), for time."""

        burn_in_sweeps: int = 500  # Gibbs sweeps thrown away
        sweeps: int = 1000  # Gibbs sweeps kept
        input_bound: float = 4.0  # an input is clipped to [-this, this]; P(|x| > 4) = 6e-5 under N(0, 1)
        target_bound: float = 6.0  # a target is clipped to [-this, this]; its prior standard deviation is about 1.1

        def __post_init__(self) -> None:
            me = "bernstein_sheldon_2019"
            if self.burn_in_sweeps < 0:
                raise ValueError(f"{me}: burn_in_sweeps = {self.burn_in_sweeps}; give a whole number >= 0")
            if self.sweeps < 1:
                raise ValueError(f"{me}: sweeps = {self.sweeps}; give a whole number >= 1")
            for key in ("input_bound", "target_bound"):
                if not (math.isfinite(getattr(self, key)) and getattr(self, key) > 0):
                    raise ValueError(f"{me}: {key} = {getattr(self, key)}; give a finite number above 0")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states epsilon. Raises ValueError for a task without rows or a budget without epsilon."""
        from methods.engines.bernstein_sheldon import regression

        s = settings
        if task.n < 1 or task.public.n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        if budget.epsilon is None:
            raise ValueError(f"{self.name}: the budget states no epsilon; give one")
        bounds = np.append(np.full(task.x.shape[1], s.input_bound), s.target_bound)
        widths = float((bounds.sum() + 1.0) ** 2 - 1.0)
        noise = budget.laplace(
            "first and second moments of the clipped rows",
            sensitivity=widths,
            noise_scale=widths / budget.epsilon,
            relation=self.privacy,
            proof="methods.engines.bernstein_sheldon.regression.clipped_moments",
        )
        z = noise.release(regression.clipped_moments(task.x, task.y, bounds))
        posterior, stayed = regression.gibbs_corrected(
            task.model, z, noise.noise_scale, task.public.n, s.burn_in_sweeps, s.sweeps, rng
        )
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale, "stayed": stayed})
