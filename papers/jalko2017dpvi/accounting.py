"""The privacy cost of a fit of the authors' code: its own rules for epsilon, and bounds for the sampling that it does.

There are T steps, each with a batch of B of n rows (kappa = B/n, up to rounding). A step releases a sum of vectors
clipped to norm C. The noise is sigma times the replace-one sensitivity 2 C. All distances below are in units of 2 C, so
the noise has standard deviation sigma.

The authors' code computes epsilon by :func:`moments` and by :func:`advanced_composition`. The functions below bound the
privacy curve delta(a) of one step under replace-one neighbours. delta_m is the curve of two Gaussians at distance m.

:func:`without_replacement`: for batches without replacement and g = B/n (Balle, Barthe & Gaboardi 2018, theorem 9),

    delta(ln(1 + g (e^a - 1))) <= g delta_1(a).

:func:`with_replacement`: a row may be in a batch m times. With h = 1 - (1 - 1/n)^B (the same, theorem 10),

    delta(ln(1 + h (e^a - 1))) <= sum_m Bin(m; B, 1/n) delta_m(a).

A lower bound is that of two tables that differ in one row. In both, all other rows have the vector -C u. The one row
has C u in one table and -C u in the other, so that a step releases

    sum_m Bin(m; B, 1/n) N(m, sigma^2)  against  N(0, sigma^2).

So no accountant that knows only C can promise less (``privacy.accountants.lower.repeated``).

Under replace-one the two neighbours may be exchanged, so a curve for a >= 0 gives the curve for a < 0:

    delta(-a) = 1 - e^-a + e^-a delta(a).

:func:`epsilons` composes a curve on a grid of losses and rounds only upwards (Doroshenko et al. 2022, "connect the
dots").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr
from scipy.stats import binom

#: points of the grid on each side of 0.
POINTS = 4_000
#: share of delta that losses beyond the grid may cost, over all steps.
BEYOND = 1e-3
#: the probability that a row is in a batch more often than this is below any delta in use.
MOST = 12

Curve = Callable[[np.ndarray], np.ndarray]


def log_moment(order: int, sigma: float, kappa: float) -> float:
    """The log moment of a step: ln E over z ~ N(0, sigma^2) of ((1 - kappa) + kappa N(z; 1) / N(z; 0))^(order + 1)."""
    k, j = order + 1, np.arange(order + 2)
    choose = gammaln(k + 1) - gammaln(j + 1) - gammaln(k - j + 1)
    return float(logsumexp(choose + (k - j) * math.log1p(-kappa) + j * math.log(kappa) + j * (j - 1) / (2 * sigma**2)))


def moments(sigma: float, delta: float, kappa: float, steps: int, most: int = 99) -> float:
    """Epsilon by the authors' moments accountant.

    It is the minimum of (T ln A(l) + ln(1/delta)) / l over the orders l = 1..most.
    """
    return min((steps * log_moment(k, sigma, kappa) - math.log(delta)) / k for k in range(1, most + 1))


def advanced_composition(sigma: float, delta: float, delta_prime: float, kappa: float, steps: int) -> float:
    """Epsilon by advanced composition of amplified Gaussian releases, the rule of the authors' comparison.

    ``delta``: total over all steps, of which ``delta_prime`` is the composition's own.
    """
    each = (delta - delta_prime) / (steps * kappa)
    one = math.log1p(kappa * math.expm1(math.sqrt(2 * math.log(1.25 / each)) / sigma))
    return math.sqrt(2 * steps * math.log(1.25 / delta_prime)) * one + steps * one * math.expm1(one)


def gaussian_curve(distance: float, a: np.ndarray) -> np.ndarray:
    """Privacy curve delta(a) of two normal distributions of equal variance, ``distance`` standard deviations apart."""
    with np.errstate(over="ignore"):
        return ndtr(distance / 2 - a / distance) - np.exp(a + log_ndtr(-distance / 2 - a / distance))


def without_replacement(sigma: float, batch: int, n: int) -> Curve:
    """Bound on a step's privacy curve for batches without replacement, at losses a >= 0. See the module's head."""
    rate = batch / n
    return lambda a: rate * gaussian_curve(1 / sigma, np.log1p(np.expm1(a) / rate))


def times(batch: int, n: int) -> tuple[np.ndarray, float]:
    """Probabilities that a row is in a batch m = 0..MOST times, and the probability of more."""
    return binom.pmf(np.arange(MOST + 1), batch, 1 / n), float(binom.sf(MOST, batch, 1 / n))


def with_replacement(sigma: float, batch: int, n: int) -> Curve:
    """Bound on a step's privacy curve for batches with replacement, at losses a >= 0. See the head of this module."""
    p, more = times(batch, n)
    inside = -math.expm1(batch * math.log1p(-1 / n))

    def curve(a):
        own = np.log1p(np.expm1(a) / inside)
        return more + sum(p[m] * gaussian_curve(m / sigma, own) for m in range(1, MOST + 1))

    return curve


def exchangeable(curve: Curve) -> Curve:
    """Extends a curve for a >= 0 to all a, for neighbours that may be exchanged."""

    def whole(a):
        found = curve(np.abs(a))
        return np.where(a >= 0, found, 1 - np.exp(-np.abs(a)) * (1 - found))

    return whole


def epsilons(curve: Curve, steps: int, deltas: Sequence[float], points: int = POINTS) -> list[float]:
    """Smallest epsilon of ``steps`` releases with this curve at each delta, rounded upwards.

    ``curve``: the privacy curve at all losses, by :func:`exchangeable`.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots

    least, reach = min(deltas), 1e-3
    while steps * float(curve(np.array([reach]))[0]) > BEYOND * least:
        reach *= 1.2
    k, gap = np.arange(-points, points + 1), reach / points
    known = np.clip(curve(k * gap), 0.0, 1.0)
    known = np.maximum.accumulate(known[::-1])[::-1]  # rounding may break the order; upwards is the safe side
    whole = create_pmf_pessimistic_connect_dots(gap, k, known).self_compose(steps, tail_mass_truncation=BEYOND * least)
    return [float(whole.get_epsilon_for_delta(d)) for d in deltas]
