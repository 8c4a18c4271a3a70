"""How far draws are from exact ones: intervals, and what a distance adds to delta."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from evaluation import sampler_distance


def test_a_share_has_the_interval_of_clopper_and_pearson():
    """0 of n and n of n have closed forms; 5 % two-sided."""
    assert sampler_distance.share(0, 50) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 50)))
    assert sampler_distance.share(50, 50) == (1.0, pytest.approx(0.025 ** (1 / 50)), 1.0)


def test_the_band_of_a_distribution_function_holds_as_often_as_it_says():
    """500 samples of 200 uniforms: the distance is outside with at most 5 %; 40 of 500 has probability 1e-3."""
    rng = np.random.default_rng(0)
    grid = np.arange(1, 201) / 200
    far = [np.abs(np.sort(rng.random(200)) - grid + 0.0025).max() + 0.0025 for _ in range(500)]
    assert np.sum(np.array(far) > sampler_distance.half_width(200)) < 40


def test_the_distance_of_two_samples_counts_weights():
    a = np.array([1.0, 2.0, 3.0])
    assert sampler_distance.kolmogorov(a, a) == pytest.approx(0.0)
    assert sampler_distance.kolmogorov(a, a + 10) == pytest.approx(1.0)
    # mass 3/4 at 1, 1/8 at 2 and at 3 against thirds
    assert sampler_distance.kolmogorov(a, a, np.array([6.0, 1.0, 1.0])) == pytest.approx(0.75 - 1 / 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_draw_or_weight_that_is_not_finite_has_no_distance(wrong):
    good, bad = np.arange(5.0), np.array([0.0, 1.0, wrong, 3.0, 4.0])
    for given in ((bad, good), (good, bad), (good, good, bad), (good, good, np.zeros(5))):
        with pytest.raises(ValueError, match="not finite, or all weights are 0"):
            sampler_distance.kolmogorov(*given)


def test_what_a_distance_adds_to_delta_is_a_bound():
    """Two normal laws moved by a little: delta of the moved pair is at most delta of the pair and (1 + e^epsilon) t."""

    def delta(shift, epsilon):
        return norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)

    for epsilon in (0.1, 1.0, 4.0):
        # one law moved by .1: total variation 2 Phi(.05) - 1
        t = 2 * norm.cdf(0.05) - 1
        assert delta(1.1, epsilon) <= delta(1.0, epsilon) + sampler_distance.added(epsilon, t)
    assert sampler_distance.added(800.0, 1e-3) == 1.0
    assert sampler_distance.added(0.0, 0.0) == 0.0
