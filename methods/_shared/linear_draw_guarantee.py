"""Privacy cost of one exact draw of the weights of a linear regression, and the tempering that a budget requires.

Relation: add or remove one row. The number of rows n is public and enters the bound as the largest number of rows.
Rows x = [inputs, 1] have |x|^2 <= R2, and targets have |y| <= 1. The draw is from

    N(m, A^-1),   A = a I + t X'X,   m = t A^-1 X'y,   t = power / v0,

where a is the prior precision of a weight and v0 a public noise variance.

The noise variance must be fixed. If it were unknown, the likelihood of a row on the regression line would grow without
bound as the variance goes to 0. No order would then have a finite Renyi divergence over all data.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from privacy.budget import GENERATOR
from privacy.ledger import Event, Ledger, Mechanism, Relation

#: orders of the curve that goes into the ledger: those at which dp-accounting converts.
ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
#: further orders of a curve that ends early, as shares of the distance of its critical order from 1.
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
#: cells of the sweep over the leverage; the bound of a cell is above that of each of its points.
CELLS = 4000
_HERE = "methods._shared.linear_draw_guarantee"


def critical_order(t: float, a: float, norm2: float) -> float:
    """The order 1 + a / (t R2), from which on the bound is infinite."""
    return 1.0 + a / (t * norm2)


def removal(order, q, shift2):
    """Renyi divergence of N(m, A^-1) from N(m', A'^-1), where A' = A + t x x'; ``inf`` if (order - 1) q >= 1.

    q is t x'A^-1 x, and ``shift2`` is t r^2 with r = y - x'm. In the units of A the distributions differ in one
    direction:

        N(0, 1)   and   N(sqrt(shift2 q) / (1 + q), 1 / (1 + q)).

    With s^2 = (1 - (order - 1) q) / (1 + q) the divergence of two normals (Gil, Alajaji & Linder 2013, table 2) is

        order shift2 q / (2 (1 + q) (1 - (order - 1) q)) - log(1 + q) / 2 - log(1 - (order - 1) q) / (2 (order - 1)).
    """
    factor, rest = _removal_line(order, q)
    return factor * shift2 + rest


def _removal_line(order, q):
    """The (factor, rest) for which :func:`removal` is factor * shift2 + rest."""
    left = 1.0 - (order - 1.0) * q
    safe = np.where(left > 0, left, 1.0)
    rest = -0.5 * np.log1p(q) - 0.5 * np.log(safe) / (order - 1.0)
    return 0.5 * order * q / ((1 + q) * safe), np.where(left > 0, rest, math.inf)


def addition(order, q, shift2):
    """Renyi divergence of N(m', A'^-1) from N(m, A^-1), in the notation of :func:`removal`.

    It is finite at every order:

        order shift2 q / (2 (1 + q) (1 + order q)) + log(1 + q) / 2 + [log(1 + q) - log(1 + order q)] / (2 (order - 1)).
    """
    return _addition_factor(order, q) * shift2 + _addition_rest(order, q)


def _addition_factor(order, q):
    return 0.5 * order * q / ((1 + q) * (1 + order * q))


def _addition_rest(order, q):
    return 0.5 * np.log1p(q) + 0.5 * (np.log1p(q) - np.log1p(order * q)) / (order - 1.0)


def supremum(order: float, t: float, a: float, norm2: float, n: int) -> float:
    """An upper bound of the Renyi divergence of one draw over all neighbours, both directions; ``inf`` if none exists.

    ``order`` is above 1, and ``norm2`` is R2. Raises ValueError for numbers out of range.

    Proof. Let A and m belong to the smaller data set, of at most n rows, and let x, y be the additional row. Let

        s = x'A^-1 x,   q = t s,   r = y - x'm.

    1. The two distributions are those of :func:`removal`, since by Sherman & Morrison

           m' = m + t A'^-1 x r = m + t / (1 + q) A^-1 x r.

       So both divergences depend on q and t r^2 alone, and grow with t r^2.
    2. A >= a I, so 0 <= s <= R2 / a. Hence q lies in [0, Q] with Q = t R2 / a.
    3. Since |y_i| <= 1,

           |x'm| = t |sum_i (x'A^-1 x_i) y_i| <= t sqrt(n) sqrt(x'A^-1 X'X A^-1 x).

       There t X'X = A - a I, and s^2 <= |x|^2 |A^-1 x|^2, so

           t x'A^-1 X'X A^-1 x = s - a x'A^-2 x <= s - a s^2 / R2.

       Hence t r^2 <= (sqrt(t) + sqrt(t n q (1 - q / Q)))^2 =: S(q).
    4. Consider a cell [q0, q1]. S is at most its value where q (1 - q / Q) is largest on the cell.

       - In :func:`removal` both the factor of shift2 and the rest grow with q, so q1 bounds both. The logarithm of the
         factor has the derivative

             1 / q - 1 / (1 + q) + (order - 1) / (1 - (order - 1) q) > 0,

         and the rest has the derivative 1 / (2 (1 - (order - 1) q)) - 1 / (2 (1 + q)) >= 0.
       - In :func:`addition` the rest grows (derivative order q / (2 (1 + q) (1 + order q))), so q1 bounds it. The
         factor of shift2 is largest at q = 1 / sqrt(order), so its bound is its value at that q, clipped to [q0, q1].
         QED
    """
    if not (order > 1 and t > 0 and a > 0 and norm2 > 0 and n >= 1):
        raise ValueError(
            f"order = {order}, t = {t}, a = {a}, norm2 = {norm2}, n = {n}; give an order above 1, positive t, a and "
            "norm2, and at least 1 row"
        )
    top = t * norm2 / a
    if top * (order - 1.0) >= 1.0:
        return math.inf
    slope, rest = lines(order, top, n)
    return float(np.max(t * slope + rest))


def lines(order: float, top: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(slope, rest) of each cell in both directions: :func:`supremum` is the largest t * slope + rest, at Q = ``top``.

    They do not depend on t, so a search over t at one Q computes them once.
    """
    edges = top * np.linspace(0.0, 1.0, CELLS + 1) ** 2  # finer where q is small
    low, high = edges[:-1], edges[1:]
    widest = np.clip(top / 2, low, high)
    shift2 = (1.0 + np.sqrt(n * widest * (1.0 - widest / top))) ** 2  # over t
    factor, rest = _removal_line(order, high)
    best = _addition_factor(order, np.clip(1.0 / math.sqrt(order), low, high))
    return np.concatenate([factor * shift2, best * shift2]), np.concatenate([rest, _addition_rest(order, high)])


