"""One epoch of expectation propagation with a stored site for every row, in natural parameters.

Let (eta_c, lam_c) be the cavity of a weight, and g and s as in ``hidden.backward``. The site of the weight is the
tilted distribution divided by the cavity:

    precision s lam_c / (lam_c - s),   mean natural (g lam_c + eta_c s) / (lam_c - s).

A site is rounded to its storage first, and exactly the rounded site is added to q. So q stays the product of the prior
and the stored sites, and rounding never accumulates. One sweep over the weights applies a row, forms the next cavity
and makes its forward pass.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from methods._shared.lanes import WIDTH, both, fabs, largest, load, rint, select, splat, store, total
from methods.ep._pbp.compiled import kernel
from methods.ep._pbp.hidden import BIAS, G1, G2, M2, MASK, S1, S2, V2, M, V, backward, blocks, forward, gamma_step

#: storage of the sites of layer 1. Layer 2 and the Gamma are float64 for float64, else float32 and float64.
STORAGE = ("float64", "float32", "int8")


class Sites:
    """The sites of all rows, initially zero.

    ``eta1, lam1``: flat (N, packed layer 1); ``eta2, lam2``: flat (N, padded layer 2); ``gamma``: (N, 2) naturals.
    With int8, ``eta_scale, lam_scale``: flat (N, padded units), one float32 scale per row, unit and natural.
    """

    def __init__(self, n: int, hidden: int, inputs: int, storage: str):
        if storage not in STORAGE:
            raise ValueError(f"EP: site storage '{storage}'; give one of {', '.join(STORAGE)}")
        self.storage, self.hidden, self.inputs = storage, hidden, inputs
        self.size1 = blocks(hidden) * WIDTH * inputs
        self.size2 = blocks(hidden + 1) * WIDTH
        small = np.float64 if storage == "float64" else np.float32
        self.eta1, self.lam1 = np.zeros(n * self.size1, storage), np.zeros(n * self.size1, storage)
        self.eta2, self.lam2 = np.zeros(n * self.size2, small), np.zeros(n * self.size2, small)
        self.gamma = np.zeros((n, 2))
        scales = n * blocks(hidden) * WIDTH if storage == "int8" else 0
        self.eta_scale, self.lam_scale = np.zeros(scales, np.float32), np.zeros(scales, np.float32)

    @staticmethod
    def bytes_per_row(hidden: int, inputs: int, storage: str) -> int:
        """Memory of one row's sites in bytes."""
        size1, size2 = blocks(hidden) * WIDTH * inputs, blocks(hidden + 1) * WIDTH
        item = np.dtype(storage).itemsize
        scales = 2 * 4 * blocks(hidden) * WIDTH if storage == "int8" else 0
        return 2 * size1 * item + 2 * size2 * (8 if storage == "float64" else 4) + scales + 16

    def row(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Decoded site of row n: packed eta1, lam1, padded eta2, lam2 (float64) and the Gamma's two naturals."""
        one, two = slice(n * self.size1, (n + 1) * self.size1), slice(n * self.size2, (n + 1) * self.size2)
        eta1, lam1 = self.eta1[one].astype(np.float64), self.lam1[one].astype(np.float64)
        if self.storage == "int8":
            units = self.size1 // self.inputs
            shape = (units // WIDTH, self.inputs, WIDTH)
            for part, scale in ((eta1, self.eta_scale), (lam1, self.lam_scale)):
                s = scale[n * units : (n + 1) * units].astype(np.float64).reshape(shape[0], 1, WIDTH)
                part[:] = (part.reshape(shape) * s).ravel()
        return eta1, lam1, self.eta2[two].astype(np.float64), self.lam2[two].astype(np.float64), self.gamma[n]


@njit(error_model="numpy", forceinline=True)
def _tilt(eta_c, lam_c, g, s):
    inverse = splat(1.0) / (lam_c - s)
    return (g * lam_c + eta_c * s) * inverse, s * lam_c * inverse


@njit(error_model="numpy", forceinline=True)
def _proper(eta, lam):
    return both(both(lam > splat(1e-20), lam < splat(1e20)), eta == eta)


@njit(error_model="numpy", forceinline=True)
def _moved(eta, lam, site_eta, site_lam, g, s, damping):
    """New site of a weight (before rounding), and whether its cavity, tilted and new distribution are proper."""
    eta_c, lam_c = eta - site_eta, lam - site_lam
    f_eta, f_lam = _tilt(eta_c, lam_c, g, s)
    new_eta = site_eta + (f_eta - site_eta) * damping
    new_lam = site_lam + (f_lam - site_lam) * damping
    ok = both(_proper(eta_c, lam_c), _proper(eta_c + f_eta, lam_c + f_lam))
    ok = both(ok, _proper(eta_c + new_eta, lam_c + new_lam))
    return select(ok, new_eta, site_eta), select(ok, new_lam, site_lam), ok


@njit(error_model="numpy", forceinline=True)
def _gamma_site(gamma, sites, row, variance, residual2, a_c, b_c, damping):
    """Update the noise Gamma's site and q in place; 1 if the update was rejected."""
    new_a, new_b = gamma_step(a_c, b_c, variance, residual2)
    shape = sites[row, 0] + damping * ((new_a - a_c) - sites[row, 0])
    rate = sites[row, 1] + damping * ((b_c - new_b) - sites[row, 1])
    a = a_c + shape
    b = b_c - rate
    if a_c >= 1.0 and b_c >= 0.0 and new_a >= 1.0 and new_b >= 0.0 and a >= 1.0 and b >= 0.0:
        sites[row, 0] = shape
        sites[row, 1] = rate
        gamma[0], gamma[1] = a, b
        return 0
    return 1


@njit(error_model="numpy", forceinline=True)
def _second_layer(h, row, eta2, lam2, site_eta2, site_lam2, damping, hidden):
    """Update sites and q of layer 2 in place; returns the rejections per lane."""
    w = (hidden + 8) // 8 * 8
    rejected = splat(0.0)
    for k in range(w // 8):
        i = k * 8
        r = row * w + i
        eta, lam, old_eta, old_lam = load(eta2, i), load(lam2, i), load(site_eta2, r), load(site_lam2, r)
        g, s = load(h, G2 * w + i), load(h, S2 * w + i)
        new_eta, new_lam, ok = _moved(eta, lam, old_eta, old_lam, g, s, damping)
        rejected = rejected + select(ok, splat(0.0), load(h, MASK * w + i) + load(h, BIAS * w + i))
        store(site_eta2, r, new_eta)
        store(site_lam2, r, new_lam)
        store(eta2, i, eta + (load(site_eta2, r) - old_eta))
        store(lam2, i, lam + (load(site_lam2, r) - old_lam))
    return rejected


@njit(error_model="numpy", forceinline=True)
def _second_cavity(h, row, eta2, lam2, site_eta2, site_lam2, cavity_m, cavity_v, hidden):
    w = (hidden + 8) // 8 * 8
    for k in range(w // 8):
        i = k * 8
        r = row * w + i
        v = splat(1.0) / (load(lam2, i) - load(site_lam2, r))
        store(cavity_v, i, v)
        store(cavity_m, i, (load(eta2, i) - load(site_eta2, r)) * v)


@kernel
def ep_epoch(x, y, order, eta1, lam1, eta2, lam2, gamma, s_eta1, s_lam1, s_eta2, s_lam2, s_gamma, damping, hidden, h):
    """Visit the rows ``order`` once, with float64 or float32 sites; q and sites are updated in place.

    Parameters
    ----------
    x : (N, D) standardised inputs with the bias last, divided by sqrt(D).
    y : (N,) standardised targets.
    order : row numbers.
    eta1, lam1, eta2, lam2 : packed naturals of q (unused lanes 0 and 1).
    gamma : (2,) shape and rate of the noise.
    s_eta1, ... : the arrays of :class:`Sites`.
    damping : weight of a new site.

    Returns
    -------
    Rejected weight updates and rejected Gamma updates. A rejected weight keeps its old q and its old site.
    """
    inputs = x.shape[1]
    nb1 = (hidden + 7) // 8
    w = (hidden + 8) // 8 * 8
    size1 = nb1 * inputs * 8
    n_rows = len(order)
    rejected = splat(0.0)
    gamma_rejected = 0
    cavity_m, cavity_v = h[M2 * w : M2 * w + w], h[V2 * w : V2 * w + w]
    for t in range(-1, n_rows):
        after = order[t + 1] if t + 1 < n_rows else -1
        row = order[t] if t >= 0 else -1
        if t >= 0:
            a_c = gamma[0] - s_gamma[row, 0]
            b_c = gamma[1] + s_gamma[row, 1]
            mean, variance = forward(h, cavity_m, cavity_v, hidden)
            residual = y[row] - mean
            spread = variance + b_c / (a_c - 1.0)
            d_mean = residual / spread
            backward(h, cavity_m, cavity_v, hidden, d_mean, 0.5 * (d_mean * d_mean - 1.0 / spread))
            gamma_rejected += _gamma_site(gamma, s_gamma, row, variance, residual * residual, a_c, b_c, damping)
            rejected = rejected + _second_layer(h, row, eta2, lam2, s_eta2, s_lam2, damping, hidden)
        for k in range(nb1):
            g1, s1 = load(h, G1 * w + k * 8), load(h, S1 * w + k * 8)
            pre_m, pre_v = splat(0.0), splat(0.0)
            for j in range(inputs):
                i = (k * inputs + j) * 8
                eta, lam = load(eta1, i), load(lam1, i)
                if t >= 0:
                    r = row * size1 + i
                    xj = splat(x[row, j])
                    old_eta, old_lam = load(s_eta1, r), load(s_lam1, r)
                    new_eta, new_lam, ok = _moved(eta, lam, old_eta, old_lam, g1 * xj, s1 * (xj * xj), damping)
                    rejected = rejected + select(ok, splat(0.0), load(h, MASK * w + k * 8))
                    store(s_eta1, r, new_eta)
                    store(s_lam1, r, new_lam)
                    eta = eta + (load(s_eta1, r) - old_eta)
                    lam = lam + (load(s_lam1, r) - old_lam)
                    store(eta1, i, eta)
                    store(lam1, i, lam)
                if after >= 0:
                    r = after * size1 + i
                    xn = splat(x[after, j])
                    v = splat(1.0) / (lam - load(s_lam1, r))
                    pre_m = pre_m + (eta - load(s_eta1, r)) * v * xn
                    pre_v = pre_v + v * (xn * xn)
            store(h, M * w + k * 8, pre_m)
            store(h, V * w + k * 8, pre_v)
        if after >= 0:
            _second_cavity(h, after, eta2, lam2, s_eta2, s_lam2, cavity_m, cavity_v, hidden)
    return total(rejected), gamma_rejected


@kernel
def ep_epoch_int8(
    x, y, order, eta1, lam1, eta2, lam2, gamma, s_eta1, s_lam1, eta_scale, lam_scale, s_eta2, s_lam2, s_gamma, damping,
    hidden, h,
):  # fmt: skip
    """The int8 version of :func:`ep_epoch`: the sites of layer 1 are stored with a scale per row, unit and natural.

    The sites of a unit are formed first. Their largest size gives the scale, and q moves by the rounded numbers. A
    rejected weight keeps its old site up to that rounding.
    """
    inputs = x.shape[1]
    nb1 = (hidden + 7) // 8
    w = (hidden + 8) // 8 * 8
    units = nb1 * 8
    size1 = nb1 * inputs * 8
    n_rows = len(order)
    rejected = splat(0.0)
    gamma_rejected = 0
    cavity_m, cavity_v = h[M2 * w : M2 * w + w], h[V2 * w : V2 * w + w]
    fresh_eta, fresh_lam = np.empty(inputs * 8), np.empty(inputs * 8)
    zero = splat(0.0)
    for t in range(-1, n_rows):
        after = order[t + 1] if t + 1 < n_rows else -1
        row = order[t] if t >= 0 else -1
        if t >= 0:
            a_c = gamma[0] - s_gamma[row, 0]
            b_c = gamma[1] + s_gamma[row, 1]
            mean, variance = forward(h, cavity_m, cavity_v, hidden)
            residual = y[row] - mean
            spread = variance + b_c / (a_c - 1.0)
            d_mean = residual / spread
            backward(h, cavity_m, cavity_v, hidden, d_mean, 0.5 * (d_mean * d_mean - 1.0 / spread))
            gamma_rejected += _gamma_site(gamma, s_gamma, row, variance, residual * residual, a_c, b_c, damping)
            rejected = rejected + _second_layer(h, row, eta2, lam2, s_eta2, s_lam2, damping, hidden)
        for k in range(nb1):
            if t >= 0:
                g1, s1 = load(h, G1 * w + k * 8), load(h, S1 * w + k * 8)
                u = row * units + k * 8
                old_se, old_sl = load(eta_scale, u), load(lam_scale, u)
                most_eta, most_lam = zero, zero
                for j in range(inputs):
                    i = (k * inputs + j) * 8
                    r = row * size1 + i
                    xj = splat(x[row, j])
                    old_eta, old_lam = load(s_eta1, r) * old_se, load(s_lam1, r) * old_sl
                    new_eta, new_lam, ok = _moved(
                        load(eta1, i), load(lam1, i), old_eta, old_lam, g1 * xj, s1 * (xj * xj), damping
                    )
                    rejected = rejected + select(ok, zero, load(h, MASK * w + k * 8))
                    store(fresh_eta, j * 8, new_eta)
                    store(fresh_lam, j * 8, new_lam)
                    most_eta = largest(fabs(new_eta), most_eta)
                    most_lam = largest(fabs(new_lam), most_lam)
                store(eta_scale, u, most_eta * (1.0 / 127.0))
                store(lam_scale, u, most_lam * (1.0 / 127.0))
                new_se, new_sl = load(eta_scale, u), load(lam_scale, u)
                per_se = select(new_se > zero, splat(1.0) / new_se, zero)
                per_sl = select(new_sl > zero, splat(1.0) / new_sl, zero)
                for j in range(inputs):
                    i = (k * inputs + j) * 8
                    r = row * size1 + i
                    old_eta, old_lam = load(s_eta1, r) * old_se, load(s_lam1, r) * old_sl
                    code_eta, code_lam = rint(load(fresh_eta, j * 8) * per_se), rint(load(fresh_lam, j * 8) * per_sl)
                    store(s_eta1, r, code_eta)
                    store(s_lam1, r, code_lam)
                    store(eta1, i, load(eta1, i) + (code_eta * new_se - old_eta))
                    store(lam1, i, load(lam1, i) + (code_lam * new_sl - old_lam))
            if after >= 0:
                u = after * units + k * 8
                next_se, next_sl = load(eta_scale, u), load(lam_scale, u)
                pre_m, pre_v = zero, zero
                for j in range(inputs):
                    i = (k * inputs + j) * 8
                    r = after * size1 + i
                    xn = splat(x[after, j])
                    v = splat(1.0) / (load(lam1, i) - load(s_lam1, r) * next_sl)
                    pre_m = pre_m + (load(eta1, i) - load(s_eta1, r) * next_se) * v * xn
                    pre_v = pre_v + v * (xn * xn)
                store(h, M * w + k * 8, pre_m)
                store(h, V * w + k * 8, pre_v)
        if after >= 0:
            _second_cavity(h, after, eta2, lam2, s_eta2, s_lam2, cavity_m, cavity_v, hidden)
    return total(rejected), gamma_rejected
