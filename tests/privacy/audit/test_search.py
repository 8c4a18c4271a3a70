"""The search of a pair: finds what fixed pairs leave open, keeps to its budget, and never beats a true bound."""

from dataclasses import replace

import numpy as np
import pytest

from privacy import audit
from privacy.audit import search
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK, SETTINGS = toy_task(), replace(Toy.Settings(), rate=1.0)


def climbed(method, evaluations=40, seed=0):
    return audit.climb(method, TASK, SETTINGS, (SPEC,), 1, np.random.default_rng(seed), evaluations)


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_the_bound_is_nearly_reached_and_not_passed(relation):
    method = variant(privacy=relation, declared=1.0 if relation is Relation.ADD_REMOVE else 2.0)
    found = climbed(method)
    assert 0.9 <= found.reached["clipped sum"] <= 1 + audit.ROUNDING
    assert not found.violated
    again = audit.replay(method, *found.pairs["clipped sum"].tasks(TASK, relation), SETTINGS, SPEC, 1)
    assert again.ratio == found.reached["clipped sum"]


@pytest.mark.parametrize("declared", [0.5, 0.95])
def test_a_sensitivity_that_is_too_small_is_found(declared):
    """By a twentieth too: the search does not end where nearly all that is declared is reached."""
    assert climbed(variant(declared=declared)).violated == "clipped sum"


def test_the_same_stream_finds_the_same_pair():
    one, two = (climbed(Toy(), 20, seed=3) for _ in range(2))
    assert one.reached == two.reached
    np.testing.assert_array_equal(one.pairs["clipped sum"].rows, two.pairs["clipped sum"].rows)


def test_it_ends_after_its_replays(monkeypatch):
    calls = []

    def counted(*_):
        calls.append(1)
        raise ValueError("refused")

    monkeypatch.setattr(search, "replay", counted)
    assert climbed(Toy(), 7).reached == {}
    assert len(calls) == 7
