"""Sum of clipped factors of a batch, all from one common cavity: the private statistic of the corrected DP-SEP.

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


def sensitivity(caps, scale: float) -> float:
    """L2 sensitivity of :func:`clipped_site_sum` under add/remove (the proof stands there)."""
    return math.hypot(min(caps[2], math.hypot(caps[0], caps[1])), scale * caps[3])


def compile_kernel() -> None:
    """Compile (or load) the kernel for the argument types that an adapter passes."""
    one, two = np.ones((1, 2)), np.ones(2)
    clipped_site_sum(one, np.ones(1), np.zeros(1, dtype=np.int64), one, one, two, two, 6.0, 6.0, np.ones(4), 1.0)


@nb.njit(cache=True, error_model="numpy")
def clipped_site_sum(x1, y, rows, m1, v1, m2, v2, a, b, caps, scale):
    """Sum over ``rows`` of the clipped, scaled sites.

    Parameters
    ----------
    x1 : (n, d + 1) standardised inputs with a last column of ones; y : (n,) standardised targets.
    rows : (k,) row numbers of the batch; may be empty (the sum is then 0).
    m1, v1 : (hidden, d + 1) cavity means and variances of layer 1, bias last; m2, v2 : (hidden + 1,) of layer 2.
    a, b : shape and rate of the cavity of the noise precision, a > 1.
    caps : (4,) largest norms of one row's site: layer 1, layer 2, both layers together after these, noise Gamma.
    scale : factor of the noise block (its last two numbers) after its cap.

    Returns
    -------
    (size,) array.

    L2 sensitivity under add/remove: see :func:`sensitivity`. Proof: given the cavity, which is a function of earlier
    releases, a row's contribution depends on that row alone, so adding or removing a row changes the sum by that
    contribution. Each layer's part is multiplied by min(1, cap / norm), so its norm is at most its cap, that of both
    at most the root of the sum of squares, and after the third factor at most caps[2] too; the noise block has norm
    at most caps[3] and after scaling scale x caps[3]; the parts share no coordinate, so the squares add up. A part
    whose norm is not finite (a NaN or infinity anywhere in it) contributes 0: the bound holds for every row, also
    for values that no data set has. Mean naturals and precisions of a layer share one factor, so that a clipped
    site keeps its mean.
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
        norm2 = norm
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
        norm1 = norm
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
        f1 = _factor(norm1, caps[0])
        f2 = _factor(norm2, caps[1])
        joint = 0.0
        if f1 > 0.0:
            joint += f1 * f1 * norm1
        if f2 > 0.0:
            joint += f2 * f2 * norm2
        f = _factor(joint, caps[2])
        _add(out, e1.ravel(), 0, f * f1)
        _add(out, p1.ravel(), k1, f * f1)
        _add(out, e2, 2 * k1, f * f2)
        _add(out, p2, 2 * k1 + n2, f * f2)
        f = _factor(ds * ds + dr * dr, caps[3]) * scale
        if f > 0.0:
            out[-2] += f * ds
            out[-1] += f * dr
    return out


@nb.njit(cache=True, error_model="numpy")
def _factor(squared_norm, cap):
    """min(1, cap / norm); 0 for a norm that is not finite."""
    if not squared_norm < np.inf:
        return 0.0
    norm = math.sqrt(squared_norm)
    return 1.0 if norm <= cap else cap / norm


@nb.njit(cache=True, error_model="numpy")
def _add(out, block, start, factor):
    if factor > 0.0:  # a void block may hold NaN, and 0 x NaN is NaN
        for j in range(len(block)):
            out[start + j] += factor * block[j]
