"""Bernstein & Sheldon 2019 on linear regression in the box: Laplace-noised moments, then a noise-aware sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods import bernstein_sheldon_2019 as published
from methods.contract import Constants, Fit
from methods.engines.frames import InFrame, left_for
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Mechanism, Relation


class BernsteinSheldon2019(InFrame):
    """Noise-aware linear regression from Laplace-noised second moments of rows in the box.

    The published guarantee is pure epsilon for one row replaced. Here one row is more or less, n public: each of the k
    moments moves by at most 1, and k Laplace releases share what the frame has left of (epsilon, delta), composed by
    the accountant. The law of the inputs is neither public nor normal here; ``methods.engines.box_bernstein_sheldon``
    says how the sampler does without it.
    """

    name = "bernstein_sheldon_2019"
    title = published.BernsteinSheldon2019.title
    reference = published.BernsteinSheldon2019.reference
    models = ("bounded_linear_regression",)
    constants = (Constants.GUESSED,)
    privacy = Relation.ADD_REMOVE
    leaks = ()
    #: the length of the sampler and the frame's part are all that there is to set; longer is closer to the model.
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
        burn_in_sweeps: int = 15  # sweeps thrown away after each of them
        sweeps: int = 10  # sweeps kept after that

        def __post_init__(self) -> None:
            for key, least in (("grams", 1), ("burn_in_sweeps", 0), ("sweeps", 1)):
                value = getattr(self, key)
                if not value >= least or int(value) != value:
                    raise ValueError(f"bernstein_sheldon_2019: {key} = {value}; give a whole number >= {least}")

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """The budget states epsilon and delta, or a noise multiplier. Raises Diverged for a draw that is not finite."""
        from methods.engines import box_bernstein_sheldon as engine

        value = engine.moments(task.x, task.y)
        b = left_for(budget, self.name, self.privacy, mechanism=Mechanism.LAPLACE, steps=len(value))
        noise = budget.laplace(
            "first and second moments of the rows in the box, one number at a time",
            sensitivity=1.0,
            noise_scale=b,
            relation=self.privacy,
            steps=len(value),
            proof="methods.engines.box_bernstein_sheldon.moments",
        )
        z = np.array([noise.release(np.array([v]))[0] for v in value])
        s = settings
        posterior, taken = engine.sample(task.model, z, b, task.public.n, s.grams, s.burn_in_sweeps, s.sweeps, rng)
        return Fit(posterior, budget.ledger, {"noise_scale": b, "taken": taken})
