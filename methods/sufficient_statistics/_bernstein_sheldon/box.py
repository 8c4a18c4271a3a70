"""Noise-aware linear regression from Laplace-noised second moments of inputs scaled to [-1, 1].

It follows Bernstein & Sheldon 2019. Released are sums over the rows of u_a u_b (a <= b) and of u_a with Laplace noise,
where u = (x, y) is in [-1, 1]. The sampler differs from Gibbs-SS-Noisy in two ways.

* X'X is drawn given its noisy value (:func:`draw_gram`), once for each of many short chains. The authors draw it from a
  central limit theorem with noisy fourth moments, or with a public distribution of the inputs. Here no distribution of
  the inputs is assumed or estimated privately, because scaled inputs are far from N(0, I). In exchange, the
  information of the targets about X'X is not used (a cut model).
* Given X'X, s = (X'y, sum y, y'y) is approximated by a normal with the moments that are exact under the model. s is
  integrated out in two Metropolis-Hastings steps. A chain that only draws s and (w, v) in turn moves by the sampling
  noise of s, and the privacy noise is a hundred times as large at small epsilon.

Limitation: unless the noise is small relative to y'y, the posterior itself (not the chain) puts mass on noise variances
that are too small. A weight has prior variance v / precision, so that d + 1 weights favour a small v by
v^(-(d + 1) / 2). Only the one noisy number y'y contradicts it, with the weak penalty of a Laplace tail.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_solve

from methods._shared import row_blocks
from methods.contract import Diverged
from methods.sufficient_statistics._bernstein_sheldon.families import mixing_variances
from methods.sufficient_statistics._bernstein_sheldon.regression import product_draw
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.unconstrained import UnconstrainedDraws, inverse_softplus

#: standard deviations of the two random walks of log v.
STRIDES = (0.05, 0.7)


def moments(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sums over the rows of u_a u_b (a <= b, in the order of ``triu_indices``) and of u_a, (k,).

    u = (x, y) is in [-1, 1]. A value outside is clipped. A value that is not a number counts as 0.

    Sensitivity of EACH number under add/remove: 1. Proof: a row adds u_a u_b or u_a, of absolute value at most 1, and
    nothing else. With Laplace noise of its own per number, the k numbers are k releases of sensitivity 1. With
    (epsilon, delta) these cost less than one release of L1 sensitivity k.
    """

    def of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        u = np.clip(np.nan_to_num(np.column_stack([x, y]), nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
        return np.concatenate([(u.T @ u)[np.triu_indices(u.shape[1])], u.sum(axis=0)])

    return row_blocks.total(of, x, y)


def unpack(z: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The gram matrix (d + 1, d + 1) of [x, 1] and s = (X'y, sum y, y'y), (d + 2,), from :func:`moments`."""
    d = int(math.sqrt(2 * len(z) + 2.25) - 1.5) - 1  # (d + 1)(d + 2) / 2 + d + 1 numbers
    full = np.zeros((d + 1, d + 1))
    full[np.triu_indices(d + 1)] = z[: -d - 1]
    full = full + np.triu(full, 1).T
    sums = z[-d - 1 :]
    gram = np.block([[full[:d, :d], sums[:d, None]], [sums[None, :d], np.array([[float(n)]])]])
    return gram, np.concatenate([full[:d, d], sums[d:], full[d, d:]])


def draw_gram(noisy: np.ndarray, b: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """A positive semi-definite draw of the gram matrix of [x, 1], (d + 1, d + 1), given the noisy one.

    Each sum has a normal prior with standard deviation n / 3. Its mean is n / 3 for a sum of squares and 0 otherwise,
    as for inputs in [-1, 1]. The noise is treated as normal with variance 2 b^2. Negative eigenvalues of the covariance
    become 0.
    """
    d = len(noisy) - 1
    prior, noise = (n / 3.0) ** 2, 2.0 * b * b
    middle = np.zeros((d + 1, d + 1))
    middle[np.arange(d), np.arange(d)] = n / 3.0
    weight = prior / (prior + noise)
    jitter = np.triu(rng.standard_normal((d + 1, d + 1)))
    jitter = jitter + np.triu(jitter, 1).T
    drawn = middle + weight * (noisy - middle) + math.sqrt(weight * noise) * jitter
    sums = np.clip(drawn[:d, d], -n, n)
    values, vectors = np.linalg.eigh(drawn[:d, :d] - np.outer(sums, sums) / n)
    squares = (vectors * np.clip(values, 0.0, n * d)) @ vectors.T + np.outer(sums, sums) / n
    return np.block([[squares, sums[:, None]], [sums[None, :], np.array([[float(n)]])]])


def law(w: np.ndarray, v: float, gram: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d + 2,) and covariance (d + 2, d + 2) of s = (X'y, sum y, y'y) given the inputs.

    The model is y = X w + e, e ~ N(0, v I).
    """
    along = gram @ w
    fit = float(w @ along)
    mean = np.append(along, fit + n * v)
    covariance = np.empty((len(mean), len(mean)))
    covariance[:-1, :-1] = v * gram
    covariance[-1, :-1] = covariance[:-1, -1] = 2.0 * v * along
    covariance[-1, -1] = 4.0 * v * fit + 2.0 * n * v * v
    return mean, covariance


def log_target(w, v, s, omega, gram, n, model) -> float:
    """log p(noisy s | w, v, omega) + log p(w, v) in nats, up to a constant, with log v as parameter.

    The sufficient statistics s are integrated out.
    """
    mean, covariance = law(w, v, gram, n)
    factor = np.linalg.cholesky(covariance + np.diag(omega))
    r = np.linalg.solve(factor, s - mean)
    prior = -(model.shape + 0.5 * len(w)) * math.log(v) - (model.scale + 0.5 * model.precision * (w @ w)) / v
    return prior - 0.5 * float(r @ r) - float(np.log(np.diag(factor)).sum())


def move_weights(w, v, s, omega, gram, n, model, rng):
    """Metropolis-Hastings step in w, proposed from its distribution given v and only the noisy (X'y, sum y)."""
    inner = v * gram + np.diag(omega[:-1])
    factor = np.linalg.cholesky(inner)
    half = np.linalg.solve(factor, gram)
    precision = half.T @ half + model.precision / v * np.eye(len(w))
    lower = np.linalg.cholesky(precision)
    mean = cho_solve((lower, True), half.T @ np.linalg.solve(factor, s[:-1]))
    new = mean + np.linalg.solve(lower.T, rng.standard_normal(len(w)))
    forth, back = lower.T @ (new - mean), lower.T @ (w - mean)
    gain = log_target(new, v, s, omega, gram, n, model) - log_target(w, v, s, omega, gram, n, model)
    ok = math.log(rng.random()) < gain + 0.5 * float(forth @ forth - back @ back)
    return (new if ok else w), ok


def move_noise(w, v, s, omega, gram, n, model, rng) -> float:
    """Random-walk Metropolis steps in log v, one for each of ``STRIDES``."""
    here = log_target(w, v, s, omega, gram, n, model)
    for stride in STRIDES:
        new = v * math.exp(stride * rng.standard_normal())
        there = log_target(w, new, s, omega, gram, n, model)
        if math.log(rng.random()) < there - here:
            v, here = new, there
    return v


def sample(
    model: LinearRegressionUnknownNoise,
    z: np.ndarray,
    b: float,
    n: int,
    grams: int,
    burn_in: int,
    kept: int,
    rng: np.random.Generator,
) -> tuple[UnconstrainedDraws, float]:
    """grams x kept draws of theta, and the share of accepted proposals of w.

    ``z`` is the released :func:`moments`, ``b`` the scale of the noise, and ``n`` the public number of rows. For each
    of ``grams`` draws of the gram matrix the chain runs for ``burn_in`` + ``kept`` sweeps. Raises Diverged for a draw
    that is not finite.
    """
    noisy, s = unpack(z, n)
    d = len(s) - 2
    w, v = np.zeros(d + 1), model.scale / (model.shape + 1.0)
    omega = np.full(len(s), 2.0 * b * b)
    draws, taken = [], 0
    for _ in range(grams):
        gram = draw_gram(noisy, b, n, rng)
        gram[np.diag_indices(d + 1)] += 1e-9 * n  # keeps the matrix positive definite under rounding
        for i in range(burn_in + kept):
            w, ok = move_weights(w, v, s, omega, gram, n, model, rng)
            v = move_noise(w, v, s, omega, gram, n, model, rng)
            taken += ok
            mean, covariance = law(w, v, gram, n)
            factor = np.linalg.cholesky(covariance + 1e-12 * np.diag(covariance.diagonal()))
            clean = product_draw(mean, mean + factor @ rng.standard_normal(len(s)), covariance, s, omega, rng)
            omega = np.maximum(mixing_variances(s - clean, b, rng), 1e-12 * b * b)
            posterior = model.posterior_given_moments(gram, clean[:-1], float(clean[-1]), n)
            if posterior.scale > model.scale:  # else the drawn sum of squares is impossible: keep (w, v)
                theta = posterior.sample(1, rng)[0]
                w, v = theta[:-1], float(np.logaddexp(0.0, theta[-1]))
            if i >= burn_in:
                draws.append(np.append(w, inverse_softplus(v)))
    found = np.array(draws)
    if not np.isfinite(found).all():
        raise Diverged("bernstein_sheldon_2019_corrected: a draw is not finite")
    return UnconstrainedDraws(found.astype(np.float32), model.likelihood), taken / (grams * (burn_in + kept))
