"""Utility and privacy cost of a draw from a conjugate posterior, computed without drawing it (Geumlek et al. 2017).

Utility is the expected log-likelihood of held-out trials under the released parameter, and KL(posterior || distribution
of the release). The privacy cost is the largest Renyi divergence over neighbours, by brute force and by the shortcuts
of the paper. All divergences and log-likelihoods are in nats. No function here draws a random number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, expit, ndtr, zeta
from scipy.stats import beta as beta_law
from scipy.stats import binom

from evaluation.metrics import scored
from models.exponential_family import DirichletCategorical, check_order

#: an integral covers this many standard deviations of a normal distribution; the probability outside is below 1e-32.
_REACH = 12.0
_NODES = 240


class Mixture(NamedTuple):
    """A distribution of rho: a mixture of Beta(``a``, ``b``) with weights ``weight``, three arrays of one shape."""

    weight: np.ndarray
    a: np.ndarray
    b: np.ndarray


def heldout_scores(log_density: np.ndarray) -> dict[str, tuple[float, str]]:
    """Minus the summed log-likelihood of the held-out rows: ``{"heldout_nll": (value, "nats")}``.

    log_density : (n,), nats per row. Raises ValueError if one is not finite.
    """
    if not np.isfinite(log_density).all():
        raise ValueError("the log-likelihood of a held-out row is not finite")
    return scored(heldout_nll=-float(np.sum(log_density)))


# -------------------------------------------------------------------------------------------------- utility


def posterior_law(prior: tuple[float, float], k: np.ndarray, n: int, data_weight=1.0, prior_weight=1.0) -> Mixture:
    """The distribution of one draw given ``k`` successes in n trials: Beta(prior_weight a0 + data_weight k, ...).

    prior : natural parameters (a0, a0 + b0). ``k`` has any shape, and each of its entries gets weight 1.
    """
    k = np.asarray(k, dtype=np.float64)
    a0, b0 = prior[0], prior[1] - prior[0]
    return Mixture(np.ones_like(k), prior_weight * a0 + data_weight * k, prior_weight * b0 + data_weight * (n - k))


def gaussian_mechanism_law(prior: tuple[float, float], k: float, n: int, sigma: float) -> Mixture:
    """The distribution of one draw given the noisy sum k + N(0, sigma^2), clipped to [0, n].

    It has two atoms for the clipped sums, and quadrature between them. A sigma of 0 gives the posterior itself. An
    infinite sigma gives an equal mixture of the distributions at 0 and n.
    """
    a0, b0 = prior[0], prior[1] - prior[0]
    if sigma == 0:
        return Mixture(np.ones(1), np.array([a0 + k]), np.array([b0 + n - k]))
    if math.isinf(sigma):
        s, weight = np.array([0.0, n]), np.array([0.5, 0.5])
    else:
        low, high = max(0.0, k - _REACH * sigma), min(float(n), k + _REACH * sigma)
        nodes, weights = _legendre()
        inner = low + (high - low) * nodes
        density = np.exp(-0.5 * ((inner - k) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
        s = np.concatenate([[0.0, n], inner])
        weight = np.concatenate([[ndtr(-k / sigma), ndtr((k - n) / sigma)], (high - low) * weights * density])
    return Mixture(weight, a0 + s, b0 + n - s)


def kl_from_posterior(prior: tuple[float, float], k: float, n: int, law: Mixture) -> float:
    """KL(posterior || ``law``) given k successes in n trials, by quadrature over rho, as in figure 2 a, b."""
    (_, (a,), (b,)) = posterior_law(prior, np.array([k]), n)
    low, high = beta_law.ppf(1e-18, a, b), beta_law.isf(1e-18, a, b)
    nodes, weights = _legendre()
    rho = low + (high - low) * nodes
    x, y = np.log(rho), np.log1p(-rho)
    log_p = (a - 1) * x + (b - 1) * y - betaln(a, b)
    parts = (law.a[:, None] - 1) * x + (law.b[:, None] - 1) * y - betaln(law.a, law.b)[:, None]
    top = parts.max(axis=0)
    log_law = top + np.log(law.weight @ np.exp(parts - top))
    return float((high - low) * weights @ (np.exp(log_p) * (log_p - log_law)))


def heldout_moments(law: Mixture, rho: float, n: int) -> tuple[float, float]:
    """Mean and standard deviation of minus the log-likelihood of n held-out Bernoulli(rho) trials, nats.

    They are exact for p drawn from ``law`` and an independent H ~ Binomial(n, rho). With x = log p, y = log(1 - p) and
    h = n rho the score is

        -(h x + (n - h) y) - (H - h) (x - y),

    two uncorrelated terms. Their moments follow from those of log p under a Beta distribution, by digamma and trigamma
    functions. The likelihood is that of the sequence, without a binomial coefficient.
    """
    spread_a, spread_b, spread = (zeta(2.0, v) for v in (law.a, law.b, law.a + law.b))
    x, y = (digamma(v) - digamma(law.a + law.b) for v in (law.a, law.b))
    h, w = n * rho, law.weight
    score = -(h * x + (n - h) * y)
    mean = float(np.sum(w * score))
    within = h**2 * spread_a + (n - h) ** 2 * spread_b - n**2 * spread
    of_data = n * rho * (1 - rho) * ((x - y) ** 2 + spread_a + spread_b)
    return mean, math.sqrt(max(float(np.sum(w * ((score - mean) ** 2 + within + of_data))), 0.0))


def over_data(laws: Iterator[Mixture], rho: float, n: int) -> Mixture:
    """The distribution of the draw if the data are n Bernoulli(rho) trials.

    ``laws`` are its distributions given k = 0, ..., n successes.
    """
    probabilities = binom.pmf(np.arange(n + 1), n, rho)
    parts = [law._replace(weight=p * law.weight) for p, law in zip(probabilities, laws, strict=True)]
    return Mixture(*(np.concatenate([getattr(part, f) for part in parts]) for f in Mixture._fields))


# -------------------------------------------------------------------------------------------------- privacy cost


def brute_force(
    law: DirichletCategorical,
    prior: np.ndarray,
    n: int,
    order: float,
    data_weight: float = 1.0,
    prior_weight: float = 1.0,
) -> float:
    """The largest Renyi divergence over all data sets of n records and all their neighbours, in both directions.

    prior : natural parameters (d,). Each pair is tried, and their number grows as n^(d - 1) d^2.
    """
    a = prior_weight * law.concentrations(prior)
    counts = np.array(
        [np.bincount(c, minlength=law.categories) for c in combinations_with_replacement(range(law.categories), n)]
    )
    worst = -math.inf
    for i in range(law.categories):
        here = counts[counts[:, i] > 0]
        for j in range(law.categories):
            if i != j:
                there = here.copy()
                there[:, i] -= 1
                there[:, j] += 1
                p, q = (law.natural(a + data_weight * c) for c in (here, there))
                worst = max(worst, float(np.max(law.renyi(order, p, q))))
    return worst


def corollary_2(
    law: DirichletCategorical,
    prior: np.ndarray,
    n: int,
    order: float,
    data_weight: float = 1.0,
    prior_weight: float = 1.0,
) -> float:
    """The bound of corollary 2 as printed: P = eta0 + (0, n) or (n, n), Q = P +- (r, 0), for the Beta system.

    Half of these Q are not posteriors, because r is subtracted from a parameter of the prior. The result is ``inf`` if
    one of them is not normalizable. The order of P and Q is that of the corollary.
    """
    eta, total, r = prior_weight * np.asarray(prior, dtype=np.float64), data_weight * n, data_weight
    worst = -math.inf
    for corner in (np.array([0.0, total]), np.array([total, total])):
        for step in (r, -r):
            q = eta + corner + np.array([step, 0.0])
            worst = max(worst, float(law.renyi(order, eta + corner, q)) if law.normalizable(q) else math.inf)
    return worst


def corners_only(law: DirichletCategorical, prior: np.ndarray, n: int, order: float, data_weight: float = 1.0) -> float:
    """Corollary 2 extended to d categories, only for Q that are posteriors. As a bound it is too small.

    P = a + r n e_i is a corner, where all records are in one category, and Q = P + r (e_j - e_i) is its neighbour.
    """
    a = law.concentrations(np.asarray(prior, dtype=np.float64))
    unit = np.eye(law.categories)
    return max(
        float(law.renyi(order, *(law.natural(v) for v in (p, p + data_weight * (unit[j] - unit[i])))))
        for i in range(law.categories)
        for j in range(law.categories)
        if i != j
        for p in [a + data_weight * n * unit[i]]
    )


def flip_divergence(order: float, tau2: float) -> float:
    """The exact Renyi divergence of two logistic posteriors that differ in the class of one record (see theorem 18).

    tau2 = c^2 / (n beta) is the prior variance of the margin of that record. All other records are orthogonal to it.
    P / Q = exp(w) implies

        D = (order - 1) tau2 / 2 + log(2 E sigmoid(z)) / (order - 1),   z ~ N((order - 1) tau2, tau2).

    At order 1, D = 2 E z' sigmoid(z') with z' ~ N(0, tau2). The integrals are by Gauss-Legendre quadrature over 12
    standard deviations.

    Raises ValueError for an order below 1 or tau2 <= 0.
    """
    order = check_order(order)
    if not (0 < tau2 < math.inf):
        raise ValueError(f"tau2 = {tau2}; give a finite number above 0")
    tau = math.sqrt(tau2)
    nodes, weights = _legendre()
    u = _REACH * (2 * nodes - 1)
    normal = 2 * _REACH * weights * np.exp(-0.5 * u**2) / math.sqrt(2 * math.pi)
    if order == 1:
        return float(2 * normal @ (tau * u * expit(tau * u)))
    # 2 sigmoid(z) - 1 = tanh(z / 2) loses no digits if the divergence is small
    excess = float(normal @ np.tanh(((order - 1) * tau2 + tau * u) / 2))
    return (order - 1) * tau2 / 2 + math.log1p(excess) / (order - 1)


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2
