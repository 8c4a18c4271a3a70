"""Distances between a fitted mixture and the exact posterior, in both readings of "F-norm"."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import mixture
from models.mixture_of_gaussians import MixtureMeans


def components(seed, j=4, d=3):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(j, d, d + 2))
    return MixtureMeans(5 * rng.normal(size=(j, d)), roots @ roots.transpose(0, 2, 1), 0.5)


def permuted(q, order):
    return MixtureMeans(q.means[order], q.covariances[order], q.noise_sd)


@given(st.integers(0, 50), st.permutations(range(4)))
def test_the_same_posterior_in_another_order_is_at_distance_zero(seed, order):
    q = components(seed)
    found = mixture.posterior_scores(q, q, permuted(q, list(order)))
    for metric in ("fnorm_mean", "fnorm_covariance", "fnorm_average", "squared_mean_error", "squared_average_error"):
        assert found[metric][0] == 0
    assert found["kl"][0] == pytest.approx(0, abs=1e-10)
    assert found["program_kl_proxy"][0] == pytest.approx(0, abs=1e-10)


def test_both_readings_by_hand():
    truth = MixtureMeans(np.array([[0.0, 0.0], [10.0, 0.0]]), np.stack([np.eye(2)] * 2), 0.5)
    fit = MixtureMeans(np.array([[10.0, 4.0], [3.0, 0.0]]), np.stack([np.eye(2), 2 * np.eye(2)]), 0.5)
    found = mixture.posterior_scores(truth, truth, fit)
    assert found["fnorm_mean"][0] == pytest.approx(5.0)  # sqrt(9 + 16)
    assert found["fnorm_covariance"][0] == pytest.approx(math.sqrt(2))
    assert found["fnorm_average"][0] == pytest.approx((5 + math.sqrt(2)) / 2)
    assert found["squared_mean_error"][0] == pytest.approx(12.5)  # (9 + 16) / 2
    assert found["squared_covariance_error"][0] == pytest.approx(1.0)
    # component 0: d = (3, 0), V = 2 I: 1/2 (9 - 2 log 2); component 1: d = (0, 4), V = I: 1/2 16
    assert found["program_kl_proxy"][0] == pytest.approx(((9 - 2 * math.log(2)) / 2 + 8) / 2)
    # KL(N(0, I) || N((3, 0), 2 I)) = 1/2 (1 + 9/2 - 2 + 2 log 2), KL(N(0, I) || N((0, 4), I)) = 8
    assert found["kl"][0] == pytest.approx(((1 + 4.5 - 2 + 2 * math.log(2)) / 2 + 8) / 2)


def test_greedy_matching_can_do_worse_than_the_assignment():
    truth, means = np.array([[0.0], [1.0]]), np.array([[0.9], [-3.0]])
    assert list(mixture.greedy_match(truth, means)) == [0, 1]
    assert list(mixture.match(truth, means)) == [1, 0]


def test_label_error_uses_the_matching():
    responsibilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert mixture.label_error(responsibilities, np.array([1, 0, 1]), np.array([1, 0])) == 0
    assert mixture.label_error(responsibilities, np.array([0, 0, 1]), np.array([1, 0])) == pytest.approx(1 / 3)


def test_numbers_that_are_not_finite_are_refused():
    q = components(0)
    bad = MixtureMeans(q.means * np.nan, q.covariances, 0.5)
    with pytest.raises(ValueError, match=r"finite|invalid"):
        mixture.posterior_scores(q, q, bad)
    with pytest.raises(ValueError, match="diverged"):
        mixture.density_scores(np.array([0.0, -np.inf]))
