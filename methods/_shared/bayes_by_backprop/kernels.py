"""Compiled parts of a step on a CPU: products with pixels, and in double precision standard deviations and their slope.

A row of a product is summed in one order, independent of the other rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from privacy.normal import as_bits, as_double, log

_LOG2_E = float(1 / np.log(2.0))
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SHIFT = 1.5 * 2.0**52
_LARGEST = 700.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def sparse_product(a, b, out):
    """a b into ``out`` (n, m), for b (k, m) and an a (n, k) of which most entries are 0 and are skipped."""
    k, m = b.shape
    at = np.empty(k + 1, dtype=np.int64)
    for i in range(len(a)):
        found = 0
        for j in range(k):
            at[found] = j
            found += a[i, j] != 0.0
        row = out[i]
        row[:] = 0.0
        for t in range(0, found - 3, 4):
            x0, x1, x2, x3 = a[i, at[t]], a[i, at[t + 1]], a[i, at[t + 2]], a[i, at[t + 3]]
            b0, b1, b2, b3 = b[at[t]], b[at[t + 1]], b[at[t + 2]], b[at[t + 3]]
            for c in range(m):
                row[c] += (x0 * b0[c] + x1 * b1[c]) + (x2 * b2[c] + x3 * b3[c])
        for t in range(found - found % 4, found):
            x, bt = a[i, at[t]], b[at[t]]
            for c in range(m):
                row[c] += x * bt[c]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def draw(mean, rho, xi, s, slope, w):
    """Write the softplus ``s`` of rho, its derivative in rho (``slope``) and w = mean + s xi, elementwise.

    The relative error of s and its derivative is below 1e-15.
    """
    for i in range(len(rho)):
        x = min(max(rho[i], -_LARGEST), _LARGEST)
        shifted = x * _LOG2_E + _SHIFT
        k = shifted - _SHIFT
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW  # |r| <= log(2) / 2: Taylor polynomial of degree 12
        p = r * (1 / 479001600) + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        e = p * as_double((as_bits(shifted) << np.uint64(52)) + np.uint64(1023 << 52))  # times 2^k
        total = 1.0 + e
        s[i] = log(total) + (e - (total - 1.0)) / total
        slope[i] = e / total
        w[i] = mean[i] + s[i] * xi[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def descend(mean, rho, xi, s, slope, data, share, pull, weight, rate, rho_rate):
    """One step of ``MeanField.step`` for a Gaussian prior, in one pass; in place in ``mean`` and ``rho``.

    ``share`` times ``data`` is the gradient of the data loss, and ``pull`` is ``weight`` / sd^2 of the prior.
    """
    for i in range(len(mean)):
        g = share * data[i]
        of_s = g * xi[i] + pull * s[i] - weight / s[i]
        mean[i] -= rate * (g + pull * mean[i])
        rho[i] -= rho_rate * (of_s * slope[i])
