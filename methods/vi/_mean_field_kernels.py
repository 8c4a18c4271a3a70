"""Compiled elementwise loops of ``methods.vi._mean_field``, with hidden units along the last axis.

No flag drops NaN or infinity: ``contract`` allows fused multiply-add, and ``reassoc`` a sum in vector lanes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_FLAGS = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}


@njit(**_FLAGS)
def sample_first(m0, rho0, floor, eps, w):
    """Write draws of the first layer to w: w[j, l, h] = m0[h, j] + sqrt(|rho0[h, j]| + floor) eps[j, l, h]."""
    inputs, draws, hidden = eps.shape
    mean = np.empty(hidden, eps.dtype)
    sd = np.empty(hidden, eps.dtype)
    for j in range(inputs):
        for h in range(hidden):
            mean[h] = m0[h, j]
            sd[h] = np.sqrt(abs(rho0[h, j]) + floor)
        for k in range(draws):
            for h in range(hidden):
                w[j, k, h] = mean[h] + sd[h] * eps[j, k, h]


@njit(**_FLAGS)
def relu(a):
    """Set the negative entries of a (n, m) to 0, in place."""
    zero = a.dtype.type(0)
    for i in range(a.shape[0]):
        row = a[i]
        for j in range(row.shape[0]):
            row[j] = row[j] if row[j] > zero else zero


@njit(**_FLAGS)
def gate(d, z):
    """Set d to 0, in place, for each entry whose rectified unit z is 0."""
    zero = d.dtype.type(0)
    for i in range(d.shape[0]):
        p, q = d[i], z[i]
        for j in range(p.shape[0]):
            p[j] = p[j] if q[j] > zero else zero


@njit(**_FLAGS)
def pair_residual(r, bias, y, weight):
    """Replace r[n, l, k] by weight (r + bias[k] - y[n]), and return its sums over n and l, float64 (k,)."""
    n, first, second = r.shape
    total = np.zeros(second)
    part = np.empty(second, r.dtype)
    shift = np.empty(second, r.dtype)
    for i in range(n):
        part[:] = 0
        for k in range(second):
            shift[k] = bias[k] - y[i]
        for j in range(first):
            for k in range(second):
                v = weight * (r[i, j, k] + shift[k])
                r[i, j, k] = v
                part[k] += v
        for k in range(second):
            total[k] += part[k]
    return total


@njit(**_FLAGS)
def collect_first(g, eps, g_mean, g_sd):
    """Add sum_l g[j, l, h] to g_mean[h, j] and sum_l g[j, l, h] eps[j, l, h] to g_sd[h, j]."""
    inputs, draws, hidden = g.shape
    a = np.empty(hidden, g.dtype)
    b = np.empty(hidden, g.dtype)
    for j in range(inputs):
        a[:] = 0
        b[:] = 0
        for k in range(draws):
            for h in range(hidden):
                a[h] += g[j, k, h]
                b[h] += g[j, k, h] * eps[j, k, h]
        for h in range(hidden):
            g_mean[h, j] += a[h]
            g_sd[h, j] += b[h]


@njit(**_FLAGS)
def marginal_batch(a, y, m1, v1, weight, g_m1, g_v1):
    """Gradients of the data term of equation 123 for a block of rows.

    The pre-activations a[n, l, h] are replaced by the derivative in a. The gradients in m1 and v1, bias first, are
    added to g_m1 and g_v1. ``weight`` is gamma / L.
    """
    n, draws, hidden = a.shape
    dt = a.dtype
    zero = dt.type(0)
    first = np.empty(hidden, dt)
    second = np.empty(hidden, dt)
    mean = m1[1:].copy()
    var = v1[1:].copy()
    for i in range(n):
        first[:] = 0
        second[:] = 0
        bias = zero
        for k in range(draws):
            z = a[i, k]
            f = zero
            for h in range(hidden):
                z[h] = z[h] if z[h] > zero else zero
                f += z[h] * mean[h]
            r = weight * (f + m1[0] - y[i])
            bias += r
            for h in range(hidden):
                v = z[h]
                first[h] += r * v
                second[h] += v * v
                d = r * mean[h] + weight * var[h] * v
                z[h] = d if v > zero else zero
        g_m1[0] += bias
        for h in range(hidden):
            g_m1[h + 1] += first[h]
            g_v1[h + 1] += 0.5 * weight * second[h]
    g_v1[0] += 0.5 * weight * n * draws


@njit(**_FLAGS)
def _first_product(x, w, out):
    """Write x @ w to ``out``, with four inputs per pass over ``out``."""
    inputs, width = w.shape
    out[:] = 0
    j = 0
    while j + 4 <= inputs:
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        for c in range(width):
            out[c] += x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
        j += 4
    while j < inputs:
        v, u = x[j], w[j]
        for c in range(width):
            out[c] += v * u[c]
        j += 1


@njit(**_FLAGS)
def clipped_rows(
    w0, x1, y, m1, v1, chain0, sign1, eps, weight, clip,
    c_m0, c_m1, c_r0, c_r1, o_m0, o_m1, o_r0, o_r1, t_m0, t_m1, t_r0, t_r1, norms,
):  # fmt: skip
    """Clip each row's gradient and add it to t_* (see ``Gradients.clipped_sum``).

    A row's vector is c_* times its gradient, plus o_*. First-layer arrays are (d+1, H). Only sums over the draws are
    stored, never a vector per draw. Everything is computed row by row, the first product included. A matrix product
    over the batch would round a row differently in the presence of other rows. The bound on what ONE row changes must
    not depend on rounding.
    """
    n = len(y)
    inputs, draws, hidden = w0.shape
    dt = w0.dtype
    flat = w0.reshape(inputs, draws * hidden)
    a = np.empty(draws * hidden, dt)
    units = a.reshape(draws, hidden)
    zero = dt.type(0)
    half = dt.type(0.5)
    mean = m1[1:].copy()
    wvar = weight * v1[1:]
    da = np.empty((draws, hidden), dt)
    g_m0 = np.empty((inputs, hidden), dt)
    g_r0 = np.empty((inputs, hidden), dt)
    g_m1 = np.empty(hidden + 1, dt)
    g_r1 = np.empty(hidden + 1, dt)
    along = np.empty(hidden, dt)
    for i in range(n):
        _first_product(x1[i], flat, a)
        g_m1[:] = 0
        g_r1[:] = 0
        along[:] = 0
        u, w = g_m1[1:], g_r1[1:]
        for k in range(draws):
            z = units[k]
            d = da[k]
            f = zero
            for h in range(hidden):
                v = z[h] if z[h] > zero else zero
                z[h] = v
                f += v * mean[h]
            r = weight * (f + m1[0] - y[i])
            g_m1[0] += r
            g_r1[0] += weight
            for h in range(hidden):
                v = z[h]
                u[h] += r * v
                w[h] += weight * (v * v)
                e = r * mean[h] + wvar[h] * v
                e = e if v > zero else zero
                d[h] = e
                along[h] += e
        square = 0.0
        part = zero
        for h in range(hidden + 1):
            p = c_m1[h] * g_m1[h] + o_m1[h]
            q = c_r1[h] * half * sign1[h] * g_r1[h] + o_r1[h]
            g_m1[h] = p
            g_r1[h] = q
            part += p * p + q * q
        square += part
        for j in range(inputs):
            gm, gr = g_m0[j], g_r0[j]
            gr[:] = 0
            k = 0
            while k + 4 <= draws:  # four draws per pass over gr
                d0, d1, d2, d3 = da[k], da[k + 1], da[k + 2], da[k + 3]
                e0, e1, e2, e3 = eps[j, k], eps[j, k + 1], eps[j, k + 2], eps[j, k + 3]
                for h in range(hidden):
                    gr[h] += d0[h] * e0[h] + d1[h] * e1[h] + d2[h] * e2[h] + d3[h] * e3[h]
                k += 4
            while k < draws:
                for h in range(hidden):
                    gr[h] += da[k, h] * eps[j, k, h]
                k += 1
            x = x1[i, j]
            part = zero
            for h in range(hidden):
                p = c_m0[j, h] * (x * along[h]) + o_m0[j, h]
                q = c_r0[j, h] * (x * chain0[j, h] * gr[h]) + o_r0[j, h]
                gm[h] = p
                gr[h] = q
                part += p * p + q * q
            square += part
        norm = np.sqrt(square)
        if not np.isfinite(norm):
            norms[i] = np.inf
            continue
        norms[i] = norm
        c = 1.0 if norm <= clip else clip / norm
        for h in range(hidden + 1):
            t_m1[h] += c * g_m1[h]
            t_r1[h] += c * g_r1[h]
        for j in range(inputs):
            for h in range(hidden):
                t_m0[j, h] += c * g_m0[j, h]
                t_r0[j, h] += c * g_r0[j, h]
