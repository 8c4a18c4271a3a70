"""Reliability bins of the common tasks: pooled over splits, and those of the calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from common_tasks.reliability import pooled, unpooled
from evaluation.metrics import class_probability_scores, class_reliability


def some(n, seed):
    """Probabilities and labels that are a little too sure."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < 0.5 + 0.8 * (p - 0.5)).astype(float)


def test_bins_of_several_splits_are_those_of_all_their_rows():
    a, b = some(300, 1), some(200, 2)
    both = class_reliability(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))
    rows = pooled([class_reliability(*a), class_reliability(*b)])
    assert [r["bin"] for r in rows] == list(np.flatnonzero(both.count) + 1)
    assert sum(r["count"] for r in rows) == 500
    for r in rows:
        assert r["count"] == both.count[r["bin"] - 1]
        assert r["confidence"] == pytest.approx(both.confidence[r["bin"] - 1])
        assert r["accuracy"] == pytest.approx(both.accuracy[r["bin"] - 1])


def test_committed_bins_and_further_splits_give_the_bins_of_all():
    a, b = class_reliability(*some(300, 1)), class_reliability(*some(200, 2))
    whole, extended = pooled([a, b]), pooled([unpooled(pooled([a])), b])
    assert [r["count"] for r in whole] == [r["count"] for r in extended]
    for key in ("confidence", "accuracy"):
        assert [r[key] for r in extended] == pytest.approx([r[key] for r in whole], rel=1e-12)


def test_they_give_the_expected_calibration_error():
    p, y = some(1000, 3)
    rows = pooled([class_reliability(p, y)])
    error = sum(r["count"] * abs(r["confidence"] - r["accuracy"]) for r in rows) / 1000
    assert error == pytest.approx(class_probability_scores(p, y)["expected_calibration_error"][0])
    assert error > 0.03  # the made-up probabilities are too sure


def test_two_classes_have_no_confidence_below_a_half():
    rows = pooled([class_reliability(*some(500, 4))])
    assert min(r["confidence"] for r in rows) >= 0.5


def test_without_a_split_there_is_no_row():
    assert pooled([]) == []
