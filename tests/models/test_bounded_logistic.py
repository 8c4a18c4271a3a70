"""Posteriors of logistic regression in the box: draws, predictions, storage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from models import posteriors
from models.bounded_logistic import LogisticGaussian, LogisticPoint, load

ROOT = np.array([[0.5, 0.0, 0.0], [0.2, 0.3, 0.0], [-0.1, 0.1, 0.4]])
MEAN = np.array([1.0, -2.0, 0.5])


def test_draws_have_the_stated_moments():
    """40,000 draws: 5 standard errors, so each of the 12 numbers fails with probability below 1e-6."""
    q = LogisticGaussian(MEAN, ROOT)
    theta = q.sample(40_000, np.random.default_rng(0))
    sd = np.sqrt(np.diag(q.covariance))
    assert (np.abs(theta.mean(axis=0) - MEAN) < 5 * sd / 200).all()
    product = np.sqrt(np.outer(sd, sd) ** 2 + q.covariance**2)
    assert (np.abs(np.cov(theta.T) - q.covariance) < 5 * product / 200).all()
    np.testing.assert_allclose(q.covariance, ROOT @ ROOT.T)


def test_a_narrow_gaussian_predicts_what_its_point_does():
    x, y = np.random.default_rng(1).uniform(-1, 1, (7, 2)), np.array([0.0, 1, 1, 0, 1, 0, 0])
    narrow = LogisticGaussian(MEAN, 1e-7 * ROOT).predictive(x, np.random.default_rng(0))
    point = LogisticPoint(MEAN).predictive(x)
    np.testing.assert_allclose(point.mean, expit(x @ MEAN[:2] + MEAN[2]), rtol=1e-12)
    np.testing.assert_allclose(narrow.mean, point.mean, rtol=1e-5)
    np.testing.assert_allclose(narrow.log_density(y), point.log_density(y), rtol=1e-5)


def test_a_point_cannot_be_sampled():
    assert not hasattr(LogisticPoint(MEAN), "sample")


@pytest.mark.parametrize("q", [LogisticGaussian(MEAN, ROOT), LogisticPoint(MEAN)])
def test_it_comes_back_from_its_parameters(q):
    again = posteriors.load(q.kind, q.parameters())
    assert type(again) is type(q)
    for key, value in q.parameters().items():
        np.testing.assert_array_equal(again.parameters()[key], value)


def test_another_kind_is_refused():
    with pytest.raises(KeyError, match="logistic_gaussian"):
        load("ridge", {})
