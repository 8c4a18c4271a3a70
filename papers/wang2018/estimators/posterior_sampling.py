"""One posterior sample (OPS) of a tempered ridge posterior, four rules for its constants, and AdaOPS (Wang 2018).

The intended distribution is N(w, (gamma H)^-1) with

    H = X'X + I + lambda I,  w = H^-1 X'y.

It is the posterior with noise variance 1, the likelihood raised to the power gamma and prior precision gamma
(1 + lambda). A sample is w + R^-1 z / sqrt(gamma), with R'R = H, R upper triangular and z standard normal.

The authors' code uses R'^-1 in place of R^-1 (reading ``authors``). The covariance of its sample is (R R')^-1 / gamma.
This matrix has the eigenvalues of the intended covariance, but other eigenvectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from methods._shared import linear_draw_guarantee as guarantee
from papers.wang2018.estimators.moments import AUTHORS, CORRECTED, PRINTED, Moments, log_over_delta
from privacy.budget import GENERATOR
from privacy.calibration import gaussian_noise_multiplier
from privacy.ledger import Event, Mechanism, Relation
from privacy.repeats import NoiseSource

_HERE = "papers.wang2018.estimators.posterior_sampling"
RULES = ("balanced", "diffused", "worstcase", "concentrated")
#: failure probability of the bound on a sample's norm in the rules' constants (authors' code).
FAILING = 0.05
#: a multiple of the identity that the authors' code adds to every X'X; here a prior precision.
IDENTITY = 1.0
#: bound on |y - x'w| in the second branch of the concentrated rule.
LENGTH = 2.0
NO_PROOF = "none: the covariance of the draw is not that of the posterior, and no bound is known"


@dataclass(frozen=True)
class Tempering:
    """lambda (``penalty``) and gamma (``power``): public numbers for the four rules, arrays (count,) for AdaOPS."""

    penalty: np.ndarray | float
    power: np.ndarray | float


def norm_constant(d: int, tail: float, least: float) -> float:
    """The constant C1 of the rules and of AdaOPS: (d/2 + sqrt(d log 20) + log 20) tail / least^2."""
    spread = -math.log(FAILING)
    return (d / 2 + math.sqrt(d * spread) + spread) * tail / least**2


def power_of(length, h, tail: float, cost: float):
    """gamma = g^2, with g the positive root of a g^2 + B g + c = 0.

        a = L^2 / (2 (h + 1)),  B = L sqrt(tail / h),  c = (1 + tail) / (2 h) - cost

    The equation sets the privacy loss of a sample to ``cost``, as the sources state it for |y - x'w| <= L and a
    smallest eigenvalue of H of at least h. The rules have a = L^2 / (lambda + 1) instead, see :func:`tempered`.
    """
    return _root(np.square(length) / (2 * (h + 1)), length * np.sqrt(tail / h), (1 + tail) / (2 * h) - cost)


def _root(a, b, c):
    return np.square((-b + np.sqrt(np.square(b) - 4 * a * c)) / (2 * a))


def tempered(rule: str, n: int, d: int, epsilon: float, delta: float, reading: str) -> Tempering:
    """lambda and gamma of a rule, from public numbers only. Raises ValueError for an unknown rule."""
    tail = log_over_delta(2, delta)
    if rule == "concentrated":
        middle = math.sqrt(2 * n * tail) + (1 + tail) / 2
        penalty = (middle + math.sqrt(middle**2 + 8 * n * epsilon)) / (2 * epsilon)
        if penalty > n / 2:
            # Root of epsilon s^2 - L sqrt(tail) s + constant = 0 with L = 2. The authors' code writes a logical "and",
            # L & 2, where L^2 is meant: what follows it is swallowed, and the constant is 1.
            constant = 1.0 if reading == AUTHORS else -(LENGTH**2 / 2 + (1 + tail) / 2)
            root = (LENGTH * math.sqrt(tail) + math.sqrt(LENGTH**2 * tail - 4 * epsilon * constant)) / (2 * epsilon)
            penalty = root**2
        return Tempering(penalty, 1.0)
    floor = (1 + tail) / epsilon
    if rule == "diffused":
        penalty = floor
    elif rule in ("balanced", "worstcase"):
        c1 = norm_constant(d, tail, min(epsilon / 2, math.sqrt(epsilon / 2)))
        penalty = max((c1 * n / 2) ** (1 / 3) if rule == "balanced" else math.sqrt(c1), floor)
    else:
        raise ValueError(f"posterior sampling: no rule '{rule}'; there are {', '.join(RULES)}")
    length = 1 + min(math.sqrt(n / (2 * penalty)), n / penalty)
    c = (1 + tail) / (2 * penalty) - epsilon
    return Tempering(penalty, float(_root(length**2 / (penalty + 1), length * math.sqrt(tail / penalty), c)))


def ops(moments: Moments, rule: str, epsilon: float, delta: float, reading: str, noise: NoiseSource) -> np.ndarray:
    """One posterior sample (count, d) by a rule, one row per repetition of the noise.

    * ``authors``: the sample of the authors' code, for which no bound is known.
    * ``printed``: a sample from the tempered posterior.
    * ``corrected``: a sample from the posterior with the rule's lambda. Its gamma is the largest at which the proved
      bound costs at most (epsilon, delta).

    Raises ValueError for another reading.
    """
    found, rows = tempered(rule, moments.n, moments.d, epsilon, delta, reading), rounded_up(moments.n)
    if reading == CORRECTED:
        found = Tempering(found.penalty, largest_power(found.penalty, epsilon, delta, rows))
    elif reading not in (AUTHORS, PRINTED):
        raise ValueError(f"posterior sampling: no reading '{reading}'; there are {AUTHORS}, {PRINTED}, {CORRECTED}")
    if reading == AUTHORS:
        charged = unbounded_draw()
    else:
        charged = guarantee.draw_event(found.power, found.power * (found.penalty + IDENTITY), 1.0, rows)
    penalty, power = (np.full(noise.count, v) for v in (found.penalty, found.power))
    return noise.draw(charged, moments.d, lambda z: draw(moments, penalty, power, z, reading))


def unbounded_draw() -> Event:
    """The ledger event of the authors' sample. No bound is known, so its epsilon is infinite."""
    return Event(
        what="one draw of the coefficients",
        mechanism=Mechanism.NO_NOISE,
        relation=Relation.ADD_REMOVE,
        sensitivity=math.inf,
        noise_scale=0.0,
        proof=NO_PROOF,
        generator=GENERATOR,
    )


