"""Bayesian linear regression with known noise, and the two Gaussian posteriors of the baselines.

y | x, w ~ N(w . [x; 1], noise_variance) and w ~ N(0, I / prior_precision), including the bias. The posterior is exact
(Bishop, Pattern Recognition and Machine Learning, 2006, eq. 3.53 and 3.54; predictive eq. 3.58 and 3.59).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from models import tiny
from models.kind import Kind
from models.predictive import GaussianPredictive
from models.standardise import Standardiser


@dataclass(frozen=True)
class LinearRegression:
    """Linear regression with a Gaussian prior, in the units of a :class:`~models.standardise.Standardiser`.

    Parameters
    ----------
    prior_precision : prior precision of every weight and of the bias, in 1 / (scaled target per scaled input)^2.
    noise_variance : variance of the observation noise, in scaled target^2.
    """

    prior_precision: float = 1.0
    noise_variance: float = 1.0
    kind: str = "linear_regression"

    def __post_init__(self) -> None:
        for key in ("prior_precision", "noise_variance"):
            value = getattr(self, key)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"linear_regression: {key} = {value}; give a finite number above 0")


@dataclass(frozen=True)
class LinearGaussian:
    """The posterior N(weights, covariance) of the weights of a linear map, with a known noise variance.

    ``weights`` has shape (d + 1,), bias last. ``covariance`` is (d + 1, d + 1), or None for a point estimate.
    ``noise_variance`` is in scaled target^2. All are in the units of ``scale``.
    """

    weights: np.ndarray
    covariance: np.ndarray | None
    noise_variance: float
    scale: Standardiser
    kind: str = "linear_gaussian"

    def parameters(self) -> dict[str, np.ndarray]:
        p = {"weights": self.weights, "noise_variance": np.float64(self.noise_variance), **self.scale.parameters()}
        if self.covariance is not None:
            p["covariance"] = self.covariance
        return p

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> GaussianPredictive:
        """The prediction N(w . [x; 1], [x; 1]' S [x; 1] + noise) per row, for x (n, d) in original units."""
        x1 = with_bias(self.scale.x(x))
        variance = np.full(len(x1), self.noise_variance)
        if self.covariance is not None:
            # if the posterior is narrow, rounding can make a quadratic form slightly negative
            variance += np.maximum(np.einsum("ni,ij,nj->n", x1, self.covariance, x1), 0.0)
        s = self.scale
        return GaussianPredictive(x1 @ self.weights * s.y_scale + s.y_shift, variance * s.y_scale**2)


@dataclass(frozen=True)
class ConstantGaussian:
    """A posterior that predicts the same N(location, spread) for every row, in original units of the target.

    ``spread`` is a variance.
    """

    location: float
    spread: float
    kind: str = "constant_gaussian"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"location": np.float64(self.location), "spread": np.float64(self.spread)}

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> GaussianPredictive:
        return GaussianPredictive(np.full(len(x), self.location), np.full(len(x), self.spread))


def with_bias(x: np.ndarray) -> np.ndarray:
    """Append a column of ones: (n, d) -> (n, d + 1)."""
    return np.column_stack([x, np.ones(len(x))])


def exact_posterior(
    model: LinearRegression, x: np.ndarray, y: np.ndarray, scale: Standardiser | None = None
) -> LinearGaussian:
    """The conjugate posterior of ``model`` given x (n, d) and y (n,) in original units. For n = 0 it is the prior.

    ``scale`` maps to the units of the model; by default these are the original units. Raises ValueError if the shapes
    do not agree.
    """
    if x.ndim != 2 or y.shape != (len(x),):
        raise ValueError(f"linear_regression: x has shape {x.shape} and y {y.shape}; give (n, d) and (n,)")
    if scale is None:
        scale = Standardiser(np.zeros(x.shape[1]), np.ones(x.shape[1]), 0.0, 1.0)
    x1 = with_bias(scale.x(x))
    precision = model.prior_precision * np.eye(x1.shape[1]) + x1.T @ x1 / model.noise_variance
    factor = cho_factor(precision, lower=True)
    weights = cho_solve(factor, x1.T @ scale.y(y) / model.noise_variance)
    covariance = cho_solve(factor, np.eye(len(weights)))
    return LinearGaussian(weights, 0.5 * (covariance + covariance.T), model.noise_variance, scale)


def load(kind: str, p: dict[str, np.ndarray]):
    """Rebuild one of this file's posteriors from its parameters. Raises KeyError for another kind."""
    if kind == "constant_gaussian":
        return ConstantGaussian(float(p["location"]), float(p["spread"]))
    if kind == "linear_gaussian":
        return LinearGaussian(p["weights"], p.get("covariance"), float(p["noise_variance"]), Standardiser.load(p))
    raise KeyError(f"models/linear_regression.py holds linear_gaussian and constant_gaussian, not '{kind}'")


KIND = Kind(
    name="linear_regression",
    model=LinearRegression,
    posteriors=(LinearGaussian, ConstantGaussian),
    scorer="evaluation.scorers:regression",
    tiny={"linear_regression": partial(tiny.regression, LinearRegression())},
)
