"""Bernstein & Sheldon 2018: noise-aware inference for conjugate families from Laplace-noised sufficient statistics."""

from __future__ import annotations

import numpy as np

from methods._shared.requests import Together
from methods.contract import Counterpart, Fit, Method
from methods.sufficient_statistics._bernstein_sheldon.settings import Sweeps
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class BernsteinSheldon2018(Together, Method):
    """Noise-aware inference for exponential families (Bernstein & Sheldon 2018): noisy statistics, then Gibbs sampling.

    The statistics are released once with Laplace noise under pure epsilon. The neighbouring relation differs from
    DPVI's: one row is replaced, and the number of rows is public. Every statistic has noise of its own, scaled to its
    proven sensitivity. For the gamma-exponential, rows are summed over an interval that follows from the prior. A
    separate method, ``bernstein_sheldon_2018_authors``, runs the authors' code.
    """

    name = "bernstein_sheldon_2018"
    title = "Bernstein & Sheldon (2018)"
    reference = "bernstein2018differentially, as alrawajfeh2024nadpvi_rebuttal, Table 1, uses it"
    models = ("conjugate_simulator",)
    noise_aware = True
    privacy = Relation.REPLACE_ONE
    counterparts = (Counterpart("exact_posterior", 0.05, "Monte Carlo error of the sampler's draws; .006 seen"),)
    Settings = Sweeps

    def fit(self, task: Task, settings: Sweeps, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        The budget states epsilon. Raises ValueError for a task without rows or a budget without epsilon.
        """
        from methods.sufficient_statistics._bernstein_sheldon import families

        model, n = task.model, task.public.n
        model.dimension(task.x.shape[1])
        if task.n < 1 or n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        if budget.epsilon is None:
            raise ValueError(f"{self.name}: the budget states no epsilon; give one")
        section = families.section(model)
        value, (proven, *_), proof = families.release_of(model, task.x, section)
        noise = budget.laplace(
            "sufficient statistics of the rows",
            sensitivity=proven,
            noise_scale=proven / budget.epsilon,
            relation=self.privacy,
            proof=f"methods.sufficient_statistics._bernstein_sheldon.families.{proof}",
        )
        z = noise.release(value)
        posterior = families.gibbs(
            model, z, noise.noise_scale, n, settings.burn_in_sweeps, settings.sweeps, rng, section
        )
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale, "sweeps": float(settings.sweeps)})
