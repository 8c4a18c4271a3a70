"""Gibbs sampler for the posterior given Laplace-noised sufficient statistics of a conjugate family.

Source: Bernstein & Sheldon 2018. Let s be the sufficient statistics of n rows. By the central limit theorem s is
approximately N(mu(theta), Sigma(theta)), and z = s + Laplace(b) is released. The Laplace distribution is a scale
mixture of normals: z_j | s, w_j ~ N(s_j, w_j) with w_j ~ Exp(mean 2 b^2). One cycle draws

    s | theta, w, z   a product of two normals, truncated to the possible values
    w | s, z          1/w_j is inverse Gaussian
    theta | s         the conjugate update

The natural parameters are lambda, p, or (p_1, ..., p_K).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from models.conjugate_simulators import ConjugateSimulator
from models.unconstrained import UnconstrainedDraws

#: probability of each tail of Exp(lambda), at the true lambda, that the authors' code leaves out.
TAIL = 0.025
#: lower bound of the statistic in the gamma update, as in the authors' code.
LEAST = 0.01


def bounded_sum(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Sum of the rows x (n, 1) clipped to [low, high], (1,).

    L1 sensitivity under replace-one, n public: high - low. Proof: a row contributes one number in [low, high], so
    replacing it moves the sum by at most the width. A row that is not a number counts as ``low``.
    """
    return np.clip(np.nan_to_num(x, nan=low), low, high).sum(axis=0)


