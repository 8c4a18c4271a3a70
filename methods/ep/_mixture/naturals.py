"""Natural parameters of the means of a mixture of Gaussians: the prior, clipping, and the noise.

For J components in D dimensions they are ``h`` (J, D), precision times mean, and ``L`` (J, D, D), precision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.mixture_of_gaussians import MixtureOfGaussians


class Naturals(NamedTuple):
    """``h`` (J, D) and ``L`` (J, D, D) of a Gaussian over each component mean, or of a factor of it."""

    h: np.ndarray
    L: np.ndarray

    def plus(self, other: Naturals, factor: float = 1.0) -> Naturals:
        """self + factor x other."""
        return Naturals(self.h + factor * other.h, self.L + factor * other.L)

    def times(self, factor: float) -> Naturals:
        return Naturals(self.h * factor, self.L * factor)


def prior_naturals(model: MixtureOfGaussians, d: int) -> Naturals:
    """Naturals of N(m_j, prior_variance I), the same precision for every component."""
    precision = 1.0 / model.prior_variance
    return Naturals(precision * model.prior_means(d), np.tile(precision * np.eye(d), (model.components, 1, 1)))


def zeros(components: int, d: int) -> Naturals:
    return Naturals(np.zeros((components, d)), np.zeros((components, d, d)))


def clipped_jointly(f: Naturals, bound: float) -> Naturals:
    """Scale h and L (full matrices) by one factor, so that all their numbers as one vector have norm <= bound."""
    norm = math.hypot(np.linalg.norm(f.h), np.linalg.norm(f.L))
    return f.times(min(1.0, bound / norm) if norm > 0 else 1.0)


def clipped_apart(f: Naturals, bound: float) -> Naturals:
    """Scale h of all components to Frobenius norm <= bound, and L likewise by a factor of its own."""
    h, precision = np.linalg.norm(f.h), np.linalg.norm(f.L)
    return Naturals(
        f.h * (min(1.0, bound / h) if h > 0 else 1.0),
        f.L * (min(1.0, bound / precision) if precision > 0 else 1.0),
    )


def symmetric(upper: np.ndarray, d: int) -> np.ndarray:
    """The symmetric matrices (J, D, D) of the upper triangles (J, D (D + 1) / 2), row by row."""
    out = np.zeros((len(upper), d, d))
    rows, columns = np.triu_indices(d)
    out[:, rows, columns] = upper
    out[:, columns, rows] = upper
    return out


def noise_of(numbers: np.ndarray, components: int, d: int) -> Naturals:
    """One row of the noise array that ``kernel.noisy_steps`` takes, as naturals."""
    cut = components * d
    return Naturals(numbers[:cut].reshape(components, d), symmetric(numbers[cut:].reshape(components, -1), d))
