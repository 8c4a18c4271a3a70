"""Bernstein & Sheldon 2019, Gibbs-SS-Noisy: linear regression given Laplace-noised second moments of the rows.

One sweep draws

    S | theta, omega, Z   a product of two normals: the central limit theorem for the second moments S, N(Z, diag omega)
    theta = (w, v) | S    the conjugate update
    omega | S, Z          as in ``families``

There are two versions.

``corrected``  each distinct moment of u = (x, y) once: the products u_a u_b, a <= b, and the sums u_a (77 numbers for
               10 inputs). Their distribution is exact Gaussian algebra (Isserlis 1918) with x ~ N(0, I), the public
               distribution of the simulated inputs, so no budget is spent on fourth moments. Rows are clipped to public
               bounds. A sweep also moves theta and S together (:func:`move_together`). If the noise is large against
               the sampling error of S, then S determines theta and theta determines S, and a sweep without these moves
               leaves both where they are.
``released``   as the authors' code runs: (X'X, X'y, y'y) with X'X in full (133 numbers). Noise is drawn for the upper
               triangle and mirrored, but each entry has its own variance omega. Sensitivities are computed from the
               private rows. Exact sums of fourth moments over the rows replace noisy means. There is no guarantee.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from methods.contract import Diverged
from methods.sufficient_statistics._bernstein_sheldon.families import mixing_variances
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise, NormalInverseGamma
from models.unconstrained import UnconstrainedDraws

#: largest number of draws of S until the conjugate update is possible (authors' code).
TRIES = 10
#: steps of :func:`move_together`, in turn: what moves, and the length (weights: 1 is a draw from their prior given v;
#: both: inf is a draw of v from its prior, else a random walk of log v; noise: a random walk of log v).
MOVES = (
    *(("weights", 1.0), ("both", math.inf), ("noise", 0.25), ("weights", 0.5), ("both", 0.25), ("noise", 0.05)),
    *(("weights", 0.15), ("both", 0.05), ("noise", 0.25), ("weights", 0.5), ("both", math.inf), ("noise", 0.05)),
)


def clipped_moments(x: np.ndarray, y: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Sums over the rows of u_a u_b (a <= b, in the order of ``triu_indices``) and of u_a, for clipped u = (x, y).

    The inputs are x (n, d), y (n,) and bounds B (d + 1,). Each u_a is clipped to [-B_a, B_a], and a value that is not a
    number to 0.

    L1 sensitivity under replace-one, n public: (sum_a B_a + 1)^2 - 1. Proof: a row contributes one number to each
    statistic. It lies in an interval of width

        B_a^2 for u_a^2,   2 B_a B_b for u_a u_b with a < b,   2 B_a for u_a.

    Replacing the row moves the statistic by at most that width. The widths add up to (sum B)^2 + 2 sum B.
    """
    u = np.clip(np.nan_to_num(np.column_stack([x, y]), nan=0.0), -bounds, bounds)
    return np.concatenate([(u.T @ u)[np.triu_indices(len(bounds))], u.sum(axis=0)])


