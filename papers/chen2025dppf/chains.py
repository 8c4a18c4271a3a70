"""Data augmentation for this paper's regression, given the noisy sums of its clipped rows (compiled).

The parameters are theta = (mu, Phi, tau, beta0, beta1). There are n rows, and n is public:

    x ~ N(mu, 1 / Phi),  y | x ~ N(beta0 + beta1 x, 1 / tau)

A sweep proposes a draw of the model for each row, and accepts it by the density of the Laplace noise. Then it draws
theta given the rows (Ju, Awan, Gong & Rao 2022, "Data augmentation MCMC for Bayesian inference from privatized data").
:func:`posterior` adds non-centred moves, which move theta and all rows together. Chains without these moves mix slowly
at small epsilon. :mod:`evaluation.release_posterior` has the same sampler for any number of inputs and conjugate
priors. This module has one input and the source's heavy-tailed priors.

Priors:

* ``conjugate``: mu ~ N(0, 1), Phi ~ Gamma(1, rate 1/2), tau ~ Gamma(1, 1), beta | tau ~ N(0, I / tau).
* ``heavy``: mu ~ t_2, Phi ~ |t_2|, tau ~ Weibull(2, scale 1.25), beta ~ bivariate t_2.
* ``independent``: as ``heavy``, with independent beta0 and beta1 ~ t_2. The authors' code of DP-DA-MCMC has this prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from methods._shared.compiled import assign

NAMES = ("mu", "phi", "tau", "beta0", "beta1")
PRIORS = {"conjugate": 0, "heavy": 1, "independent": 2}
LOG_2PI = math.log(2 * math.pi)
#: bound to which rows are clipped, and by which they are then divided.
BOUND = 5.0
#: non-centred moves per sweep: draws from the prior, and random-walk steps in multiples of the learned covariance.
PRIOR_MOVES, WALK_MOVES = 3, (1.0, 0.45, 0.15, 1.0, 0.45, 0.15, 1.0, 0.45, 0.15)
_WALK = np.array(WALK_MOVES)


@njit(cache=True, error_model="numpy")
def log_prior(theta, prior):  # pragma: no cover (compiled)
    """Log density (nats) of theta (5,) under ``prior``, a value of ``PRIORS``."""
    mu, phi, tau, b0, b1 = theta
    square = b0 * b0 + b1 * b1
    if prior == 0:
        return (
            -0.5 * (LOG_2PI + mu * mu) + math.log(0.5) - 0.5 * phi - tau + math.log(tau) - LOG_2PI - 0.5 * tau * square
        )
    t2 = -1.5 * math.log(8.0 ** (2.0 / 3.0) / 2.0)  # log of 1 / sqrt 8
    out = t2 - 1.5 * math.log1p(0.5 * mu * mu)
    out += math.log(2.0) + t2 - 1.5 * math.log1p(0.5 * phi * phi)
    out += math.log(2.0 / 1.25) + math.log(tau / 1.25) - (tau / 1.25) ** 2
    if prior == 1:
        return out - LOG_2PI - 2.0 * math.log1p(0.5 * square)
    return out + 2 * t2 - 1.5 * (math.log1p(0.5 * b0 * b0) + math.log1p(0.5 * b1 * b1))


@njit(cache=True, error_model="numpy")
def t_2(rng):  # pragma: no cover (compiled)
    return rng.standard_normal() / math.sqrt(rng.standard_exponential())


@njit(cache=True, error_model="numpy")
def from_prior(prior, rng):  # pragma: no cover (compiled)
    """One draw of theta (5,) from ``prior``."""
    out = np.empty(5)
    if prior == 0:
        out[0] = rng.standard_normal()
        out[1] = 2.0 * rng.standard_exponential()
        out[2] = rng.standard_exponential()
        for k in (3, 4):
            out[k] = rng.standard_normal() / math.sqrt(out[2])
        return out
    out[0], out[1] = t_2(rng), abs(t_2(rng))
    out[2] = 1.25 * math.sqrt(rng.standard_exponential())
    w = rng.standard_exponential()
    for k in (3, 4):
        out[k] = rng.standard_normal() / math.sqrt(w) if prior == 1 else t_2(rng)
    return out


@njit(cache=True, error_model="numpy")
def clip(value, unit):  # pragma: no cover (compiled)
    return min(max(value, -BOUND), BOUND) / unit


@njit(cache=True, error_model="numpy")
def sums_of(x, y, unit):  # pragma: no cover (compiled)
    """Sums (5,) of y, xy, yy, x and xx over the clipped rows."""
    out = np.zeros(5)
    for i in range(len(x)):
        u, v = clip(x[i], unit), clip(y[i], unit)
        out[0] += v
        out[1] += u * v
        out[2] += v * v
        out[3] += u
        out[4] += u * u
    return out


@njit(cache=True, error_model="numpy")
def sweep_rows(theta, x, y, off, b, unit, rng):  # pragma: no cover (compiled)
    """Propose a draw of the model for each row, in place. Returns the number of rows accepted.

    ``off``: released sums minus those of the rows, updated in place.
    """
    mu, sd = theta[0], 1.0 / math.sqrt(theta[1])
    noise, b0, b1 = 1.0 / math.sqrt(theta[2]), theta[3], theta[4]
    taken = 0
    for i in range(len(x)):
        x_new = mu + sd * rng.standard_normal()
        y_new = b0 + b1 * x_new + noise * rng.standard_normal()
        u, v, p, q = clip(x[i], unit), clip(y[i], unit), clip(x_new, unit), clip(y_new, unit)
        d0, d1, d2, d3, d4 = q - v, p * q - u * v, q * q - v * v, p - u, p * p - u * u
        gain = abs(off[0]) - abs(off[0] - d0) + abs(off[1]) - abs(off[1] - d1) + abs(off[2]) - abs(off[2] - d2)
        gain = (gain + abs(off[3]) - abs(off[3] - d3) + abs(off[4]) - abs(off[4] - d4)) / b
        if gain < 0.0:
            r = rng.random()
            if r >= 1.0 + gain and math.log(r) >= gain:
                continue
        x[i], y[i] = x_new, y_new
        off[0] -= d0
        off[1] -= d1
        off[2] -= d2
        off[3] -= d3
        off[4] -= d4
        taken += 1
    return taken


@njit(cache=True, error_model="numpy")
def moments(x, y):  # pragma: no cover (compiled)
    """Sums of x, y, x^2, xy and y^2 over the rows, added in their order."""
    sx = sy = sxx = sxy = syy = 0.0
    for i in range(len(x)):
        sx += x[i]
        sy += y[i]
        sxx += x[i] * x[i]
        sxy += x[i] * y[i]
        syy += y[i] * y[i]
    return sx, sy, sxx, sxy, syy


@njit(cache=True, error_model="numpy")
def given_rows(theta, x, y, prior, rng):  # pragma: no cover (compiled)
    """Draw theta given the rows, in place.

    The draw is exact for the conjugate prior. Else it is made of steps that leave the distribution invariant.
    """
    n = len(x)
    sx, sy, sxx, sxy, syy = moments(x, y)
    w0 = w1 = 1.0
    if prior == 1:
        w0 = w1 = rng.standard_gamma(2.0) / (1.0 + 0.5 * (theta[3] ** 2 + theta[4] ** 2))
    elif prior == 2:
        w0 = rng.standard_gamma(1.5) / (1.0 + 0.5 * theta[3] ** 2)
        w1 = rng.standard_gamma(1.5) / (1.0 + 0.5 * theta[4] ** 2)
    tau = theta[2]
    # precision of beta: tau (X'X + ridge)
    r0, r1 = (1.0, 1.0) if prior == 0 else (w0 / tau, w1 / tau)
    a, d = n + r0, sxx + r1
    det = a * d - sx * sx
    m0, m1 = (d * sy - sx * sxy) / det, (a * sxy - sx * sy) / det
    if prior == 0:
        rate = 1.0 + 0.5 * (syy - m0 * sy - m1 * sxy)
        tau = rng.standard_gamma(1.0 + 0.5 * n) / rate
        theta[2] = tau
    z0, z1 = rng.standard_normal(), rng.standard_normal()
    # the inverse of [[a, sx], [sx, d]] by its Cholesky factor
    c00 = math.sqrt(d / det)
    c10 = -sx / det / c00
    c11 = math.sqrt(max(a / det - c10 * c10, 0.0))
    theta[3] = m0 + c00 * z0 / math.sqrt(tau)
    theta[4] = m1 + (c10 * z0 + c11 * z1) / math.sqrt(tau)
    w = 1.0 if prior == 0 else rng.standard_gamma(1.5) / (1.0 + 0.5 * theta[0] ** 2)
    phi = theta[1]
    theta[0] = phi * sx / (w + n * phi) + rng.standard_normal() / math.sqrt(w + n * phi)
    s = max(sxx - 2.0 * theta[0] * sx + n * theta[0] ** 2, 1e-12)
    if prior == 0:
        theta[1] = rng.standard_gamma(1.0 + 0.5 * n) / (0.5 + 0.5 * s)
        return
    new = rng.standard_gamma(1.0 + 0.5 * n) / (0.5 * s)
    ratio = (1.0 + 0.5 * phi * phi) / (1.0 + 0.5 * new * new)
    if rng.random() < ratio**1.5:
        theta[1] = new
    b0, b1 = theta[3], theta[4]
    rss = syy - 2.0 * (b0 * sy + b1 * sxy) + n * b0 * b0 + 2.0 * b0 * b1 * sx + b1 * b1 * sxx
    new = rng.standard_gamma(2.0 + 0.5 * n) / (0.5 * max(rss, 1e-12))
    if rng.random() < math.exp(min((tau * tau - new * new) / 1.5625, 0.0)):
        theta[2] = new


@njit(cache=True, error_model="numpy")
def rebuilt(z, e, theta, unit):  # pragma: no cover (compiled)
    """Sums (5,) over the rows that have the standardised inputs ``z`` and errors ``e`` at ``theta``."""
    mu, sd = theta[0], 1.0 / math.sqrt(theta[1])
    noise, b0, b1 = 1.0 / math.sqrt(theta[2]), theta[3], theta[4]
    s0 = s1 = s2 = s3 = s4 = 0.0
    for i in range(len(z)):
        x = mu + sd * z[i]
        u, v = clip(x, unit), clip(b0 + b1 * x + noise * e[i], unit)
        s0 += v
        s1 += u * v
        s2 += v * v
        s3 += u
        s4 += u * u
    return np.array([s0, s1, s2, s3, s4])


@njit(cache=True, error_model="numpy")
def far(off):  # pragma: no cover (compiled)
    return abs(off[0]) + abs(off[1]) + abs(off[2]) + abs(off[3]) + abs(off[4])


@njit(cache=True, error_model="numpy")
def together(theta, x, y, s, b, unit, prior, root, rng):  # pragma: no cover (compiled)
    """Non-centred moves of theta and all rows, in place.

    ``root``: Cholesky factor of the proposal covariance of (mu, log Phi, log tau, beta0, beta1).
    """
    z, e = (x - theta[0]) * math.sqrt(theta[1]), (y - theta[3] - theta[4] * x) * math.sqrt(theta[2])
    here = far(s - sums_of(x, y, unit))
    density = log_prior(theta, prior)
    moved = False
    for k in range(PRIOR_MOVES + len(_WALK)):
        gain = 0.0
        if k < PRIOR_MOVES:
            new = from_prior(prior, rng)
            ok = True
        else:
            step = root @ rng.standard_normal(5) * (_WALK[k - PRIOR_MOVES] * 2.4 / math.sqrt(5.0))
            new = theta.copy()
            for c in (0, 3, 4):
                new[c] += step[c]
            for c in (1, 2):
                new[c] *= math.exp(min(max(step[c], -50.0), 50.0))
            gain = log_prior(new, prior) - density + step[1] + step[2]
        there = far(s - rebuilt(z, e, new, unit))
        ok = math.log(rng.random()) < gain + (here - there) / b
        if ok:
            assign(theta, new)
            here, density, moved = there, log_prior(new, prior), True
    if moved:
        assign(x, theta[0] + z / math.sqrt(theta[1]))
        assign(y, theta[3] + theta[4] * x + e / math.sqrt(theta[2]))


@njit(cache=True, error_model="numpy")
def interwoven(theta, x, y, s, b, unit, prior, root, sweeps, thin, rng):  # pragma: no cover (compiled)
    """Draws (sweeps // thin, 5), one per ``thin`` sweeps. theta and the rows keep the chain's last state."""
    out, taken = np.empty((sweeps // thin, 5)), 0
    for i in range(sweeps):
        off = s - sums_of(x, y, unit)
        taken += sweep_rows(theta, x, y, off, b, unit, rng)
        given_rows(theta, x, y, prior, rng)
        together(theta, x, y, s, b, unit, prior, root, rng)
        if (i + 1) % thin == 0:
            assign(out[(i + 1) // thin - 1], theta)
    return out, taken


@njit(cache=True, error_model="numpy")
def walk_given_rows(theta, x, y, prior, steps, rng):  # pragma: no cover (compiled)
    """``steps`` sweeps of a random walk with step size 1 in each of the five parameters given the rows, in place."""
    n = len(x)
    sx, sy, sxx, sxy, syy = moments(x, y)
    here = log_rows(theta, n, sx, sy, sxx, sxy, syy) + log_prior(theta, prior)
    for _ in range(steps):
        for c in range(5):
            old = theta[c]
            theta[c] = old + rng.standard_normal()
            ok = False
            if theta[1] > 0 and theta[2] > 0:
                there = log_rows(theta, n, sx, sy, sxx, sxy, syy) + log_prior(theta, prior)
                ok = math.log(rng.random()) < there - here
            if ok:
                here = there
            else:
                theta[c] = old


@njit(cache=True, error_model="numpy")
def log_rows(theta, n, sx, sy, sxx, sxy, syy):  # pragma: no cover (compiled)
    """Log-likelihood of the rows (nats), from their sums and up to a constant."""
    mu, phi, tau, b0, b1 = theta
    s = sxx - 2.0 * mu * sx + n * mu * mu
    rss = syy - 2.0 * (b0 * sy + b1 * sxy) + n * b0 * b0 + 2.0 * b0 * b1 * sx + b1 * b1 * sxx
    return 0.5 * n * (math.log(phi) + math.log(tau)) - 0.5 * phi * s - 0.5 * tau * rss


@njit(cache=True, error_model="numpy")
def plain(s, n, b, prior, sweeps, walks, rng):  # pragma: no cover (compiled)
    """The chain of the source's DP-DA-MCMC from theta = (0, 2, 1, 0, 0): draws (sweeps, 5).

    ``walks``: sweeps of the random walk given the rows. At 0, theta is drawn exactly.
    """
    theta = np.array([0.0, 2.0, 1.0, 0.0, 0.0])
    x = rng.standard_normal(n) / math.sqrt(2.0)
    y = rng.standard_normal(n)
    out = np.empty((sweeps, 5))
    for i in range(sweeps):
        off = s - sums_of(x, y, BOUND)
        sweep_rows(theta, x, y, off, b, BOUND, rng)
        if walks:
            walk_given_rows(theta, x, y, prior, walks, rng)
        else:
            given_rows(theta, x, y, prior, rng)
        assign(out[i], theta)
    return out


def coordinates(draws: np.ndarray) -> np.ndarray:
    """Unconstrained coordinates (..., 5) of theta."""
    out = draws.copy()
    out[..., 1:3] = np.log(out[..., 1:3])
    return out


@dataclass(frozen=True)
class Length:
    """Lengths and number of the chains of :func:`posterior`."""

    chains: int = 4
    burn_in: int = 2500
    sweeps: int = 10_000
    thin: int = 10


def posterior(
    s: np.ndarray, n: int, b: float, prior: str, rng: np.random.Generator, length: Length | None = None,
    unit: float = BOUND,
) -> np.ndarray:  # fmt: skip
    """Draws (chains, sweeps // thin, 5) of theta given the release.

    Parameters
    ----------
    s : (5,), released sums of y, xy, yy, x, xx over rows clipped to [-5, 5] and divided by ``unit``.
    n : number of rows.
    b : scale of the Laplace noise.
    prior : a key of ``PRIORS``.
    rng : a generator that did not make the data. One that did would start a chain at the truth.

    Each chain starts at a draw from the prior. The covariance of the random walk is learned in the burn-in and then
    kept.
    """
    length, code = length or Length(), PRIORS[prior]
    out = []
    for child in rng.spawn(length.chains):
        theta = from_prior(code, child)
        x = theta[0] + child.standard_normal(n) / math.sqrt(theta[1])
        y = theta[3] + theta[4] * x + child.standard_normal(n) / math.sqrt(theta[2])
        root = 0.3 * np.eye(5)
        for part in (0.1, 0.2, 0.3, 0.4):
            seen, _ = interwoven(theta, x, y, s, b, unit, code, root, max(int(part * length.burn_in), 20), 1, child)
            found = np.cov(coordinates(seen[len(seen) // 3 :]), rowvar=False)
            root = np.linalg.cholesky(found + 1e-6 * np.eye(5))
        out.append(interwoven(theta, x, y, s, b, unit, code, root, length.sweeps, length.thin, child)[0])
    return np.array(out)
