"""Sum of the clipped sites of a batch, all from one common cavity: the private statistic of the corrected DP-SEP.

For one row the site is the moment-matched tilted distribution divided by the cavity, in natural parameters. These are
(m / v, 1 / v) of every weight and (a - 1, -b) of the Gamma on the noise precision. With g = d logZ / d m,
s = g^2 - 2 d logZ / d v and the cavity N(m, v), a weight's site is

    precision  s / (1 - v s),    mean natural  m s / (1 - v s) + g / (1 - v s)

(Hernandez-Lobato & Adams 2015, eqs. 13, 14, divided by the cavity). logZ and its derivatives come from moments
propagated through the network. The whole vector of one row is laid out as

    [mean naturals, layer 1 | precisions, layer 1 | mean naturals, layer 2 | precisions, layer 2 | a - 1, -b].
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from methods._shared.lanes import load, select, splat, store, total
from methods.ep._pbp.compiled import kernel
from methods.ep._pbp.hidden import (
    G1,
    G2,
    S1,
    S2,
    M,
    V,
    backward,
    forward,
    gamma_step,
    pack1,
    pack2,
    scratch,
    unpack1,
    unpack2,
)


def size(inputs: int, hidden: int) -> int:
    """Length of the vector of one row, for ``inputs`` columns (without the bias) and ``hidden`` units."""
    return 2 * (hidden * (inputs + 1) + hidden + 1) + 2


def sensitivity(caps, scale: float) -> float:
    """L2 sensitivity of :func:`clipped_site_sum` under add/remove (the proof is there)."""
    return math.hypot(min(caps[2], math.hypot(caps[0], caps[1])), scale * caps[3])


def compile_kernel() -> None:
    """Compile (or load) the kernel for the argument types that a method passes."""
    one, two = np.ones((1, 2)), np.ones(2)
    clipped_site_sum(one, np.ones(1), np.zeros(1, dtype=np.int64), one, one, two, two, 6.0, 6.0, np.ones(4), 1.0)


def clipped_site_sum(x1, y, rows, m1, v1, m2, v2, a, b, caps, scale):
    """Sum over ``rows`` of the clipped, scaled sites.

    Parameters
    ----------
    x1 : (n, d + 1) standardised inputs with a last column of ones.
    y : (n,) standardised targets.
    rows : (k,) row numbers of the batch; may be empty (the sum is then 0).
    m1, v1 : (hidden, d + 1) cavity means and variances of layer 1, bias last.
    m2, v2 : (hidden + 1,) of layer 2.
    a, b : shape and rate of the cavity of the noise precision, a > 1.
    caps : (4,) largest norms of one row's site: layer 1, layer 2, both layers together after these, noise Gamma.
    scale : factor of the noise block (its last two numbers) after its cap.

    Returns
    -------
    (size,) array.

    L2 sensitivity under add/remove: see :func:`sensitivity`. Proof.

    1. The cavity is a function of earlier releases. Given the cavity, a row's contribution depends on that row alone,
       so adding or removing the row changes the sum by that contribution.
    2. Each layer's part is multiplied by min(1, cap / norm), so its norm is at most its cap. The norm of both parts is
       at most the root of the sum of squares, and after the third factor at most caps[2] too.
    3. The noise block has norm at most caps[3], and after scaling at most scale x caps[3].
    4. The parts share no coordinate, so the squares add up.
    5. A part whose norm is not finite (a NaN or infinity anywhere in it) contributes 0. So the bound holds for every
       row, also for values that no data set has.

    Mean naturals and precisions of a layer share one factor, so a clipped site keeps its mean.
    """
    hidden, inputs = m1.shape
    layers = [np.zeros(len(pack1(m1))) for _ in range(2)] + [np.zeros(len(pack2(m2))) for _ in range(2)]
    gamma = np.zeros(2)
    cavity = pack1(m1), pack1(v1, 1.0), pack2(m2), pack2(v2, 1.0)
    _sums(x1, y, rows, *cavity, a, b, caps, scale, hidden, scratch(hidden), *layers, gamma)
    e1, p1, e2, p2 = layers
    one, two = (lambda w: unpack1(w, hidden, inputs).ravel()), (lambda w: unpack2(w, hidden))
    return np.concatenate([one(e1), one(p1), two(e2), two(p2), gamma])


@njit(error_model="numpy", forceinline=True)
def _site(m, v, g, s):
    """Mean natural and precision of the sites of eight weights; 0 where the tilted variance is not positive."""
    inverse = splat(1.0) / (splat(1.0) - v * s)
    p = s * inverse
    proper = splat(1.0) - v * s > splat(1e-6)
    return select(proper, m * p + g * inverse, splat(0.0)), select(proper, p, splat(0.0))


@kernel
def _sums(x1, y, rows, m1, v1, m2, v2, a, b, caps, scale, hidden, h, sum_e1, sum_p1, sum_e2, sum_p2, sum_gamma):
    """Add the clipped sites of ``rows`` to the last five arrays; layers packed as by ``hidden.pack1, pack2``."""
    inputs = x1.shape[1]
    nb1, nb2 = (hidden + 7) // 8, (hidden + 8) // 8
    w = nb2 * 8
    root = 1.0 / math.sqrt(inputs)
    e1, p1, e2, p2 = np.empty_like(m1), np.empty_like(m1), np.empty_like(m2), np.empty_like(m2)
    for row in rows:
        for k in range(nb1):
            pre_m, pre_v = splat(0.0), splat(0.0)
            for j in range(inputs):
                i = (k * inputs + j) * 8
                xj = splat(x1[row, j] * root)
                pre_m = pre_m + load(m1, i) * xj
                pre_v = pre_v + load(v1, i) * (xj * xj)
            store(h, M * w + k * 8, pre_m)
            store(h, V * w + k * 8, pre_v)
        mean, variance = forward(h, m2, v2, hidden)
        residual = y[row] - mean
        spread = variance + b / (a - 1.0)
        dm = residual / spread
        backward(h, m2, v2, hidden, dm, 0.5 * (dm * dm - 1.0 / spread))
        squares = splat(0.0)
        for k in range(nb2):
            i = k * 8
            e, p = _site(load(m2, i), load(v2, i), load(h, G2 * w + i), load(h, S2 * w + i))
            squares = squares + (e * e + p * p)
            store(e2, i, e)
            store(p2, i, p)
        norm2 = total(squares)
        squares = splat(0.0)
        for k in range(nb1):
            g1, s1 = load(h, G1 * w + k * 8), load(h, S1 * w + k * 8)
            for j in range(inputs):
                i = (k * inputs + j) * 8
                xj = splat(x1[row, j] * root)
                e, p = _site(load(m1, i), load(v1, i), g1 * xj, s1 * (xj * xj))
                squares = squares + (e * e + p * p)
                store(e1, i, e)
                store(p1, i, p)
        norm1 = total(squares)
        shape, rate = gamma_step(a, b, variance, residual * residual)
        ds, dr = shape - a, b - rate
        f1, f2 = _factor(norm1, caps[0]), _factor(norm2, caps[1])
        joint = 0.0
        if f1 > 0.0:
            joint += f1 * f1 * norm1
        if f2 > 0.0:
            joint += f2 * f2 * norm2
        f = _factor(joint, caps[2])
        _add(sum_e1, e1, f * f1)
        _add(sum_p1, p1, f * f1)
        _add(sum_e2, e2, f * f2)
        _add(sum_p2, p2, f * f2)
        f = _factor(ds * ds + dr * dr, caps[3]) * scale
        if f > 0.0:
            sum_gamma[0] += f * ds
            sum_gamma[1] += f * dr


@njit(error_model="numpy", forceinline=True)
def _factor(squared_norm, cap):
    """min(1, cap / norm); 0 for a norm that is not finite."""
    if not squared_norm < np.inf:
        return 0.0
    norm = math.sqrt(squared_norm)
    return 1.0 if norm <= cap else cap / norm


@njit(error_model="numpy", forceinline=True)
def _add(out, block, factor):
    if factor > 0.0:  # a block with factor 0 may hold NaN, and 0 x NaN is NaN
        f = splat(factor)
        for i in range(0, len(block), 8):
            store(out, i, load(out, i) + load(block, i) * f)
