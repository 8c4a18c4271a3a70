"""The sums that private methods release: bounded for every row, equal to what they claim, and reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods._shared.logistic_gaussian import gradients
from methods._shared.logistic_gaussian.centred import Centre
from methods._shared.logistic_gaussian.kernel import sites
from methods.baselines import _logistic_minimiser as minimiser
from methods.ep import _logistic_corrected as corrected
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.task import Task

D = 4
number = st.floats(-1e6, 1e6, allow_nan=False)


def some_q(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(D, D))
    return rng.normal(0, 3, D), a @ a.T + 0.01 * np.eye(D)


@settings(deadline=None, max_examples=150)
@given(st.lists(number, min_size=D, max_size=D), st.integers(0, 20))
def test_no_row_exceeds_the_sensitivity(row, seed):
    z = np.array([row])
    mean, covariance = some_q(seed)
    scaled = z / max(1.0, np.abs(z).max())  # the kernel's cost grows with the spread of a margin
    assert np.linalg.norm(corrected.clipped_site_sum(scaled, mean, covariance, 0.7, 0.3)) <= 0.3 * (1 + 1e-9)
    assert np.linalg.norm(gradients.clipped_gradient_sum(z, mean, 0.3)) <= 0.3 * (1 + 1e-9)
    assert np.linalg.norm(gradients.clipped_bound_sum(scaled, mean, np.zeros(D), 0.3)) <= 0.3 * (1 + 1e-9)


def test_the_sensitivity_is_reached_by_a_row_that_fits_badly():
    z, (mean, covariance) = np.array([[9.0, -3.0, 2.0, 1.0]]), some_q(1)
    sign = -np.sign(z @ mean)[:, None]
    assert np.linalg.norm(corrected.clipped_site_sum(sign * z, mean, covariance, 0.7, 0.3)) == pytest.approx(
        0.3, rel=1e-9
    )
    assert np.linalg.norm(gradients.clipped_gradient_sum(sign * z, mean, 0.3)) == pytest.approx(0.3, rel=1e-9)
    found = gradients.clipped_bound_sum(sign * z, mean, np.zeros(D), 0.3)
    assert np.linalg.norm(found) == pytest.approx(0.3, rel=1e-9)


def test_unclipped_sums_are_the_sums_of_sites():
    rng = np.random.default_rng(0)
    z, (mean, covariance) = rng.normal(size=(30, D)), some_q(2)
    g, k = sites(z @ mean, np.einsum("nd,de,ne->n", z, covariance, z), True)
    total = corrected.clipped_site_sum(z, mean, covariance, 0.7, 1e9)
    np.testing.assert_allclose(total[:D], z.T @ g, rtol=1e-9)
    np.testing.assert_allclose(corrected.unpack(total[D:] / 0.7, D), (z * k[:, None]).T @ z, rtol=1e-9)
    assert len(total) == corrected.size(D)
    matrix = covariance + covariance.T
    assert np.linalg.norm(corrected.pack(matrix)) == pytest.approx(np.linalg.norm(matrix), rel=1e-12)


def test_the_gradient_of_the_bound_is_that_of_the_bound():
    """Against central differences of E log sigmoid by Gauss-Hermite quadrature: 1e-6, the differences' own error."""
    rng = np.random.default_rng(3)
    z, mean, log_sd = rng.normal(size=(5, D)), rng.normal(size=D), rng.normal(-1, 0.3, D)
    u, w = np.polynomial.hermite_e.hermegauss(80)

    def bound(p):
        m, sd = z @ p[:D], np.sqrt(z**2 @ np.exp(2 * p[D:]))
        return float((-np.logaddexp(0, -(m[:, None] + sd[:, None] * u)) @ (w / w.sum())).sum())

    at, h = np.concatenate([mean, log_sd]), 1e-5
    expected = [(bound(at + h * e) - bound(at - h * e)) / (2 * h) for e in np.eye(2 * D)]
    np.testing.assert_allclose(gradients.clipped_bound_sum(z, mean, log_sd, 1e9), expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_minimiser_moves_by_less_than_its_sensitivity(seed):
    """A row that pulls as hard as it can comes near the bound: at least a tenth of it."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(40, D)) * 0.1
    row = rng.normal(size=(1, D))
    row *= 2.0 / np.linalg.norm(row)
    penalty = 20.0 * np.eye(D)
    one, two = (minimiser.minimise(rows, penalty, 1e-9, "m") for rows in (z, np.vstack([z, row])))
    bound = minimiser.sensitivity(2.0, 20.0, 1e-9)
    assert 0.1 * bound < np.linalg.norm(one - two) <= bound


def test_centred_rows_have_the_same_margins():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, (9, 3)), rng.integers(0, 2, 9).astype(float)
    centre = Centre(np.array([0.3, -0.9, 0.0]), np.array([0.1, 0.2, 0.5]))
    z = centre.rows(Task("t", LogisticRegressionNormalPrior(), x, y))
    there = rng.normal(size=4)
    theta = centre.map @ there
    np.testing.assert_allclose(z @ there, (2 * y - 1) * (x @ theta[:-1] + theta[-1]), rtol=1e-12)
    assert there @ centre.prior(2.5) @ there == pytest.approx(2.5 * theta @ theta, rel=1e-12)
    assert centre.length == pytest.approx(np.sqrt(1 + 0.01 + 0.04 + 0.25))


def test_raising_eigenvalues_leaves_the_large_ones():
    matrix = np.diag([5.0, 0.1, -3.0])
    np.testing.assert_allclose(corrected.raised(matrix, 1.0), np.diag([5.0, 1.0, 1.0]), atol=1e-12)