def draw(moments: Moments, penalty: np.ndarray, power: np.ndarray, z: np.ndarray, reading: str) -> np.ndarray:
    """The samples H^-1 X'y + F z / sqrt(gamma), shape (count, d), for standard normal z (count, d).

    The authors' code has F = R'^-1 with R'R = H. Else F = H^-1/2, the symmetric root, so F F' = H^-1. It is computed by
    the eigenvectors of H and does not depend on their signs, which the library chooses.
    """
    total = IDENTITY + penalty
    mean = moments.ridge(total)
    if reading == AUTHORS:
        eye = np.eye(moments.d)
        if np.ptp(total) == 0:  # one factor serves all
            lower = np.linalg.cholesky(moments.gram + total[0] * eye)
            turned = np.linalg.solve(lower, z.T).T
        else:
            lower = np.linalg.cholesky(moments.gram + total[:, None, None] * eye)
            turned = np.linalg.solve(lower, z[..., None])[..., 0]
    else:
        v = moments.vectors
        turned = (z @ v / np.sqrt(moments.values + total[:, None])) @ v.T
    return mean + turned / np.sqrt(power)[:, None]


@lru_cache(maxsize=4096)
def largest_power(penalty: float, epsilon: float, delta: float, n: int) -> float:
    """The largest gamma at which a posterior sample with this lambda costs at most (epsilon, delta).

    It is exact to 0.5 % from below.

    The bound is ``guarantee.supremum`` with t = gamma, a = gamma (1 + lambda) and rows of norm at most 1. Its grid of
    cells does not depend on gamma. So the bound is a maximum of the same straight lines in gamma (``guarantee.lines``).
    The search tries every fourth order, then all orders around the best one. At the end, the whole curve decides.

    Raises ValueError if even gamma = exp(-20) exceeds the budget.
    """
    a = penalty + IDENTITY
    last = guarantee.critical_order(1.0, a, 1.0)
    shares = guarantee.SHARES if last < max(guarantee.ORDERS) + 1 else ()  # the orders of the event's curve
    every = sorted({*guarantee.ORDERS, *(1 + share * (last - 1) for share in shares)})
    every = [float(o) for o in every if o < last]

    coarse = sorted({*every[::4], every[-1]})
    made = {o: guarantee.lines(o, 1.0 / a, n) for o in coarse}

    def costs(power: float, orders: list[float]) -> list[float]:
        return [_converted(o, np.max(power * slope + rest), delta) for o in orders for slope, rest in [made[o]]]

    def root(orders: list[float]) -> float:
        return brentq(lambda x: math.log(min(costs(math.exp(x), orders)) / epsilon), -20.0, 20.0, xtol=1e-3)

    if min(costs(math.exp(-20.0), coarse)) > epsilon:
        raise ValueError(f"posterior sampling: lambda = {penalty:.4g} is too small for epsilon = {epsilon}")
    found = costs(math.exp(root(coarse)), coarse)
    best = every.index(coarse[found.index(min(found))])
    near = every[max(0, best - 4) : best + 5]
    made |= {o: guarantee.lines(o, 1.0 / a, n) for o in near}
    power = math.exp(root(near) - 1e-3)
    while guarantee.cost((), guarantee.draw_event(power, power * a, 1.0, n), delta) > epsilon:
        power *= 0.999
    return power