def inside_sum(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Sum of the rows x (n, 1) that lie in (low, high), 0 <= low, (1,); the others count as 0.

    L1 sensitivity under replace-one, n public: high. Proof: a row contributes 0 or a number in (low, high), so the sum
    moves by at most max(high - low, high) = high. (The authors' code declares high - low. A row that replaces one
    outside the interval exceeds it.)
    """
    return np.where((x > low) & (x < high), x, 0.0).sum(axis=0)


def category_counts(x: np.ndarray, categories: int) -> np.ndarray:
    """The numbers of rows x (n, 1) that are 0, ..., categories - 2, (categories - 1,). The last count follows from n.

    L1 sensitivity under replace-one, n public: 2. Proof: a row adds 1 to at most one of these counts, so replacing it
    moves at most two counts by 1 each. (The authors' code declares 1, and adds the same noise value to all counts. The
    first count alone has sensitivity 1.)
    """
    return (x == np.arange(categories - 1)).sum(axis=0).astype(np.float64)


def section(model: ConjugateSimulator, x: np.ndarray | None = None) -> tuple[float, float] | None:
    """The interval (low, high) whose rows are summed, for the gamma-exponential family only.

    Without rows it is (0, u), with u the 97.5 % point of the prior predictive. This is a Lomax distribution:

        P(x > u) = (rate / (rate + u))^shape.

    With the private rows x (n, 1) it is the 2.5 and 97.5 % points of Exp(1 / mean of x), which are not charged.
    """
    if model.family != "gamma_exponential":
        return None
    if x is None:
        shape, rate = model.prior
        return 0.0, rate * (TAIL ** (-1.0 / shape) - 1.0)
    mean = float(x.mean())
    return -mean * math.log1p(-TAIL), -mean * math.log(TAIL)


class Sensitivities(NamedTuple):
    """L1 sensitivities under replace-one, n public: of all statistics, of the first, as the authors' code states."""

    proven: float
    first: float
    declared: float


def release_of(
    model: ConjugateSimulator, x: np.ndarray, ends: tuple[float, float] | None
) -> tuple[np.ndarray, Sensitivities, str]:
    """The statistics of rows x (n, 1), their sensitivities, and the path of the proof."""
    if model.family == "gamma_exponential":
        return inside_sum(x, *ends), Sensitivities(ends[1], ends[1], ends[1] - ends[0]), "inside_sum"
    if model.family == "beta_bernoulli":
        return bounded_sum(x, 0.0, 1.0), Sensitivities(1.0, 1.0, 1.0), "bounded_sum"
    return category_counts(x, len(model.prior)), Sensitivities(2.0, 1.0, 1.0), "category_counts"


def truncated_normal(mean: float, sd: float, low: float, high: float, rng: np.random.Generator) -> float:
    """A draw of N(mean, sd^2) truncated to [low, high], by inversion; the nearer end if the mass underflows."""
    u = rng.random()
    if low > mean:  # mirrored: the lower tail has the full relative accuracy
        return -truncated_by_inversion(-mean, sd, -high, -low, u)
    return truncated_by_inversion(mean, sd, low, high, u)


def truncated_by_inversion(mean: float, sd: float, low: float, high: float, u: float) -> float:
    """The u-quantile of N(mean, sd^2) truncated to [low, high]."""
    a, b = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
    x = ndtri(a + u * (b - a))
    return float(np.clip(mean + sd * x, low, high)) if math.isfinite(x) else (low if mean < low else high)


def product(m1: float, v1: float, m2: float, v2: float) -> tuple[float, float]:
    """Mean and standard deviation of the normalised product of N(m1, v1) and N(m2, v2)."""
    v = 1.0 / (1.0 / v1 + 1.0 / v2)
    return v * (m1 / v1 + m2 / v2), math.sqrt(v)


def mixing_variances(residual: np.ndarray, b: float, rng: np.random.Generator) -> np.ndarray:
    """A draw of w given s and z, of any shape: 1/w_j ~ InverseGaussian(mean 1 / (b |z_j - s_j|), shape 1 / b^2)."""
    mean = 1.0 / (b * np.maximum(np.abs(residual), 1e-12 * b))
    return 1.0 / np.maximum(rng.wald(mean, 1.0 / b**2), 1e-300)


def gibbs(
    model: ConjugateSimulator,
    z: np.ndarray,
    b: float,
    n: int,
    burn_in: int,
    sweeps: int,
    rng: np.random.Generator,
    ends: tuple[float, float] | None = None,
) -> UnconstrainedDraws:
    """``sweeps`` draws of theta given z, after ``burn_in`` sweeps, from a start drawn from the prior.

    ``z`` is the released statistics, and ``b`` the scale of their Laplace noise. ``ends`` is (low, high) of
    :func:`inside_sum`, for the gamma-exponential family only.
    """
    prior = np.array(model.prior)
    w = rng.exponential(2.0 * b * b, len(z))
    if model.family == "gamma_exponential":
        natural, cycle = rng.gamma(prior[0], 1.0 / prior[1]), _gamma_cycle
    elif model.family == "beta_bernoulli":
        natural, cycle = rng.beta(*prior), _beta_cycle
    else:
        natural, cycle = rng.dirichlet(prior), _dirichlet_cycle
    kept = []
    for i in range(burn_in + sweeps):
        natural, s = cycle(prior, natural, w, z, n, ends, rng)
        w = mixing_variances(z - s, b, rng)
        if i >= burn_in:
            kept.append(natural)
    tiny = np.finfo(np.float32).tiny
    natural = np.clip(np.array(kept), tiny, None if model.family == "gamma_exponential" else 1 - 1e-12)
    return UnconstrainedDraws(model.to_unconstrained(natural).astype(np.float32), model.likelihood)


def _beta_cycle(prior, p, w, z, n, ends, rng):
    mean, sd = product(n * p, n * p * (1 - p), z[0], w[0])
    s = truncated_normal(mean, sd, 0.0, n, rng)
    p = float(np.clip(rng.beta(prior[0] + s, prior[1] + n - s), 1e-12, 1 - 1e-12))
    return p, np.array([s])


def _dirichlet_cycle(prior, p, w, z, n, ends, rng):
    """One cycle: the normal draw is repeated until it is a table of counts; coordinatewise after 20 failures."""
    q = p[:-1]
    covariance = n * (np.diag(q) - np.outer(q, q))
    precision = np.linalg.inv(covariance) + np.diag(1.0 / w)
    factor = np.linalg.cholesky(precision)
    mean = np.linalg.solve(precision, np.linalg.solve(covariance, n * q) + z / w)
    for _ in range(20):
        s = mean + np.linalg.solve(factor.T, rng.standard_normal(len(q)))
        if (s >= 0).all() and s.sum() <= n:
            break
    else:
        s = np.clip(mean, 0.0, None)
        s *= min(1.0, n / max(s.sum(), 1e-300))
        for j in range(len(q)):
            others = precision[j] @ (s - mean) - precision[j, j] * (s[j] - mean[j])
            top = max(n - s.sum() + s[j], 0.0)
            s[j] = truncated_normal(mean[j] - others / precision[j, j], precision[j, j] ** -0.5, 0.0, top, rng)
    p = np.clip(rng.dirichlet(np.append(prior[:-1] + s, prior[-1] + n - s.sum())), 1e-12, None)
    return p / p.sum(), s


def section_moments(rate: float, low: float, high: float) -> tuple[float, float]:
    """Mean and variance of x 1{low < x < high} for x ~ Exp(rate); high may be infinite."""
    a, b = rate * low, rate * high

    def tail(order):  # integral of x^order rate exp(-rate x) from the lower end to infinity, both ends
        def at(u):
            if math.isinf(u):
                return 0.0
            return math.exp(-u) * {0: 1.0, 1: 1.0 + u, 2: 2.0 + 2.0 * u + u * u}[order] / rate**order

        return at(a) - at(b)

    first = tail(1)
    return first, max(tail(2) - first**2, 0.0)


def _gamma_cycle(prior, rate, w, z, n, ends, rng):
    """One cycle with s = lower + inside + upper section; only the inside sum is noised."""
    low, high = ends
    m, v = section_moments(rate, low, high)
    mean, sd = product(n * m, max(n * v, 1e-300), z[0], w[0])
    inside = truncated_normal(mean, sd, 0.0, math.inf, rng)
    total = inside
    for ends in ((0.0, low), (high, math.inf)):
        m, v = section_moments(rate, *ends)
        total += truncated_normal(n * m, math.sqrt(max(n * v, 1e-300)), 0.0, math.inf, rng)
    return rng.gamma(prior[0] + n, 1.0 / (prior[1] + max(total, LEAST))), np.array([inside])
