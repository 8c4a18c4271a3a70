"""The exact linear-Gaussian posterior against independent derivations, and the round trip of its parameters."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import posteriors
from models.linear_regression import (
    ConstantGaussian,
    LinearGaussian,
    LinearRegression,
    exact_posterior,
    with_bias,
)
from models.standardise import Standardiser

# closed forms in double precision, matrices of size 5 with condition numbers below 1e4: 1e-9 leaves five digits
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def table(seed: int, n: int = 40, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, (n, d))
    return x, x @ rng.normal(size=d) + 1.5 + 0.3 * rng.normal(size=n)


def test_posterior_equals_conditioning_of_the_joint_gaussian():
    """The same posterior by conditioning (w, y) jointly Gaussian on y: no normal equations are shared."""
    x, y = table(1)
    model = LinearRegression(prior_precision=0.7, noise_variance=0.09)
    x1 = with_bias(x)
    prior = np.eye(5) / 0.7
    gain = prior @ x1.T @ np.linalg.inv(x1 @ prior @ x1.T + 0.09 * np.eye(len(y)))
    posterior = exact_posterior(model, x, y)
    np.testing.assert_allclose(posterior.weights, gain @ y, rtol=1e-8)  # the inverse here is of a 40 x 40 matrix
    np.testing.assert_allclose(posterior.covariance, prior - gain @ x1 @ prior, rtol=1e-6, atol=1e-10)


def test_one_row_at_a_time_gives_the_posterior_of_all_rows():
    """Bayes' rule may be applied in any order: rank-one updates of the naturals end at the batch answer."""
    x, y = table(2)
    model = LinearRegression(2.0, 0.5)
    precision, shift = 2.0 * np.eye(5), np.zeros(5)
    for row, target in zip(with_bias(x), y, strict=True):
        precision, shift = precision + np.outer(row, row) / 0.5, shift + row * target / 0.5
    posterior = exact_posterior(model, x, y)
    np.testing.assert_allclose(posterior.weights, np.linalg.solve(precision, shift), **CLOSE)
    np.testing.assert_allclose(posterior.covariance, np.linalg.inv(precision), **CLOSE)


def test_no_row_gives_the_prior():
    posterior = exact_posterior(LinearRegression(4.0, 1.0), np.empty((0, 2)), np.empty(0))
    np.testing.assert_array_equal(posterior.weights, np.zeros(3))
    np.testing.assert_allclose(posterior.covariance, np.eye(3) / 4.0, **CLOSE)


@given(shift=st.floats(-50, 50), factor=st.floats(0.01, 100), seed=st.integers(0, 50))
def test_change_of_units_of_the_target_only_changes_units(shift, factor, seed):
    """With a standardiser the answer cannot depend on the units in which the table is written."""
    x, y = table(seed)
    model = LinearRegression(1.0, 0.1)
    one = exact_posterior(model, x, y, Standardiser.from_moments(x, y)).predictive(x)
    z = factor * y + shift
    two = exact_posterior(model, 3.0 * x - 7.0, z, Standardiser.from_moments(3.0 * x - 7.0, z)).predictive(
        3.0 * x - 7.0
    )
    # cancellation against a shift of up to 50 beside a factor down to 0.01 costs five digits
    np.testing.assert_allclose(two.mean, factor * one.mean + shift, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(two.variance, factor**2 * one.variance, rtol=1e-7)


def test_predictive_variance_is_that_of_drawn_weights():
    """20,000 draws of w: each variance has relative sd 1 %; 5 % is 5 sd, false alarm below 1e-5 over 40 rows."""
    x, y = table(4)
    posterior = exact_posterior(LinearRegression(1.0, 0.3), x, y)
    rng = np.random.default_rng(0)
    w = rng.multivariate_normal(posterior.weights, posterior.covariance, size=20_000)
    drawn = with_bias(x) @ w.T + np.sqrt(0.3) * rng.standard_normal((len(x), 20_000))
    predictive = posterior.predictive(x)
    np.testing.assert_allclose(predictive.variance, drawn.var(axis=1), rtol=0.05)
    # 5 standard errors of a mean of 20,000
    assert np.all(np.abs(predictive.mean - drawn.mean(axis=1)) < 5 * np.sqrt(predictive.variance / 20_000))


def posteriors_of_this_file():
    x, y = table(5)
    full = exact_posterior(LinearRegression(), x, y, Standardiser.from_moments(x, y))
    return [
        full,
        dataclasses.replace(full, covariance=None),
        ConstantGaussian(2.0, 3.0),
    ]


@pytest.mark.parametrize("posterior", posteriors_of_this_file(), ids=["full", "point", "constant"])
def test_parameters_round_trip(posterior, tmp_path):
    """Through the archive that stores them, to the last bit."""
    np.savez(tmp_path / "p.npz", **posterior.parameters())
    with np.load(tmp_path / "p.npz") as stored:
        again = posteriors.load(posterior.kind, dict(stored))
    x, _ = table(6)
    for side in ("mean", "variance"):
        np.testing.assert_array_equal(getattr(again.predictive(x), side), getattr(posterior.predictive(x), side))


def test_without_covariance_only_the_noise_remains():
    scale = Standardiser(np.array([1.0]), np.array([2.0]), 10.0, 3.0)
    predictive = LinearGaussian(np.array([2.0, 0.5]), None, 0.25, scale).predictive(np.array([[5.0]]))
    assert predictive.mean[0] == (2.0 * 2.0 + 0.5) * 3.0 + 10.0  # x = 5 is 2 in scaled units
    assert predictive.variance[0] == 0.25 * 9.0


@pytest.mark.parametrize("key", ["prior_precision", "noise_variance"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_model_refuses_impossible_numbers(key, value):
    with pytest.raises(ValueError, match=key):
        LinearRegression(**{key: value})


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(ValueError, match="shape"):
        exact_posterior(LinearRegression(), np.zeros((3, 2)), np.zeros(2))


def test_unknown_kind_names_the_known_ones():
    with pytest.raises(KeyError, match="linear_gaussian"):
        posteriors.load("no_such_kind", {})
