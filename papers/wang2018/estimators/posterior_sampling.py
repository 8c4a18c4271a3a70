"""One posterior sample (OPS) of a tempered ridge posterior, four rules for its constants, and AdaOPS (Wang 2018).

The distribution that is meant is N(w, (gamma H)^-1), H = X'X + I + lambda I, w = H^-1 X'y: the posterior under a
likelihood raised to the power gamma (noise variance 1) and the prior precision gamma (1 + lambda). ``authors``: what
the authors' code draws is w + R'^-1 z / sqrt(gamma) with R'R = H (R upper triangular), whose covariance (R R')^-1 /
gamma has the eigenvalues of the one that is meant and other eigenvectors. A draw from the posterior takes R^-1 z.
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
#: failing probability of the norm of a draw in the rules' constants (authors' code).
FAILING = 0.05
#: a multiple of the identity that the authors' code adds to every X'X; here a prior precision.
IDENTITY = 1.0
#: bound on |y - x'w| in the second branch of the concentrated rule.
LENGTH = 2.0
NO_PROOF = "none: the covariance of the draw is not that of the posterior, and no bound is known"


@dataclass(frozen=True)
class Tempering:
    """lambda and gamma: public numbers for the four rules, one each a repetition for AdaOPS."""

    penalty: np.ndarray | float
    power: np.ndarray | float


def norm_constant(d: int, tail: float, least: float) -> float:
    """(d/2 + sqrt(d log 20) + log 20) tail / least^2: C1 of the rules and of AdaOPS."""
    spread = -math.log(FAILING)
    return (d / 2 + math.sqrt(d * spread) + spread) * tail / least**2


def power_of(length, h, tail: float, cost: float):
    """gamma, from the positive root of a g^2 + B g + c = 0 in g = sqrt(gamma).

    a = L^2 / (2 (h + 1)), B = L sqrt(tail / h), c = (1 + tail) / (2 h) - cost: the privacy loss that the sources
    allow a draw when |y - x'w| <= L and the smallest eigenvalue of H is at least h. (The rules have a =
    L^2 / (lambda + 1), see ``tempered``.)
    """
    return _root(np.square(length) / (2 * (h + 1)), length * np.sqrt(tail / h), (1 + tail) / (2 * h) - cost)


def _root(a, b, c):
    return np.square((-b + np.sqrt(np.square(b) - 4 * a * c)) / (2 * a))


def tempered(rule: str, n: int, d: int, epsilon: float, delta: float, reading: str) -> Tempering:
    """lambda and gamma of a rule, from public numbers alone. Raises ValueError for an unknown rule."""
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
    """One draw (count, d) under a rule.

    ``authors``: the authors' factor. ``printed``: a draw from the posterior. ``corrected``: that, with the largest
    gamma (at the rule's lambda) at which the written bound of the draw costs (epsilon, delta).
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
    """Ledger event of the authors' draw: no bound, so its epsilon is infinite."""
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
    """H^-1 X'y + F z / sqrt(gamma): F = R'^-1 as the authors' code has it, else V diag(H)^-1/2, with F F' = H^-1."""
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
        turned = (z / np.sqrt(moments.values + total[:, None])) @ moments.vectors.T
    return mean + turned / np.sqrt(power)[:, None]


@lru_cache(maxsize=4096)
def largest_power(penalty: float, epsilon: float, delta: float, n: int) -> float:
    """The largest gamma (to 0.5 %, from below) at which a draw with this lambda costs (epsilon, delta).

    ``guarantee.supremum`` with t = gamma, a = gamma (1 + lambda), rows of norm at most 1: its cells do not move with
    gamma, so that it is the largest of the same lines in gamma (``guarantee.lines``). The search looks at every fourth
    order, then at all around the best one. The whole curve decides at the end. Raises ValueError if no gamma above
    1e-9 fits.
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
    """n, or a little more: to three digits. A bound for more rows holds, and the folds of a table share its search."""
    step = 10 ** max(0, len(str(n)) - 3)
    return -(-n // step) * step


# ------------------------------------------------------------------------------------------------------------------
# AdaOPS


def cap(n: int, h):
    """The authors' cap on L: 1 + sqrt(2 sqrt(n) / h), which has n^(1/4) where a bound needs n^(1/2)
    (:func:`true_cap`)."""
    return 1 + np.sqrt(2 * math.sqrt(n) / h)


def adaops(moments: Moments, epsilon: float, delta: float, reading: str, noise: NoiseSource, capped=cap) -> np.ndarray:
    """One draw (count, d) whose lambda and gamma follow from two Gaussian releases.

    1. The smallest eigenvalue, and l, a lower bound of it that fails seldom. 2. lambda, which minimises C1 (1 +
       1/h)^(2 C2) / h + t over t >= floor, h = t + l. 3. log(1 + |w|), and L, an upper bound of 1 +
       |w|. 4. gamma, from h and L. 5. The draw.

    ``authors``: their constants, their cap on L, 1 + sqrt(2 sqrt(n) / h), and the authors' factor. ``printed``: the
    same with a draw from the posterior. ``corrected``: :func:`corrected_adaops`. ``capped``: (n, h) -> cap of the
    first two readings; a check takes it away.
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
    """1 + sqrt(n) / (2 sqrt(ridge)) >= 1 + |w| for the ridge solution of n rows with |y| <= 1.

    Proof. |w| <= max over singular values s of s / (s^2 + ridge) times |y|_2, at most sqrt(n) / (2 sqrt(ridge)). QED
    """
    return 1 + math.sqrt(n) / (2 * np.sqrt(ridge))


def chosen_penalty(d: int, epsilon: float, tail: float, least: np.ndarray) -> np.ndarray:
    """lambda of AdaOPS, from l and public numbers: the minimum is at one h, unless the floor is higher."""
    share = epsilon / 4
    floor = np.maximum(0.0, (1 + tail) / (2 * share) - least)
    reduced = (-1 + math.sqrt(1 + tail * epsilon / 2)) / tail
    return np.maximum(floor, best_h(norm_constant(d, tail, reduced), tail / share) - least)


@lru_cache(maxsize=1024)
def best_h(c1: float, c2: float) -> float:
    """argmin over h > 0 of c1 (1 + 1/h)^(2 c2) / h + h: bisection of the logarithm of minus the first term's slope."""

    def slope(h: float) -> float:
        return math.log(c1) - math.log(h) + 2 * c2 * math.log1p(1 / h) + math.log(1 / h + 2 * c2 / (h * (h + 1)))

    low, high = -20.0, 60.0
    for _ in range(100):  # below rounding
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) > 0 else (low, middle)
    return math.exp(high)


