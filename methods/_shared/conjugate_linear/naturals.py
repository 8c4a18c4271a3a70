"""Natural parameters of the normal-inverse-gamma, the contribution of a row, and the weights of the rows in SEP.

A row's likelihood N(y; w . x1, v), x1 = [x, 1], is exp of an inner product with the statistics

    (w / v, w w' / v, 1 / v, log v).

So it is a site T(z) = (x1 y, x1 x1', y^2 / 2, 1/2) of the conjugate family, whatever the cavity is. EP, SEP and their
clipped variant therefore end at prior + sum of weights x T(z_n). The order of the rows determines the weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.linear_regression import with_bias
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise, NormalInverseGamma


class Moments(NamedTuple):
    """Weighted sums over rows: x1 x1' (p, p), x1 y (p,), y^2 and 1 (the number of rows); p includes the bias."""

    xx: np.ndarray
    xy: np.ndarray
    yy: float
    count: float

    def times(self, factor: float) -> Moments:
        return Moments(*(factor * part for part in self))

    def posterior(self, model: LinearRegressionUnknownNoise) -> NormalInverseGamma:
        """The posterior given these moments, under the prior of ``model``."""
        return model.posterior_given_moments(self.xx, self.xy, self.yy, self.count)


def moments(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Moments:
    """Moments of rows x (n, d) and targets y (n,); ``weights`` (n,) of the rows, 1 by default."""
    x1 = with_bias(x)
    weighted = x1 if weights is None else x1 * weights[:, None]
    yy = float(y @ y) if weights is None else float(weights @ y**2)
    return Moments(weighted.T @ x1, weighted.T @ y, yy, float(len(y) if weights is None else weights.sum()))


def averaging_weights(n: int, epochs: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Weights (n,) of the sites in N f after f <- (1 - rate) f + rate f_n, once per row, in a fresh order each epoch.

    A row visit has weight N rate (1 - rate)^k, where k is the number of later row visits. f starts at 0. ``rate`` is in
    (0, 1].
    """
    later = np.arange(n - 1, -1, -1)
    weights = np.zeros(n)
    for epoch in range(epochs):
        weights[rng.permutation(n)] += n * rate * (1.0 - rate) ** (later + float(n) * (epochs - 1 - epoch))
    return weights


def absorbed(rate: float, steps: int) -> float:
    """Share of the data in N f after ``steps`` steps: 1 - (1 - rate)^steps."""
    return -math.expm1(steps * math.log1p(-rate)) if rate < 1 else 1.0


def site_norms(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Euclidean norms (n,) of T(z), over all entries of the matrix x1 x1'."""
    squares = 1.0 + (x**2).sum(axis=1)
    return np.sqrt(squares * (squares + y**2) + 0.25 * y**4 + 0.25)


def clipped_prior(model: LinearRegressionUnknownNoise, inputs: int, clip: float) -> LinearRegressionUnknownNoise:
    """The prior whose naturals (0, precision I, scale, shape - 1) are those of ``model`` scaled to norm <= clip."""
    norm = math.sqrt((inputs + 1) * model.precision**2 + model.scale**2 + (model.shape - 1.0) ** 2)
    factor = min(1.0, clip / norm)
    return LinearRegressionUnknownNoise(
        1.0 + factor * (model.shape - 1.0), factor * model.scale, factor * model.precision
    )
