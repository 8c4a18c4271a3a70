"""One-dimensional moments of the logistic likelihood under a Gaussian margin."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: half width of the grid in standard deviations; the probability outside is below 1e-12.
_HALF_WIDTH = 7.2


@njit(cache=True)
def sites(mean, variance, tilted):
    """Slope g and precision k of the term of each row, given its margin t ~ N(mean, variance).

    Parameters
    ----------
    mean, variance : (n,), of the signed margin t = (2 y - 1) theta . [x, 1]; variance >= 0.
    tilted : True for the site of expectation propagation, False for the term of the Gaussian variational bound.

    Returns (g, k), each (n,). Let r = sigmoid(-t).

    With ``tilted``, the site is exp(g (t - mean) - k (t - mean)^2 / 2) times a constant, and matches the moments of
    N(mean, variance) sigmoid(t). With all means under this tilted distribution,

        alpha = E r,   beta = E r (1 - r) - Var r,   k = beta / (1 - variance beta),   g = alpha / (1 - variance beta).

    alpha and beta are the first derivative and minus the second derivative of the log of the normaliser.

    Otherwise g = E r and k = E r (1 - r) under N(mean, variance) itself (Opper & Archambeau 2009, equations 12 and 13).

    The integrals are by the trapezoidal rule in u = (t - mean) / sd on a grid around the mode, of step min(0.8, 0.7 /
    sd). The density is log-concave with curvature at least 1 in u, so ``_HALF_WIDTH`` covers it. The nearest poles of
    sigmoid are at height pi / sd, so their error is about exp(-2 pi^2 / 0.7), 6e-13, or less. That of the normal
    density is exp(-2 pi^2 / 0.8^2).
    """
    n = len(mean)
    slope, precision = np.empty(n), np.empty(n)
    for i in range(n):
        sd = math.sqrt(variance[i])
        centre = 0.0
        if tilted:  # mode: u = sd sigmoid(-(mean + sd u)), by bisection to an accuracy that the half width allows
            low, high = 0.0, sd
            while high - low > 0.25:
                centre = 0.5 * (low + high)
                if centre < sd / (1.0 + math.exp(min(mean[i] + sd * centre, 700.0))):
                    low = centre
                else:
                    high = centre
            centre = 0.5 * (low + high)
        step = min(0.8, 0.7 / sd) if sd > 0 else 0.8
        count = math.ceil(_HALF_WIDTH / step)
        total, first, other, square, spread = 0.0, 0.0, 0.0, 0.0, 0.0
        top = 0.0
        if tilted:
            top = -0.5 * centre * centre + _log_sigmoid(mean[i] + sd * centre)
        for j in range(-count, count + 1):
            u = centre + j * step
            t = mean[i] + sd * u
            up = math.exp(min(t, 700.0))
            r = 1.0 / (1.0 + up)
            weight = -0.5 * u * u - top
            if tilted:
                weight += _log_sigmoid(t)
            weight = math.exp(weight)
            total += weight
            first += weight * r
            # r and 1 - r = up r have the same variance; the smaller of the two loses no digits
            small = up * r if mean[i] < 0 else r
            other += weight * small
            square += weight * small * small
            spread += weight * r * (up * r)
        alpha = first / total
        beta = spread / total
        if tilted:
            beta -= square / total - (other / total) ** 2
            left = 1.0 - variance[i] * beta
            slope[i], precision[i] = alpha / left, max(beta, 0.0) / left
        else:
            slope[i], precision[i] = alpha, beta
    return slope, precision


@njit(cache=True)
def _log_sigmoid(t):
    return -math.log1p(math.exp(-t)) if t > 0 else t - math.log1p(math.exp(t))


def compile_kernel() -> None:
    """Compile (or load) the kernel on one constant margin that holds no data."""
    for tilted in (False, True):
        sites(np.zeros(1), np.ones(1), tilted)
