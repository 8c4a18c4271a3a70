"""Coverage of predictive intervals: closed forms, and posteriors that are too narrow or too wide are seen."""

import numpy as np
import pytest
from scipy.stats import norm

from evaluation.intervals import binomial_band, coverage_scores, predictive_cdf
from models.bounded import FramedPredictive
from models.predictive import GaussianPredictive, MixturePredictive
from models.unconstrained import Likelihood, MonteCarloPredictive, inverse_softplus

Y = np.linspace(-2.0, 3.0, 40)


def test_gaussian_mixture_and_framed_agree_with_scipy():
    mean, variance = np.linspace(-1, 1, 40), np.linspace(0.1, 2.0, 40)
    gaussian = GaussianPredictive(mean, variance)
    np.testing.assert_allclose(predictive_cdf(gaussian, Y), norm.cdf(Y, mean, np.sqrt(variance)), rtol=1e-12)
    two = MixturePredictive(np.stack([mean, mean + 1]), np.stack([variance, 2 * variance]))
    by_hand = 0.5 * (norm.cdf(Y, mean, np.sqrt(variance)) + norm.cdf(Y, mean + 1, np.sqrt(2 * variance)))
    np.testing.assert_allclose(predictive_cdf(two, Y), by_hand, rtol=1e-12)
    framed = FramedPredictive(gaussian, 10.0, 4.0)
    np.testing.assert_allclose(predictive_cdf(framed, 10 + 4 * Y), predictive_cdf(gaussian, Y), rtol=1e-12)


def test_draws_of_a_linear_model_agree_with_a_mixture():
    rng = np.random.default_rng(1)
    theta = np.column_stack([rng.normal(size=(30, 3)), inverse_softplus(rng.uniform(0.1, 2.0, 30))])
    design = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)])
    draws = MonteCarloPredictive(Likelihood("linear"), theta, design)
    noise = np.log1p(np.exp(theta[:, 3:]))
    same = MixturePredictive(theta[:, :3] @ design.T, np.broadcast_to(noise, (30, 40)))
    np.testing.assert_allclose(predictive_cdf(draws, Y), predictive_cdf(same, Y), rtol=1e-10)


@pytest.mark.parametrize(("width", "inside"), [(0.5, False), (1.0, True), (2.0, False)])
def test_honest_intervals_lie_in_the_binomial_band_and_others_do_not(width, inside):
    # false-alarm rate of the honest case: at most 3 x 1e-3
    n = 4000
    y = np.random.default_rng(3).normal(size=n)
    found = coverage_scores(GaussianPredictive(np.zeros(n), np.full(n, width**2)), y)
    for level in (0.5, 0.9, 0.95):
        low, high = binomial_band(level, n, 1e-3)
        assert (low <= found[f"coverage_{round(100 * level)}"][0] <= high) is inside


def test_a_predictive_without_a_distribution_function_is_named():
    with pytest.raises(TypeError, match="object"):
        predictive_cdf(object(), Y)


def test_a_transform_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        coverage_scores(GaussianPredictive(np.full(40, np.nan), np.ones(40)), Y)
