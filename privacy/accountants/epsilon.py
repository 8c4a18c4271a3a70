"""Epsilon of a ledger: the smallest valid bound of all accountants (:mod:`privacy.accountants`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from privacy.accountants.exact import gdp, pure
from privacy.accountants.loss_distributions import pld, prv
from privacy.accountants.renyi import autodp_rdp, dp_accounting_rdp
from privacy.accountants.terms import NotApplicable, Term, checked_delta, key_of, terms_of
from privacy.ledger import Ledger, Mechanism, Relation

#: accountants in the order in which ties are resolved; the last one is never the answer (see privacy.accountants)
NAMES = ("gdp", "pure", "dp_accounting_pld", "dp_accounting_rdp", "autodp_rdp", "prv")
_ONE_DIRECTION = frozenset({"prv"})
#: the accountants that :func:`epsilon_of` chooses from
BOUNDS = tuple(n for n in NAMES if n not in _ONE_DIRECTION)


@dataclass(frozen=True)
class Cost:
    """The cost of a ledger.

    Attributes
    ----------
    epsilon, delta : the guarantee. Epsilon is ``inf`` if a release has no noise or an unbounded sensitivity.
    relation : neighbouring relation of the guarantee; None for an empty ledger.
    accountant : name of the accountant that gave the smallest bound, or ``"none: <reason>"``.
    all : for every accountant asked, its epsilon or the reason why it gave none.
    notes : conversions that were made (see :mod:`privacy.accountants`).
    """

    epsilon: float
    delta: float
    relation: Relation | None
    accountant: str
    all: dict[str, float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def epsilon_of(ledger: Ledger, delta: float, only: Sequence[str] = BOUNDS, relation: Relation | None = None) -> Cost:
    """The smallest valid epsilon of the ledger at ``delta``; see :class:`Cost`.

    Parameters
    ----------
    ledger : all events of one fit. An empty one costs epsilon = 0, because nothing that depends on a row was released.
    delta : in [0, 1). At 0, epsilon is the sum of pure epsilons of Laplace releases and exponential mechanisms. A
        ledger with any other event then has an infinite epsilon.
    only : accountants to ask; by default those that cover both directions of the relation.
    relation : REPLACE_ONE gives the cost of one row replaced by another, also of a ledger under ADD_REMOVE, whose
        distances double. None: the relation of the ledger, or REPLACE_ONE if it has several.

    Raises
    ------
    ValueError : delta out of range, an unknown accountant, or the relation ADD_REMOVE, to which nothing is converted.
    """
    if relation is Relation.ADD_REMOVE:
        raise ValueError("relation add_remove: nothing is converted to it; leave it out, or give replace_one")
    if unknown := set(only) - set(NAMES):
        raise ValueError(f"unknown accountants {sorted(unknown)}; give some of {', '.join(NAMES)}")
    keys = tuple(sorted(map(key_of, ledger), key=repr))
    cost = _cost(keys, checked_delta(delta, pure=True), tuple(n for n in NAMES if n in set(only)), relation)
    return replace(cost, all=dict(cost.all))  # a caller must not change the cached table


def epsilons(ledger: Ledger, delta: float) -> dict[str, float | str]:
    """Every accountant's epsilon at ``delta``, or the reason why it gives none."""
    return epsilon_of(ledger, delta, NAMES).all


@lru_cache(maxsize=4096)
def _cost(keys: tuple, delta: float, names: tuple[str, ...], wanted: Relation | None) -> Cost:
    if not keys:
        return Cost(0.0, delta, None, "none: the ledger is empty, nothing private was released")
    try:
        relation, notes, terms = terms_of(keys, wanted)
    except NotApplicable as why:
        return Cost(math.inf, delta, Relation.REPLACE_ONE, f"none: {why}", dict.fromkeys(names, str(why)))
    if not terms:
        return Cost(0.0, delta, relation, "none: no event depends on a row", dict.fromkeys(names, 0.0), notes)
    bare = any(
        t.mechanism is Mechanism.NO_NOISE or (t.mechanism is not Mechanism.WRITTEN_BOUND and t.multiplier == 0)
        for t in terms
    )
    if bare:
        why = "none: private numbers are released without noise"
        return Cost(math.inf, delta, relation, why, dict.fromkeys(names, math.inf), notes)
    found: dict[str, float | str] = {}
    for name in names:
        try:
            if delta == 0 and name != "pure":
                raise NotApplicable("it gives no finite epsilon at delta = 0")
            found[name] = float(_ACCOUNTANTS[name](terms, delta))
        except NotApplicable as why:
            found[name] = f"not applicable: {why}"
        except Exception as error:
            # A fault inside one library must not hide the bounds of the others, so it is entered as a reason.
            found[name] = f"failed: {type(error).__name__}: {error}"
    valid = {n: e for n, e in found.items() if not isinstance(e, str) and n not in _ONE_DIRECTION and not math.isnan(e)}
    if not valid:
        why = "none: no accountant covers these events"
        if delta == 0:
            why = "none: at delta = 0 only Laplace releases and exponential mechanisms have a finite epsilon"
        return Cost(math.inf, delta, relation, why, found, notes)
    best = min(valid, key=valid.get)
    return Cost(max(valid[best], 0.0), delta, relation, best, found, notes)


_ACCOUNTANTS: dict[str, Callable[[list[Term], float], float]] = {
    "gdp": gdp,
    "pure": pure,
    "dp_accounting_pld": pld,
    "dp_accounting_rdp": dp_accounting_rdp,
    "autodp_rdp": autodp_rdp,
    "prv": prv,
}
