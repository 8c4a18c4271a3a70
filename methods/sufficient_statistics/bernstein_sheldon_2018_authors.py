"""Bernstein & Sheldon 2018 as the authors' code runs it: one noise value for all counts, not private."""

from __future__ import annotations

import numpy as np

from methods._shared.requests import Together
from methods.contract import Fit, Leak, LeakKind, Method
from methods.sufficient_statistics._bernstein_sheldon.settings import Sweeps
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class BernsteinSheldon2018Authors(Together, Method):
    """Noise-aware inference for exponential families as the authors' code of Bernstein & Sheldon 2018 runs it.

    The faults of the code are kept. It draws one Laplace number and adds it to every count of the Dirichlet, so each
    difference of two counts is released without noise. The ledger has these differences as a release without noise,
    next to the noisy first count. The sampler treats the counts' noise as independent.

    For the gamma-exponential the authors' code sums the rows over an interval of quantiles at the true parameter. A
    method cannot know that parameter. Its closest estimate is one over the mean of the rows, and the interval here is
    computed at that estimate.

    A model with one statistic shares no noise, and its epsilon follows from the sensitivity. The code's sensitivity is
    1 for the Beta-Bernoulli, which is right. For the gamma-exponential it is the width of the interval, which is too
    small.
    """

    name = "bernstein_sheldon_2018_authors"
    title = "Bernstein & Sheldon (2018, authors' code)"
    seed_name = "bernstein_sheldon_2018_released"
    reference = "bernstein2018differentially, authors' code, as alrawajfeh2024nadpvi_rebuttal, Table 1, uses it"
    models = ("conjugate_simulator",)
    noise_aware = True
    leaks = (
        Leak(
            LeakKind.NO_NOISE,
            "all counts of the Dirichlet get one and the same number of noise: their differences leave without any",
            datasets=("dirichlet_categorical",),
        ),
        Leak(
            LeakKind.RANGES,
            "the bounds of the gamma-exponential's sum come from the mean of the private rows (in the authors' code "
            "from the true parameter), which is not charged",
            datasets=("gamma_exponential",),
        ),
    )
    Settings = Sweeps

    def fit(self, task: Task, settings: Sweeps, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        The budget states epsilon. Raises ValueError for a task without rows or a budget without epsilon.
        """
        from methods.sufficient_statistics._bernstein_sheldon import families

        model = task.model
        model.dimension(task.x.shape[1])
        if task.n < 1:
            raise ValueError(f"{task.name}: {self.name} needs at least 1 training row, got {task.n}")
        if budget.epsilon is None:
            raise ValueError(f"{self.name}: the budget states no epsilon; give one")
        section = families.section(model, task.x)
        value, sensitivities, proof = families.release_of(model, task.x, section)
        if len(value) > 1:
            budget.no_noise("differences of the counts: one number of noise for all", relation=Relation.REPLACE_ONE)
        noise = budget.laplace(
            "first of the sufficient statistics of the rows",
            sensitivity=sensitivities.first,
            noise_scale=sensitivities.declared / budget.epsilon,
            relation=Relation.REPLACE_ONE,
            proof=f"methods.sufficient_statistics._bernstein_sheldon.families.{proof}",
        )
        z = noise.release(value[:1]) + (value - value[0])
        n, b = task.n, noise.noise_scale
        posterior = families.gibbs(model, z, b, n, settings.burn_in_sweeps, settings.sweeps, rng, section)
        return Fit(posterior, budget.ledger, {"noise_scale": b, "sweeps": float(settings.sweeps)})
