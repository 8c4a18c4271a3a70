"""Beta-Bernoulli, 500 simulated data sets: p ~ Beta(10, 10), x ~ Bernoulli(p).

The distribution is that of the exponential-family experiment of Alrawajfeh, Jalko & Honkela 2025. theta = logit p.
"""

from __future__ import annotations

import numpy as np

from datasets.base import Table
from datasets.protocols import rounded, simulated_truth


def draw(rng: np.random.Generator) -> tuple[np.ndarray, None, np.ndarray]:
    """Rows (TRAIN, 1) and theta (1,) of one data set."""
    p = rng.beta(10.0, 10.0)
    x = (rng.random((simulated_truth.TRAIN, 1)) < p).astype(np.float64)
    return x, None, np.array([rounded.log(p) - rounded.log1p(-p)])


def generate(rng: np.random.Generator) -> Table:
    """Blocks of :mod:`datasets.protocols.simulated_truth`."""
    return simulated_truth.table(draw, ("x",), rng)


DATASET = simulated_truth.describe(
    "beta_bernoulli",
    "Beta-Bernoulli",
    ("x",),
    1,
    generate,
    "dc68c5a100a8c243c901a9ef0d0c2239415be9381f6c61286b087dfc98adee49",
)
