"""What the variational adapters share beside the gradients: checks of rows and budget, and compilation."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq


def compile_kernels(dtype) -> None:
    """Compile (or load from the cache) every kernel for ``dtype``, on synthetic rows."""
    from methods.vi._mean_field import Gradients, Layout

    layout = Layout(1, 2)
    engine = Gradients(layout, 1, dtype)
    rng = np.random.default_rng(0)
    theta = layout.standard_normal(rng)
    x1, y = np.ones((1, 2), dtype), np.zeros(1, dtype)
    e0, e1 = engine.draw0(rng), engine.draw1(rng)
    engine.pair(theta, x1, y, 1.0, e0, e1)
    engine.marginal(theta, x1, y, 1.0, e0)
    engine.clipped_sum(theta, x1, y, 1.0, e0, 1.0)


def require_rows(method: str, name: str, n: int) -> None:
    """Raises ValueError where there is no row to fit."""
    if n < 1:
        raise ValueError(f"{method}: '{name}' has no training rows; give at least 1")


def require_noise_multiplier(method: str, budget) -> float:
    """The budget's fixed noise multiplier. Raises ValueError where it has none."""
    sigma = budget.noise_multiplier
    if sigma is None or not sigma > 0:
        raise ValueError(
            f"{method}: budget.noise_multiplier = {sigma}; give sigma of Table 7 (noise standard deviation over C)"
        )
    return float(sigma)


def paired_start(layout, start_sd: float, rng: np.random.Generator) -> np.ndarray:
    """Start at the zero function: hidden units in pairs, incoming weights alike, outgoing weights opposite; (size,).

    Incoming means N(0, 1/fan-in), outgoing +-1/sqrt(H) (0 for the odd unit out), variances start_sd^2 / fan-in.
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
    """Sum over rows of min(r^2, 1), r the residual of the network at the means of q, standardised units; (1,).

    L2 sensitivity 1 under add/remove: a row adds one number in [0, 1] that depends on that row and on released
    parameters alone. A row whose residual is not a number counts as 1.
    """
    m0, m1, _, _ = layout.split(theta)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = y - np.maximum(x1 @ m0.T, 0.0) @ m1[1:] - m1[0]
        return np.array([np.nan_to_num(np.minimum(residual**2, 1.0), nan=1.0).sum()])


def noise_variance(mean_clipped_square: float, resolution: float) -> float:
    """The v at which E min(r^2, 1) under r ~ N(0, v) is the given mean; between the resolution (and 1e-4) and 10.

    Undoes what clipping takes off a Gaussian's second moment:
    E min(r^2, 1) = v [P(|z| < a) - 2 a phi(a)] + P(|z| > a), a = 1 / sqrt(v), z ~ N(0, 1).
    ``resolution`` is the standard deviation of the released mean: below it nothing is known.
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
