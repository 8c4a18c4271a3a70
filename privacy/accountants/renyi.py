"""Renyi accountants: they sum the curves of a library and written bounds, and convert the sum to epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privacy.accountants.exact import pure_epsilon
from privacy.accountants.terms import NotApplicable, Term, key_of, terms_of, third_party
from privacy.ledger import Event, Ledger, Mechanism

#: the smallest Renyi order that a library is asked for.
_LOWEST_ORDER = 1.1
#: orders at which the curves are summed if a ledger has no written bound; None: those of dp-accounting
_ORDERS: Sequence[float] | None = None


def renyi_curve(event: Event, orders: Sequence[int]) -> dict[str, np.ndarray]:
    """A bound on the Renyi divergence of ALL steps of one event at integer ``orders`` >= 2, per library that covers it.

    Curves of two correct libraries agree at integer orders, where both are exact for Poisson sampling. Their epsilons
    may differ, because they interpolate and optimise over different orders. Raises ValueError for other orders.
    """
    orders = [int(a) for a in orders]
    if not orders or min(orders) < 2:
        raise ValueError(f"orders {orders}: give whole numbers of at least 2")
    _, _, terms = terms_of((key_of(event),))
    out: dict[str, np.ndarray] = {}
    for name, curve in (("autodp", _autodp_curve), ("dp_accounting", _dp_accounting_curve)):
        try:
            out[name] = sum(curve(t, np.array(orders, float)) for t in terms)
        except NotApplicable:
            continue
    return out


def renyi_divergence(ledger: Ledger, order: float) -> float:
    """A bound on the Renyi divergence of all events together, in nats, at ``order`` >= 1 (1: Kullback-Leibler).

    It is a sum over the events. Written bounds are read from their curves, and other releases are bounded by
    dp-accounting. The divergence never falls with its order. So if a curve lacks the order, its next higher order is
    used, and a library is asked for an order above 1. The result is ``inf`` if a release has no noise or no bound
    covers it. Raises ValueError for an order below 1.
    """
    check_order(order, "divergence")
    if not len(ledger):
        return 0.0
    try:
        _, _, terms = terms_of(tuple(sorted(map(key_of, ledger), key=repr)))
        return math.fsum(_divergence_at(t, float(order)) for t in terms)
    except NotApplicable:
        return math.inf


def check_order(order: float, what: str = "budget") -> None:
    """Raise ValueError for a Renyi order that is not a finite number of at least 1."""
    if not (1 <= order < math.inf):
        raise ValueError(
            f"{what}: Renyi order {order}; give a finite number of at least 1 (1 is the Kullback-Leibler divergence)"
        )


def autodp_rdp(terms: list[Term], delta: float) -> float:
    """Epsilon by autodp's composition and conversion."""
    with third_party():
        if any(t.mechanism is Mechanism.WRITTEN_BOUND for t in terms):
            return _epsilon_from_curves(terms, delta, _autodp_curve)
        from autodp import transformer_zoo

        whole = transformer_zoo.Composition()([_autodp_mechanism(t) for t in terms], [t.steps for t in terms])
        return float(whole.approxDP(delta))


def dp_accounting_rdp(terms: list[Term], delta: float) -> float:
    """Epsilon by dp-accounting's composition and conversion."""
    return _epsilon_from_curves(terms, delta, _dp_accounting_curve)


def _autodp_mechanism(t: Term):
    from autodp import mechanism_zoo, transformer_zoo

    if t.mechanism is Mechanism.EXPONENTIAL:
        if t.scheme != "plain":
            raise NotApplicable("sampled exponential mechanisms: see pure")
        return mechanism_zoo.PureDP_Mechanism(pure_epsilon(t))
    if t.mechanism is Mechanism.LAPLACE:
        if t.scheme != "plain":
            raise NotApplicable("sampled Laplace releases: see dp_accounting_pld and pure")
        return mechanism_zoo.LaplaceMechanism(b=t.multiplier)
    if t.mechanism is not Mechanism.GAUSSIAN:
        raise NotApplicable(f"{t.mechanism.value} is not a mechanism of this library")
    base = mechanism_zoo.GaussianMechanism(sigma=t.multiplier)
    if t.scheme == "plain":
        return base
    if t.scheme == "poisson":
        return transformer_zoo.AmplificationBySampling(PoissonSampling=True)(base, t.rate, improved_bound_flag=True)
    if t.scheme == "wor":
        base.neighboring = "replace_one"
        return transformer_zoo.AmplificationBySampling(PoissonSampling=False)(base, t.rate)
    raise NotApplicable("Poisson sampling under replace_one: see dp_accounting_pld")


