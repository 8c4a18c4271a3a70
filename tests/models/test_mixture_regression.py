"""Gaussian-mixture regression: the conditional of a joint, against the joint over the marginal and by quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from models import mixture_regression, posteriors
from models.mixture_of_gaussians import MixtureParameters
from models.mixture_regression import MixtureRegression


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    weights, means = np.array([0.2, 0.5, 0.3]), rng.normal(0, 1.5, (3, 4))
    half = rng.normal(0, 0.7, (3, 4, 4))
    covariances = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(4)
    return MixtureRegression(weights, means, covariances), rng.normal(0, 1.5, (6, 3))


def test_the_conditional_is_the_joint_over_the_marginal(case):
    posterior, x = case
    y = np.linspace(-2, 2, len(x))
    joint = MixtureParameters(**posterior.parameters()).log_density(np.column_stack([x, y]))
    inputs = MixtureParameters(posterior.weights, posterior.means[:, :3], posterior.covariances[:, :3, :3])
    np.testing.assert_allclose(posterior.predictive(x).log_density(y), joint - inputs.log_density(x), atol=1e-10)


def test_moments_and_distribution_function_by_quadrature(case):
    """Trapezium rule on 80,001 points over +-40: its error is far below 1e-8."""
    posterior, x = case
    grid = np.linspace(-40, 40, 80_001)
    below = grid <= 0.5
    for row in x:
        p = posterior.predictive(row[None])
        density = np.exp(p.log_density(grid))
        mean = trapezoid(density * grid, grid)
        assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-8)
        assert p.mean[0] == pytest.approx(mean, abs=1e-8)
        assert p.variance[0] == pytest.approx(trapezoid(density * (grid - mean) ** 2, grid), abs=1e-7)
        # a cut end costs step^2 / 12 times the slope of the density there: 1e-7 a unit of slope, slopes are below 10
        assert p.cdf(np.array([0.5]))[0] == pytest.approx(trapezoid(density[below], grid[below]), abs=1e-6)


def test_far_from_every_component_and_with_an_empty_one_it_stays_finite(case):
    posterior, _ = case
    p = MixtureRegression(np.array([0.0, 0.4, 0.6]), posterior.means, posterior.covariances)
    out = p.predictive(np.full((1, 3), 1e4))
    assert np.isfinite([out.mean[0], out.variance[0], out.log_density(out.mean)[0]]).all()
    assert np.exp(out.log_weights)[0, 0] == 0.0


def test_it_is_rebuilt_from_its_parameters(case):
    posterior, x = case
    again = posteriors.load(posterior.kind, posterior.parameters())
    np.testing.assert_array_equal(again.predictive(x).mean, posterior.predictive(x).mean)
    with pytest.raises(KeyError, match="mixture_regression"):
        mixture_regression.load("other", {})
