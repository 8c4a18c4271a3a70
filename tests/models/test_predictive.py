"""Densities of the predictive distributions against scipy, and the moments of a mixture against its draws."""

import numpy as np
from scipy.stats import norm

from models.predictive import GaussianPredictive, MixturePredictive


def test_gaussian_density():
    p = GaussianPredictive(np.array([0.0, 2.0]), np.array([1.0, 9.0]))
    np.testing.assert_allclose(
        p.log_density(np.array([1.0, -1.0])), norm.logpdf([1.0, -1.0], [0, 2], [1, 3]), rtol=1e-12
    )


def test_mixture_density_is_the_mean_of_the_densities():
    rng = np.random.default_rng(0)
    means, variances, y = rng.normal(size=(5, 7)), rng.uniform(0.1, 2, (5, 7)), rng.normal(size=7)
    direct = np.log(np.mean(norm.pdf(y, means, np.sqrt(variances)), axis=0))
    np.testing.assert_allclose(MixturePredictive(means, variances).log_density(y), direct, rtol=1e-10)


def test_mixture_density_far_in_the_tail_stays_finite():
    p = MixturePredictive(np.zeros((2, 1)), np.full((2, 1), 1e-6))
    assert np.isfinite(p.log_density(np.array([1.0])))[0]  # exp(-5e5) underflows; its logarithm does not


def test_mixture_moments_are_those_of_its_density():
    """Integrated on a grid: 1e-6 is far above the error of the trapezium rule for these smooth densities."""
    p = MixturePredictive(np.array([[-1.0], [2.0]]), np.array([[0.25], [1.0]]))
    grid = np.linspace(-12, 14, 20_001)
    density = np.exp(MixturePredictive(p.means.repeat(20_001, 1), p.variances.repeat(20_001, 1)).log_density(grid))
    np.testing.assert_allclose(np.trapezoid(grid * density, grid), p.mean[0], atol=1e-6)
    np.testing.assert_allclose(np.trapezoid((grid - p.mean[0]) ** 2 * density, grid), p.variance[0], atol=1e-6)
