"""The mixture model: exact posterior given labels, predictive density, refused input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from models import posteriors
from models.mixture_of_gaussians import (
    MixtureMeans,
    MixtureOfGaussians,
    MixtureParameters,
    gaussian_log_density,
    posterior_given_labels,
)


def data(n=60, d=3, components=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(components, size=n)
    return rng.normal(size=(components, d))[labels] * 4 + 0.5 * rng.normal(size=(n, d)), labels


def test_posterior_given_labels_is_conjugate():
    """Against adding one row at a time by Bayes' rule."""
    model = MixtureOfGaussians(2, 0.5, prior_variance=10.0)
    x, labels = data()
    means, precisions = model.prior_means(3), np.full(2, 1 / 10.0)
    for row, j in zip(x, labels, strict=True):
        total = precisions[j] + 4.0
        means[j] = (precisions[j] * means[j] + 4.0 * row) / total
        precisions[j] = total
    exact = posterior_given_labels(model, x, labels)
    np.testing.assert_allclose(exact.means, means, rtol=1e-12)
    np.testing.assert_allclose(exact.covariances, np.eye(3) / precisions[:, None, None], rtol=1e-12)


def test_wrong_prior_precision_moves_the_means_as_the_specification_says():
    """Data seed 60 of the released law: squared mean error 0.00182 (digits cut) between precision 10 and 0.1."""
    from datasets.mixture_of_gaussians_released import draw

    x, labels, _ = draw(60, 1000)
    model = MixtureOfGaussians(4, 0.5)
    right, wrong = (posterior_given_labels(model, x, labels, p) for p in (0.1, 10.0))
    assert math.floor(((right.means - wrong.means) ** 2).sum() / 4 * 1e5) == 182


def test_no_row_gives_the_prior():
    model = MixtureOfGaussians(3, 0.5)
    prior = posterior_given_labels(model, np.empty((0, 2)), np.empty(0))
    np.testing.assert_allclose(prior.means, model.prior_means(2))
    np.testing.assert_allclose(prior.covariances, 10.0 * np.stack([np.eye(2)] * 3))


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_log_density_is_scipys(d, components, seed):
    rng = np.random.default_rng(seed)
    x, means = rng.normal(size=(7, d)), rng.normal(size=(components, d))
    roots = rng.normal(size=(components, d, d + 1))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    got = gaussian_log_density(x, means, covariances)
    for j in range(components):
        want = multivariate_normal(means[j], covariances[j]).logpdf(x)
        np.testing.assert_allclose(got[:, j], want, rtol=1e-8, atol=1e-8)
    weights = rng.dirichlet(np.ones(components))
    point = MixtureParameters(weights, means, covariances)
    np.testing.assert_allclose(np.exp(point.log_density(x)), (weights * np.exp(got)).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(point.responsibilities(x).sum(axis=1), 1.0, rtol=1e-12)


def test_predictive_adds_the_posterior_variance():
    q = MixtureMeans(np.zeros((1, 2)), np.eye(2)[None] * 3.0, 1.0)
    x = np.array([[1.0, -2.0]])
    assert q.log_density(x)[0] == pytest.approx(multivariate_normal(np.zeros(2), 4 * np.eye(2)).logpdf(x[0]))
    again = posteriors.load(q.kind, q.parameters())
    assert again.log_density(x)[0] == q.log_density(x)[0]


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"components": 0}, "components"), ({"components": 2, "noise_sd": -1.0}, "noise_sd"),
     ({"components": 2, "prior_variance": 0.0}, "prior_variance")],
)  # fmt: skip
def test_bad_sizes_are_named(settings, word):
    with pytest.raises(ValueError, match=word):
        MixtureOfGaussians(**settings)


def test_bad_labels_are_refused():
    model = MixtureOfGaussians(2, 0.5)
    x, labels = data()
    with pytest.raises(ValueError, match="labels"):
        posterior_given_labels(model, x, labels + 1)
    with pytest.raises(ValueError, match="noise_sd"):
        posterior_given_labels(MixtureOfGaussians(2, None), x, labels)
