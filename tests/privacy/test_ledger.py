"""The ledger: events are facts, merged when equal, and survive JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.ledger import EPOCHS, Event, Ledger, Mechanism, Relation, Sampling

BASE = Event("sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 2.0, 3.0, Sampling.POISSON, 0.1, 5, "here", "PCG64")

#: no relation fits an epoch's batches but replacement
SCHEMES = st.sampled_from([(r, s) for r in Relation for s in Sampling if r is Relation.REPLACE_ONE or s not in EPOCHS])
EVENTS = st.builds(
    lambda scheme, **facts: Event(relation=scheme[0], sampling=scheme[1], **facts),
    scheme=SCHEMES,
    what=st.sampled_from(["a", "b"]),
    mechanism=st.sampled_from(Mechanism),
    sensitivity=st.floats(0, 1e6),
    noise_scale=st.floats(0, 1e6),
    sampling_rate=st.floats(1e-9, 1.0),
    steps=st.integers(0, 10**9),
    renyi_curve=st.lists(st.tuples(st.floats(1, 99), st.floats(0, 99)), max_size=3).map(tuple),
)
#: with a contribution, which needs a sensitivity above 0
CLIPPED = st.builds(replace, EVENTS, sensitivity=st.floats(1e-6, 1e6), contribution=st.none() | st.floats(1e-6, 1e6))


def test_multiplier():
    assert BASE.noise_multiplier == 1.5
    assert replace(BASE, sensitivity=0.0).noise_multiplier == math.inf
    assert replace(BASE, mechanism=Mechanism.NO_NOISE).noise_multiplier == 0.0


def test_equal_events_are_merged_and_others_are_not():
    ledger = Ledger()
    ledger.record(BASE)
    ledger.record(replace(BASE, steps=7))
    ledger.record(replace(BASE, noise_scale=4.0))
    assert [e.steps for e in ledger] == [12, 5]
    assert len(ledger) == 2


@given(st.lists(EVENTS | CLIPPED, max_size=5))
def test_json_round_trip(events):
    ledger = Ledger()
    for event in events:
        ledger.record(event)
    text = json.dumps(ledger.to_json())
    assert Ledger.from_json(json.loads(text)) == ledger


def test_a_ledger_without_contributions_has_no_entry_for_them():
    """Ledgers that are stored without the entry are read, and written in the same way again."""
    stated = Ledger([BASE, replace(BASE, contribution=1.0)]).to_json()
    assert ["contribution" in row for row in stated] == [False, True]
    assert Ledger.from_json(stated[:1]).events == [BASE]
    assert Ledger.from_json(stated).to_json() == stated


def test_a_contribution_is_given_in_units_of_the_sensitivity_too():
    assert BASE.relative_contribution is None
    assert replace(BASE, contribution=0.5).relative_contribution == 0.25


def test_events_hold_no_epsilon():
    assert not [name for name in BASE.__dataclass_fields__ if "epsilon" in name or "delta" in name]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sampling_rate": 0.0}, "sampling_rate"),
        ({"sampling_rate": 1.1}, "sampling_rate"),
        ({"steps": -1}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"sensitivity": -1.0}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"noise_scale": -1.0}, "noise_scale"),
        ({"noise_scale": math.nan}, "noise_scale"),
        ({"contribution": 0.0}, "contribution"),
        ({"contribution": -1.0}, "contribution"),
        ({"contribution": math.inf}, "contribution"),
        ({"contribution": math.nan}, "contribution"),
        ({"contribution": 1.0, "sensitivity": math.inf}, "contribution"),
    ],
)
def test_bad_events_are_refused_by_name(change, word):
    with pytest.raises(ValueError, match=word):
        replace(BASE, **change)
