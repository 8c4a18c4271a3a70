"""The exact posterior of location-scale given its noisy sums, by importance sampling (compiled).

There are n rows, and n is public:

    x_i ~ N(mu, .),  mu ~ N(0, 4^2),  theta2 ~ InverseGamma(1, 1/2)

theta2 is a row's standard deviation in the source's particle filter, and its variance in the source's rejection
sampler. ``READINGS`` has both.

A proposal (mu, log theta2) comes from Student's t with 3 degrees of freedom about an earlier round. One in ten comes
from the prior. n rows are simulated and get the weight

    prior / proposal times exp(-|sums - released|_1 / b).

The rows are part of the draw, so the weighted draws have the exact posterior.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from papers.chen2025dppf.chains import BOUND, clip

READINGS = {"standard deviation": False, "variance": True}
#: number of proposals in the learning rounds, and in the last round.
ROUNDS, LAST = (4000, 4000, 8000), 60_000
DEGREES, SHARE = 3.0, 0.1


@njit(cache=True, error_model="numpy")
def log_prior(mu, log_theta2):  # pragma: no cover (compiled)
    """Log density (nats) of (mu, log theta2)."""
    normal = -0.5 * (mu / 4.0) ** 2 - math.log(4.0) - 0.5 * math.log(2 * math.pi)
    return normal + math.log(0.5) - log_theta2 - 0.5 * math.exp(-log_theta2)


@njit(cache=True, error_model="numpy")
def proposals(s, n, b, variance, centre, root, count, rng):  # pragma: no cover (compiled)
    """(mu, log theta2) (count, 2) and log weights (count,). ``root``: Cholesky factor of the proposal covariance."""
    out, weights = np.empty((count, 2)), np.empty(count)
    for i in range(count):
        if rng.random() < SHARE:
            mu, log_theta2 = 4.0 * rng.standard_normal(), math.log(0.5) - math.log(rng.standard_exponential())
        else:
            scale = math.sqrt(DEGREES / (2.0 * rng.standard_gamma(0.5 * DEGREES)))
            z0, z1 = scale * rng.standard_normal(), scale * rng.standard_normal()
            mu = centre[0] + root[0, 0] * z0
            log_theta2 = centre[1] + root[1, 0] * z0 + root[1, 1] * z1
        u0 = (mu - centre[0]) / root[0, 0]
        u1 = (log_theta2 - centre[1] - root[1, 0] * u0) / root[1, 1]
        # density of the two-dimensional t: its constant is 1 / (2 pi)
        t = (1.0 + (u0 * u0 + u1 * u1) / DEGREES) ** (-0.5 * DEGREES - 1.0) / (2 * math.pi * root[0, 0] * root[1, 1])
        prior = math.exp(log_prior(mu, log_theta2))
        sd = math.exp(0.5 * log_theta2 if variance else log_theta2)
        s0 = s1 = 0.0
        for _ in range(n):
            u = clip(mu + sd * rng.standard_normal(), BOUND)
            s0 += u
            s1 += u * u
        out[i, 0], out[i, 1] = mu, log_theta2
        far = (abs(s0 - s[0]) + abs(s1 - s[1])) / b
        weights[i] = log_prior(mu, log_theta2) - far - math.log(SHARE * prior + (1.0 - SHARE) * t)
    return out, weights


def posterior(
    s: np.ndarray, n: int, b: float, reading: str, rng: np.random.Generator, last: int = LAST
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted draws of (mu, theta2) (last, 2), and their weights (last,), which sum to one.

    Parameters
    ----------
    s : (2,), released sums of x and x^2 over rows clipped to [-5, 5] and divided by 5.
    n : number of rows.
    b : scale of the Laplace noise.
    reading : a key of ``READINGS``.
    """
    variance = READINGS[reading]
    mu = float(np.clip(5 * s[0] / n, -5, 5))
    var = max(25 * s[1] / n - mu**2, 0.1)
    half = 1.0 if variance else 0.5
    spread = (
        math.hypot(5 * b * 1.4 / n, math.sqrt(var / n)),
        half * math.hypot(25 * b * 1.4 / (n * var), (2 / n) ** 0.5),
    )
    centre, root = np.array([mu, half * math.log(var)]), np.diag(np.minimum(spread, 3.0))
    for count in (*ROUNDS, last):
        draws, log_weights = proposals(s, n, b, variance, centre, root, count, rng)
        w = np.exp(log_weights - log_weights.max())
        w /= w.sum()
        if count != last:
            centre = w @ draws
            root = np.linalg.cholesky((draws - centre).T @ (w[:, None] * (draws - centre)) + 1e-8 * np.eye(2))
    draws[:, 1] = np.exp(draws[:, 1])
    return draws, w


def quantiles(x: np.ndarray, weights: np.ndarray, levels) -> np.ndarray:
    """Quantiles of weighted draws (n,) at ``levels``."""
    order = np.argsort(x)
    cumulated = np.cumsum(weights[order])
    return x[order][np.minimum(np.searchsorted(cumulated, levels), len(x) - 1)]
