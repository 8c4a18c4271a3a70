"""Regression by a Gaussian mixture of inputs and target: the distribution of the target given the inputs.

The joint density of one row is sum_k w_k N([x, y]; m_k, S_k), inputs first. Given x, the target has a mixture of the
components' conditional Gaussians, with weights proportional to w_k N(x; m_k^x, S_k^xx) (Ghahramani & Jordan 1994,
section 4; Bishop 2006, eq. 2.81, 2.82).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp, ndtr


@dataclass(frozen=True)
class WeightedMixturePredictive:
    """A mixture of S Gaussians per row. ``log_weights``, ``means``, ``variances``: (S, n). A row's weights sum to 1."""

    log_weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The predictive mean, (n,)."""
        return (np.exp(self.log_weights) * self.means).sum(axis=0)

    @property
    def variance(self) -> np.ndarray:
        """The predictive variance, (n,): within and between components."""
        within = self.variances + np.square(self.means - self.mean)
        return (np.exp(self.log_weights) * within).sum(axis=0)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """The log-density of targets (n,): (n,), nats, per unit of the target."""
        square = np.square(y - self.means) / self.variances
        return logsumexp(self.log_weights - 0.5 * (math.log(2 * math.pi) + np.log(self.variances) + square), axis=0)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """The probability of a target of at most y, (n,)."""
        return (np.exp(self.log_weights) * ndtr((y - self.means) / np.sqrt(self.variances))).sum(axis=0)


@dataclass(frozen=True)
class MixtureRegression:
    """A point estimate of the joint density of inputs and target.

    ``weights`` is (K,), ``means`` (K, d + 1) and ``covariances`` (K, d + 1, d + 1).
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    kind: str = "mixture_regression"

    def parameters(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "means": self.means, "covariances": self.covariances}

    def predictive(self, x: np.ndarray, rng: np.random.Generator | None = None) -> WeightedMixturePredictive:
        """The prediction for rows x (n, d), in the units of the joint.

        Raises numpy.linalg.LinAlgError if a covariance is not positive definite.
        """
        d, shape = x.shape[1], (len(self.weights), len(x))
        logs, means, variances = np.empty(shape), np.empty(shape), np.empty(shape)
        with np.errstate(divide="ignore"):  # -inf is the right log-weight of a component of weight 0
            log_weights = np.log(self.weights)
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            # inputs first: the last row of the factor holds the regression and the conditional standard deviation
            factor = np.linalg.cholesky(covariance)
            z = solve_triangular(factor[:d, :d], (x - mean[:d]).T, lower=True)
            logs[k] = log_weights[k] - 0.5 * np.square(z).sum(axis=0) - np.log(np.diag(factor)[:d]).sum()
            means[k] = mean[d] + factor[d, :d] @ z
            variances[k] = factor[d, d] ** 2
        return WeightedMixturePredictive(logs - logsumexp(logs, axis=0), means, variances)


def load(kind: str, p: dict[str, np.ndarray]) -> MixtureRegression:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "mixture_regression":
        raise KeyError(f"models/mixture_regression.py holds mixture_regression, not '{kind}'")
    return MixtureRegression(p["weights"], p["means"], p["covariances"])


#: for several kinds of model (``models.kind``).
POSTERIORS = (MixtureRegression,)
