"""Privacy cost of one exact draw from a conjugate posterior, and the tempering that a budget requires.

Relation: replace one record, n fixed and public. A draw is made from the distribution with natural parameter

    prior_weight eta0 + data_weight sum_i (S(x_i), 1).

In Geumlek, Song & Chaudhuri 2017, ``data_weight`` is r of algorithm 2 (diffused), and ``prior_weight`` is 1 / m of
algorithm 3 (concentrated). Both are 1 in algorithm 1. Neither depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from scipy.special import zeta

from models.exponential_family import Family, check_order
from privacy.budget import GENERATOR, check_renyi
from privacy.ledger import Event, Mechanism, Relation

#: orders of the curve that goes into the ledger: the Kullback-Leibler divergence, those at which dp-accounting
#: converts, and shares of the largest possible order (it may be close to 1).
ORDERS = (1.0, *(1 + k / 10 for k in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
_NODES = 100
_HERE = "methods._shared.exponential_family.guarantee"


def supremum(
    law: Family,
    prior: Sequence[float],
    n: int,
    order: float | np.ndarray,
    data_weight: float = 1.0,
    prior_weight: float = 1.0,
) -> float | np.ndarray:
    """Largest Renyi divergence of one draw over all pairs of neighbours, exactly; ``inf`` if there is no bound.

    Parameters
    ----------
    law : the exponential family.
    prior : eta0, natural parameters.
    n : rows, at least 1.
    order : at least 1 (1: Kullback-Leibler), a number or (k,).
    data_weight : r in (0, 1].
    prior_weight : 1 / m >= 1.

    Returns a number, or (k,). Raises ValueError for numbers out of range.

    Proof for categories (a Bernoulli trial has two). Let a be the Dirichlet parameters of ``prior_weight eta0``, and
    s = data_weight. Neighbours have distributions with parameters

        P = a + s c   and   Q = P + s (e_j - e_i),

    where c are the counts of n records, c_i >= 1, and i != j.

    1. Both distributions have the same total, so its log-Gamma cancels, and

           D(P || Q) = d(P_i, -s) + d(P_j, s)

       with the function d of :func:`coordinate_divergence`, which also says when d is finite.
    2. d is convex in its first argument. It is an integral of b^2 trigamma(p + u b) over u with weights >= 0, and
       trigamma is convex. So for fixed i, j the divergence is convex in c on the simplex {c >= 0, c_i >= 1, sum c = n}.
       It is largest at one of the corners c = e_i + (n - 1) e_l, l = 1, ..., d.
    3. These corners are data sets: one record in i, all others in l. So the maximum over all ordered i != j and all l
       is the supremum, and it is attained. Only l = i or l = j has P at a corner of the set of all posteriors. For d >=
       3 the maximum is at another l, where both coordinates are small, because trigamma falls.

    Proof for values of a query in [0, 1] (algorithm 4). There are two parameters, and

        P = (a + t, .),   Q = (a + t + b, .),   0 < b <= s,   t and t + b in [0, s n].

    By step 2 the maximum over t for fixed b is at t = 0 or at t + b = s n.

    - At t = 0, P is fixed. d(p, b) has the derivative digamma(p + b) - digamma(p - (order - 1) b) in b. It has the sign
      of b, so b = s is worst.
    - At t + b = s n, Q is fixed. d(q - b, b) has the derivative

          order / (order - 1) [digamma(q - b) - digamma(q - order b)],

      of the same sign, so b = s is worst again.

    Both are corners of step 3. The same holds for b < 0. QED

    Proof for the mean of a Gaussian. The variance of theta is 1 / (variance k), where k is the last natural parameter
    and is the same for all data. The first natural parameter moves by at most s 2 clip. So

        D = order (s 2 clip)^2 / (2 variance k),

    reached if one record moves from -clip to clip. QED
    """
    orders = np.atleast_1d(np.asarray(order, dtype=np.float64))
    for a in orders:
        check_order(a)
    _check_weights(data_weight, prior_weight, n)
    eta = prior_weight * np.asarray(prior, dtype=np.float64)
    if law.name == "gaussian_mean":
        moved = data_weight * law.diameter
        found = orders * moved**2 / (2.0 * law.variance * (eta[1] + data_weight * n))
    else:
        found = _dirichlet_supremum(law.concentrations(eta), data_weight * n, data_weight, orders)
    return float(found[0]) if np.ndim(order) == 0 else found


def _dirichlet_supremum(a: np.ndarray, total: float, swap: float, orders: np.ndarray) -> np.ndarray:
    rest, d = max(total - swap, 0.0), len(a)
    # one call for all cases: alone or with the other records, one record less or one more
    p = np.concatenate([a + swap, a + swap + rest, a, a + rest])
    b = np.repeat([-swap, -swap, swap, swap], d)
    found = coordinate_divergence(orders[:, None], p, b)
    alone_down, loaded_down, alone_up, loaded_up = np.split(found, 4, axis=1)
    i, j = np.nonzero(~np.eye(d, dtype=bool))
    pairs = [loaded_down[:, i] + alone_up[:, j], alone_down[:, i] + loaded_up[:, j]]  # l = i, l = j
    if d > 2:
        pairs.append(alone_down[:, i] + alone_up[:, j])  # l another one
    return np.max(pairs, axis=(0, 2))


def coordinate_divergence(order: np.ndarray, p: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The part of one parameter in the Renyi divergence of two Dirichlet distributions with equal totals. Broadcasts.

        d(p, b) = [lnG(p - (order - 1) b) - order lnG(p) + (order - 1) lnG(p + b)] / (order - 1),

    where lnG is the log-Gamma. d is ``inf`` if p - (order - 1) b <= 0. At order 1 it is the limit
    lnG(p + b) - lnG(p) - b digamma(p).

    The differences would lose all digits for small d. So d is computed as the integral that Taylor's theorem gives,

        integral over u in [-(order - 1), 1] of w(u) b^2 trigamma(p + u b),

    with w = 1 + u / (order - 1) for u < 0 and w = 1 - u for u > 0, whose terms are all >= 0. The rule is Gauss-Legendre
    in log(p + u b) on both sides of u = 0. There the integrand is analytic in a strip of half-width pi.

    The relative error is below 1e-12 (tested against 60 digits of another library). The exception is p - (order - 1) b
    below 1e-4 p, where the rounding of that difference counts: about 1e-16 p / (p - (order - 1) b).
    """
    order, p, b = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (order, p, b)))
    beyond = p - (order - 1.0) * b
    good = beyond > 8 * np.finfo(np.float64).eps * p  # values within rounding of 0 count as 0: the bound is infinite
    start = np.where(good, beyond, p)
    # p = start (1 + reach): no difference of nearly equal logarithms
    left = _weighted(start, np.log1p((order - 1.0) * b / start), rising=True)
    right = _weighted(p, np.log1p(b / p), rising=False)
    return np.where(good, b * (left + right), math.inf)


