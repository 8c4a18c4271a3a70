"""The search of a pair: finds what fixed pairs leave open, keeps to its budget, and never beats a true bound."""

from dataclasses import replace

import numpy as np
import pytest

from privacy import audit, search
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task, variant

SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, noise_multiplier=1.0)
TASK, SETTINGS = toy_task(), replace(Toy.Settings(), rate=1.0)


def climbed(method, evaluations=60, seed=0):
    return search.climb(method, TASK, SETTINGS, SPEC, 1, np.random.default_rng(seed), evaluations)


@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE_ONE])
def test_the_bound_is_nearly_reached_and_not_passed(relation):
    method = variant(privacy=relation, declared=1.0 if relation is Relation.ADD_REMOVE else 2.0)
    found, pair = climbed(method)
    assert search.ENOUGH <= found <= 1 + audit.ROUNDING
    again = audit.replay(method, *pair.tasks(TASK, relation), SETTINGS, SPEC, 1)
    assert again.ratio == found


def test_half_of_a_sensitivity_is_found():
    assert climbed(variant(declared=0.5))[0] > 1.5


def test_the_same_stream_finds_the_same_pair():
    (one, a), (two, b) = (climbed(Toy(), seed=3) for _ in range(2))
    assert one == two
    np.testing.assert_array_equal(a.rows, b.rows)


def test_it_ends_after_its_replays(monkeypatch):
    calls = []

    def counted(*_):
        calls.append(1)
        raise ValueError("refused")

    monkeypatch.setattr(audit, "replay", counted)
    assert climbed(Toy(), 7)[0] == -np.inf
    assert len(calls) == 7
