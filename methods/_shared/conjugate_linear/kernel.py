"""Clipped per-row gradients of linear regression with unknown noise, in double precision."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: sums of a row may be taken in any order; NaN and infinity behave as in IEEE 754.
_LAX = {"reassoc", "contract"}


@njit(cache=True, error_model="numpy", nogil=True, fastmath=_LAX)
def norms_of(x1):
    """(n, 2): for each row of (n, p) the sum of squares, and the root of the sum of fourth powers without the last."""
    out = np.empty((len(x1), 2))
    for i in range(len(x1)):
        square, fourth = x1[i, -1] * x1[i, -1], 0.0
        for x in x1[i, :-1]:
            square += x * x
            fourth += (x * x) * (x * x)
        out[i, 0], out[i, 1] = square, math.sqrt(fourth)
    return out


@njit(cache=True, error_model="numpy", nogil=True, fastmath=_LAX)
def clipped_sum(x1, norms, y, rows, mean, squares, variance, weights, clips, most, centre, whole):
    """Sum over ``rows`` of a row's gradient vector, clipped part by part, (p + d + 1,) with p = d + 1.

    With r = y - mean . x1, q = r^2 + sum_j squares_j x1_j^2 (the expected squared residual) and v = ``variance``, the
    parts of a row's vector are

        (r / sqrt(v)) x1,   weights[0] x_j^2 for the d inputs,   weights[1] (min(q / v, most) - centre) / 2.

    These are the row's gradients of the lower bound in the means, the log standard deviations and log v, each times a
    number that reads no row (see ``methods._shared.conjugate_linear.descent``).

    Parameters
    ----------
    x1 : (n, p) rows with the bias last.
    norms : :func:`norms_of` x1.
    y : (n,) targets.
    rows : (b,) row numbers, int64.
    mean, squares : (p,) means and variances of the weights.
    variance : v > 0.
    weights : (2,) >= 0.
    clips : (3,) >= 0, largest norm of each part.
    most, centre : of the last part.
    whole : False for a point. Its ``squares`` are 0, and it releases no squares of inputs: these are left at 0.

    L2 sensitivity under add/remove: the norm of ``clips``. Proof.

    1. mean, squares and variance are functions of earlier releases and public numbers. Given them, a row in the batch
       adds its own three parts, each times min(1, clip / norm). This vector has a squared norm of at most the sum of
       the squared clips.
    2. A row that is not in the batch adds nothing. A row with a part whose norm is not finite adds 0.
    3. The other rows of the batch do not depend on it, because Poisson sampling draws each row independently.
    """
    p = mean.shape[0]
    d = p - 1
    out = np.zeros(p + d + 1)
    sd = math.sqrt(variance)
    for i in rows:
        x = x1[i]
        r, spread = y[i], 0.0
        for j in range(p):
            r -= mean[j] * x[j]
        if whole:
            for j in range(p):
                spread += squares[j] * (x[j] * x[j])
        e = r / sd
        norm_0 = math.sqrt(e * e * norms[i, 0])
        norm_1 = weights[0] * norms[i, 1]
        last = weights[1] * 0.5 * (min((r * r + spread) / variance, most) - centre)
        if not norm_0 + norm_1 + abs(last) < np.inf:
            continue
        f_0 = clips[0] / norm_0 if norm_0 > clips[0] else 1.0
        f_1 = clips[1] / norm_1 if norm_1 > clips[1] else 1.0
        by_0, by_1 = f_0 * e, f_1 * weights[0]
        for j in range(p):
            out[j] += by_0 * x[j]
        if whole:
            for j in range(d):
                out[p + j] += by_1 * (x[j] * x[j])
        out[p + d] += min(max(last, -clips[2]), clips[2])
    return out
