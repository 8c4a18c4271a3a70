"""Shared parts of the variational methods: checks of rows and budget, start, noise variance and compilation."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq


def compile_kernels(dtype, gradient: str) -> None:
    """Compile (or load from the cache) the kernels of one method of ``Gradients`` for ``dtype``, on synthetic rows.

    ``gradient``: pair, marginal or clipped_sum.
    """
    from methods.vi._mean_field import Gradients, Layout

    layout = Layout(1, 2)
    engine = Gradients(layout, 1, dtype)
    rng = np.random.default_rng(0)
    theta = layout.standard_normal(rng)
    x1, y = np.ones((1, 2), dtype), np.zeros(1, dtype)
    further = {"pair": (engine.draw1(rng),), "marginal": (), "clipped_sum": (1.0,)}[gradient]
    getattr(engine, gradient)(theta, x1, y, 1.0, engine.draw0(rng), *further)


def require_rows(method: str, name: str, n: int) -> None:
    """Check that there are training rows. Raises ValueError if there are none."""
    if n < 1:
        raise ValueError(f"{method}: '{name}' has no training rows; give at least 1")


def require_noise_multiplier(method: str, budget) -> float:
    """The budget's fixed noise multiplier. Raises ValueError if it has none above 0."""
    sigma = budget.noise_multiplier
    if sigma is None or not sigma > 0:
        raise ValueError(
            f"{method}: budget.noise_multiplier = {sigma}; give sigma of Table 7 (noise standard deviation over C)"
        )
    return float(sigma)


def paired_start(layout, start_sd: float, rng: np.random.Generator) -> np.ndarray:
    """A start (size,) at the zero function, by pairs of hidden units with equal incoming and opposite outgoing weights.

    Incoming means are N(0, 1/fan-in), and outgoing means are +-1/sqrt(H). With an odd number of units, the last one has
    an outgoing mean of 0. Variances are start_sd^2 / fan-in.
    """
    theta = np.zeros(layout.size)
    m0, m1, rho0, rho1 = layout.split(theta)
    half = layout.hidden // 2
    m0[:] = rng.standard_normal(m0.shape) / math.sqrt(layout.inputs + 1)
    m0[half : 2 * half] = m0[:half]
    outgoing = np.where(np.arange(half) % 2 == 0, -1.0, 1.0) / math.sqrt(layout.hidden)
    m1[1 : half + 1] = outgoing
    m1[half + 1 : 2 * half + 1] = -outgoing
    rho0[:] = start_sd**2 / (layout.inputs + 1)
    rho1[:] = start_sd**2 / (layout.hidden + 1)
    return theta


def residual_sum(layout, theta: np.ndarray, x1: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum (1,) over rows of min(r^2, 1), with r the residual of the network at the means of q.

    Residuals are in standardised units. L2 sensitivity under add/remove: 1. Proof: A row adds one number in [0, 1],
    which depends on that row and on released parameters alone. A row whose residual is not a number counts as 1.
    """
    m0, m1, _, _ = layout.split(theta)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = y - np.maximum(x1 @ m0.T, 0.0) @ m1[1:] - m1[0]
        return np.array([np.nan_to_num(np.minimum(residual**2, 1.0), nan=1.0).sum()])


def noise_variance(mean_clipped_square: float, resolution: float) -> float:
    """The variance v of a Gaussian residual r whose clipped square min(r^2, 1) has the given mean.

    It corrects for the part of the second moment that clipping removes. With a = 1 / sqrt(v) and z ~ N(0, 1), v solves

        E min(r^2, 1) = v [P(|z| < a) - 2 a phi(a)] + P(|z| > a).

    ``resolution`` is the standard deviation of the released mean, below which nothing is known. The result is at least
    the larger of ``resolution``, at most 1, and 1e-4. It is at most 10.
    """
    low, high = min(max(resolution, 1e-4), 1.0), 10.0

    def gap(v: float) -> float:
        a = 1.0 / math.sqrt(v)
        outside = math.erfc(a / math.sqrt(2.0))
        density = math.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
        return v * (1.0 - outside - 2.0 * a * density) + outside - mean_clipped_square

    if gap(low) >= 0:
        return low
    if gap(high) <= 0:
        return high
    return float(brentq(gap, low, high, xtol=1e-10))