def _weighted(start: np.ndarray, length: np.ndarray, *, rising: bool) -> np.ndarray:
    """Integral of w trigamma(x) dx, x from ``start`` to start exp(length), w linear: 0 to 1 or 1 to 0."""
    nodes, weights = _legendre()
    t = length[..., None] * nodes
    x = start[..., None] * np.exp(t)
    end = np.expm1(length)[..., None]
    share = np.expm1(t) / np.where(end == 0, 1.0, end)
    w = share if rising else 1.0 - share
    return length * ((w * zeta(2.0, x) * x) @ weights)


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1.0) / 2.0, weights / 2.0


def critical_order(law: Family, prior: Sequence[float], data_weight: float = 1.0, prior_weight: float = 1.0) -> float:
    """lambda*: the divergence is finite below this order and infinite from it on (theorem 12).

    For Dirichlet parameters a of the prior it is 1 + prior_weight min(a) / data_weight (corollary 1 and its
    generalisation). It is ``inf`` for a Gaussian mean.
    """
    if law.name == "gaussian_mean":
        return math.inf
    return 1.0 + prior_weight * float(law.concentrations(np.asarray(prior, dtype=np.float64)).min()) / data_weight


@lru_cache(maxsize=4096)
def diffused_weight(law: Family, prior: tuple[float, ...], n: int, order: float, epsilon: float) -> float:
    """Algorithm 2: the largest r in (0, 1] at which one draw costs at most epsilon at ``order``.

    r = 1 is tried first, then bisection down to neighbouring doubles. The smaller of the two is returned, for which the
    bound was computed and holds. For a Gaussian mean r has a closed form and is rounded down likewise.

    Raises ValueError for order < 1, epsilon <= 0, or an epsilon that no r above 1e-300 meets.
    """
    check_renyi(order, epsilon, "posterior sampling")
    return _largest(lambda r: supremum(law, prior, n, order, data_weight=r), epsilon)