def _converted(order: float, divergence, delta: float):
    """epsilon at ``delta`` from a Renyi divergence at one order above 1 (Canonne, Kamath & Steinke 2020, prop. 12)."""
    return divergence + np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)


def rounded_up(n: int) -> int:
    """n rounded up to three digits.

    A bound for more rows holds for fewer. Rounding lets the folds of a table share one search.
    """
    step = 10 ** max(0, len(str(n)) - 3)
    return -(-n // step) * step


# ------------------------------------------------------------------------------------------------------------------
# AdaOPS


def cap(n: int, h):
    """The authors' upper limit on L: 1 + sqrt(2 sqrt(n) / h).

    It grows as n^(1/4), but a valid bound must grow as n^(1/2) (:func:`true_cap`).
    """
    return 1 + np.sqrt(2 * math.sqrt(n) / h)


def adaops(moments: Moments, epsilon: float, delta: float, reading: str, noise: NoiseSource, capped=cap) -> np.ndarray:
    """One posterior sample (count, d) whose lambda and gamma are computed from two Gaussian releases (AdaOPS).

    1. Release the smallest eigenvalue of X'X. Compute l, a lower bound on it that rarely fails.
    2. Choose the lambda t that minimises C1 (1 + 1/h)^(2 C2) / h + t over t >= floor, with h = t + l.
    3. Release log(1 + |w|). Compute L, an upper bound on 1 + |w|.
    4. Compute gamma from h and L.
    5. Draw the posterior sample.

    Readings: ``authors`` has the authors' constants, their limit :func:`cap` on L, and their matrix factor in the
    sample. ``printed`` differs only in that it samples from the posterior. ``corrected`` is :func:`corrected_adaops`.
    ``capped``: function (n, h) -> limit on L for the first two readings. A check replaces it to remove the limit.

    Raises ValueError for another reading.
    """
    if reading == CORRECTED:
        return corrected_adaops(moments, epsilon, delta, noise)
    if reading not in (AUTHORS, PRINTED):
        raise ValueError(f"adaops: no reading '{reading}'; there are {AUTHORS}, {PRINTED}, {CORRECTED}")
    tail, share = log_over_delta(6, delta), epsilon / 4
    scale = math.sqrt(tail) / share
    least = _noisy_least(moments, IDENTITY, scale, scale * math.sqrt(tail), noise)
    penalty = chosen_penalty(moments.d, epsilon, tail, least)
    h = penalty + least
    norm = _noisy_norm(moments, penalty, h, scale, scale * math.sqrt(tail), noise)
    length = np.minimum(norm, capped(moments.n, h))
    power = power_of(length, h, tail, epsilon / 2)
    return noise.draw(unbounded_draw(), moments.d, lambda z: draw(moments, penalty, power, z, reading))


def true_cap(n: int, ridge):
    """Upper bound 1 + sqrt(n) / (2 sqrt(ridge)) on 1 + |w|, for the ridge solution w of n rows with |y| <= 1.

    Proof. |w| is at most |y|_2 times the maximum of s / (s^2 + ridge) over the singular values s. Here
    |y|_2 <= sqrt(n), and the maximum is at most 1 / (2 sqrt(ridge)). QED
    """
    return 1 + math.sqrt(n) / (2 * np.sqrt(ridge))


def chosen_penalty(d: int, epsilon: float, tail: float, least: np.ndarray) -> np.ndarray:
    """lambda of AdaOPS (count,), from l and public numbers.

    The objective has its minimum at one h, unless the lower limit is higher.
    """
    share = epsilon / 4
    floor = np.maximum(0.0, (1 + tail) / (2 * share) - least)
    reduced = (-1 + math.sqrt(1 + tail * epsilon / 2)) / tail
    return np.maximum(floor, best_h(norm_constant(d, tail, reduced), tail / share) - least)


@lru_cache(maxsize=1024)
def best_h(c1: float, c2: float) -> float:
    """argmin over h > 0 of c1 (1 + 1/h)^(2 c2) / h + h.

    The logarithm of minus the first term's slope is bisected.
    """

    def slope(h: float) -> float:
        return math.log(c1) - math.log(h) + 2 * c2 * math.log1p(1 / h) + math.log(1 / h + 2 * c2 / (h * (h + 1)))

    low, high = -20.0, 60.0
    for _ in range(100):  # below rounding
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) > 0 else (low, middle)
    return math.exp(high)


