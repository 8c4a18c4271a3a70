"""Stochastic EP steps in natural parameters, with optional clipping, noise and damping.

Let theta_f = (theta - theta_0) / N. The cavity is theta - theta_f, the site is f_n = tilted - cavity, and a step is

    theta <- theta - k theta_f + k clip(f_n) + noise.

Algorithm 3 of Vinaroz & Park 2023 has k = gamma / N (their eq. 5, written with theta = theta_0 + N theta_f). SEP of Li
et al. 2015 has k = damping. A row takes two sweeps over the weights. One forms the site and its norm. The other moves
theta, forms the next cavity and makes its forward pass.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from methods._shared.lanes import both, load, load_first, select, splat, store, total
from methods.ep._pbp.compiled import kernel
from methods.ep._pbp.hidden import BIAS, G1, G2, M2, MASK, S1, S2, V2, M, V, backward, forward, gamma_step

#: how a site is clipped: not; each of eta1, lam1, eta2, lam2 separately; all numbers, the Gamma's too, as one vector.
CLIP_NONE, CLIP_BLOCKS, CLIP_JOINT = range(3)
#: the noise Gamma: constant; updated as in SEP with its rejections; one part of the clipped and noised vector.
GAMMA_FROZEN, GAMMA_FREE, GAMMA_JOINT = range(3)
#: improper updates of a weight: accepted; rejected as in SEP; the site counts as zero (the step then still depends on
#: the row only through a clipped site).
CHECK_NONE, CHECK_REJECT, CHECK_ZERO = range(3)
#: entries of ``counts``.
COUNTS = ("rejected_weights", "rejected_noise", "clipped_sites", "zeroed_sites", "floored", "clipped_factors")


@njit(error_model="numpy", forceinline=True)
def _proper(eta, lam):
    return both(both(lam > splat(1e-20), lam < splat(1e20)), eta == eta)


@njit(error_model="numpy", forceinline=True)
def _site(eta, lam, nu, tau, g, s, e, check):
    """Site of a weight. With ``check``, an improper one is zero, and CHECK_REJECT marks it by a NaN precision."""
    eta_c = eta - (eta - nu) * e
    lam_c = lam - (lam - tau) * e
    inverse = splat(1.0) / (lam_c - s)
    f_eta = (g * lam_c + eta_c * s) * inverse
    f_lam = s * lam_c * inverse
    if check != CHECK_NONE:
        ok = both(_proper(eta_c, lam_c), _proper(eta_c + f_eta, lam_c + f_lam))
        f_eta = select(ok, f_eta, splat(0.0))
        f_lam = select(ok, f_lam, splat(np.nan if check == CHECK_REJECT else 0.0))
    return f_eta, f_lam


@njit(error_model="numpy", forceinline=True)
def _square(f):
    """f^2, and 0 for the NaN that marks a rejected weight."""
    f = select(f == f, f, splat(0.0))
    return f * f


@njit(error_model="numpy", forceinline=True)
def _move(eta, lam, nu, tau, f_eta, f_lam, n_eta, n_lam, e, k, c_eta, c_lam, check, positive, floor):
    """New naturals of a weight, whether the update was rejected, and whether a precision was floored (as 0 or 1)."""
    one, zero = splat(1.0), splat(0.0)
    new_eta = eta + (f_eta * c_eta - (eta - nu) * e) * k
    new_lam = lam + (f_lam * c_lam - (lam - tau) * e) * k
    rejected = zero
    if check == CHECK_REJECT:
        ok = _proper(new_eta, new_lam)
        new_eta = select(ok, new_eta, eta)
        new_lam = select(ok, new_lam, lam)
        rejected = select(ok, zero, one)
    new_eta = new_eta + n_eta
    new_lam = new_lam + n_lam
    floored = zero
    if positive:
        fine = new_lam > zero
        floored = select(fine, zero, one)
        new_lam = select(fine, new_lam, floor)
    return new_eta, new_lam, rejected, floored


@njit(error_model="numpy", forceinline=True)
def _rescale(array, center, size, scale):
    for i in range(0, size, 8):
        c = load(center, i)
        store(array, i, c + (load(array, i) - c) * scale)


@njit(error_model="numpy", forceinline=True)
def _first_forward(h, x, row, eta1, lam1, nu1, tau1, e, nb1, w):
    inputs = x.shape[1]
    for k in range(nb1):
        pre_m, pre_v = splat(0.0), splat(0.0)
        for j in range(inputs):
            i = (k * inputs + j) * 8
            eta, lam = load(eta1, i), load(lam1, i)
            xj = splat(x[row, j])
            v = splat(1.0) / (lam - (lam - load(tau1, i)) * e)
            pre_m = pre_m + (eta - (eta - load(nu1, i)) * e) * v * xj
            pre_v = pre_v + v * (xj * xj)
        store(h, M * w + k * 8, pre_m)
        store(h, V * w + k * 8, pre_v)


@njit(error_model="numpy", forceinline=True)
def _second_cavity(eta2, lam2, nu2, tau2, cavity_m, cavity_v, e, w):
    for i in range(0, w, 8):
        eta, lam = load(eta2, i), load(lam2, i)
        v = splat(1.0) / (lam - (lam - load(tau2, i)) * e)
        store(cavity_v, i, v)
        store(cavity_m, i, (eta - (eta - load(nu2, i)) * e) * v)


@kernel
def natural_steps(
    x, y, order, eta1, lam1, eta2, lam2, gamma, nu1, tau1, nu2, tau2, e, k, bound, factor_bound, floor, rules, noise,
    counts, hidden, h,
):  # fmt: skip
    """Visit the rows ``order`` once, in order; theta is updated in place.

    Parameters
    ----------
    x : (N, D) standardised inputs with the bias last, divided by sqrt(D).
    y : (N,) standardised targets.
    order : row numbers.
    eta1, lam1, eta2, lam2 : packed naturals of theta (unused lanes 0 and 1).
    gamma : (4,) shape and rate of the noise under theta, then under theta_0.
    nu1, tau1, nu2, tau2 : packed naturals of theta_0.
    e : 1/N.
    k : coefficient of the step.
    bound : C of the sites.
    factor_bound : C of theta_f after the step (inf: none).
    floor : replaces a precision (with GAMMA_JOINT also a - 1 and b) that is not positive.
    rules : (4,) clip rule, Gamma rule, check of improper weight updates, whether to floor.
    noise : (steps, size) added to theta, or (0, size) for none; size 2 HD + 2 (H + 1), with GAMMA_JOINT 2 more.
        Order of the parts: eta1, lam1, eta2, lam2, a - 1, -b.
    counts : (6,) see ``COUNTS``; added to.

    Sensitivity. Given theta before the step, rows enter only through f_n. With CLIP_JOINT its norm is at most
    ``bound``, and a site with a NaN or infinity counts as zero. So theta after the step and before the noise differs by
    at most 2 k bound when one row is replaced. For k = gamma / N that is 2 gamma C / N (proposition 1 of the paper).
    """
    inputs = x.shape[1]
    nb1 = (hidden + 7) // 8
    w = (hidden + 8) // 8 * 8
    size1 = nb1 * inputs * 8
    n1, n2 = hidden * inputs, hidden + 1
    f_eta1, f_lam1, f_eta2, f_lam2 = np.empty(size1), np.empty(size1), np.empty(w), np.empty(w)
    cavity_m, cavity_v = h[M2 * w : M2 * w + w], h[V2 * w : V2 * w + w]
    clip_rule, gamma_rule, check, positive = rules[0], rules[1], rules[2], rules[3] != 0
    noisy = noise.shape[0] > 0
    flat = noise.reshape(noise.size)
    zero = splat(0.0)
    ve, vk, vfloor = splat(e), splat(k), splat(floor)
    rejected, floored = zero, zero
    n_rows = len(order)
    if n_rows == 0:
        return
    _first_forward(h, x, order[0], eta1, lam1, nu1, tau1, ve, nb1, w)
    _second_cavity(eta2, lam2, nu2, tau2, cavity_m, cavity_v, ve, w)

    for t in range(n_rows):
        row = order[t]
        a, b = gamma[0], gamma[1]
        a_c, b_c = a, b
        if gamma_rule != GAMMA_FROZEN:
            a_c = a - e * (a - gamma[2])
            b_c = b - e * (b - gamma[3])
        mean, variance = forward(h, cavity_m, cavity_v, hidden)
        residual = y[row] - mean
        spread = variance + b_c / (a_c - 1.0)
        d_mean = residual / spread
        backward(h, cavity_m, cavity_v, hidden, d_mean, 0.5 * (d_mean * d_mean - 1.0 / spread))
        f_a, f_b = 0.0, 0.0
        if gamma_rule != GAMMA_FROZEN:
            new_a, new_b = gamma_step(a_c, b_c, variance, residual * residual)
            f_a, f_b = new_a - a_c, new_b - b_c

        sum_eta, sum_lam = zero, zero
        for block in range(nb1):
            g1, s1 = load(h, G1 * w + block * 8), load(h, S1 * w + block * 8)
            for j in range(inputs):
                i = (block * inputs + j) * 8
                xj = splat(x[row, j])
                f_eta, f_lam = _site(
                    load(eta1, i), load(lam1, i), load(nu1, i), load(tau1, i), g1 * xj, s1 * (xj * xj), ve, check
                )
                store(f_eta1, i, f_eta)
                store(f_lam1, i, f_lam)
                sum_eta = sum_eta + f_eta * f_eta
                sum_lam = sum_lam + (_square(f_lam) if check == CHECK_REJECT else f_lam * f_lam)
        square_eta1, square_lam1 = total(sum_eta), total(sum_lam)
        sum_eta, sum_lam = zero, zero
        for i in range(0, w, 8):
            f_eta, f_lam = _site(
                load(eta2, i), load(lam2, i), load(nu2, i), load(tau2, i), load(h, G2 * w + i), load(h, S2 * w + i),
                ve, check,
            )  # fmt: skip
            store(f_eta2, i, f_eta)
            store(f_lam2, i, f_lam)
            sum_eta = sum_eta + f_eta * f_eta
            sum_lam = sum_lam + (_square(f_lam) if check == CHECK_REJECT else f_lam * f_lam)
        square_eta2, square_lam2 = total(sum_eta), total(sum_lam)

        c_eta1 = c_lam1 = c_eta2 = c_lam2 = c_gamma = 1.0
        if clip_rule == CLIP_JOINT:
            square = square_eta1 + square_lam1 + square_eta2 + square_lam2
            if gamma_rule == GAMMA_JOINT:
                square += f_a * f_a + f_b * f_b
            norm = math.sqrt(square)
            if not (norm < np.inf):
                f_eta1[:] = 0.0
                f_lam1[:] = 0.0
                f_eta2[:] = 0.0
                f_lam2[:] = 0.0
                f_a, f_b = 0.0, 0.0
                counts[3] += 1.0
            elif norm > bound:
                c_eta1 = c_lam1 = c_eta2 = c_lam2 = c_gamma = bound / norm
                counts[2] += 1.0
        elif clip_rule == CLIP_BLOCKS:
            b2 = bound * bound
            if square_eta1 > b2:
                c_eta1 = bound / math.sqrt(square_eta1)
            if square_lam1 > b2:
                c_lam1 = bound / math.sqrt(square_lam1)
            if square_eta2 > b2:
                c_eta2 = bound / math.sqrt(square_eta2)
            if square_lam2 > b2:
                c_lam2 = bound / math.sqrt(square_lam2)
            if min(c_eta1, c_lam1, c_eta2, c_lam2) < 1.0:
                counts[2] += 1.0

        if gamma_rule != GAMMA_FROZEN:
            step_a = a + k * (c_gamma * f_a - e * (a - gamma[2]))
            step_b = b + k * (c_gamma * f_b - e * (b - gamma[3]))
            if gamma_rule == GAMMA_JOINT:
                if noisy:
                    step_a += flat[(t + 1) * noise.shape[1] - 2]
                    step_b -= flat[(t + 1) * noise.shape[1] - 1]
                if positive:
                    if not (step_a > 1.0):
                        step_a = 1.0 + floor
                        counts[4] += 1.0
                    if not (step_b > 0.0):
                        step_b = floor
                        counts[4] += 1.0
                gamma[0], gamma[1] = step_a, step_b
            elif (
                a_c >= 1.0 and b_c >= 0.0 and a_c + f_a >= 1.0 and b_c + f_b >= 0.0 and step_a >= 1.0 and step_b >= 0.0
            ):
                gamma[0], gamma[1] = step_a, step_b
            else:
                counts[1] += 1.0

        after = order[t + 1] if t + 1 < n_rows else row
        p = t * noise.shape[1]
        n_eta, n_lam = zero, zero
        far = zero
        ce, cl = splat(c_eta1), splat(c_lam1)
        for block in range(nb1):
            used = min(8, hidden - block * 8)
            pre_m, pre_v = zero, zero
            for j in range(inputs):
                i = (block * inputs + j) * 8
                if noisy:
                    q = p + block * 8 * inputs + j * used
                    n_eta, n_lam = load_first(flat, q, used), load_first(flat, q + n1, used)
                nu, tau = load(nu1, i), load(tau1, i)
                eta, lam, bad, low = _move(
                    load(eta1, i), load(lam1, i), nu, tau, load(f_eta1, i), load(f_lam1, i), n_eta, n_lam, ve, vk,
                    ce, cl, check, positive, vfloor,
                )  # fmt: skip
                rejected = rejected + bad * load(h, MASK * w + block * 8)
                floored = floored + low
                store(eta1, i, eta)
                store(lam1, i, lam)
                d_eta, d_lam = eta - nu, lam - tau
                far = far + (d_eta * d_eta + d_lam * d_lam)
                xn = splat(x[after, j])
                v = splat(1.0) / (lam - d_lam * ve)
                pre_m = pre_m + (eta - d_eta * ve) * v * xn
                pre_v = pre_v + v * (xn * xn)
            store(h, M * w + block * 8, pre_m)
            store(h, V * w + block * 8, pre_v)
        ce, cl = splat(c_eta2), splat(c_lam2)
        for i in range(0, w, 8):
            if noisy:
                used = min(8, n2 - i)
                q = p + 2 * n1 + i
                n_eta, n_lam = load_first(flat, q, used), load_first(flat, q + n2, used)
            nu, tau = load(nu2, i), load(tau2, i)
            eta, lam, bad, low = _move(
                load(eta2, i), load(lam2, i), nu, tau, load(f_eta2, i), load(f_lam2, i), n_eta, n_lam, ve, vk, ce, cl,
                check, positive, vfloor,
            )  # fmt: skip
            rejected = rejected + bad * (load(h, MASK * w + i) + load(h, BIAS * w + i))
            floored = floored + low
            store(eta2, i, eta)
            store(lam2, i, lam)
            d_eta, d_lam = eta - nu, lam - tau
            far = far + (d_eta * d_eta + d_lam * d_lam)
            v = splat(1.0) / (lam - d_lam * ve)
            store(cavity_v, i, v)
            store(cavity_m, i, (eta - d_eta * ve) * v)

        if factor_bound < np.inf:
            distance = total(far)
            if gamma_rule == GAMMA_JOINT:
                distance += (gamma[0] - gamma[2]) ** 2 + (gamma[1] - gamma[3]) ** 2
            norm = math.sqrt(distance) * e
            if norm > factor_bound:
                counts[5] += 1.0
                scale = factor_bound / norm
                _rescale(eta1, nu1, size1, scale)
                _rescale(lam1, tau1, size1, scale)
                _rescale(eta2, nu2, w, scale)
                _rescale(lam2, tau2, w, scale)
                if gamma_rule == GAMMA_JOINT:
                    gamma[0] = gamma[2] + scale * (gamma[0] - gamma[2])
                    gamma[1] = gamma[3] + scale * (gamma[1] - gamma[3])
                _first_forward(h, x, after, eta1, lam1, nu1, tau1, ve, nb1, w)
                _second_cavity(eta2, lam2, nu2, tau2, cavity_m, cavity_v, ve, w)
    counts[0] += total(rejected)
    counts[4] += total(floored)