def _autodp_curve(t: Term, orders: np.ndarray) -> np.ndarray:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return _written(t, orders)
    with third_party():
        mechanism = _autodp_mechanism(t)
        return t.steps * np.array([float(mechanism.RenyiDP(float(a))) for a in orders])


def _dp_accounting_event(t: Term):
    import dp_accounting as dpa

    if t.mechanism is Mechanism.EXPONENTIAL:
        if t.scheme != "plain":
            raise NotApplicable("sampled exponential mechanisms: see pure")
        # the worst of all mechanisms with that pure epsilon, on two answers (Kairouz, Oh & Viswanath 2015)
        noise = 2 / (1 + math.exp(min(pure_epsilon(t), 700.0)))
        return dpa.RandomizedResponseDpEvent(noise, 2)
    if t.mechanism is Mechanism.LAPLACE:
        if t.scheme != "plain":
            raise NotApplicable("sampled Laplace releases: see dp_accounting_pld and pure")
        return dpa.LaplaceDpEvent(t.multiplier)
    if t.mechanism is not Mechanism.GAUSSIAN:
        raise NotApplicable(f"{t.mechanism.value} is not an event of this library")
    base = dpa.GaussianDpEvent(t.multiplier)
    if t.scheme == "plain":
        return base
    if t.scheme == "poisson":
        return dpa.PoissonSampledDpEvent(t.rate, base)
    if t.scheme == "wor":
        rate = Fraction(t.rate).limit_denominator(10**9)
        return dpa.SampledWithoutReplacementDpEvent(rate.denominator, rate.numerator, base)
    raise NotApplicable("Poisson sampling under replace_one: see dp_accounting_pld")


def _dp_accounting_curve(t: Term, orders: np.ndarray) -> np.ndarray:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return _written(t, orders)
    import dp_accounting as dpa
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    # Without amplification the relation is already in the sensitivity, so any relation the library accepts will do.
    replaced = t.scheme == "wor" or t.mechanism is Mechanism.EXPONENTIAL
    relation = dpa.NeighboringRelation.REPLACE_ONE if replaced else dpa.NeighboringRelation.ADD_OR_REMOVE_ONE
    with third_party():
        acct = rdp.RdpAccountant(list(orders), relation)
        acct.compose(_dp_accounting_event(t), t.steps)
        return np.array(acct._rdp, dtype=float)  # the library has no public reader of its curve


@lru_cache(maxsize=512)
def _kept_curve(curve: Callable, t: Term, orders: tuple[float, ...]) -> np.ndarray:
    return curve(t, np.array(orders))


def _written(t: Term, orders: np.ndarray) -> np.ndarray:
    known = dict(t.curve)
    return t.steps * np.array([known.get(float(a), math.inf) for a in orders])


def _divergence_at(t: Term, order: float) -> float:
    if t.mechanism is Mechanism.WRITTEN_BOUND:
        return t.steps * min((bound for a, bound in t.curve if a >= order), default=math.inf)
    if t.mechanism is Mechanism.NO_NOISE or t.multiplier == 0:
        return math.inf
    if t.mechanism is Mechanism.GAUSSIAN and t.scheme == "plain":
        return t.steps * order / (2.0 * t.multiplier**2)
    with third_party():
        return float(_dp_accounting_curve(t, np.array([max(order, _LOWEST_ORDER)]))[0])


def _epsilon_from_curves(terms: list[Term], delta: float, curve: Callable) -> float:
    """Sum the curves of the terms and convert (Canonne, Kamath & Steinke 2020, proposition 12, in dp-accounting)."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    written = [{a for a, _ in t.curve} for t in terms if t.mechanism is Mechanism.WRITTEN_BOUND]
    if written:
        orders = sorted(a for a in set.intersection(*written) if a > 1.01)
    else:
        orders = rdp.DEFAULT_RDP_ORDERS if _ORDERS is None else _ORDERS
    if not orders:
        raise NotApplicable("the written bounds have no common Renyi order above 1.01")
    orders = np.array(orders, dtype=float)
    total = np.zeros(len(orders))
    for t in terms:
        total = total + _kept_curve(curve, t, tuple(orders))
    keep = np.isfinite(total)
    if not keep.any():
        raise NotApplicable("no Renyi order has a finite bound")
    return float(rdp.compute_epsilon(orders[keep], np.maximum(total[keep], 0.0), delta)[0])
