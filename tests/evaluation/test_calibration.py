"""Scores of a classifier with several classes: error, log-likelihood, calibration."""

import numpy as np
import pytest

from evaluation.metrics import METRICS, categorical_scores, reliability


def log_p(*rows):
    return np.log(np.array(rows, dtype=float))


def test_scores_by_hand():
    """Confidences 0.8 and 0.9 (bins 12 and 14 of 15), the first right, the second wrong."""
    p = log_p([0.8, 0.1, 0.1], [0.05, 0.05, 0.9])
    scores = categorical_scores(p, np.array([0.0, 1.0]))
    assert scores["test_error"] == (0.5, "share")
    assert scores["test_log_likelihood"][0] == pytest.approx((np.log(0.8) + np.log(0.05)) / 2)
    assert scores["expected_calibration_error"][0] == pytest.approx((0.2 + 0.9) / 2)
    assert set(scores) <= set(METRICS)


def test_one_bin_lets_the_gaps_cancel():
    p = log_p([0.75, 0.25], [0.75, 0.25], [0.75, 0.25], [0.75, 0.25])
    found = reliability(p, np.array([0.0, 0.0, 0.0, 1.0]), bins=1)
    assert (found.count.tolist(), found.accuracy.tolist()) == ([4], [0.75])
    assert found.confidence[0] == pytest.approx(0.75)


def test_edges_of_the_bins():
    """(k - 1) / K < confidence <= k / K: exactly 1 is in the last bin, exactly 1/2 in the first of two."""
    p = np.log(np.array([[1.0, 1e-300], [0.5, 0.5], [0.500001, 0.499999]]))
    found = reliability(p, np.zeros(3), bins=2)
    assert found.count.tolist() == [1, 2]
    empty = reliability(p[:1], np.zeros(1), bins=2)
    assert np.isnan(empty.confidence[0])
    assert np.isnan(empty.accuracy[0])


def test_a_calibrated_classifier_has_a_small_error():
    """Labels drawn from the stated probabilities. In bin k of n_k rows the gap is about |N(0, 1/(4 n_k))| or less, so
    the weighted mean is below sqrt(15 / n) / 2 = 0.014 in mean at n = 20,000; 0.03 is far outside. Twice the confidence
    that is earned is seen."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 20_000)
    y = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1).astype(float)
    assert categorical_scores(np.log(p), y)["expected_calibration_error"][0] < 0.03
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert categorical_scores(np.log(sharp), y)["expected_calibration_error"][0] > 0.1


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (np.zeros((2, 3)), np.zeros(3), "one row of probabilities"),
        (np.zeros((0, 3)), np.zeros(0), "at least one row"),
        (np.zeros((1, 3)), np.array([3.0]), "no whole number from 0 to 2"),
        (np.full((1, 3), np.nan), np.zeros(1), "not finite"),
        (np.array([[-np.inf, 0.0]]), np.zeros(1), "not finite"),
    ],
)
def test_what_cannot_be_scored_is_refused(p, y, message):
    with pytest.raises(ValueError, match=message):
        categorical_scores(p, y)