def corrected_adaops(moments: Moments, epsilon: float, delta: float, noise: NoiseSource) -> np.ndarray:
    """AdaOPS with a proof: (epsilon, delta)-DP if one row is added or removed. The number n of rows is public.

    ``constants(epsilon, delta)`` gives the constants. ``scale`` is the standard deviation of each Gaussian release over
    its sensitivity. ``failing`` = delta / 8. ``margin`` is ``scale`` times the upper normal quantile of ``failing``.

    Proof. Fix a data set D and a neighbour D'. "The smaller data set" is the one with one row less. H = G + I + lambda
    I.

    1. Set l = max(0, smallest eigenvalue of G + noise - margin). The sensitivity is 1 (Weyl). The noise exceeds
       ``margin`` with probability ``failing``. Otherwise l is at most the smallest eigenvalue of D's G, which is never
       negative. Then H >= h I with h = lambda + l. This holds for the smaller data set too: its eigenvalue is lower by
       at most 1, and the identity in H compensates for that.
    2. Given such an l, log(1 + |w|) has sensitivity log(1 + 1/h). Let m be the solution w of the smaller and m' that of
       the larger data set, H the matrix of the smaller one, and s = x'H^-1 x <= 1/h. Then

           m' - m = H^-1 x (y - x'm) / (1 + s) = H^-1 x (y - x'm').

       So |m'| <= |m| + (1 + |m|) / h and |m| <= |m'| + (1 + |m'|) / h. The release is divided by log(1 + 1/h).
    3. Except with probability ``failing``, 1 + |w| of D is at most exp(noisy value + margin). By step 2, 1 + |m| is at
       most (1 + 1/h) times that. Always 1 + |m| <= 1 + sqrt(n) / (2 sqrt(lambda + 1)), by :func:`true_cap`. L is the
       smaller of these two bounds.
    4. Given both bounds, the sample's Renyi divergence in either direction is at most ``draw_curve(order, h, gamma
       L^2)``.
    5. Let M' be the procedure that stops after a release that failed for D. Outputs after releases that did not fail
       have the same distribution under M'. The releases of M' compose adaptively in Renyi divergence. So, for any set
       S,

           P(D, S) <= exp(epsilon) P(D', S) + delta' + 2 failing,

       where (epsilon, delta') is the conversion of the composed curve. gamma is the largest value at which this gives
       epsilon at delta' = delta - 2 failing. QED

    The ledger holds the three releases. Its accountants do not know the failure probabilities. Asked at delta' = 3
    delta / 4, they give at most epsilon.
    """
    scale, margin, kept = constants(epsilon, delta)
    least = _noisy_least(moments, 0.0, scale, margin, noise)
    penalty = chosen_penalty(moments.d, epsilon, log_over_delta(6, delta), least)
    h = penalty + least
    norm = _noisy_norm(moments, penalty, h, scale, margin, noise)
    length = np.minimum(norm * (1 + 1 / h), true_cap(moments.n, penalty + IDENTITY))
    power = affordable_power(h, length, scale, epsilon, kept)
    orders = orders_of(h[:1])[0]
    curve = draw_curve(orders, h[:1, None], (power * length**2)[:1, None])[0]
    charged = replace(
        unbounded_draw(),
        mechanism=Mechanism.WRITTEN_BOUND,
        proof=f"{_HERE}.corrected_adaops",
        renyi_curve=tuple((float(o), float(e)) for o, e in zip(orders, curve, strict=True) if math.isfinite(e)),
    )
    # the ledger holds the event of the first repetition only
    return noise.draw(charged, moments.d, lambda z: draw(moments, penalty, power, z, CORRECTED))