def corrected_adaops(moments: Moments, epsilon: float, delta: float, noise: NoiseSource) -> np.ndarray:
    """AdaOPS with a guarantee: (epsilon, delta) under add or remove one row, the number n of rows public.

    The constants are ``constants(epsilon, delta)``: sd ``scale`` of either Gaussian release over its sensitivity,
    ``margin`` = ``scale`` times the normal quantile of ``failing`` = delta / 8.

    Proof. Fix a data set D and a neighbour; "smaller" is the one of the two with a row less. H = G + I + lambda I.

    1. l = max(0, smallest eigenvalue of G + noise - margin): sensitivity 1 (Weyl). Except with probability failing, l
       is at most the smallest eigenvalue of D's G (and 0 always is). Then H >= h I, h = lambda + l, for the
       smaller one too: its eigenvalue lies by at most 1 below, and the identity in H makes up for it.
    2. Given such an l, log(1 + |w|) has sensitivity log(1 + 1/h): with m of the smaller and m' of the larger data
       set, m' - m = H^-1 x (y - x'm) / (1 + s) = H^-1 x (y - x'm'), s = x'H^-1 x <= 1/h, H of the smaller one, so
       either norm exceeds the other one by at most (1 + it) / h. The release is divided by log(1 + 1/h).
    3. Except with probability failing, 1 + |w| of D is at most exp(noisy value + margin). For the m of the smaller
       data set 1 + |m| <= (1 + 1/h) times that, by 2, and always 1 + |m| <= 1 + sqrt(n) / (2 sqrt(lambda +
       1)) (``true_cap``); L is the smaller of the two.
    4. Given both, the draw's Renyi divergence in either direction is at most ``draw_curve(order, h, gamma L^2)``.
    5. Let M' be the procedure that stops after a release that failed for D. What was made after a release that did
       not fail has the same distribution under M', whose releases compose adaptively in Renyi divergence; so P(D, S) <=
       exp(epsilon) P(D', S) + delta' + 2 failing for any S, with (epsilon, delta') the
       conversion of the composed curve. gamma is the largest at which that gives epsilon
       at delta' = delta - 2 failing. QED

    The ledger holds the three releases. Its accountants know nothing of what may fail: asked at delta' = 3 delta / 4,
    they give at most epsilon.
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
    # of many repetitions the first one's event is in the ledger
    return noise.draw(charged, moments.d, lambda z: draw(moments, penalty, power, z, CORRECTED))


@lru_cache(maxsize=256)
def constants(epsilon: float, delta: float) -> tuple[float, float, float]:
    """(scale, margin, delta') of :func:`corrected_adaops`; scale: either release alone would cost (epsilon, delta) /
    4."""
    failing = delta / 8
    scale = gaussian_noise_multiplier(epsilon / 4, delta / 4)
    return scale, scale * float(-ndtri(failing)), delta - 2 * failing


def orders_of(h: np.ndarray) -> np.ndarray:
    """Orders (r, k) of the curve for each h: the bound is infinite from 1 + h on."""
    return 1 + h[:, None] * np.geomspace(1e-4, 0.99, 48)


def draw_curve(order, h, shift2):
    """Renyi divergence of a draw over all neighbours with x'H^-1 x <= 1/h and gamma (y - x'm)^2 <= shift2, from above.

    ``guarantee.removal`` grows with both; in ``guarantee.addition`` the rest grows with q and the factor of shift2 is
    largest at q = 1 / sqrt(order): step 4 of the proof of ``guarantee.supremum`` on the one cell [0, 1/h].
    """
    q = 1 / h
    best = np.minimum(q, 1 / np.sqrt(order))
    factor = 0.5 * order * best / ((1 + best) * (1 + order * best))
    return np.maximum(guarantee.removal(order, q, shift2), factor * shift2 + guarantee.addition(order, q, 0.0))


def affordable_power(h: np.ndarray, length: np.ndarray, scale: float, epsilon: float, delta: float) -> np.ndarray:
    """The largest gamma (r,), to 1e-6 from below, at which two releases with noise ``scale`` and the draw cost epsilon.

    Raises ValueError if none above 1e-9 does.
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
    """l (count,): what the noisy smallest eigenvalue shows at least. Sensitivity 1 (Weyl)."""
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
    """exp of a noisy log(1 + |w|) and a margin: an upper bound (count,) of 1 + |w| that fails seldom.

    The number of the event is log(1 + |w|) / log(1 + 1/h), of sensitivity 1: step 2 of :func:`corrected_adaops`.
    """
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