def moment_law(theta: np.ndarray, v: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of one row's statistics of :func:`clipped_moments` (unclipped), with x ~ N(0, I).

    ``theta`` (d + 1,) holds slopes and bias, and ``v`` is the noise variance. u = (x, y) is Gaussian with mean m and
    covariance c. Its fourth moments follow from Isserlis 1918.
    """
    d = len(theta) - 1
    c = np.eye(d + 1)
    c[d, :d] = c[:d, d] = theta[:d]
    c[d, d] = theta[:d] @ theta[:d] + v
    m = np.zeros(d + 1)
    m[d] = theta[d]
    a, b = np.triu_indices(d + 1)
    second = c + np.outer(m, m)
    aa, ab, bb = c[np.ix_(a, a)], c[np.ix_(a, b)], c[np.ix_(b, b)]
    ma, mb = m[a], m[b]
    squares = aa * bb + ab * ab.T
    squares += np.outer(ma, ma) * bb + np.outer(ma, mb) * ab.T + np.outer(mb, ma) * ab + np.outer(mb, mb) * aa
    cross = ma[:, None] * c[b] + mb[:, None] * c[a]
    return np.concatenate([second[a, b], m]), np.block([[squares, cross], [cross.T, c]])


def product_draw(mean, draw_from_prior, covariance, z, w, rng) -> np.ndarray:
    """A draw of s ~ N(mean, covariance) given z = s + N(0, diag w), from a draw of the prior (Matheron's rule)."""
    s = draw_from_prior
    seen = s + np.sqrt(w) * rng.standard_normal(len(w))
    return s + covariance @ np.linalg.solve(covariance + np.diag(w), z - seen)


def _conjugate(model, xx, xy, yy, n, least: float) -> NormalInverseGamma | None:
    try:
        posterior = model.posterior_given_moments(xx, xy, yy, n)
    except np.linalg.LinAlgError:
        return None
    return posterior if posterior.scale > least and np.isfinite(posterior.mean).all() else None


def _start(model: LinearRegressionUnknownNoise, d: int, rng) -> tuple[np.ndarray, float]:
    v = model.scale / rng.gamma(model.shape)
    return np.sqrt(v / model.precision) * rng.standard_normal(d + 1), float(v)


def _draw(posterior: NormalInverseGamma, rng) -> tuple[np.ndarray, float]:
    v = posterior.scale / rng.gamma(posterior.shape)
    z = np.linalg.solve(posterior.factor.T, rng.standard_normal(len(posterior.mean)))
    return posterior.mean + np.sqrt(v) * z, float(v)


def _collect(model, kept: list) -> UnconstrainedDraws:
    w, v = np.array([k[0] for k in kept]), np.array([k[1] for k in kept])
    if not (np.isfinite(w).all() and np.isfinite(v).all()):
        raise Diverged("bernstein_sheldon_2019_corrected: a draw is not finite")
    last = v + np.log(-np.expm1(-np.maximum(v, 1e-300)))
    return UnconstrainedDraws(np.column_stack([w, last]).astype(np.float32), model.likelihood)


def _simulated_moments(w: np.ndarray, v: float, n: int, rng) -> np.ndarray:
    """Statistics of :func:`clipped_moments`, unclipped, of n rows x ~ N(0, I), y ~ N(w . [x, 1], v)."""
    x = rng.standard_normal((n, len(w) - 1))
    y = x @ w[:-1] + w[-1] + math.sqrt(v) * rng.standard_normal(n)
    return clipped_moments(x, y, np.full(len(w), math.inf))


class Held(NamedTuple):
    """The quantities that a non-centred move holds fixed: inputs and standardised errors e of y = X w + sqrt(v) e.

    ``gram`` is X'X (p, p) with the bias last, ``u`` is X'e (p,), and ``q`` is e'e. None depends on (w, v) under the
    model.
    """

    gram: np.ndarray
    u: np.ndarray
    q: float

    @classmethod
    def of(cls, gram: np.ndarray, target: np.ndarray, w: np.ndarray, v: float) -> Held:
        along = gram @ w
        u = (target[:-1] - along) / math.sqrt(v)
        return cls(gram, u, float(target[-1] - 2.0 * (w @ target[:-1]) + w @ along) / v)

    def target(self, w: np.ndarray, v: float) -> np.ndarray:
        """X'y with the sum of y last, then y'y, at other parameters (w, v); (p + 1,)."""
        along, errors = self.gram @ w, math.sqrt(v) * self.u
        return np.append(along + errors, w @ (along + 2.0 * errors) + v * self.q)


def move_weights(model: LinearRegressionUnknownNoise, w, v: float, held: Held, z, omega, rng):
    """Non-centred step of w given omega, proposed from its distribution given the noisy X'y and accepted by y'y."""
    weighted = held.gram / omega[:-1]
    factor = np.linalg.cholesky(weighted @ held.gram + model.precision / v * np.eye(len(w)))
    middle = np.linalg.solve(factor, weighted @ (z[:-1] - math.sqrt(v) * held.u))
    new = np.linalg.solve(factor.T, middle + rng.standard_normal(len(w)))
    here, there = z[-1] - held.target(w, v)[-1], z[-1] - held.target(new, v)[-1]
    return new if math.log(rng.random()) < 0.5 * (here**2 - there**2) / omega[-1] else w


def move_together(model: LinearRegressionUnknownNoise, w, v: float, held: Held, z, b: float, rng):
    """Non-centred Metropolis-Hastings steps ``MOVES`` of (w, v) with omega integrated out.

    omega must be drawn anew afterwards. ``z`` is the released values of ``held.target``, and ``b`` the scale of their
    Laplace noise. There is no Jacobian, because the quantities held fixed do not depend on (w, v). A proposal is
    accepted by its prior and the Laplace density of the released numbers.

    Steps of ``weights`` leave the prior of w given v invariant. Steps of ``both`` hold w / sqrt(v), whose prior does
    not depend on v. Steps of ``noise`` hold w.
    """
    off = np.abs(z - held.target(w, v)).sum()
    for what, length in MOVES:
        w_new, v_new, prior = w, v, 0.0
        if what == "weights":
            jump = math.sqrt(v / model.precision) * rng.standard_normal(len(w))
            w_new = math.sqrt(1.0 - length**2) * w + length * jump
        elif math.isinf(length):
            v_new = model.scale / rng.gamma(model.shape)
        else:
            v_new = v * math.exp(length * rng.standard_normal())
            power, rate = model.shape, model.scale
            if what == "noise":
                power, rate = power + 0.5 * len(w), rate + 0.5 * model.precision * float(w @ w)
            prior = power * math.log(v / v_new) + rate * (1.0 / v - 1.0 / v_new)
        if what == "both":
            w_new = math.sqrt(v_new / v) * w
        off_new = np.abs(z - held.target(w_new, v_new)).sum()
        if math.log(rng.random()) < prior + (off - off_new) / b:
            w, v, off = w_new, float(v_new), off_new
    return w, v


def gibbs_corrected(
    model: LinearRegressionUnknownNoise, z: np.ndarray, b: float, n: int, burn_in: int, sweeps: int, rng
) -> tuple[UnconstrainedDraws, float]:
    """``sweeps`` draws after ``burn_in``, and the share of sweeps that kept S because no possible S was drawn.

    ``z`` is the released :func:`clipped_moments`, ``b`` the scale of its noise, and ``n`` the public number of rows.
    The chain starts from the conjugate update with z if that is possible, else from the prior. A chain with little
    noise would not find the posterior from the prior.
    """
    d = int(np.sqrt(2 * len(z) + 2.25) - 1.5) - 1  # (d + 1)(d + 2) / 2 + d + 1 numbers
    upper, pairs = np.triu_indices(d + 1), (d + 1) * (d + 2) // 2
    with_target = np.append(np.flatnonzero(upper[1] == d), pairs + d)
    with_target[[-2, -1]] = with_target[[-1, -2]]  # X'y, the sum of y, y'y

    def gram_of(moments):
        full = np.zeros((d + 1, d + 1))
        full[upper] = moments[:pairs]
        full = full + np.triu(full, 1).T
        full[d, :d] = full[:d, d] = moments[pairs:-1]
        full[d, d] = n
        return full

    def update(moments):
        target = moments[with_target]
        return _conjugate(model, gram_of(moments), target[:-1], float(target[-1]), n, 0.0)

    posterior = update(z)
    if posterior is None:
        w, v = _start(model, d, rng)
        s = _simulated_moments(w, v, n, rng)
    else:
        (w, v), s = _draw(posterior, rng), z.copy()
    omega = mixing_variances(z - s, b, rng)
    kept, stayed = [], 0
    for i in range(burn_in + sweeps):
        held = Held.of(gram_of(s), s[with_target], w, v)
        w = move_weights(model, w, v, held, z[with_target], omega[with_target], rng)
        w, v = move_together(model, w, v, held, z[with_target], b, rng)
        s[with_target] = held.target(w, v)
        omega = mixing_variances(z - s, b, rng)
        mean, covariance = moment_law(w, v)
        mean, covariance = n * mean, n * covariance
        factor = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) / len(z) * np.eye(len(z)))
        for _ in range(TRIES):
            prior_draw = mean + factor @ rng.standard_normal(len(z))
            trial = product_draw(mean, prior_draw, covariance, z, omega, rng)
            posterior = update(trial)
            if posterior is not None:
                s, (w, v) = trial, _draw(posterior, rng)
                break
        else:
            stayed += 1
        if i >= burn_in:
            kept.append((w, v))
    return _collect(model, kept), stayed / (burn_in + sweeps)


