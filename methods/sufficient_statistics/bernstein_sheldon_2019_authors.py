"""Bernstein & Sheldon 2019 (Gibbs-SS-Noisy) as the authors' code runs it: exact fourth moments, not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from methods._shared.requests import Together
from methods._shared.settings_checks import whole
from methods.contract import Fit, Leak, LeakKind, Method
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class BernsteinSheldon2019Authors(Together, Method):
    """Noise-aware linear regression as the authors' code of Bernstein & Sheldon 2019 runs it, with its faults.

    The code uses ranges of the private data as sensitivities. It gives the sampler exact sums instead of noisy means of
    x^4. Half of epsilon is meant for the fourth moments but is not used, so the moments' noise has scale
    sensitivity / (epsilon / 2). The ledger has both releases: one without noise, one without a bound.
    """

    name = "bernstein_sheldon_2019_authors"
    title = "Bernstein & Sheldon (2019, authors' code)"
    seed_name = "bernstein_sheldon_2019_released"
    reference = "bernstein2019differentially, authors' code, as alrawajfeh2024nadpvi_rebuttal, Table 2, uses it"
    models = ("linear_regression_unknown_noise",)
    noise_aware = True
    leaks = (
        Leak(LeakKind.PRIVATE_MOMENTS, "the sampler uses exact fourth moments of the private inputs"),
        Leak(LeakKind.RANGES, "the ranges of the private columns set the noise, and are not charged"),
    )

    @dataclass(frozen=True)
    class Settings:
        """The sampler's lengths are choices of this suite (authors: 2,000 and 5,000), for time."""

        burn_in_sweeps: int = 500  # Gibbs sweeps discarded
        sweeps: int = 1000  # Gibbs sweeps kept

        def __post_init__(self) -> None:
            whole("bernstein_sheldon_2019_authors", self, "burn_in_sweeps", least=0)
            whole("bernstein_sheldon_2019_authors", self, "sweeps")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        The budget states epsilon. Raises ValueError for fewer than 2 rows or a budget without epsilon.
        """
        from methods.sufficient_statistics._bernstein_sheldon import regression

        if task.n < 2:
            raise ValueError(f"{task.name}: {self.name} needs at least 2 training rows for their ranges, got {task.n}")
        if budget.epsilon is None:
            raise ValueError(f"{self.name}: the budget states no epsilon; give one")
        design = task.model.likelihood.design(task.x)
        p = design.shape[1]
        budget.no_noise("sums of the fourth moments of the inputs", relation=Relation.REPLACE_ONE)
        noise = budget.laplace(
            "second moments of the rows",
            sensitivity=float("inf"),
            noise_scale=regression.released_sensitivity(task.x, task.y) / (budget.epsilon / 2),
            relation=Relation.REPLACE_ONE,
            proof="none: the ranges of the private columns are no bound",
        )
        gram, upper = design.T @ design, np.triu_indices(p)
        value = np.concatenate([gram[upper], design.T @ task.y, [task.y @ task.y]])
        released = noise.release(value)
        mirrored = np.zeros((p, p))
        mirrored[upper] = released[: len(upper[0])]
        mirrored = mirrored + np.triu(mirrored, 1).T
        z = np.concatenate([mirrored.ravel(), released[len(upper[0]) :]])
        posterior, missed = regression.gibbs_released(
            task.model,
            z,
            noise.noise_scale,
            task.n,
            regression.exact_fourth_moments(design),
            settings.burn_in_sweeps,
            settings.sweeps,
            rng,
        )
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale, "missed": missed})
