"""Accountants in closed form: Gaussian differential privacy, and pure epsilons of Laplace releases."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from privacy.accountants.terms import NotApplicable, Term, checked_delta
from privacy.ledger import Mechanism


def gdp_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at delta: the root of equation 6 of Balle & Wang 2018, rounded up.

    >>> round(gdp_epsilon(1.0, 1e-5), 6)
    4.377178
    """
    checked_delta(delta)
    if mu == 0 or gdp_delta(mu, 0.0) <= delta:
        return 0.0
    if not math.isfinite(mu):
        return math.inf
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-9  # Gaussian tail bound: always enough
    root = brentq(lambda e: gdp_delta(mu, e) - delta, 0.0, high, xtol=1e-13 * max(1.0, high), rtol=1e-14)
    step = 1e-13 * max(1.0, root)
    while gdp_delta(mu, root) > delta:
        root, step = root + step, 2 * step
    return float(root)


def gdp_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of mu-GDP: Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."""
    if mu == 0:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        return float(ndtr(mu / 2 - epsilon / mu) - np.exp(min(epsilon + log_ndtr(-epsilon / mu - mu / 2), 0.0)))


def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP implies (epsilon, delta)-DP: the inverse of :func:`gdp_epsilon`, rounded down."""
    checked_delta(delta)
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon = {epsilon}: give a finite number above 0")
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    mu = brentq(lambda m: gdp_delta(m, epsilon) - delta, 0.0, high, xtol=1e-15, rtol=1e-14)
    while gdp_delta(mu, epsilon) > delta:
        mu *= 1 - 1e-14
    return float(mu)


def gdp(terms: list[Term], delta: float) -> float:
    """Exact Gaussian composition, without amplification."""
    square = 0.0
    for t in terms:
        if t.mechanism is not Mechanism.GAUSSIAN:
            raise NotApplicable(f"covers Gaussian releases, not {t.mechanism.value}")
        # Sampling ignored: a mixture over batches is dominated by its worst pair of batches (quasi-convexity).
        square += t.steps / t.multiplier**2
    return gdp_epsilon(math.sqrt(square), delta)


def pure_epsilon(t: Term) -> float:
    """The epsilon at delta = 0 of one release that reads every row.

    Laplace: sensitivity over scale (Dwork et al. 2006). Exponential mechanism: twice that (McSherry & Talwar 2007,
    theorem 6). Raises NotApplicable for another mechanism.
    """
    if t.mechanism not in (Mechanism.LAPLACE, Mechanism.EXPONENTIAL):
        raise NotApplicable(f"{t.mechanism.value} gives no pure epsilon")
    return (2 if t.mechanism is Mechanism.EXPONENTIAL else 1) / t.multiplier


def pure(terms: list[Term], delta: float) -> float:
    """The sum of pure epsilons, the only accountant at delta = 0."""
    total = 0.0
    for t in terms:
        one = pure_epsilon(t)
        total += t.steps * (math.log1p(t.rate * math.expm1(one)) if t.scheme == "poisson" else one)
    return total
