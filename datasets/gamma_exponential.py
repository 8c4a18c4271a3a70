"""Gamma-exponential, 500 simulated data sets: lambda ~ Gamma(shape 8, rate 2), x ~ Exp(rate lambda).

The distribution is that of the exponential-family experiment of Alrawajfeh, Jalko & Honkela 2025.
theta = log(exp(lambda) - 1).
"""

from __future__ import annotations

import numpy as np

from datasets.base import Table
from datasets.protocols import rounded, simulated_truth


def draw(rng: np.random.Generator) -> tuple[np.ndarray, None, np.ndarray]:
    """Rows (TRAIN, 1) and theta (1,) of one data set."""
    rate = rng.gamma(8.0, 0.5)
    theta = rounded.inverse_softplus(rate)
    return rng.exponential(1.0 / rate, (simulated_truth.TRAIN, 1)), None, np.array([theta])


def generate(rng: np.random.Generator) -> Table:
    """Blocks of :mod:`datasets.protocols.simulated_truth`."""
    return simulated_truth.table(draw, ("x",), rng)


DATASET = simulated_truth.describe(
    "gamma_exponential",
    "Gamma-exponential",
    ("x",),
    1,
    generate,
    "2293d016f75025791054fc3d27bb81b10d24b2affc2a03066b237847af61aed6",
)
