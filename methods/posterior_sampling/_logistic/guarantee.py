"""Privacy cost of one exact draw from a logistic posterior, and the prior or tempering that a budget requires.

Relation: replace one record, n fixed and public. Rows have norm at most c, and labels are 0 or 1. The gradient of one
log-likelihood, (sigmoid(w . x) - y) x, is then shorter than c (B = 1 in Geumlek, Song & Chaudhuri 2017, assumption 1).
The distributions are

    p(w) proportional to exp(-power sum_i l_i(w) - precision |w|^2 / 2),   precision = n beta.

All statements are for EXACT samples. A Markov chain of finite length draws from another distribution, and the distance
is not accounted for. ``sampler`` states how it is checked.
"""

from __future__ import annotations

import math

from privacy.accountants import check_order
from privacy.budget import GENERATOR, check_renyi
from privacy.ledger import Event, Mechanism, Relation

#: orders of the curve that goes into the ledger: those at which dp-accounting converts, and the budget's own.
ORDERS = (*(1 + k / 10 for k in range(1, 100)), *range(11, 64), 128, 256, 512, 1024)
_HERE = "methods.posterior_sampling._logistic.guarantee"


def renyi_bound(order: float, power: float, precision: float, norm_bound: float) -> float:
    """Renyi divergence of one draw between neighbours, at most: 2 power^2 c^2 order / precision.

    It holds for every ``order`` >= 1 (1: the Kullback-Leibler divergence). It is theorem 16 of Geumlek, Song &
    Chaudhuri 2017 (power = 1) and the lemma behind it.

    Proof. Let P and Q be the distributions of two neighbours, m = precision, Z = log(dP / dQ).

    1. l_i is convex in w, so -log Q is m-strongly convex. By Bakry & Emery, Q (and P) has a logarithmic Sobolev
       inequality: Ent(f^2) <= (2 / m) E |grad f|^2.
    2. P and Q share all but one record, so Z = power (l'(w) - l(w)) + constant. Hence |grad Z| <= K = 2 power c.
    3. From step 1 with f^2 = dP / dQ,

           KL(P || Q) = Ent_Q(dP / dQ) <= (1 / 2m) E_P |grad Z|^2 <= K^2 / 2m.

    4. Herbst's argument. Let H(t) = log E_P exp(t Z) / t, with H(0) = E_P Z = KL(P || Q). Then

           t^2 H'(t) E_P exp(t Z) = Ent_P(exp(t Z)).

       Step 1 (for P) with f^2 = exp(t Z) gives

           Ent_P(exp(t Z)) <= (t^2 K^2 / 2m) E_P exp(t Z).

       So H'(t) <= K^2 / 2m, and H(t) <= KL(P || Q) + t K^2 / 2m.
    5. The divergence of order 1 + t is H(t). With step 3 it is at most (1 + t) K^2 / 2m = 2 order power^2 c^2 / m. QED

    On logistic problems the bound is about four times what neighbours reach (the paper's theorem 18 and the tests of
    this module).
    """
    check_order(order, "posterior sampling")
    return 2.0 * power**2 * norm_bound**2 * order / precision


def pure_bound(power: float, norm_bound: float, radius: float) -> float:
    """Pure epsilon of one draw from the distribution truncated to |w| <= radius: 2 power c radius.

    Proof. In the ball |w . x| <= c radius =: R. So l lies in [log(1 + exp(-R)), log(1 + exp(R))], an interval of length
    R, and power (l' - l) lies in [-power R, power R]. The density ratio of neighbours is the exponential of that over
    its own mean, hence within exp(+- 2 power R). QED

    With radius = c / beta the bound is 2 power c^2 / beta. Geumlek et al. charge Wang, Fienberg & Smola 2015 twice as
    much, 4 power c^2 / beta.
    """
    return 2.0 * power * norm_bound * radius


def renyi_of_pure(order: float, epsilon: float) -> float:
    """Renyi divergence that pure epsilon-DP implies: min(epsilon, order epsilon^2 / 2).

    Proof. The divergence of any order is at most the largest log ratio, epsilon. The second bound is proposition 3.3 of
    Bun & Steinke 2016. Order 1 is its limit, since the divergence is continuous there.
    """
    check_order(order, "posterior sampling")
    return min(epsilon, order * epsilon**2 / 2.0)


