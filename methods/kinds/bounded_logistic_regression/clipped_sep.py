"""Algorithm 3 of Vinaroz & Park 2023 without its noise, on logistic regression in the box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods.contract import Constants, Fit
from methods.engines.frames import InFrame
from models.task import Task
from privacy.budget import Budget


class ClippedSEP(InFrame):
    """SEP whose prior and sites are clipped to norm C, with the damping gamma / n of equation 5. No noise, no privacy.

    theta is one vector: the mean naturals and the precision matrix (Frobenius norm). theta_0 is scaled to norm at
    most C, so the prior is wider than the model's where sqrt(D) / prior_sd^2 > C; theta_f, a mean of clipped sites,
    stays below C. As printed (gamma = 1) all epochs together absorb epochs / n of the data: q stays at the prior.
    Rows move theta in 10 batches an epoch, as in ``sep``; at gamma = 1 an epoch moves theta by a share 1 / n.
    """

    name = "clipped_sep"
    title = "SEP clipped (algorithm 3 without noise)"
    reference = "vinaroz2023dpsep, algorithm 3 without line 9"
    models = ("bounded_logistic_regression",)
    constants = (Constants.PRINTED, Constants.GUESSED)
    #: the first is the paper's; the others absorb the data (gamma / n near or below 1).
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"clip": 10.0}, {"gamma": 300.0}, {"gamma": 300.0, "clip": 10.0}, {"gamma": 1000.0},
        {"gamma": 1000.0, "clip": 10.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings:
        epochs: int = 4  #: passes over the rows (the paper: 40; fewer here, since none of them moves q; see the class)
        clip: float = 1.0  #: C, norm of theta_0 and of a row's site in natural parameters (Vinaroz & Park 2023: 1)
        gamma: float = 1.0  #: damping value of equation 5: a step moves theta by gamma / n of a site (the paper: 1)

        def __post_init__(self) -> None:
            if self.epochs < 1:
                raise ValueError(f"clipped_sep: epochs = {self.epochs}; give at least 1")
            for key in ("clip", "gamma"):
                if not (math.isfinite(getattr(self, key)) and getattr(self, key) > 0):
                    raise ValueError(f"clipped_sep: {key} = {getattr(self, key)}; give a finite number above 0")

    def prepare(self, task: Task, settings: Settings) -> None:
        from methods.engines.logistic_gaussian.kernel import compile_kernel

        compile_kernel()

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raises ValueError for a task without rows or a class that is not 0 or 1, Diverged where q is no density."""
        from methods.engines.logistic_gaussian import posterior

        z = posterior.signed(task)
        prior = 1.0 / task.model.prior_sd**2
        prior *= min(1.0, settings.clip / (prior * math.sqrt(z.shape[1])))
        q, told = posterior.sep(
            z, prior, rng, name=self.name, epochs=settings.epochs, coefficient=settings.gamma / task.n, batches=10,
            clip=settings.clip,
        )  # fmt: skip
        return Fit(q, budget.ledger, told)
