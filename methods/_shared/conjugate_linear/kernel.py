"""Clipped per-row gradients of linear regression with unknown noise, in double precision."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", nogil=True)
def clipped_sum(x1, y, rows, mean, squares, variance, weights, clips, most, centre):
    """Sum over ``rows`` of a row's gradient vector, clipped part by part; (p + d + 1,) with p = d + 1.

    With r = y - mean . x1, q = r^2 + sum_j squares_j x1_j^2 (the expected squared residual) and v = ``variance``, the
    parts of a row's vector are

        (r / sqrt(v)) x1,   weights[0] x_j^2 for the d inputs,   weights[1] (min(q / v, most) - centre) / 2.

    These are the row's gradients of the lower bound in the means, the log standard deviations and log v, each times a
    number that reads no row (see ``methods._shared.conjugate_linear.descent``).

    Parameters
    ----------
    x1 : (n, p) rows with the bias last; y : (n,); rows : (b,) row numbers, int64.
    mean, squares : (p,) means and variances of the weights; variance : v > 0.
    weights : (2,) >= 0; clips : (3,) >= 0, largest norm of each part; most, centre : of the last part.

    L2 sensitivity under add/remove: the norm of ``clips``. Proof: given mean, squares and variance, which are functions
    of earlier releases and public numbers, a row in the batch adds its own three parts, each times min(1, clip / norm),
    so a vector of squared norm at most the sum of the squared clips; a row that is not in the batch adds nothing, and
    one with a part whose norm is not finite adds 0. The other rows of the batch do not depend on it (Poisson sampling
    draws each row by itself).
    """
    p = mean.shape[0]
    d = p - 1
    out = np.zeros(p + d + 1)
    sd = math.sqrt(variance)
    for i in rows:
        r, spread, inputs, fourth = y[i], 0.0, 0.0, 0.0
        for j in range(p):
            x = x1[i, j]
            r -= mean[j] * x
            spread += squares[j] * (x * x)
            inputs += x * x
            if j < d:
                fourth += (x * x) * (x * x)
        e = r / sd
        norm_0 = math.sqrt(e * e * inputs)
        norm_1 = weights[0] * math.sqrt(fourth)
        last = weights[1] * 0.5 * (min((r * r + spread) / variance, most) - centre)
        if not norm_0 + norm_1 + abs(last) < np.inf:
            continue
        f_0 = clips[0] / norm_0 if norm_0 > clips[0] else 1.0
        f_1 = clips[1] / norm_1 if norm_1 > clips[1] else 1.0
        for j in range(p):
            out[j] += f_0 * e * x1[i, j]
        for j in range(d):
            out[p + j] += f_1 * weights[0] * (x1[i, j] * x1[i, j])
        out[p + d] += min(max(last, -clips[2]), clips[2])
    return out