def concentrated_beta(order: float, epsilon: float, n: int, beta0: float, norm_bound: float) -> float:
    """Algorithm 5: the smallest beta >= beta0 at which one draw costs at most epsilon at ``order``.

        beta = max(2 c^2 order / (n epsilon), beta0)

    Raises ValueError for order < 1 or epsilon <= 0.
    """
    check_renyi(order, epsilon, "posterior sampling")
    return max(2.0 * norm_bound**2 * order / (n * epsilon), beta0)


def diffused_power(order: float, epsilon: float, n: int, beta: float, norm_bound: float) -> float:
    """Algorithm 6: the largest power <= 1 at which one draw costs at most epsilon at ``order``.

        power = min(1, sqrt(epsilon n beta / (2 c^2 order)))

    Raises ValueError for order < 1 or epsilon <= 0.
    """
    check_renyi(order, epsilon, "posterior sampling")
    return min(1.0, math.sqrt(epsilon * n * beta / (2.0 * norm_bound**2 * order)))


def ops_power(pure_epsilon: float, beta: float, norm_bound: float, *, tight: bool = False) -> float:
    """One-posterior-sample: the power at which the draw truncated to |w| <= c / beta is pure_epsilon-DP.

    It is min(1, epsilon beta / (4 c^2)) as Geumlek et al. charge it. With ``tight`` it follows from :func:`pure_bound`
    and is min(1, epsilon beta / (2 c^2)). Raises ValueError for epsilon <= 0.
    """
    check_renyi(1.0, pure_epsilon, "posterior sampling")
    return min(1.0, pure_epsilon * beta / ((2.0 if tight else 4.0) * norm_bound**2))


def fair_pure_epsilon(order: float, epsilon: float) -> float:
    """The largest pure epsilon for which :func:`renyi_of_pure` is at most epsilon at ``order``.

    It is max(epsilon, sqrt(2 epsilon / order)).
    """
    check_renyi(order, epsilon, "posterior sampling")
    return max(epsilon, math.sqrt(2.0 * epsilon / order))


def draw_event(power: float, precision: float, norm_bound: float, order: float | None = None) -> Event:
    """Ledger event of one draw from the whole space, with the curve of :func:`renyi_bound`.

    ``sensitivity`` is the Lipschitz constant 2 power c of the log ratio. No noise is added, because the draw is the
    mechanism. ``order`` is the budget's, and is added to the curve.
    """
    curve = tuple((a, renyi_bound(a, power, precision, norm_bound)) for a in _orders(order))
    return _event("one draw from the posterior", curve, 2.0 * power * norm_bound, "renyi_bound")


def truncated_draw_event(
    power: float, precision: float, norm_bound: float, radius: float, order: float | None = None
) -> Event:
    """Ledger event of one draw truncated to |w| <= radius, with the curve of :func:`truncated_bound`."""
    curve = tuple((a, truncated_bound(a, power, precision, norm_bound, radius)) for a in _orders(order))
    return _event("one draw from the truncated posterior", curve, 2.0 * power * norm_bound, "truncated_bound")


def truncated_bound(order: float, power: float, precision: float, norm_bound: float, radius: float) -> float:
    """Renyi divergence of one draw from the distribution truncated to |w| <= radius: the smaller of two bounds.

    Proof. One bound is :func:`pure_bound` with :func:`renyi_of_pure`. The other is :func:`renyi_bound`. A ball is
    convex, so the truncated distribution is still strongly log-concave on it: it is a limit of strongly log-concave
    distributions on the whole space, by a convex penalty outside of the ball. Steps 2 to 5 of that proof hold
    unchanged. QED
    """
    pure = renyi_of_pure(order, pure_bound(power, norm_bound, radius))
    return min(pure, renyi_bound(order, power, precision, norm_bound))


def _event(what: str, curve: tuple[tuple[float, float], ...], slope: float, proof: str) -> Event:
    return Event(
        what=what,
        mechanism=Mechanism.WRITTEN_BOUND,
        relation=Relation.REPLACE_ONE,
        sensitivity=slope,
        noise_scale=0.0,
        proof=f"{_HERE}.{proof}",
        generator=f"a Markov chain driven by: {GENERATOR}",
        renyi_curve=curve,
    )


def _orders(order: float | None) -> list[float]:
    return sorted({float(a) for a in ORDERS} | (set() if order is None else {float(order)}))
