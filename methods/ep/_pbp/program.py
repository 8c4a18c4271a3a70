"""The authors' code for "SEP clipped" and "DP-SEP", shared by the two methods that run it.

Numba is imported only inside the functions, because the modules of methods import this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from methods.contract import Fit
from methods.ep._dpsep_program import Settings
from models.task import Task
from privacy.budget import Budget, GaussianMechanism
from privacy.ledger import Relation, Sampling


def _mechanism(method: str, task: Task, settings: Settings, budget: Budget) -> GaussianMechanism | None:
    """The noise of the ablation, charged with the true sensitivity of the step."""
    if settings.add_noise == "none":
        return None
    sigma = budget.noise_multiplier
    if sigma is None:
        raise ValueError(f"{method}: add_noise needs a noise multiplier; state noise_multiplier in the budget")
    n = task.n
    if not settings.freeze_noise:
        budget.no_noise(
            "shape and rate of the noise precision after each step: neither clipped nor noised",
            relation=Relation.REPLACE_ONE,
            steps=settings.epochs,
            sampling=Sampling.SHUFFLED_EPOCHS,
        )
    deviation = 2.0 * settings.clip * sigma / (n if settings.add_noise == "printed" else 1)
    # Four blocks of norm <= C each, coefficient 1, one row replaced: 2 C sqrt(4).
    sensitivity = 4.0 * settings.clip
    return budget.gaussian(
        "natural parameters of q after each step, sites clipped in four blocks",
        sensitivity=sensitivity,
        noise_multiplier=deviation / sensitivity,
        relation=Relation.REPLACE_ONE,
        sampling=Sampling.SHUFFLED_EPOCHS,
        steps=settings.epochs,
        releases=settings.epochs * n,
        proof="methods.ep._pbp.natural_kernel.natural_steps",
    )


def fit(
    method: str,
    task: Task,
    settings: Settings,
    budget: Budget,
    rng: np.random.Generator,
    between_epochs: Callable[[], None] | None = None,
) -> Fit:
    """One run of the authors' code. ``between_epochs`` reproduces its use of random numbers after an epoch."""
    from methods.ep._pbp import natural_training, training

    settings.check(method)
    training.require(method, task, settings.epochs)
    mechanism = _mechanism(method, task, settings, budget)
    x, y, scale = training.standardised(task)
    state, diagnostics = natural_training.released(
        x, y, task.model, rng, settings, settings.constants(task), method=method, mechanism=mechanism,
        between_epochs=between_epochs,
    )  # fmt: skip
    return training.finish(state, scale, budget.ledger, diagnostics)


def prepare(method: str, task: Task, settings: Settings) -> None:
    """Compile the kernels on two constant rows that hold no data."""
    from methods.ep._pbp import natural_training, training

    settings.check(method)
    x, y = training.tiny(task.x.shape[1] + 1)
    natural_training.released(
        x, y, task.model, np.random.default_rng(0), replace(settings, epochs=1), settings.constants(task), method=method
    )
