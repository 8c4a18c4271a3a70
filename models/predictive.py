"""Predictive distributions of a regression, one per test row, on the original scale of the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

_LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class GaussianPredictive:
    """A prediction N(mean, variance) per row, both (n,). ``variance`` includes the observation noise."""

    mean: np.ndarray
    variance: np.ndarray

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """log N(y; mean, variance): (n,), nats, per unit of the target."""
        return -0.5 * (_LOG_2PI + np.log(self.variance) + (y - self.mean) ** 2 / self.variance)


@dataclass(frozen=True)
class MixturePredictive:
    """An equal-weight mixture of S Gaussians per row. ``means`` and ``variances`` have shape (S, n)."""

    means: np.ndarray
    variances: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.means.mean(axis=0)

    @property
    def variance(self) -> np.ndarray:
        return self.variances.mean(axis=0) + self.means.var(axis=0)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        parts = -0.5 * (_LOG_2PI + np.log(self.variances) + (y - self.means) ** 2 / self.variances)
        return logsumexp(parts, axis=0) - np.log(len(parts))
