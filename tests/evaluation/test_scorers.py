"""A scorer reads the test rows of its case, and the training rows only where a truth follows from them."""

from types import SimpleNamespace

import numpy as np
import pytest

from evaluation import metrics, mixture, scorers
from evaluation.case import Case
from evaluation.intervals import coverage_scores
from models.kind import kind, kinds
from models.linear_regression import ConstantGaussian
from models.mixture_of_gaussians import MixtureMeans, MixtureOfGaussians, posterior_given_labels

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((20, 2)), RNG.integers(0, 2, 20).astype(float)
TRAIN, TEST = np.arange(12), np.arange(12, 20)


def case(posterior=None, model=None, split=lambda: (TRAIN, TEST), **facts):
    return Case(posterior, model, SimpleNamespace(x=X, y=Y), split, np.random.default_rng(1), **facts)


def test_a_case_gives_the_rows_of_its_split():
    found = case()
    np.testing.assert_array_equal(found.test_x, X[12:])
    np.testing.assert_array_equal(found.test_y, Y[12:])
    np.testing.assert_array_equal(found.train_x, X[:12])
    np.testing.assert_array_equal(found.train_y, Y[:12])


def test_rows_are_split_once_and_only_where_they_are_asked_for():
    calls = []
    found = case(split=lambda: calls.append(1) or (TRAIN, TEST), drawn=np.array([0.2, 0.4]))
    assert scorers.fraction_nearer(found) == {"tarp_fraction": (pytest.approx(0.3), "share")}
    assert calls == []
    assert len(found.test_x) == len(found.test_y) == 8
    assert calls == [1]


def test_intervals_are_scored_where_the_experiment_asks_for_them():
    posterior = ConstantGaussian(0.4, 0.3)
    errors = metrics.regression_scores(posterior.predictive(X[12:]), Y[12:])
    coverage = coverage_scores(posterior.predictive(X[12:]), Y[12:])
    assert scorers.regression(case(posterior)) == errors
    assert scorers.regression(case(posterior, intervals=True)) == errors | coverage
    assert scorers.regression_with_intervals(case(posterior)) == errors | coverage


def test_a_rare_class_is_scored_where_the_experiment_asks_for_it():
    probabilities = SimpleNamespace(predictive=lambda x, rng: SimpleNamespace(mean=np.linspace(0.1, 0.8, len(x))))
    plain = scorers.class_probabilities(case(probabilities))
    more = scorers.class_probabilities(case(probabilities, rare_class=True))
    assert more == plain | metrics.rare_class_scores(np.linspace(0.1, 0.8, 8), Y[12:])
    assert set(more) - set(plain) == {"auc", "balanced_accuracy", "brier_score"}
    ranked = scorers.class_probabilities(case(probabilities, rare_class="average_precision"))
    assert set(ranked) - set(plain) == {"auc", "average_precision", "brier_score"}


@pytest.mark.parametrize("printed", [True, False])
def test_the_law_of_the_data_says_which_distance_of_a_mixture_is_scored(printed):
    model = MixtureOfGaussians(2, 0.5)
    precision = None if printed else model.prior_variance  # the program takes the one for the other
    posterior = posterior_given_labels(model, X[:12], Y[:12], prior_precision=precision)
    found = scorers.mixture_of_gaussians(case(posterior, model, as_programmed=not printed))
    assert found["fnorm_mean" if printed else "squared_mean_error"][0] == pytest.approx(0.0, abs=1e-12)
    assert ("test_log_likelihood" in found) == printed
    assert "label_error" in found
    assert not set(found) & set(mixture.PROGRAM if printed else mixture.PRINTED)


def test_a_covariance_that_is_none_is_a_fit_that_diverged():
    bad = MixtureMeans(np.zeros((2, 2)), -np.ones((2, 2, 2)), 0.5)
    with pytest.raises(ValueError, match="not positive definite"):
        scorers.mixture_of_gaussians(case(bad, MixtureOfGaussians(2, None)))


def test_a_prediction_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        scorers.regression(case(ConstantGaussian(np.nan, 1.0)))
    with pytest.raises(ValueError, match="not finite"):
        scorers.class_probabilities(case(ConstantGaussian(np.nan, 1.0)))


def test_a_record_names_its_scorer():
    posterior = MixtureMeans(np.zeros((2, 2)), np.zeros((2, 2, 2)), 0.5)
    one = case(posterior, MixtureOfGaussians(2, None))
    assert kind("mixture_of_gaussians").score(one) == scorers.mixture_of_gaussians(one)
    used = {kind(name).scorer.partition(":")[2] for name in kinds()}
    assert used == {n for n, f in vars(scorers).items() if callable(f) and f.__module__ == "evaluation.scorers"}
