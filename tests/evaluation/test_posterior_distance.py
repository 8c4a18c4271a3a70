"""Change of frame keeps the regression function; distances vanish for the same posterior and see shift and width."""

import numpy as np
import pytest

from evaluation.posterior_distance import DRAWS, Moments, distance_scores, in_frame, moments
from models.bounded import Frame
from models.unconstrained import inverse_softplus, softplus

A = Frame(np.array([1.0, -2.0]), np.array([2.0, 0.5]), 3.0, 4.0)
B = Frame(np.array([0.3, 5.0]), np.array([1.0, 7.0]), -1.0, 0.5)


def test_the_function_in_original_units_stays_the_same():
    rng = np.random.default_rng(0)
    theta = np.column_stack([rng.normal(size=(6, 3)), inverse_softplus(rng.uniform(0.1, 3, 6))])
    moved = in_frame(theta, A, B, noise=True)
    x = rng.normal(size=(5, 2))

    def value(t, f):
        u = np.column_stack([(x - f.x_shift) / f.x_scale, np.ones(5)])
        return f.y_shift + f.y_scale * (t[:, :3] @ u.T)

    np.testing.assert_allclose(value(moved, B), value(theta, A), rtol=1e-10)
    np.testing.assert_allclose(softplus(moved[:, 3]) * B.y_scale**2, softplus(theta[:, 3]) * A.y_scale**2, rtol=1e-10)
    np.testing.assert_allclose(in_frame(moved, B, A, noise=True), theta, rtol=1e-8)


def test_margins_of_a_classifier_stay_the_same():
    theta = np.random.default_rng(0).normal(size=(4, 3))
    a, b = Frame(A.x_shift, A.x_scale), Frame(B.x_shift, B.x_scale)
    moved = in_frame(theta, a, b, noise=False)
    x = np.array([[0.2, 0.7], [-3.0, 1.0]])
    before = theta[:, :2] @ ((x - a.x_shift) / a.x_scale).T + theta[:, 2:]
    after = moved[:, :2] @ ((x - b.x_shift) / b.x_scale).T + moved[:, 2:]
    np.testing.assert_allclose(after, before, rtol=1e-10)


def test_distances():
    exact = Moments(np.zeros(3), np.array([1.0, 2.0, 4.0]))
    assert distance_scores(exact, exact)["posterior_mean_error"][0] == 0
    shifted = Moments(2 * exact.sd, exact.sd / 2)
    found = distance_scores(shifted, exact)
    assert found["posterior_mean_error"][0] == pytest.approx(2.0)
    assert found["posterior_log_variance_ratio"][0] == pytest.approx(-2 * np.log(2))
    assert "posterior_log_variance_ratio" not in distance_scores(Moments(exact.mean, np.zeros(3)), exact)
    with pytest.raises(ValueError, match="not finite"):
        distance_scores(Moments(np.full(3, np.nan), exact.sd), exact)
    with pytest.raises(ValueError, match="an exact standard deviation is 0"):
        distance_scores(exact, Moments(exact.mean, np.array([1.0, 0.0, 4.0])))


def test_moments_of_draws():
    draws = np.random.default_rng(5).normal(1.0, 2.0, (4000, 50))
    found = moments(draws)
    # the largest of 50 errors of a mean, each N(0, 1) in these units: above 5 with probability 3e-5
    assert np.abs(found.mean - 1.0).max() / 2.0 < 5 / np.sqrt(DRAWS)
