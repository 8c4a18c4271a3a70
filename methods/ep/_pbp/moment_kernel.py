"""One epoch of assumed-density filtering (ADF) or stochastic EP, in moments, with one pass over the weights per row.

With SEP at damping 1 (Li et al. 2015) the new q is the tilted distribution, so no natural parameters are needed. Let
e = 1/N (0 for ADF), and let tau and nu be the precision and mean natural of a weight's prior factor. The cavity is

    v_c = v / (1 - e + e v tau),   m_c = ((1 - e) m + e v nu) / (1 - e + e v tau),

and the update is

    m' = m_c + v_c g,   v' = v_c (1 - v_c s).

The state held between rows is the *cavity*. One sweep applies a row, forms the next cavity and makes its forward pass,
with one load and one store of each weight. A rejected weight keeps its cavity, which is the same as keeping the weight.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from methods._shared.lanes import both, load, select, splat, store, total
from methods.ep._pbp.compiled import kernel
from methods.ep._pbp.hidden import BIAS, G1, G2, MASK, S1, S2, M, V, backward, forward, gamma_step


@njit(error_model="numpy", forceinline=True)
def _cavity(m, v, e_nu, e_tau, keep):
    inverse = splat(1.0) / (v * e_tau + keep)
    return (m * keep + v * e_nu) * inverse, v * inverse


@njit(error_model="numpy", forceinline=True)
def _step(m, v, g, s, low, high):
    """Tilted moments, and whether they are proper."""
    new_v = v * (splat(1.0) - v * s)
    new_m = m + v * g
    ok = both(both(new_v > low, new_v < high), new_m == new_m)
    return new_m, new_v, ok


@njit(error_model="numpy", forceinline=True)
def _undo(m, v, e_nu, e_tau, keep):
    """The weight whose cavity is (m, v)."""
    inverse = splat(1.0) / (splat(1.0) - v * e_tau)
    return (m - v * e_nu) * inverse, v * keep * inverse


@kernel
def moment_epoch(x, y, order, m1, v1, m2, v2, nu1, tau1, nu2, tau2, gamma, e, low, high, rules, hidden, h):
    """Visit the rows ``order`` once; weights and ``gamma`` are updated in place.

    Parameters
    ----------
    x : (N, D) standardised inputs with the bias last, divided by sqrt(D), C order.
    y : (N,) standardised targets.
    order : row numbers.
    m1, v1 : moments of q, packed layer 1 (``hidden.pack1``).
    nu1, tau1 : e times the prior factor's mean natural and precision, packed layer 1.
    m2, v2, nu2, tau2 : the same for packed layer 2.
    gamma : (4,) shape and rate of the noise under q, then under its prior.
    e : 1/N for SEP, 0 for ADF.
    low, high : a new variance must lie strictly between them, else the weight keeps its old values.
    rules : (2,) whether the noise Gamma is frozen; whether an improper Gamma update is rejected.
    h : scratch memory of ``hidden.scratch``.

    Returns
    -------
    Rejected weight updates and rejected Gamma updates.
    """
    n_rows = len(order)
    inputs = x.shape[1]
    nb1 = (hidden + 7) // 8
    nb2 = (hidden + 8) // 8
    w = nb2 * 8
    keep = splat(1.0 - e)
    lo, hi = splat(low), splat(high)
    zero = splat(0.0)
    rejected = splat(0.0)
    gamma_rejected = 0
    a, b, a0, b0 = gamma[0], gamma[1], gamma[2], gamma[3]
    if n_rows == 0:
        return 0.0, 0

    row = order[0]
    for k in range(nb1):
        pre_m, pre_v = splat(0.0), splat(0.0)
        for j in range(inputs):
            i = (k * inputs + j) * 8
            mc, vc = _cavity(load(m1, i), load(v1, i), load(nu1, i), load(tau1, i), keep)
            store(m1, i, mc)
            store(v1, i, vc)
            xj = splat(x[row, j])
            pre_m = pre_m + mc * xj
            pre_v = pre_v + vc * (xj * xj)
        store(h, M * w + k * 8, pre_m)
        store(h, V * w + k * 8, pre_v)
    for k in range(nb2):
        i = k * 8
        mc, vc = _cavity(load(m2, i), load(v2, i), load(nu2, i), load(tau2, i), keep)
        store(m2, i, mc)
        store(v2, i, vc)

    for t in range(n_rows):
        row = order[t]
        last = t == n_rows - 1
        after = order[t] if last else order[t + 1]
        a_c = a - e * (a - a0)
        b_c = b - e * (b - b0)
        if rules[0] != 0:
            a_c, b_c = a, b
        mean, variance = forward(h, m2, v2, hidden)
        residual = y[row] - mean
        spread = variance + b_c / (a_c - 1.0)
        d_mean = residual / spread
        d_variance = 0.5 * (d_mean * d_mean - 1.0 / spread)
        backward(h, m2, v2, hidden, d_mean, d_variance)
        if rules[0] == 0:
            new_a, new_b = gamma_step(a_c, b_c, variance, residual * residual)
            if rules[1] == 0 or (new_a >= 1.0 and new_b >= 0.0 and a_c >= 1.0 and b_c >= 0.0):
                a, b = new_a, new_b
            else:
                gamma_rejected += 1

        if not last:
            for k in range(nb1):
                g1 = load(h, G1 * w + k * 8)
                s1 = load(h, S1 * w + k * 8)
                used = load(h, MASK * w + k * 8)
                pre_m, pre_v = splat(0.0), splat(0.0)
                for j in range(inputs):
                    i = (k * inputs + j) * 8
                    xj = splat(x[row, j])
                    m, v = load(m1, i), load(v1, i)
                    new_m, new_v, ok = _step(m, v, g1 * xj, s1 * (xj * xj), lo, hi)
                    mc, vc = _cavity(new_m, new_v, load(nu1, i), load(tau1, i), keep)
                    rejected = rejected + select(ok, zero, used)
                    mc = select(ok, mc, m)
                    vc = select(ok, vc, v)
                    store(m1, i, mc)
                    store(v1, i, vc)
                    xn = splat(x[after, j])
                    pre_m = pre_m + mc * xn
                    pre_v = pre_v + vc * (xn * xn)
                store(h, M * w + k * 8, pre_m)
                store(h, V * w + k * 8, pre_v)
            for k in range(nb2):
                i = k * 8
                m, v = load(m2, i), load(v2, i)
                new_m, new_v, ok = _step(m, v, load(h, G2 * w + i), load(h, S2 * w + i), lo, hi)
                mc, vc = _cavity(new_m, new_v, load(nu2, i), load(tau2, i), keep)
                rejected = rejected + select(ok, zero, load(h, MASK * w + i) + load(h, BIAS * w + i))
                store(m2, i, select(ok, mc, m))
                store(v2, i, select(ok, vc, v))
        else:
            for k in range(nb1):
                g1 = load(h, G1 * w + k * 8)
                s1 = load(h, S1 * w + k * 8)
                used = load(h, MASK * w + k * 8)
                for j in range(inputs):
                    i = (k * inputs + j) * 8
                    xj = splat(x[row, j])
                    m, v = load(m1, i), load(v1, i)
                    new_m, new_v, ok = _step(m, v, g1 * xj, s1 * (xj * xj), lo, hi)
                    old_m, old_v = _undo(m, v, load(nu1, i), load(tau1, i), keep)
                    rejected = rejected + select(ok, zero, used)
                    store(m1, i, select(ok, new_m, old_m))
                    store(v1, i, select(ok, new_v, old_v))
            for k in range(nb2):
                i = k * 8
                m, v = load(m2, i), load(v2, i)
                new_m, new_v, ok = _step(m, v, load(h, G2 * w + i), load(h, S2 * w + i), lo, hi)
                old_m, old_v = _undo(m, v, load(nu2, i), load(tau2, i), keep)
                rejected = rejected + select(ok, zero, load(h, MASK * w + i) + load(h, BIAS * w + i))
                store(m2, i, select(ok, new_m, old_m))
                store(v2, i, select(ok, new_v, old_v))

    gamma[0], gamma[1] = a, b
    return total(rejected), gamma_rejected


@kernel
def refine(m, v, eta, lam, shape, rate, hyper):
    """Refine the prior of one layer in place, weight by weight in the arrays' order (Hernandez-Lobato & Adams 2015).

    All arrays are flat and of equal length: q's moments, and the prior factors' Gaussian (eta, lam) and Gamma (shape,
    rate) naturals. ``hyper`` is (a_w, b_w). A weight is skipped unless its cavity has 0 < variance < 1e6, shape > 1 and
    rate > 0.
    """
    a_w, b_w = hyper[0], hyper[1]
    for i in range(len(m)):
        v_c = 1.0 / (1.0 / v[i] - lam[i])
        m_c = (m[i] / v[i] - eta[i]) * v_c
        a_c = a_w - shape[i]
        b_c = b_w + rate[i]
        if not (v_c > 0.0 and v_c < 1e6 and b_c > 0.0 and a_c > 1.0):
            continue
        spread = v_c + b_c / (a_c - 1.0)
        g = -m_c / spread
        m[i] = m_c + v_c * g
        v[i] = v_c - v_c * v_c / spread
        a_w, b_w = gamma_step(a_c, b_c, v_c, m_c * m_c)
        eta[i] = m[i] / v[i] - m_c / v_c
        lam[i] = 1.0 / v[i] - 1.0 / v_c
        shape[i] = a_w - a_c
        rate[i] = b_c - b_w
    hyper[0], hyper[1] = a_w, b_w


def contiguous(*arrays: np.ndarray) -> list[np.ndarray]:
    """Flat float64 copies, so that a kernel may write into them."""
    return [np.array(a, dtype=np.float64).ravel() for a in arrays]
