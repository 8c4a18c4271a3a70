"""Dirichlet-categorical, 500 simulated data sets: p ~ Dirichlet(5, 5, 5), x in {0, 1, 2} ~ Categorical(p).

The distribution is that of the exponential-family experiment of Alrawajfeh, Jalko & Honkela 2025.
theta_j = log(p_j / p_3) for j = 1, 2.
"""

from __future__ import annotations

import numpy as np

from datasets.base import Table
from datasets.protocols import rounded, simulated_truth


def draw(rng: np.random.Generator) -> tuple[np.ndarray, None, np.ndarray]:
    """Rows (TRAIN, 1) and theta (2,) of one data set."""
    p = rng.dirichlet((5.0, 5.0, 5.0))
    u = rng.random((simulated_truth.TRAIN, 1))
    x = (u >= p[0]).astype(np.float64) + (u >= p[0] + p[1])
    log_p = [rounded.log(share) for share in p]
    return x, None, np.array([log_p[0] - log_p[2], log_p[1] - log_p[2]])


def generate(rng: np.random.Generator) -> Table:
    """Blocks of :mod:`datasets.protocols.simulated_truth`."""
    return simulated_truth.table(draw, ("x",), rng)


DATASET = simulated_truth.describe(
    "dirichlet_categorical",
    "Dirichlet-categorical",
    ("x",),
    2,
    generate,
    "a1592d48b9ba674b7ffab6051e2f3e35be35454b08e6a1e28dc201bb90040d2f",
)
