"""Linear regression in 10 dimensions with unknown noise, 500 simulated data sets.

The distribution is that of the linear regression experiment of Alrawajfeh, Jalko & Honkela 2025, with 10 slopes and a
bias:

    v ~ InvGamma(20, 0.5),  w | v ~ N(0, 4 v I),  x ~ N(0, I),  y ~ N(w . [x, 1], v)

theta = (w, log(exp(v) - 1)).
"""

from __future__ import annotations

import numpy as np

from datasets.base import Table
from datasets.protocols import rounded, simulated_truth

INPUTS = 10
COLUMNS = tuple(f"x{i}" for i in range(1, INPUTS + 1))


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (TRAIN, 10), targets (TRAIN,) and theta (12,) of one data set."""
    v = 0.5 / rng.gamma(20.0)
    w = np.sqrt(4.0 * v) * rng.standard_normal(INPUTS + 1)
    x = rng.standard_normal((simulated_truth.TRAIN, INPUTS))
    y = x @ w[:-1] + w[-1] + np.sqrt(v) * rng.standard_normal(simulated_truth.TRAIN)
    return x, y, np.append(w, rounded.inverse_softplus(v))


def generate(rng: np.random.Generator) -> Table:
    """Blocks of :mod:`datasets.protocols.simulated_truth`."""
    return simulated_truth.table(draw, COLUMNS, rng)


DATASET = simulated_truth.describe(
    "linear_regression_10d",
    "Linear regression, 10 inputs",
    COLUMNS,
    INPUTS + 2,
    generate,
    "65ea36499d3a34d9920ad36c9918d88c98bf34fca50a41655290d2af69894cb4",
    target="y",
)
