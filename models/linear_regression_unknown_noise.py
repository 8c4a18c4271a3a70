"""Bayesian linear regression with unknown noise and a conjugate prior.

    y ~ N(w . [x, 1], v),   v ~ InvGamma(a, b),   w | v ~ N(0, (v / p) I)

The unconstrained parameters are theta = (w, log(e^v - 1)), with the bias as the last entry of w. The defaults a = 20,
b = 0.5 and p = 1/4 are those of NA-DPVI's 10-dimensional experiment (Alrawajfeh, Jalko & Honkela 2025, from their
code). The posterior is normal-inverse-gamma (Bishop 2006, exercise 3.12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, gammaln, log_expit

from models import tiny
from models.kind import Kind
from models.unconstrained import Likelihood, Samples, inverse_softplus, softplus


@dataclass(frozen=True)
class LinearRegressionUnknownNoise:
    """Linear regression with unknown noise. All its fields are public.

    Parameters
    ----------
    shape, scale : a and b of the inverse-gamma prior of the noise variance v (scale in units of y squared).
    precision : p; a weight has prior variance v / p.
    """

    shape: float = 20.0
    scale: float = 0.5
    precision: float = 0.25
    kind: str = "linear_regression_unknown_noise"

    def __post_init__(self) -> None:
        for key in ("shape", "scale", "precision"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"linear_regression_unknown_noise: {key} = {value}; give a finite number above 0")

    def dimension(self, inputs: int) -> int:
        """The dimension D of theta: the weights, the bias and the noise variance."""
        return inputs + 2

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood("linear")

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """The log prior density of theta (K, D), with the Jacobian of the transformation: (K,), nats."""
        w, last = theta[:, :-1], theta[:, -1]
        v, p = softplus(last), w.shape[1]
        a, b = self.shape, self.scale
        noise = a * math.log(b) - gammaln(a) - (a + 1) * np.log(v) - b / v
        weights = -0.5 * (p * np.log(2 * math.pi * v / self.precision) + self.precision * (w**2).sum(axis=1) / v)
        return noise + weights + log_expit(last)

    def prior_gradient(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of -log_prior, (K, D)."""
        w, last = theta[:, :-1], theta[:, -1:]
        v, slope = softplus(last), expit(last)
        squares = self.precision * (w**2).sum(axis=1, keepdims=True)
        in_v = (self.shape + 1 + 0.5 * w.shape[1]) / v - (self.scale + 0.5 * squares) / v**2
        return np.concatenate([self.precision * w / v, slope * in_v - (1 - slope)], axis=1)

    def sample_prior(self, n: int, rng: np.random.Generator, inputs: int) -> np.ndarray:
        """n draws of theta from the prior, (n, inputs + 2)."""
        v = self.scale / rng.gamma(self.shape, 1.0, (n, 1))
        w = np.sqrt(v / self.precision) * rng.standard_normal((n, inputs + 1))
        return np.concatenate([w, inverse_softplus(v)], axis=1)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Simulate n rows x ~ N(0, I) of D - 2 inputs and their targets (n,) at theta (D,)."""
        x = rng.standard_normal((n, len(theta) - 2))
        noise = math.sqrt(softplus(theta[-1])) * rng.standard_normal(n)
        return x, self.likelihood.design(x) @ theta[:-1] + noise

    def exact_posterior(self, x: np.ndarray, y: np.ndarray) -> NormalInverseGamma:
        """The posterior given rows x (n, d) and targets y (n,). For n = 0 it is the prior."""
        design = self.likelihood.design(x)
        return self.posterior_given_moments(design.T @ design, design.T @ y, float(y @ y), len(y))

    def posterior_given_moments(self, xx: np.ndarray, xy: np.ndarray, yy: float, n: int) -> NormalInverseGamma:
        """The posterior given X'X (p, p), X'y (p,) and y'y of n rows, including the bias.

        Raises numpy.linalg.LinAlgError if X'X plus the prior precision is not positive definite, as with noisy moments.
        """
        precision = xx + self.precision * np.eye(len(xy))
        factor = np.linalg.cholesky(precision)
        mean = np.linalg.solve(factor.T, np.linalg.solve(factor, xy))
        return NormalInverseGamma(mean, factor, self.shape + 0.5 * n, self.scale + 0.5 * (yy - mean @ precision @ mean))


@dataclass(frozen=True)
class NormalInverseGamma(Samples):
    """The posterior v ~ InvGamma(shape, scale) and w | v ~ N(mean, v (L L')^-1).

    ``mean`` has shape (p,). ``factor`` is L, lower triangular, (p, p).
    """

    mean: np.ndarray
    factor: np.ndarray
    shape: float
    scale: float
    kind: str = "normal_inverse_gamma"

    @property
    def likelihood(self) -> Likelihood:
        return Likelihood("linear")

    def parameters(self) -> dict[str, np.ndarray]:
        return {
            "mean": self.mean,
            "factor": self.factor,
            "shape": np.float64(self.shape),
            "scale": np.float64(self.scale),
        }

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws of theta, (n, p + 1)."""
        v = self.scale / rng.gamma(self.shape, 1.0, (n, 1))
        z = np.linalg.solve(self.factor.T, rng.standard_normal((len(self.mean), n))).T
        return np.concatenate([self.mean + np.sqrt(v) * z, inverse_softplus(v)], axis=1)


def load(kind: str, p: dict[str, np.ndarray]) -> NormalInverseGamma:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "normal_inverse_gamma":
        raise KeyError(f"models/linear_regression_unknown_noise.py holds normal_inverse_gamma, not '{kind}'")
    return NormalInverseGamma(p["mean"], p["factor"], float(p["shape"]), float(p["scale"]))


KIND = Kind(
    name="linear_regression_unknown_noise",
    model=LinearRegressionUnknownNoise,
    posteriors=(NormalInverseGamma,),
    draws="evaluation.drawn:fractions",
    scorer="evaluation.scorers:fraction_nearer",
    tiny={"linear_regression_unknown_noise": partial(tiny.regression, LinearRegressionUnknownNoise())},
)
