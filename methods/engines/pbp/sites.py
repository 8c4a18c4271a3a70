"""Sum of clipped approximating factors of a batch, all from one common cavity: the private statistic of honest DP-SEP.

For one row the site is the moment-matched tilted distribution divided by the cavity, in natural parameters:
(m / v, 1 / v) of every weight and (a - 1, -b) of the Gamma on the noise precision. With g = d logZ / d m,
s = g^2 - 2 d logZ / d v and the cavity N(m, v), a weight's site is

    precision  s / (1 - v s),    mean natural  m s / (1 - v s) + g / (1 - v s),

(Hernandez-Lobato & Adams 2015, eqs. 13, 14, divided by the cavity), and logZ and its derivatives come from
moments propagated through the network. The whole vector of one row is laid out as

    [mean naturals, layer 1 | precisions, layer 1 | mean naturals, layer 2 | precisions, layer 2 | a - 1, -b].
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

_SQRT_HALF = math.sqrt(0.5)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


def size(inputs: int, hidden: int) -> int:
    """Length of the vector of one row, for ``inputs`` columns (the bias not counted) and ``hidden`` units."""
    return 2 * (hidden * (inputs + 1) + hidden + 1) + 2


@nb.njit(cache=True, error_model="numpy")
def clipped_site_sum(x1, y, rows, m1, v1, m2, v2, a, b, caps, scales):
    """Sum over ``rows`` of the clipped, scaled sites.

    Parameters
    ----------
    x1 : (n, d + 1) standardised inputs with a last column of ones; y : (n,) standardised targets.
    rows : (k,) row numbers of the batch; may be empty (the sum is then 0).
    m1, v1 : (hidden, d + 1) cavity means and variances of layer 1, bias last; m2, v2 : (hidden + 1,) of layer 2.
    a, b : shape and rate of the cavity of the noise precision, a > 1.
    caps : (3,) largest norm of the layer 1, layer 2 and noise block of one row, each before scaling.
    scales : (3,) factor of each block after its cap.

    Returns
    -------
    (size,) array.

    Sensitivity under add/remove: sqrt(sum (caps x scales)^2). Proof: given the cavity, a row's contribution depends
    on that row alone, so adding or removing a row changes the sum by that contribution. Each of its three blocks is
    multiplied by min(1, cap / norm), so its norm is at most its cap, and after scaling at most cap x scale;
    the blocks share no coordinate, so the squares add up. A block whose norm is not finite (a NaN or infinity
    anywhere in it) contributes 0, of norm 0: the bound holds for every row, also for values that no data set has.
    """
    hidden, n1 = m1.shape
    n2 = hidden + 1
    k1 = hidden * n1
    out = np.zeros(2 * (k1 + n2) + 2)
    root1 = math.sqrt(n1)
    root2 = math.sqrt(n2)
    z = np.empty(n2)
    zv = np.empty(n2)
    cdf = np.empty(hidden)
    pdf = np.empty(hidden)
    sd = np.empty(hidden)
    e1 = np.empty((hidden, n1))
    p1 = np.empty((hidden, n1))
    e2 = np.empty(n2)
    p2 = np.empty(n2)
    z[hidden] = 1.0
    zv[hidden] = 0.0
    for i in rows:
        row = x1[i]
        # forward
        mean = m2[hidden]
        variance = v2[hidden]
        for h in range(hidden):
            ma = 0.0
            va = 0.0
            for j in range(n1):
                ma += m1[h, j] * row[j]
                va += v1[h, j] * row[j] * row[j]
            ma /= root1
            va /= n1
            s = math.sqrt(va)
            alpha = ma / s
            phi = math.exp(-0.5 * alpha * alpha) * _INV_SQRT_2PI
            up = 0.5 * math.erfc(-alpha * _SQRT_HALF)
            first = max(ma * up + s * phi, 0.0)
            second = (ma * ma + va) * up + ma * s * phi
            z[h] = first
            zv[h] = max(second - first * first, 0.0)
            cdf[h] = up
            pdf[h] = phi
            sd[h] = s
            mean += m2[h] * z[h]
            variance += zv[h] * (v2[h] + m2[h] * m2[h]) + z[h] * z[h] * v2[h]
        mean /= root2
        variance /= n2
        # derivatives of logZ by the output's mean and variance
        residual = y[i] - mean
        total = variance + b / (a - 1.0)
        dm = residual / total
        dv = 0.5 * (dm * dm - 1.0 / total)
        # layer 2
        norm = 0.0
        for h in range(n2):
            g = dm * z[h] / root2 + 2.0 * dv * m2[h] * zv[h] / n2
            gv = dv * (zv[h] + z[h] * z[h]) / n2
            s = g * g - 2.0 * gv
            shrink = 1.0 - v2[h] * s
            p = s / shrink
            e = m2[h] * p + g / shrink
            if not shrink > 1e-6:  # a tilted variance that is not positive: this weight's site is void
                p = 0.0
                e = 0.0
            p2[h] = p
            e2[h] = e
            norm += p * p + e * e
        _add(out, e2, 2 * k1, _factor(norm, caps[1], scales[1]))
        _add(out, p2, 2 * k1 + n2, _factor(norm, caps[1], scales[1]))
        # layer 1
        norm = 0.0
        for h in range(hidden):
            dz = dm * m2[h] / root2 + 2.0 * dv * z[h] * v2[h] / n2
            dzv = dv * (v2[h] + m2[h] * m2[h]) / n2
            da = dz * cdf[h] + 2.0 * dzv * z[h] * (1.0 - cdf[h])
            dav = 0.5 * dz * pdf[h] / sd[h] + dzv * (cdf[h] - z[h] * pdf[h] / sd[h])
            ga = da / root1
            sa = (da * da - 2.0 * dav) / n1
            for j in range(n1):
                s = sa * row[j] * row[j]
                shrink = 1.0 - v1[h, j] * s
                p = s / shrink
                e = m1[h, j] * p + ga * row[j] / shrink
                if not shrink > 1e-6:
                    p = 0.0
                    e = 0.0
                p1[h, j] = p
                e1[h, j] = e
                norm += p * p + e * e
        _add(out, e1.ravel(), 0, _factor(norm, caps[0], scales[0]))
        _add(out, p1.ravel(), k1, _factor(norm, caps[0], scales[0]))
        # noise Gamma: logZ at shapes a, a + 1, a + 2
        t0 = total
        t1 = variance + b / a
        t2 = variance + b / (a + 1.0)
        r2 = residual * residual
        l10 = 0.5 * (math.log(t0 / t1) + r2 / t0 - r2 / t1)  # logZ1 - logZ0
        l21 = 0.5 * (math.log(t1 / t2) + r2 / t1 - r2 / t2)
        shape = 1.0 / (math.exp(l21 - l10) * (a + 1.0) / a - 1.0)
        rate = 1.0 / (math.exp(l21) * (a + 1.0) / b - math.exp(l10) * a / b)
        ds = shape - a
        dr = b - rate
        f = _factor(ds * ds + dr * dr, caps[2], scales[2])
        if f > 0.0:
            out[-2] += f * ds
            out[-1] += f * dr
    return out


@nb.njit(cache=True, error_model="numpy")
def _factor(squared_norm, cap, scale):
    """scale x min(1, cap / norm); 0 for a norm that is not finite."""
    if not squared_norm < np.inf:
        return 0.0
    norm = math.sqrt(squared_norm)
    return scale if norm <= cap else scale * cap / norm


@nb.njit(cache=True, error_model="numpy")
def _add(out, block, start, factor):
    if factor > 0.0:  # a void block may hold NaN, and 0 x NaN is NaN
        for j in range(len(block)):
            out[start + j] += factor * block[j]
