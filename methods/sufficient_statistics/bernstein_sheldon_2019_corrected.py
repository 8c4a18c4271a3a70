"""Bernstein & Sheldon 2019 (Gibbs-SS-Noisy), corrected: tight sensitivity, distinct moments, public inputs prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.frames import InFrame, left_for
from methods._shared.requests import Together
from methods._shared.settings_checks import positive, whole
from methods.contract import Constants, Counterpart, Fit, Leak, LeakKind, Method
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Mechanism, Relation


class BernsteinSheldon2019Corrected(Together, Method):
    """Noise-aware linear regression from Laplace-noised second moments of clipped rows; pure epsilon, one row replaced.

    It differs from the authors' code in four ways. Rows are clipped to public bounds. The sensitivity is that of the
    distinct moments, which are the sampler's coordinates. The inputs' distribution N(0, I) is public, so all of epsilon
    goes to the moments. The sampler has non-centred moves, without which it stays where it starts.
    """

    name = "bernstein_sheldon_2019_corrected"
    title = "Bernstein & Sheldon (2019, corrected)"
    seed_name = "bernstein_sheldon_2019"
    reference = "bernstein2019differentially, section 4.3, Gibbs-SS-Noisy; corrections of this suite"
    models = ("linear_regression_unknown_noise",)
    noise_aware = True
    privacy = Relation.REPLACE_ONE
    counterparts = (Counterpart("exact_posterior", 0.05, "Monte Carlo error of the sampler's draws; .006 seen"),)
    leaks = (
        Leak(
            LeakKind.PRIORS,
            "the distribution N(0, I) of the inputs and their bounds are taken as public (they are those of the "
            "simulator)",
        ),
    )

    @dataclass(frozen=True)
    class Settings:
        """The sampler's lengths are choices of this suite (authors: 2,000 and 5,000), for time."""

        burn_in_sweeps: int = 500  # Gibbs sweeps discarded
        sweeps: int = 1000  # Gibbs sweeps kept
        input_bound: float = 4.0  # an input is clipped to [-this, this]; P(|x| > 4) = 6e-5 under N(0, 1)
        target_bound: float = 6.0  # a target is clipped to [-this, this]; its prior standard deviation is about 1.1

        def __post_init__(self) -> None:
            whole("bernstein_sheldon_2019_corrected", self, "burn_in_sweeps", least=0)
            whole("bernstein_sheldon_2019_corrected", self, "sweeps")
            positive("bernstein_sheldon_2019_corrected", self, "input_bound", "target_bound")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task.

        The budget states epsilon. Raises ValueError for a task without rows or a budget without epsilon.
        """
        from methods.sufficient_statistics._bernstein_sheldon import regression

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
            proof="methods.sufficient_statistics._bernstein_sheldon.regression.clipped_moments",
        )
        z = noise.release(regression.clipped_moments(task.x, task.y, bounds))
        posterior, stayed = regression.gibbs_corrected(
            task.model, z, noise.noise_scale, task.public.n, s.burn_in_sweeps, s.sweeps, rng
        )
        return Fit(posterior, budget.ledger, {"noise_scale": noise.noise_scale, "stayed": stayed})


# Bernstein & Sheldon 2019 on linear regression with scaled inputs: Laplace-noised moments, then a noise-aware sampler.
class BernsteinSheldon2019CorrectedLinear(InFrame):
    """Noise-aware linear regression from Laplace-noised second moments of rows scaled to [-1, 1].

    The published guarantee is pure epsilon for one row replaced. Here one row is added or removed, and n is public.
    Each of the k moments then moves by at most 1. The k Laplace releases share the (epsilon, delta) that remains after
    the scaling, and the accountant composes them. No distribution of the inputs is assumed: X'X is drawn given its
    noisy value.
    """

    name = "bernstein_sheldon_2019_corrected"
    title = BernsteinSheldon2019Corrected.title
    seed_name = "bernstein_sheldon_2019"
    reference = BernsteinSheldon2019Corrected.reference
    models = ("bounded_linear_regression",)
    noise_aware = True
    constants = (Constants.GUESSED,)
    privacy = Relation.ADD_REMOVE
    counterparts = (Counterpart("exact_posterior", 0.05, "Monte Carlo error of the sampler's draws; .002 seen"),)
    leaks = ()
    #: only the length of the sampler and the share of the scaling can be set; longer runs are closer to the model.
    grid: ClassVar[tuple[dict, ...]] = (
        {},
        {"grams": 30},
        {"grams": 200},
        {"burn_in_sweeps": 5},
        {"burn_in_sweeps": 40},
        {"sweeps": 2},
    )

    @dataclass(frozen=True)
    class Settings:
        """Lengths of the sampler: choices of this suite, for time."""

        grams: int = 100  # draws of X'X, each with a chain of its own
        burn_in_sweeps: int = 15  # sweeps discarded after each of them
        sweeps: int = 10  # sweeps kept after that

        def __post_init__(self) -> None:
            whole("bernstein_sheldon_2019_corrected", self, "burn_in_sweeps", least=0)
            whole("bernstein_sheldon_2019_corrected", self, "grams", "sweeps")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit rows scaled to [-1, 1].

        The budget states epsilon and delta, or a noise multiplier. Raises Diverged for a draw that is not finite.
        """
        from methods.sufficient_statistics._bernstein_sheldon import box as engine

        value = engine.moments(task.x, task.y)
        b = left_for(budget, self.name, self.privacy, mechanism=Mechanism.LAPLACE, steps=len(value))
        noise = budget.laplace(
            "first and second moments of the rows in the box, one number at a time",
            sensitivity=1.0,
            noise_scale=b,
            relation=self.privacy,
            steps=len(value),
            proof="methods.sufficient_statistics._bernstein_sheldon.box.moments",
        )
        z = np.array([noise.release(np.array([v]))[0] for v in value])
        s = settings
        posterior, taken = engine.sample(task.model, z, b, task.public.n, s.grams, s.burn_in_sweeps, s.sweeps, rng)
        return Fit(posterior, budget.ledger, {"noise_scale": b, "taken": taken})
