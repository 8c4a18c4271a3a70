"""Coordinate ascent for the means of a mixture: exact where there is one component, a bound where there are several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from methods.vi._mixture import coordinate_ascent
from models.mixture_of_gaussians import MixtureOfGaussians, posterior_given_labels


def rows(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[2.0, 2.0], [-2.0, 2.0], [0.0, -2.0]])[:, :d]
    return centres[np.arange(n) % 3] + 0.5 * rng.standard_normal((n, d))


def test_with_one_component_it_is_the_exact_posterior_and_the_bound_the_evidence():
    model, x = MixtureOfGaussians(1, 0.5, 1.0), rows(6)
    q, bounds = coordinate_ascent(x, model, 5, 0.0)
    exact = posterior_given_labels(model, x, np.zeros(6))
    np.testing.assert_allclose(q.means, exact.means, rtol=1e-12)
    np.testing.assert_allclose(q.covariances, exact.covariances, rtol=1e-12)
    covariance = 0.25 * np.eye(6) + np.ones((6, 6))  # of one column, the mean integrated out
    prior = model.prior_means(2)[0]
    columns = zip(prior, x.T, strict=True)
    evidence = sum(stats.multivariate_normal(np.full(6, m), covariance).logpdf(c) for m, c in columns)
    assert bounds[-1] == pytest.approx(evidence, rel=1e-10)


def test_the_bound_never_falls_and_stays_below_the_evidence():
    """Evidence of 5 rows by 200,000 draws of the prior: 5 Monte Carlo standard errors of slack (chance 3e-7)."""
    model, x = MixtureOfGaussians(2, 0.8, 1.0), rows(5, d=1)
    _, bounds = coordinate_ascent(x, model, 200, 0.0)
    assert (np.diff(bounds) >= -1e-9 * abs(bounds[-1])).all()
    rng = np.random.default_rng(1)
    means = model.prior_means(1)[:, 0] + rng.standard_normal((200_000, 2))
    likelihood = stats.norm.pdf(x[:, 0], means[:, :, None], 0.8).mean(axis=1).prod(axis=1)
    assert np.exp(bounds[-1]) <= likelihood.mean() + 5 * likelihood.std() / np.sqrt(len(likelihood))


def test_separate_clusters_are_found_as_if_the_labels_were_known():
    model, x = MixtureOfGaussians(3, 0.5, 10.0, prior_seed=3), rows()
    q, bounds = coordinate_ascent(x, model, 300, 1e-12)
    assert len(bounds) < 300
    near = np.square(q.means[:, None] - np.array([[2.0, 2.0], [-2.0, 2.0], [0.0, -2.0]])).sum(axis=2).argmin(axis=1)
    assert sorted(near) == [0, 1, 2]
    exact = posterior_given_labels(model, x, np.argsort(near)[np.arange(300) % 3])
    np.testing.assert_allclose(
        q.means, exact.means, atol=0.01
    )  # clusters four standard deviations apart overlap little