@lru_cache(maxsize=256)
def constants(epsilon: float, delta: float) -> tuple[float, float, float]:
    """(scale, margin, delta') of :func:`corrected_adaops`. Each release by itself costs (epsilon / 4, delta / 4)."""
    failing = delta / 8
    scale = gaussian_noise_multiplier(epsilon / 4, delta / 4)
    return scale, scale * float(-ndtri(failing)), delta - 2 * failing


def orders_of(h: np.ndarray) -> np.ndarray:
    """Renyi orders (r, k) of the curve for each h (r,). All lie below 1 + h, from which on the bound is infinite."""
    return 1 + h[:, None] * np.geomspace(1e-4, 0.99, 48)


def draw_curve(order, h, shift2):
    """Upper bound on the Renyi divergence of one posterior sample, in either direction.

    The supremum is over all neighbours with x'H^-1 x <= 1/h and gamma (y - x'm)^2 <= shift2. ``guarantee.removal``
    grows with both. In ``guarantee.addition`` the rest grows with q, and the factor of shift2 is largest at
    q = 1 / sqrt(order). This is step 4 of the proof of ``guarantee.supremum`` on the single cell [0, 1/h].
    """
    q = 1 / h
    best = np.minimum(q, 1 / np.sqrt(order))
    factor = 0.5 * order * best / ((1 + best) * (1 + order * best))
    return np.maximum(guarantee.removal(order, q, shift2), factor * shift2 + guarantee.addition(order, q, 0.0))


def affordable_power(h: np.ndarray, length: np.ndarray, scale: float, epsilon: float, delta: float) -> np.ndarray:
    """The largest gamma (r,) at which two releases with noise ``scale`` and the sample cost epsilon.

    It is exact to 1e-6 from below.

    Raises ValueError if no gamma above 1e-9 does.
    """
    order, column = orders_of(h), h[:, None]

    def fits(log_power: np.ndarray) -> np.ndarray:
        drawn = draw_curve(order, column, (np.exp(log_power) * length**2)[:, None])
        return np.min(_converted(order, order / scale**2 + drawn, delta), axis=1) <= epsilon

    low, high = np.full(len(h), math.log(1e-9)), np.full(len(h), math.log(1e9))
    if not fits(low).all():
        raise ValueError(f"adaops: nothing of epsilon = {epsilon} is left for a draw at h = {h.min():.4g}")
    for _ in range(26):  # 41 / 2^26 < 1e-6
        middle = (low + high) / 2
        good = fits(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.exp(low)


def _noisy_least(moments: Moments, base: float, scale: float, margin: float, noise: NoiseSource) -> np.ndarray:
    """l (count,): a lower bound on the smallest eigenvalue from its noisy value. The sensitivity is 1 (Weyl)."""
    smallest = noise.gaussian(
        "smallest eigenvalue of X'X",
        np.array([moments.values[0] + base]),
        sensitivity=1.0,
        noise_multiplier=scale,
        relation=Relation.ADD_REMOVE,
        proof=f"{_HERE}.corrected_adaops",
    )[:, 0]
    return np.maximum(0.0, smallest - margin)


def _noisy_norm(moments, penalty, h, scale: float, margin: float, noise: NoiseSource) -> np.ndarray:
    """Upper bound (count,) on 1 + |w| that rarely fails, from a noisy log(1 + |w|) over its sensitivity."""
    unit = np.log1p(1 / h)
    value = np.log1p(np.linalg.norm(moments.ridge(IDENTITY + penalty), axis=1)) / unit
    released = noise.gaussian(
        "log(1 + |w|) over its sensitivity",
        value[:, None],
        sensitivity=1.0,
        noise_multiplier=scale,
        relation=Relation.ADD_REMOVE,
        proof=f"{_HERE}.corrected_adaops",
        batched=True,
    )[:, 0]
    return np.exp(unit * (released + margin))
