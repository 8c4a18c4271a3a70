import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from evaluation.metrics import (
    METRICS,
    classification_scores,
    ranking_scores,
    rare_class_scores,
    regression_scores,
)
from models.predictive import GaussianPredictive, MixturePredictive


def test_agrees_with_scipy_on_a_gaussian():
    rng = np.random.default_rng(0)
    mean, sd, y = rng.normal(size=30), rng.uniform(0.5, 2, 30), rng.normal(size=30)
    scores = regression_scores(GaussianPredictive(mean, sd**2), y)
    assert set(scores) <= set(METRICS)
    # Both sides are double arithmetic on 30 numbers of size 1.
    assert scores["rmse"] == (pytest.approx(np.linalg.norm(y - mean) / np.sqrt(30), rel=1e-13), "target")
    assert scores["test_log_likelihood"] == (pytest.approx(norm.logpdf(y, mean, sd).mean(), rel=1e-13), "nats")


def test_mixture_of_equal_parts_scores_like_the_part():
    y = np.array([0.0, 1.0, 4.0])
    one = regression_scores(GaussianPredictive(np.zeros(3), np.full(3, 2.0)), y)
    many = regression_scores(MixturePredictive(np.zeros((5, 3)), np.full((5, 3), 2.0)), y)
    assert many["rmse"][0] == pytest.approx(one["rmse"][0], rel=1e-13)
    assert many["test_log_likelihood"][0] == pytest.approx(one["test_log_likelihood"][0], rel=1e-13)


@given(st.floats(0.01, 100), st.floats(-50, 50))
def test_units(scale, shift):
    y = np.array([1.0, -2.0, 0.5])
    mean, variance = np.array([0.8, -1.0, 0.0]), np.array([1.0, 2.0, 0.3])
    a = regression_scores(GaussianPredictive(mean, variance), y)
    b = regression_scores(GaussianPredictive(scale * mean + shift, scale**2 * variance), scale * y + shift)
    # Shifts of 50 against scales of 0.01 cost up to 4 digits by cancellation.
    assert b["rmse"][0] == pytest.approx(scale * a["rmse"][0], rel=1e-9)
    assert b["test_log_likelihood"][0] == pytest.approx(a["test_log_likelihood"][0] - np.log(scale), abs=1e-7)


@pytest.mark.parametrize(
    ("mean", "variance", "y", "words"),
    [
        ([np.nan, 0.0], [1.0, 1.0], [0.0, 0.0], "predictive mean is not finite for 1 of 2"),
        ([0.0, 0.0], [1.0, np.nan], [0.0, 0.0], "log density is not finite"),
        ([0.0, 0.0], [1.0, 1.0], [0.0, np.inf], "y is not finite"),
        ([0.0], [1.0], [0.0, 0.0], "shape"),
        ([], [], [], "at least one row"),
    ],
)
def test_bad_input_is_one_clear_error(mean, variance, y, words):
    with pytest.raises(ValueError, match=words):
        regression_scores(GaussianPredictive(np.array(mean), np.array(variance)), np.array(y))


def test_classification_by_hand():
    margins, y = np.array([1.0, -2.0, 0.5, -0.1]), np.array([1.0, 0.0, 0.0, 1.0])
    log_density = -np.log1p(np.exp(-margins * (2 * y - 1)))
    found = classification_scores(margins, log_density, y)
    assert found["test_error"] == (0.5, "share")
    assert found["test_log_likelihood"][0] == pytest.approx(log_density.mean())
    with pytest.raises(ValueError, match="a test row"):
        classification_scores(margins[:2], log_density, y)
    with pytest.raises(ValueError, match="not finite"):
        classification_scores(margins * np.nan, log_density, y)


def test_scores_of_a_rare_class_by_hand():
    """Of the 4 pairs of a row of each class, 2.5 are in the right order: (0.6, 0.2), (0.6, 0.4) and the tie."""
    p, y = np.array([0.2, 0.4, 0.6, 0.2]), np.array([0.0, 0.0, 1.0, 1.0])
    assert rare_class_scores(p, y) == {
        "auc": (pytest.approx(2.5 / 4), "probability"),
        "balanced_accuracy": (pytest.approx((1 + 0.5) / 2), "share"),
        "brier_score": (pytest.approx((0.04 + 0.16 + 0.16 + 0.64) / 4), "squared probability"),
    }
    # a constant prediction is right for nearly all rows, and finds no row of the rare class
    rare = (np.arange(100) == 0).astype(float)
    found = {m: v for m, (v, _) in rare_class_scores(np.full(100, 0.01), rare).items()}
    assert found == {"auc": 0.5, "balanced_accuracy": 0.5, "brier_score": pytest.approx(0.0099)}
    assert set(rare_class_scores(p, np.zeros(4))) == {"brier_score"}
    with pytest.raises(ValueError, match="not finite"):
        rare_class_scores(p * np.nan, y)


def test_average_precision_of_the_rarer_class_by_hand():
    """Rows of class 1 are ranked first and third of five: (1 / 1 + 2 / 3) / 2. No probability is above 0.5."""
    p, y = np.array([0.4, 0.3, 0.2, 0.1, 0.05]), np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    found = {m: v for m, (v, _) in ranking_scores(p, y).items()}
    assert set(found) == {"auc", "average_precision", "brier_score"}
    assert found["average_precision"] == pytest.approx((1 + 2 / 3) / 2)
    assert rare_class_scores(p, y)["balanced_accuracy"][0] == 0.5  # which does not see the ranking
    turned = {m: v for m, (v, _) in ranking_scores(1 - p, 1 - y, rare=0).items()}
    assert turned == pytest.approx(found)
    constant = ranking_scores(np.full(5, 0.4), y)
    assert constant["average_precision"][0] == pytest.approx(2 / 5)
    assert set(ranking_scores(p, np.zeros(5))) == {"brier_score"}
