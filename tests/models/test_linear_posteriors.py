"""Posteriors in which weights and noise variance are independent: draws, predictions, storage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models import linear_posteriors, posteriors
from models.linear_posteriors import NormalTimesInverseGamma, NormalTimesLogNormal

FACTOR = np.array([[5.0, 0.0, 0.0], [1.0, 4.0, 0.0], [-2.0, 0.5, 6.0]])
BOTH = [
    NormalTimesInverseGamma(np.array([0.3, -0.2, 0.1]), FACTOR, 30.0, 2.0),
    NormalTimesLogNormal(np.array([0.3, -0.2, 0.1]), np.array([0.2, 0.1, 0.3]), -2.5, 0.2),
]
N = 100_000


@pytest.mark.parametrize("q", BOTH, ids=lambda q: q.kind)
def test_draws_have_the_stated_law(q):
    """Means and covariances within 6 standard errors: a false alarm in 1e7."""
    theta = q.sample(N, np.random.default_rng(1))
    inverse = isinstance(q, NormalTimesInverseGamma)
    covariance = np.linalg.inv(q.factor @ q.factor.T) if inverse else np.diag(q.sd**2)
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(theta[:, :3].mean(axis=0) - q.mean) < 6 * sd / math.sqrt(N))
    error = np.abs(np.cov(theta[:, :3].T) - covariance) / np.outer(sd, sd)
    assert error.max() < 6 * math.sqrt(2 / N)
    v = np.log1p(np.exp(theta[:, 3]))
    mean = q.scale / (q.shape - 1) if inverse else math.exp(q.log_variance + 0.5 * q.log_variance_sd**2)
    assert abs(v.mean() - mean) < 6 * v.std() / math.sqrt(N)
    assert abs(np.corrcoef(v, theta[:, 0])[0, 1]) < 6 / math.sqrt(N)


@pytest.mark.parametrize("q", BOTH, ids=lambda q: q.kind)
def test_it_is_rebuilt_from_its_parameters(q):
    again, x = posteriors.load(q.kind, q.parameters()), np.array([[0.1, 0.4], [-1.0, 0.5]])
    a, b = (p.predictive(x, np.random.default_rng(0)) for p in (q, again))
    np.testing.assert_array_equal(a.log_density(np.zeros(2)), b.log_density(np.zeros(2)))
    np.testing.assert_allclose(a.mean, x @ q.mean[:2] + q.mean[2], atol=0.06)  # 1000 draws, sd .33: 5 standard errors


def test_another_kind_is_refused():
    with pytest.raises(KeyError, match="linear_posteriors"):
        linear_posteriors.load("normal", {})
