"""Compiled steps of DPVI: Poisson batch, per-example gradients by formula, joint clipping and noisy update.

A step reads only the rows of its batch and never stores per-example gradients. For each likelihood of
``models/unconstrained.py``, a row's gradient is a few numbers per row times the inputs. These numbers are its residuals
at the K draws.

Batches. Step t has its own random stream (SplitMix64, Steele, Lea & Flood 2014, started at a hash of key and t).

- Rows: the gaps between selected rows are geometric, which is independent Bernoulli(q) selection. A row's selection
  does not depend on the rows after it. So data sets that differ in their last row share the batches of the other rows.
- Data of few values (bernoulli, categorical): all rows of one value have the same gradient. Their number in a batch is
  Binomial(count, q), drawn by inversion from one uniform number. So counts that differ by one give batches that differ
  by at most one row.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from methods._shared import lanes
from methods._shared.compiled import assign, kernel
from methods._shared.lanes import WIDTH, load, sigmoid, splat, store
from methods._shared.lanes import total as sum_of

EXPONENTIAL, BERNOULLI, CATEGORICAL, LINEAR, LOGISTIC = range(5)
#: fastmath flags that reorder and fuse sums; none of them assumes finite numbers.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_BLOCK = 128
_kernel = partial(kernel, lanes)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


class Rows(NamedTuple):
    """Training rows in the form that their likelihood needs. The arrays of other forms are empty.

    likelihood : code, the position in ``models.unconstrained.NAMES``.
    n : actual number of rows.
    columns : (p, n), inputs by column (exponential: the one column; linear: with the ones).
    y : (n,), targets.
    value, count : the distinct values, and how many rows have each.
    cdf, first : the distribution functions of Binomial(count, q), one after the other, and where each begins.
    start, index, entry : compressed sparse rows.
    """

    likelihood: int
    n: int
    columns: np.ndarray
    y: np.ndarray
    value: np.ndarray
    count: np.ndarray
    first: np.ndarray
    cdf: np.ndarray
    start: np.ndarray
    index: np.ndarray
    entry: np.ndarray


@njit(cache=True, error_model="numpy")
def _mix(z):
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@njit(cache=True, error_model="numpy")
def _stream(key, step):
    return _mix(np.uint64(key) ^ _mix((np.uint64(step) + np.uint64(1)) * _GOLDEN))


@njit(cache=True, error_model="numpy")
def _uniform(state):
    """A uniform number in (0, 1) with 53 bits."""
    return (np.float64(_mix(state) >> _S11) + 0.5) * 2.0**-53


@njit(cache=True, error_model="numpy")
def poisson_batch(n, rate, key, step):
    """The Poisson batch of one step: each of n rows is selected independently with probability ``rate``.

    Returns increasing row numbers, (m,) int64.
    """
    if rate >= 1.0:
        return np.arange(n)
    out = np.empty(n, np.int64)
    state, m, i = _stream(key, step), 0, -1
    inverse = 1.0 / math.log1p(-rate)
    while True:
        state += _GOLDEN
        gap = math.log(_uniform(state)) * inverse
        if gap >= n - i - 1:
            return out[:m]
        i += 1 + int(gap)
        out[m] = i
        m += 1


@njit(cache=True, error_model="numpy")
def _batch_counts(rows, rate, key, step):
    out = np.empty(len(rows.value))
    state = _stream(key, step)
    for g in range(len(out)):
        state += _GOLDEN
        if rate >= 1.0:
            out[g] = rows.count[g]
        else:
            begin = rows.first[g]
            out[g] = np.searchsorted(rows.cdf[begin : begin + rows.count[g] + 1], _uniform(state))
    return out


@njit(cache=True, error_model="numpy")
def _softplus(x):
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(cache=True, error_model="numpy")
def _sigmoid(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True, error_model="numpy")
def _relative_slope(x):
    """sigmoid(x) / softplus(x), with its limit 1 where both underflow."""
    return _sigmoid(x) / _softplus(x) if x > -30.0 else 1.0


@njit(cache=True, error_model="numpy")
def _prior_gradient(likelihood, prior, theta, out):
    """Write the gradient of -log prior at theta (D,) to out (D,). ``prior``: see ``training.prior_numbers``."""
    d = len(theta)
    if likelihood == EXPONENTIAL:
        s = _sigmoid(theta[0])
        out[0] = -((prior[0] - 1) * s / _softplus(theta[0]) - prior[1] * s + 1 - s)
    elif likelihood == BERNOULLI:
        out[0] = prior[1] * _sigmoid(theta[0]) - prior[0] * _sigmoid(-theta[0])
    elif likelihood == CATEGORICAL:
        p = _softmax(theta)
        for j in range(d):
            out[j] = prior.sum() * p[j] - prior[j]
    elif likelihood == LINEAR:
        v, s, squares = _softplus(theta[d - 1]), _sigmoid(theta[d - 1]), 0.0
        for j in range(d - 1):
            out[j] = prior[2] * theta[j] / v
            squares += prior[2] * theta[j] ** 2
        out[d - 1] = s * ((prior[0] + 1 + 0.5 * (d - 1)) / v - (prior[1] + 0.5 * squares) / v**2) - (1 - s)
    else:
        for j in range(d):
            out[j] = prior[0] * theta[j]


@njit(cache=True, error_model="numpy")
def _softmax(theta):
    """Probabilities (D + 1,) of log-ratios (D,), of which the last one, 0, is left out."""
    d = len(theta)
    out = np.empty(d + 1)
    top = max(theta.max(), 0.0)
    assign(out[:d], np.exp(theta - top))
    out[d] = math.exp(-top)
    return out / out.sum()


@njit(cache=True, error_model="numpy")
def _factor(square, clip):
    """The clipping factor min(1, clip / norm), or 0 if the squared norm is not finite."""
    if not math.isfinite(square):
        return 0.0
    return min(1.0, clip / math.sqrt(square)) if square > 0.0 else 1.0


@_kernel()
def clipped_sum(rows, prior, n_public, phi, e, scale, clip, rate, key, step):
    """The sum over a Poisson batch of clipped, scaled per-example gradients of the negative lower bound; (2 D,).

    phi = (mu, rho) has shape (2 D,), and e (K, D) are standard normals shared by all rows. With
    theta_k = mu + softplus(rho) e_k and N = ``n_public``, the loss of a row is the mean over k of

        -log p(row | theta_k) - log p(theta_k) / N + log q(theta_k) / N.

    Its gradient in phi is multiplied by ``scale`` (2 D,) and clipped as one vector to Euclidean norm ``clip``. An entry
    0 of ``scale`` leaves its coordinate out. Source: Alrawajfeh, Jalko & Honkela 2025, algorithm 1, and their code.

    L2 sensitivity under add/remove, with N public: ``clip``. Proof: phi, e, the prior's part and N do not depend on the
    rows, so a row's vector depends on that row alone. It is multiplied by min(1, clip / norm), or by 0 if its norm is
    not finite, so its norm is at most ``clip``. Whether a row is in the batch does not depend on the other rows. So the
    sums with and without the row differ by its vector or not at all. A row outside the support of the likelihood enters
    by the same formula, because an error would reveal that it is in the data.
    """
    draws, d = e.shape
    s, slope = np.empty(d), np.empty(d)
    for j in range(d):
        s[j], slope[j] = _softplus(phi[d + j]), _sigmoid(phi[d + j])
    theta = np.empty((draws, d))
    common = np.zeros(2 * d)  # the part of a row's gradient that is the same for all rows
    one = np.empty(d)
    for k in range(draws):
        for j in range(d):
            theta[k, j] = phi[j] + s[j] * e[k, j]
        _prior_gradient(rows.likelihood, prior, theta[k], one)
        for j in range(d):
            common[j] += one[j] / (draws * n_public)
            common[d + j] += slope[j] * e[k, j] * one[j] / (draws * n_public)
    for j in range(d):
        common[d + j] -= _relative_slope(phi[d + j]) / n_public
    out = np.zeros(2 * d)
    if not np.isfinite(common).all():  # then no row's norm is finite
        return out
    if rows.likelihood == EXPONENTIAL:
        _exponential(rows, theta, e, slope, common, scale, clip, poisson_batch(rows.n, rate, key, step), out)
    elif rows.likelihood == LINEAR:
        _linear(rows, theta, e, slope, common, scale, clip, poisson_batch(rows.n, rate, key, step), out)
    elif rows.likelihood == LOGISTIC:
        _logistic(rows, theta, e, slope, common, scale, clip, poisson_batch(rows.n, rate, key, step), out)
    else:
        _values(rows, theta, e, slope, common, scale, clip, _batch_counts(rows, rate, key, step), out)
    return out


@njit(cache=True, error_model="numpy")
def _exponential(rows, theta, e, slope, common, scale, clip, batch, out):
    """The sum for the exponential likelihood, whose gradient is affine in x: mean_k d_k (x - 1 / lambda_k)."""
    draws = len(theta)
    a0 = a1 = b0 = b1 = 0.0
    for k in range(draws):
        d = _sigmoid(theta[k, 0]) / draws
        a1 += d
        a0 -= d / _softplus(theta[k, 0])
        b1 += slope[0] * e[k, 0] * d
        b0 -= slope[0] * e[k, 0] * d / _softplus(theta[k, 0])
    a0, a1, b0, b1 = scale[0] * (a0 + common[0]), scale[0] * a1, scale[1] * (b0 + common[1]), scale[1] * b1
    for i in batch:
        x = rows.columns[0, i]
        g, h = a0 + a1 * x, b0 + b1 * x
        f = _factor(g * g + h * h, clip)
        if f > 0.0:
            out[0] += f * g
            out[1] += f * h


@njit(cache=True, error_model="numpy")
def _values(rows, theta, e, slope, common, scale, clip, counts, out):
    draws, d = theta.shape
    g = np.empty(2 * d)
    for v in range(len(counts)):
        assign(g, common)
        for k in range(draws):
            p = _softmax(theta[k])
            for j in range(d):
                if rows.likelihood == BERNOULLI:
                    h = (p[0] - rows.value[v]) / draws
                else:
                    h = (p[j] - (1.0 if rows.value[v] == j else 0.0)) / draws
                g[j] += h
                g[d + j] += slope[j] * e[k, j] * h
        g *= scale
        f = _factor((g * g).sum(), clip)
        if f > 0.0:
            out += counts[v] * f * g


@njit(cache=True, error_model="numpy", fastmath=_FAST)
def _linear(rows, theta, e, slope, common, scale, clip, batch, out):
    draws, d = theta.shape
    p = d - 1
    x, q = np.empty((p, _BLOCK)), np.empty((p, _BLOCK))
    r, y, g, last, last_rho, square = (
        np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    )  # fmt: skip
    inverse, last_slope = np.empty(draws), np.empty(draws)
    for k in range(draws):
        inverse[k] = 1.0 / _softplus(theta[k, p])
        last_slope[k] = 0.5 * _sigmoid(theta[k, p]) / draws
    for begin in range(0, len(batch), _BLOCK):
        m = min(_BLOCK, len(batch) - begin)
        for j in range(p):
            for i in range(m):
                x[j, i] = rows.columns[j, batch[begin + i]]
        for i in range(m):
            y[i] = rows.y[batch[begin + i]]
        g[:] = 0.0
        last[:] = 0.0
        last_rho[:] = 0.0
        q[:] = 0.0
        for k in range(draws):
            for i in range(m):
                r[i] = -y[i]
            for j in range(p):
                w = theta[k, j]
                for i in range(m):
                    r[i] += w * x[j, i]
            u, c, share = inverse[k], last_slope[k], 1.0 / draws
            of_rho = e[k, p] * slope[p]
            for i in range(m):
                r[i] *= u
                t = c * (u - r[i] * r[i])
                last[i] += t
                last_rho[i] += of_rho * t
                r[i] *= share
                g[i] += r[i]
            for j in range(p):
                w = e[k, j] * slope[j]
                for i in range(m):
                    q[j, i] += w * r[i]
        for i in range(m):
            last[i] = scale[p] * (last[i] + common[p])
            last_rho[i] = scale[d + p] * (last_rho[i] + common[d + p])
            square[i] = last[i] * last[i] + last_rho[i] * last_rho[i]
        for j in range(p):
            a, b, a0, b0 = scale[j], scale[d + j], scale[j] * common[j], scale[d + j] * common[d + j]
            for i in range(m):
                t = a * x[j, i] * g[i] + a0
                q[j, i] = b * x[j, i] * q[j, i] + b0
                square[i] += t * t + q[j, i] * q[j, i]
        for i in range(m):
            f = _factor(square[i], clip)
            if f == 0.0:
                for j in range(p):
                    x[j, i] = q[j, i] = 0.0
                g[i] = last[i] = last_rho[i] = 0.0
            square[i] = f
        for j in range(p):
            a, a0, t, u = scale[j], scale[j] * common[j], 0.0, 0.0
            for i in range(m):
                t += square[i] * (a * x[j, i] * g[i] + a0)
                u += square[i] * q[j, i]
            out[j] += t
            out[d + j] += u
        t = u = 0.0
        for i in range(m):
            t += square[i] * last[i]
            u += square[i] * last_rho[i]
        out[p] += t
        out[d + p] += u


@_kernel(fastmath=_FAST)
def _logistic(rows, theta, e, slope, common, scale, clip, batch, out):
    """The sum for sparse logistic rows, at a cost of K per non-zero entry.

    Draws are in lanes. Let s be the scaled part that all rows share, r_k the residual of a row at draw k and j a
    non-zero input of it. In that input the scaled gradient of the row is s + g, where

        g = scale x mean_k r_k   in mu,   and   g = scale x slope mean_k (e_k r_k)   in rho.

    So its squared norm is |s|^2 + sum_j g (g + 2 s). In mu this needs two numbers per row: the sum of (scale x)^2, and
    the sum of scale x s, which takes the lane behind the draws. If no rho has a scale, its part is left out.
    """
    draws, d = theta.shape
    padded = WIDTH * (draws // WIDTH + 1)
    weights, normals, used = np.zeros(d * padded), np.zeros(d * padded), np.zeros(padded)
    used[:draws] = 1.0
    shared = common * scale
    for j in range(d):
        for k in range(draws):
            weights[j * padded + k] = theta[k, j]
            normals[j * padded + k] = scale[d + j] * slope[j] * e[k, j] / draws
        weights[j * padded + draws] = scale[j] * shared[j]
    base, spread = (shared * shared).sum(), scale[d:].max() > 0.0
    margins, residuals, of_rho, total = np.empty(padded), np.empty(padded), np.empty(d), 0.0
    for i in batch:
        begin, end = rows.start[i], rows.start[i + 1]
        y, r = splat(rows.y[i]), splat(0.0)
        for k in range(0, padded, WIDTH):
            margin = splat(0.0)
            for at in range(begin, end):
                margin = margin + load(weights, rows.index[at] * padded + k) * rows.entry[at]
            residual = (sigmoid(margin) - y) * load(used, k)
            store(margins, k, margin)
            store(residuals, k, residual)
            r = r + residual
        mean = sum_of(r) / draws
        square, square_rho = 0.0, 0.0
        for at in range(begin, end):
            x, j = rows.entry[at], np.int64(rows.index[at])
            square += (scale[j] * x) ** 2
            if spread:
                u = splat(0.0)
                for k in range(0, padded, WIDTH):
                    u = u + load(normals, j * padded + k) * load(residuals, k)
                g = x * sum_of(u)
                of_rho[at - begin] = g
                square_rho += g * (g + 2.0 * shared[d + j])
        square = base + mean * (mean * square + 2.0 * margins[draws]) + square_rho
        f = _factor(square, clip) if square == square else 0.0
        if f > 0.0:
            total += f
            for at in range(begin, end):
                j = rows.index[at]
                out[j] += f * mean * rows.entry[at]
                if spread:
                    out[d + j] += f * of_rho[at - begin]
    out[:d] *= scale[:d]
    out += total * shared


@njit(cache=True, error_model="numpy")
def update(phi, released, scale, rate, kept, length):
    """One step of gradient descent from a released sum, in place.

    The pair (phi before the step, gradient) is added to ``kept``.

    released : (2 D,), in the scaled units of the gradient.
    rate : (2 D,), step sizes.
    kept : (5, 2 D), means of phi and of the gradient, and their centred second moments
        (``models.noise_aware.Statistics``), updated as in Welford 1962.
    length : number of pairs in ``kept`` with this one, or 0 for a step that is not kept.
    """
    for j in range(len(phi)):
        g = released[j] / scale[j]
        if length > 0:
            dp, dg = phi[j] - kept[0, j], g - kept[1, j]
            kept[0, j] += dp / length
            kept[1, j] += dg / length
            kept[2, j] += dp * (phi[j] - kept[0, j])
            kept[3, j] += dp * (g - kept[1, j])
            kept[4, j] += dg * (g - kept[1, j])
        phi[j] -= rate[j] * g


@_kernel()
def advance(rows, prior, n_public, phi, normals, noise, scale, clip, sampling_rate, key, step, rate, kept, burn_in):
    """Make ``len(noise)`` steps of DPVI from step ``step`` on, which changes phi and kept in place.

    normals : (steps, K, D). noise : (steps, 2 D).
    """
    for t in range(len(noise)):
        value = clipped_sum(rows, prior, n_public, phi, normals[t], scale, clip, sampling_rate, key, step + t)
        update(phi, value + noise[t], scale, rate, kept, max(0, step + t + 1 - burn_in))


@njit(cache=True, error_model="numpy")
def update_aligned(phi, released, normal, entropy, step, rates, moments, adam):
    """One step of DPVIm (Jalko et al. 2023), in place: the gradient in rho is computed from the released one in mu.

    Since theta = mu + softplus(rho) e, the gradient in rho is sigmoid(rho) e times that in mu. The entropy adds
    -sigmoid(rho) / softplus(rho) times ``entropy``.

    released : (D,), noisy sum of the gradients in mu.
    normal : (D,), the single draw e of the step.
    entropy : kappa, the expected share of the data in a batch.
    rates : (2 D,), step sizes.
    moments : (2, 2 D), the moments of Adam (Kingma & Ba 2015, with 0.9 and 0.999), used if ``adam``.
    """
    d = len(normal)
    for j in range(2 * d):
        g = released[j % d]
        if j >= d:
            g = _sigmoid(phi[j]) * normal[j - d] * g - entropy * _relative_slope(phi[j])
        if adam:
            moments[0, j] = 0.9 * moments[0, j] + 0.1 * g
            moments[1, j] = 0.999 * moments[1, j] + 0.001 * g * g
            first = moments[0, j] / (1.0 - 0.9 ** (step + 1))
            g = first / (math.sqrt(moments[1, j] / (1.0 - 0.999 ** (step + 1))) + 1e-8)
        phi[j] -= rates[j] * g


@_kernel()
def advance_aligned(
    rows, prior, n_public, phi, normals, noise, scale, clip, sampling_rate, key, step, rates, moments, adam, trace
):  # fmt: skip
    """Make ``len(noise)`` steps of DPVIm in place, and write phi after each step to ``trace``.

    normals : (steps, 1, D). noise : (steps, D). trace : (steps, 2 D).
    """
    d = noise.shape[1]
    for t in range(len(noise)):
        value = clipped_sum(rows, prior, n_public, phi, normals[t], scale, clip, sampling_rate, key, step + t)
        update_aligned(phi, value[:d] + noise[t], normals[t, 0], sampling_rate, step + t, rates, moments, adam)
        assign(trace[t], phi)
