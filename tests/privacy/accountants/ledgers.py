"""Ledgers to account for."""

from __future__ import annotations

from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

DELTA = 1e-5
BOTH = ("dp_accounting_pld", "dp_accounting_rdp", "autodp_rdp")


def event(
    multiplier,
    rate=1.0,
    steps=1,
    sampling=None,
    relation=Relation.ADD_REMOVE,
    mechanism=Mechanism.GAUSSIAN,
    contribution=None,
):
    """``contribution``: in units of the sensitivity."""
    sampling = sampling or (Sampling.POISSON if rate < 1 else Sampling.FULL_BATCH)
    stated = contribution and 2.0 * contribution
    return Event("x", mechanism, relation, 2.0, 2.0 * multiplier, sampling, rate, steps, contribution=stated)


def ledger(*events) -> Ledger:
    out = Ledger()
    for e in events:
        out.record(e)
    return out


def wor(multiplier, rate, steps, relation=Relation.REPLACE_ONE):
    return event(multiplier, rate, steps, Sampling.WITHOUT_REPLACEMENT, relation)