@lru_cache(maxsize=4096)
def concentrated_weight(law: Family, prior: tuple[float, ...], n: int, order: float, epsilon: float) -> float:
    """Algorithm 3: the largest m in (0, 1] at which one draw with prior eta0 / m costs at most epsilon at ``order``.

    The search and the errors raised are those of :func:`diffused_weight`.
    """
    check_renyi(order, epsilon, "posterior sampling")
    return _largest(lambda m: supremum(law, prior, n, order, prior_weight=1.0 / m), epsilon)


def _largest(cost: Callable[[float], float], epsilon: float) -> float:
    if cost(1.0) <= epsilon:
        return 1.0
    high, low = 1.0, 0.5
    while cost(low) > epsilon:
        high, low = low, low / 2
        if low < 1e-300:
            raise ValueError(f"Renyi epsilon {epsilon}: no weight above 1e-300 meets it; give a larger epsilon")
    while low < (middle := 0.5 * (low + high)) < high:
        if cost(middle) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def draw_event(
    law: Family,
    prior: Sequence[float],
    n: int,
    data_weight: float = 1.0,
    prior_weight: float = 1.0,
    order: float | None = None,
) -> Event:
    """Ledger event of one draw, with the curve of :func:`supremum`; orders without a bound are left out.

    ``sensitivity`` is that of the natural parameter, data_weight Delta. No noise is added, because the draw is the
    mechanism. ``order`` is the budget's, and is added to the curve if it has a bound.
    """
    return Event(
        what="one draw from the posterior",
        mechanism=Mechanism.WRITTEN_BOUND,
        relation=Relation.REPLACE_ONE,
        sensitivity=data_weight * law.diameter,
        noise_scale=0.0,
        proof=f"{_HERE}.supremum",
        generator=f"a conjugate law sampled with: {GENERATOR}",
        renyi_curve=_curve(law, tuple(map(float, prior)), n, data_weight, prior_weight, order),
    )


@lru_cache(maxsize=256)
def _curve(
    law: Family, prior: tuple[float, ...], n: int, data_weight: float, prior_weight: float, order: float | None
) -> tuple[tuple[float, float], ...]:
    top = critical_order(law, prior, data_weight, prior_weight)
    orders = {float(a) for a in ORDERS} | (set() if order is None else {check_order(order)})
    if math.isfinite(top):
        orders |= {1.0 + share * (top - 1.0) for share in SHARES}
    ordered = np.array(sorted(orders))
    bounds = supremum(law, prior, n, ordered, data_weight, prior_weight)
    return tuple((float(a), float(b)) for a, b in zip(ordered, bounds, strict=True) if math.isfinite(b))


def _check_weights(data_weight: float, prior_weight: float, n: int) -> None:
    if not (0 < data_weight <= 1 and 1 <= prior_weight < math.inf and n >= 1):
        raise ValueError(
            f"data_weight = {data_weight}, prior_weight = {prior_weight}, n = {n}; give a data weight in (0, 1], a "
            "finite prior weight of at least 1 and at least 1 row"
        )
