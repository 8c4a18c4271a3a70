"""Neighbours differ in one row and share what is public."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from privacy import audit
from privacy.ledger import Relation
from tests.privacy.toys import toy_task

TASK = toy_task()


@pytest.mark.parametrize("relation", Relation)
def test_neighbours_differ_in_one_row_and_share_what_is_public(relation):
    names = []
    for name, d, dprime in audit.neighbours(TASK, relation):
        names.append(name)
        assert d.public == dprime.public
        assert d.n == dprime.n + (relation is Relation.ADD_REMOVE)
        np.testing.assert_array_equal(d.x[: d.n - 1], dprime.x[: d.n - 1])
        np.testing.assert_array_equal(d.y[: d.n - 1], dprime.y[: d.n - 1])
        if relation is Relation.REPLACE_ONE:
            assert (d.x[-1] != dprime.x[-1]).any() or d.y[-1] != dprime.y[-1]
    assert len(set(names)) == len(names) >= 7
    assert any("n = 1" in name for name in names)


@given(audit.neighbour_pairs(TASK, Relation.REPLACE_ONE))
@settings(max_examples=20, deadline=None)
def test_drawn_neighbours_differ_in_the_last_row_only(pair):
    d, dprime = pair
    assert d.n == dprime.n
    np.testing.assert_array_equal(d.x[:-1], dprime.x[:-1])
