"""The privacy cost of a fit of the authors' code: the rules by which it prints epsilon, and bounds for its sampling.

A step releases a sum of clipped vectors with noise of sigma times the replace-one sensitivity 2 C. So below, one unit
is 2 C, and the noise has standard deviation sigma. There are T steps, each with B of n rows (kappa = B/n, up to
rounding).

Rules of the authors' code: :func:`moments` and :func:`advanced_composition`. Bounds, replace-one:

:func:`without_replacement`  delta(ln(1 + g (e^a - 1))) <= g delta_1(a), g = B/n, delta_1 the Gaussian's curve at
                             distance 1 (Balle, Barthe & Gaboardi 2018, theorem 9)
:func:`with_replacement`     delta(ln(1 + h (e^a - 1))) <= sum_m Bin(m; B, 1/n) delta_m(a), h = 1 - (1 - 1/n)^B,
                             delta_m the Gaussian's curve at distance m (the same, theorem 10): a row may be in a
                             batch m times
:func:`realised`             the pair sum_m Bin(m; B, 1/n) N(m, sigma^2) against N(0, sigma^2), in both directions. It
                             is what two tables release of which all other rows have the vector -C u, and one C u in
                             the one and -C u in the other: no accountant that knows C alone can promise less.

Under replace-one the neighbours may be exchanged, so a curve for a >= 0 gives the one for a < 0:
delta(-a) = 1 - e^-a + e^-a delta(a). :func:`epsilons` composes a curve on a grid of losses, which only
rounds up (Doroshenko et al. 2022, "connect the dots").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr
from scipy.stats import binom

#: points of the grid on each side of 0.
POINTS = 4_000
#: share of delta that what lies beyond the grid may cost, over all steps.
BEYOND = 1e-3
#: a row is in a batch more often than so with a probability below any delta in use.
MOST = 12

Curve = Callable[[np.ndarray], np.ndarray]


def log_moment(order: int, sigma: float, kappa: float) -> float:
    """The log moment of a step: ln E over z ~ N(0, sigma^2) of ((1 - kappa) + kappa N(z; 1) / N(z; 0))^(order + 1)."""
    k, j = order + 1, np.arange(order + 2)
    choose = gammaln(k + 1) - gammaln(j + 1) - gammaln(k - j + 1)
    return float(logsumexp(choose + (k - j) * math.log1p(-kappa) + j * math.log(kappa) + j * (j - 1) / (2 * sigma**2)))


def moments(sigma: float, delta: float, kappa: float, steps: int, most: int = 99) -> float:
    """The authors' moments accountant: least (T ln A(l) + ln(1/delta)) / l over the orders l = 1..most."""
    return min((steps * log_moment(k, sigma, kappa) - math.log(delta)) / k for k in range(1, most + 1))


def advanced_composition(sigma: float, delta: float, delta_prime: float, kappa: float, steps: int) -> float:
    """The rule of the authors' comparison: advanced composition of amplified Gaussian releases, ``delta`` in all."""
    each = (delta - delta_prime) / (steps * kappa)
    one = math.log1p(kappa * math.expm1(math.sqrt(2 * math.log(1.25 / each)) / sigma))
    return math.sqrt(2 * steps * math.log(1.25 / delta_prime)) * one + steps * one * math.expm1(one)


def gaussian_curve(distance: float, a: np.ndarray) -> np.ndarray:
    """delta(a) of two normal distributions of one variance, ``distance`` standard deviations apart."""
    with np.errstate(over="ignore"):
        return ndtr(distance / 2 - a / distance) - np.exp(a + log_ndtr(-distance / 2 - a / distance))


def without_replacement(sigma: float, batch: int, n: int) -> Curve:
    """See the head of this module; for losses a >= 0."""
    rate = batch / n
    return lambda a: rate * gaussian_curve(1 / sigma, np.log1p(np.expm1(a) / rate))


def times(batch: int, n: int) -> tuple[np.ndarray, float]:
    """P(a row is in a batch m times), m = 0..MOST, and the probability of more."""
    return binom.pmf(np.arange(MOST + 1), batch, 1 / n), float(binom.sf(MOST, batch, 1 / n))


def with_replacement(sigma: float, batch: int, n: int) -> Curve:
    """See the head of this module; for losses a >= 0."""
    p, more = times(batch, n)
    inside = -math.expm1(batch * math.log1p(-1 / n))

    def curve(a):
        own = np.log1p(np.expm1(a) / inside)
        return more + sum(p[m] * gaussian_curve(m / sigma, own) for m in range(1, MOST + 1))

    return curve


def exchangeable(curve: Curve) -> Curve:
    """The curve on the whole line, of neighbours that may be exchanged."""

    def whole(a):
        found = curve(np.abs(a))
        return np.where(a >= 0, found, 1 - np.exp(-np.abs(a)) * (1 - found))

    return whole


def realised(sigma: float, batch: int, n: int) -> tuple[Curve, Curve]:
    """The pair of the head of this module, in both directions, on the whole line.

    The likelihood ratio grows with z, so delta(a) is the difference of two tails beyond the z at which it is e^a,
    read off a grid of z. (An error of that z enters in second order: the difference is stationary there.)
    """
    p, _ = times(batch, n)
    m = np.arange(MOST + 1)
    z = np.linspace(-40 * sigma - 1, MOST + 40 * sigma, 400_001)
    with np.errstate(divide="ignore"):
        ratio = np.full(z.shape, -np.inf)
        for k in m:
            ratio = np.logaddexp(ratio, np.log(p[k]) + (k * z - k**2 / 2) / sigma**2)

    def forward(a):
        at = np.interp(a, ratio, z, left=-np.inf, right=np.inf)
        above = sum(p[k] * ndtr((k - at) / sigma) for k in m)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(np.isposinf(at), 0.0, np.maximum(0.0, above - np.exp(a + log_ndtr(-at / sigma))))

    def backward(a):
        most = -math.log(p[0])  # the ratio is never below p_0
        return np.where(a < most, 1 - np.exp(np.minimum(a, most)) * (1 - forward(-np.minimum(a, most))), 0.0)

    return forward, backward


def epsilons(
    curve: Curve, steps: int, deltas: Sequence[float], opposite: Curve | None = None, points: int = POINTS
) -> list[float]:
    """Least epsilon of ``steps`` releases with this curve (of the whole line) at each delta, on the safe side.

    ``opposite``: the curve of the exchanged pair, which says how far the grid must reach below 0; None: the same.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots

    least, reach = min(deltas), 1e-3
    while any(steps * float(c(np.array([reach]))[0]) > BEYOND * least for c in (curve, opposite or curve)):
        reach *= 1.2
    k, gap = np.arange(-points, points + 1), reach / points
    known = np.clip(curve(k * gap), 0.0, 1.0)
    known = np.maximum.accumulate(known[::-1])[::-1]  # rounding may break the order; upwards is the safe side
    whole = create_pmf_pessimistic_connect_dots(gap, k, known).self_compose(steps, tail_mass_truncation=BEYOND * least)
    return [float(whole.get_epsilon_for_delta(d)) for d in deltas]