def draw_event(t: float, a: float, norm2: float, n: int) -> Event:
    """Ledger event of one draw, with the curve of :func:`supremum`; orders without a bound are left out.

    ``sensitivity`` is infinite: a row moves the posterior's mean and precision together, and the bound uses no norm of
    that change. No noise is added, because the draw is the mechanism.
    """
    return Event(
        what="one draw of the weights from the posterior",
        mechanism=Mechanism.WRITTEN_BOUND,
        relation=Relation.ADD_REMOVE,
        sensitivity=math.inf,
        noise_scale=0.0,
        proof=f"{_HERE}.supremum",
        generator=f"a normal law sampled with: {GENERATOR}",
        renyi_curve=_curve(float(t), float(a), float(norm2), int(n)),
    )


@lru_cache(maxsize=512)
def _curve(t: float, a: float, norm2: float, n: int) -> tuple[tuple[float, float], ...]:
    last = critical_order(t, a, norm2)
    orders = sorted({float(o) for o in ORDERS} | {1.0 + share * (last - 1.0) for share in SHARES if last < 1025})
    bounds = [(o, supremum(o, t, a, norm2, n)) for o in orders if o < last]
    return tuple((o, b) for o, b in bounds if math.isfinite(b))


def cost(spent: tuple[Event, ...], event: Event, delta: float) -> float:
    """Epsilon of the events ``spent`` and one more; ``inf`` if no order above 1.01 has a bound."""
    from privacy.accountants import epsilon_of

    return epsilon_of(Ledger([*spent, event]), delta).epsilon if event.renyi_curve else math.inf


def largest_power(
    spent: tuple[Event, ...], epsilon: float, delta: float, v0: float, a: float, norm2: float, n: int
) -> float:
    """The largest power <= 1 (to 0.1 %, from below) at which the draw and the events ``spent`` meet epsilon at delta.

    The cost grows with the power, because t r^2, q and their range do. Raises ValueError if a power of 1e-12 does not
    fit.
    """
    return _search(plain(spent), epsilon, delta, v0, a, norm2, n, True)


def smallest_strength(
    spent: tuple[Event, ...], epsilon: float, delta: float, v0: float, a: float, norm2: float, n: int
) -> float:
    """The smallest factor >= 1 of the prior precision at which the draw and the events ``spent`` meet epsilon at delta.

    It is computed to 0.1 %, from above. Raises ValueError if a factor of 1e12 does not fit.
    """
    return 1.0 / _search(plain(spent), epsilon, delta, v0, a, norm2, n, False)


def plain(spent) -> tuple[Event, ...]:
    """The events without their texts, which do not change their cost. So all splits share one cached search."""
    return tuple(
        replace(e, what=f"event {i}", sensitivity=1.0, noise_scale=e.noise_multiplier, proof="", generator="")
        for i, e in enumerate(spent)
    )


@lru_cache(maxsize=256)
def _search(spent, epsilon, delta, v0, a, norm2, n, diffuse: bool) -> float:
    """The largest c <= 1 that fits: the power (``diffuse``), or the inverse of the strength."""

    def fits(c: float) -> bool:
        t, strong = (c / v0, a) if diffuse else (1.0 / v0, a / c)
        return cost(spent, draw_event(t, strong, norm2, n), delta) <= epsilon

    if fits(1.0):
        return 1.0
    high, low = 1.0, 0.1
    while not fits(low):
        high, low = low, low / 10
        if low < 1e-12:
            raise ValueError("posterior sampling: no tempering above 1e-12 fits what the budget has left")
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
