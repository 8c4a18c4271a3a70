"""The exact posterior mean, and when there is none."""

import numpy as np
import pytest

from papers.honkela2018robust import data, posterior, release
from papers.honkela2018robust.data import Moments


def test_a_tiny_posterior():
    found = posterior.exact(Moments(np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, -1.0]), 5.0, 8))
    assert found.b == pytest.approx([0.48069393, -0.37854424], abs=1e-8)
    assert (found.precision, found.shrinkage) == pytest.approx((1.43072299, 1.28106982), abs=1e-8)


def test_a_tiny_posterior_by_gibbs_sampling():
    """20,000 sweeps; the tolerance is five standard errors (false alarms: 6e-7)."""
    moments = Moments(np.array([[4.0]]), np.array([2.0]), 5.0, 8)
    rng, b, draws = np.random.default_rng(1), 0.0, []
    for _ in range(20_000):
        l0 = rng.gamma(2 + 0.5) / (2 + b * b / 2)
        precision = rng.gamma(2 + 4) / (2 + (4 * b * b - 4 * b + 5) / 2)
        at = precision * 4 + l0
        b = precision * 2 / at + rng.standard_normal() / np.sqrt(at)
        draws.append(b)
    error = np.std(draws) * np.sqrt(1.5 / len(draws))  # successive draws are nearly independent
    assert np.mean(draws) == pytest.approx(posterior.exact(moments).b[0], abs=5 * error)


def test_the_first_fold_without_clipping(fold):
    found = release.as_published(fold, 500, None)
    both = found.private + found.public
    mean = posterior.exact(both)
    assert mean.b[[0, 4, 9]] == pytest.approx([-1.99884147, 3.688392815, 2.38175195], abs=1e-8)
    assert (mean.precision, mean.kappa) == pytest.approx((0.817333853281, 0.290058555), abs=1e-8)
    assert data.spearman(fold.test @ mean.b, fold.y_test) == pytest.approx(0.909366936694, abs=1e-12)
    assert data.spearman(fold.test @ posterior.ridge(both), fold.y_test) == pytest.approx(0.908514851485, abs=1e-12)


def test_why_there_is_no_posterior(fold):
    assert posterior.obstacle(Moments(np.diag([1.0, -0.1]), np.zeros(2), 1.0, 8)) == "negative eigenvalue"
    assert posterior.obstacle(Moments(np.eye(2), np.array([3.0, 0.0]), 4.0, 8)) == "negative residual"
    assert posterior.obstacle(Moments(np.eye(2), np.array([2.0, 0.0]), 4.0, 8)) == ""
    with pytest.raises(ValueError, match="negative residual"):
        posterior.exact(Moments(np.eye(2), np.array([3.0, 0.0]), 4.0, 8))


def test_ten_centred_rows_have_a_posterior(fold):
    """Their X'X has rank 9, so one eigenvalue is a rounding error of either sign."""
    assert np.linalg.matrix_rank(fold.public[0]) == 9
    public = release.as_published(fold, 0, None).public
    assert posterior.obstacle(public) == ""
    assert np.isfinite(posterior.exact(public).b).all()
