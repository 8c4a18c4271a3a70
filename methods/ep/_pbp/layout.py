"""All natural parameters of a network's approximation as one vector."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Layout:
    """The vector of naturals, ordered as in ``methods.ep._pbp.sites``; ``inputs`` counts the bias."""

    inputs: int
    hidden: int
    prior_variance: float
    noise_shape: float
    noise_rate: float

    @property
    def ends(self) -> tuple[int, int, int, int]:
        first, second = self.hidden * self.inputs, self.hidden + 1
        return first, 2 * first, 2 * first + second, 2 * (first + second)

    def prior(self) -> np.ndarray:
        """theta_0: N(0, prior variance) per weight, Gam(shape, rate) on the noise precision."""
        a, b, c, d = self.ends
        out = np.zeros(d + 2)
        out[a:b] = out[c:d] = 1.0 / self.prior_variance
        out[d:] = self.noise_shape - 1.0, -self.noise_rate
        return out

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """N theta_f at the start: means N(0, 1) / sqrt(fan-in) at the prior's precision, to break the symmetry."""
        a, b, c, d = self.ends
        out = np.zeros(d + 2)
        out[:a] = rng.standard_normal(a) / math.sqrt(self.inputs) / self.prior_variance
        out[b:c] = rng.standard_normal(c - b) / math.sqrt(c - b) / self.prior_variance
        return out

    def read(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]:
        """m1, v1, m2, v2, a, b of theta, with precisions, shape and rate raised to at least the prior's."""
        a, b, c, d = self.ends
        p1 = np.maximum(theta[a:b], 1.0 / self.prior_variance)
        p2 = np.maximum(theta[c:d], 1.0 / self.prior_variance)
        matrix = (self.hidden, self.inputs)
        shape = max(float(theta[d]) + 1.0, self.noise_shape)
        rate = max(-float(theta[d + 1]), self.noise_rate)
        return (theta[:a] / p1).reshape(matrix), (1.0 / p1).reshape(matrix), theta[b:c] / p2, 1.0 / p2, shape, rate
