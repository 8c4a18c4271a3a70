"""Generators of synthetic tables, for measuring time and memory and for tests. They are never reported as a result."""

from __future__ import annotations

import numpy as np

from datasets.base import Table

_ROWS_PER_BLOCK = 20_000
_FACTORS = 12
_FEATURES = 16


def year_shaped(rng: np.random.Generator, n: int = 515_345) -> Table:
    """A table of YearPredictionMSD's shape: x (n, 90) correlated inputs of unlike scales, y (n,) years 1922 to 2011.

    Inputs are 12 common Gaussian factors and independent noise in equal parts, times a lognormal scale per column.
    The target is a smooth non-linear function (16 tanh features) of all 90 inputs plus noise, through a logistic
    curve onto [1922, 2011], rounded to whole years. Raises ValueError for n < 1.
    """
    if n < 1:
        raise ValueError(f"year_shaped: n = {n}; give at least 1 row")
    d = 90
    loadings = rng.standard_normal((_FACTORS, d)) / np.sqrt(_FACTORS)
    scale = np.exp(rng.normal(3.0, 1.5, d))
    shift = scale * rng.standard_normal(d)
    directions = rng.standard_normal((d, _FEATURES)) / np.sqrt(d)
    weights = rng.standard_normal(_FEATURES) / np.sqrt(_FEATURES)
    x = np.empty((n, d))
    y = np.empty(n)
    for start in range(0, n, _ROWS_PER_BLOCK):
        rows = min(_ROWS_PER_BLOCK, n - start)
        u = np.sqrt(0.5) * (rng.standard_normal((rows, _FACTORS)) @ loadings + rng.standard_normal((rows, d)))
        signal = np.tanh(2.0 * u @ directions) @ weights + 0.5 * rng.standard_normal(rows)
        x[start : start + rows] = shift + scale * u
        y[start : start + rows] = np.rint(1922.0 + 89.0 / (1.0 + np.exp(-(signal + 1.5))))
    return Table(x, y, tuple(f"x{i}" for i in range(1, d + 1)))