def released_sensitivity(x: np.ndarray, y: np.ndarray) -> float:
    """The sensitivity that the authors' code declares; a function of the private rows.

        [p (p + 1) / 2] R^2 + p R + p R r_y + r_y^2

    Here p counts the bias, r are the ranges of the data (0 for the bias), and R is the sum of the ranges. For 10 inputs
    it is about 100 times the sensitivity.
    """
    ranges, p = np.ptp(x, axis=0), x.shape[1] + 1
    total, r = ranges.sum(), np.ptp(y)
    return float(p * (p + 1) / 2 * total**2 + p * total + p * total * r + r**2)


def exact_fourth_moments(design: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The input of the authors' sampler: the sum over the rows of x x' (p, p), and a factor F of its C4 = F F'.

    C4 = E4 - E2 x E2 is a (p^2, p^2) matrix, projected to positive semi-definite. Both moments are sums, not means, so
    second moments are n times too large.
    """
    p = design.shape[1]
    pairs = (design[:, :, None] * design[:, None, :]).reshape(len(design), p * p)
    second = design.T @ design
    values, vectors = np.linalg.eigh(pairs.T @ pairs - np.outer(second.ravel(), second.ravel()))
    keep = values > 0
    return second, vectors[:, keep] * np.sqrt(values[keep])


def gibbs_released(
    model: LinearRegressionUnknownNoise,
    z: np.ndarray,
    b: float,
    n: int,
    moments: tuple[np.ndarray, np.ndarray],
    burn_in: int,
    sweeps: int,
    rng,
) -> tuple[UnconstrainedDraws, float]:
    """``sweeps`` draws after ``burn_in`` as in the authors' code, and the share of sweeps without a possible S.

    ``z`` (p^2 + p + 1,) is the noisy X'X (mirrored), X'y and y'y. ``moments`` are :func:`exact_fourth_moments`. A draw
    of S whose X'X is not positive semi-definite is projected by setting negative eigenvalues to 0. It counts as
    possible if (X'X)_11 > 0, y'y > 0 and b_n > 0.1. After ``TRIES`` draws the parameters stay for this sweep.
    """
    second, factor = moments
    p = len(second)
    w, v = _start(model, p - 1, rng)
    omega = rng.exponential(2 * b * b, len(z))
    kept, missed = [], 0
    for i in range(burn_in + sweeps):
        # statistics are linear in vec(x x'), except for the noise of y: S = A vec(x x') + (0, x e, 2 theta'x e + e^2)
        a = np.vstack([np.eye(p * p), np.kron(np.eye(p), w[None]), np.kron(w, w)[None]])
        mean = n * (a @ second.ravel())
        mean[-1] += n * v
        noise = np.zeros((p + 1, p + 1))
        noise[:p, :p] = v * second
        noise[p, :p] = noise[:p, p] = 2 * v * (second @ w)
        noise[p, p] = 2 * v**2 + 4 * v * (w @ second @ w)
        root = np.sqrt(n) * (a @ factor)
        covariance = root @ root.T
        covariance[-p - 1 :, -p - 1 :] += n * noise
        noise_root = np.linalg.cholesky(n * noise + 1e-12 * n * np.trace(noise) * np.eye(p + 1))
        posterior = None
        for _ in range(TRIES):
            s = mean + root @ rng.standard_normal(root.shape[1])
            s[-p - 1 :] += noise_root @ rng.standard_normal(p + 1)
            s = product_draw(mean, s, covariance, z, omega, rng)
            xx = s[: p * p].reshape(p, p)
            values, vectors = np.linalg.eigh(0.5 * (xx + xx.T))
            xx = (vectors * np.maximum(values, 0.0)) @ vectors.T
            if xx[0, 0] > 0 and s[-1] > 0:
                posterior = _conjugate(model, xx, s[p * p : -1], s[-1], n, 0.1)
                if posterior is not None:
                    break
        if posterior is None:
            missed += 1
        else:
            w, v = _draw(posterior, rng)
        omega = mixing_variances(z - s, b, rng)
        if i >= burn_in:
            kept.append((w, v))
    return _collect(model, kept), missed / (burn_in + sweeps)
