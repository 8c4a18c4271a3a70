"""DP linear regression: sensitivity, limits, and what the noise does to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from methods import contract
from methods._shared import adassp
from methods._shared.adassp import second_moments
from methods.sufficient_statistics.adassp import gaussian
from models.bnn_regression import BNNRegression
from models.standardise import Standardiser
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec, Mode
from privacy.ledger import Relation

METHOD = contract.get("adassp")
WEIGHTS = np.array([1.0, -2.0, 0.5])


def some_task(n=4000, noise=0.5, seed=0, bounds=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    y = x @ WEIGHTS + 4.0 + noise * rng.standard_normal(n)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * 3, (0.0, 8.0), "the law that draws these rows")
    return Task("wine", BNNRegression(5), x, y, public if bounds else PublicKnowledge(n))


def fit(task, spec, seed=1):
    return METHOD.fit(task, METHOD.Settings(), spec.open(np.random.default_rng(seed)), np.random.default_rng(seed))


def slopes(posterior):
    return posterior.weights[:-1] * posterior.scale.y_scale / posterior.scale.x_scale


@settings(deadline=None, max_examples=200)
@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True, width=64)))
def test_one_row_moves_the_release_by_no_more_than_its_sensitivity(rows):
    change = second_moments(rows, 2.0) - second_moments(rows[:-1], 2.0)
    assert np.isfinite(change).all()
    assert np.linalg.norm(change) <= 4.0 * (1 + 1e-12)  # rounding of sums of 4 numbers of size 4


def test_the_sensitivity_is_reached():
    """By a row longer than the clip: the bound is not loose."""
    assert np.linalg.norm(second_moments(np.array([[30.0, -7.0, 100.0]]), 2.0)) == pytest.approx(4.0, rel=1e-12)


def test_without_noise_or_clipping_it_is_ridge_with_penalty_one():
    """Oracle: the normal equations, solved here."""
    rng = np.random.default_rng(2)
    x1 = np.column_stack([rng.standard_normal((200, 2)), np.ones(200)])
    y = x1 @ np.array([1.0, -1.0, 0.3]) + 0.1 * rng.standard_normal(200)
    moments = adassp.Moments(adassp.unpacked(second_moments(np.column_stack([x1, y]), 1e6), 4), 0.0)
    found = adassp.read(moments, 1.0)
    variance = adassp.residual_variance(found, adassp.counted(moments, 200))
    posterior = gaussian(found, 0.0, variance, Standardiser(np.zeros(2), np.ones(2), 0.0, 1.0))
    expected = np.linalg.solve(x1.T @ x1 + np.eye(3), x1.T @ y)
    assert found.penalty == 1.0
    np.testing.assert_allclose(posterior.weights, expected, rtol=1e-10)
    assert posterior.noise_variance == pytest.approx(np.mean((y - x1 @ expected) ** 2), rel=1e-9)
    np.testing.assert_allclose(posterior.covariance, variance * np.linalg.inv(x1.T @ x1 + np.eye(3)), rtol=1e-9)


def test_at_epsilon_one_it_finds_the_slopes():
    """n = 4000: noise of about 60 on sums of thousands moves a slope by some 0.03; 0.2 is far outside of chance."""
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    for bounds in (True, False):
        np.testing.assert_allclose(slopes(fit(some_task(bounds=bounds), spec).posterior), WEIGHTS, rtol=0, atol=0.2)


@pytest.mark.parametrize("bounds", [True, False])
def test_the_budget_is_kept_and_used(bounds):
    fitted = fit(some_task(300, bounds=bounds), BudgetSpec(epsilon=0.7, delta=1e-6, mode=Mode.ENFORCE))
    cost = epsilon_of(fitted.ledger, 1e-6).epsilon
    assert 0.7 * 0.999 < cost <= 0.7  # the composition is exact: nothing but rounding is left over
    assert len(fitted.ledger) == (2 if bounds else 3)
    assert {e.relation for e in fitted.ledger} == {Relation.ADD_REMOVE}


def test_noise_a_thousand_times_larger_destroys_it():
    """The noise is really added: with sigma 1000 times that of epsilon = 1 nothing of the slopes is left."""
    good = fit(some_task(), BudgetSpec(noise_multiplier=4.0)).posterior
    bad = [fit(some_task(), BudgetSpec(noise_multiplier=4000.0), seed).posterior for seed in range(5)]
    assert np.abs(slopes(good) - WEIGHTS).max() < 0.2
    # below half of the largest slope, or wildly off, each time
    assert all(np.abs(slopes(p) - WEIGHTS).max() > 0.5 for p in bad)


def test_the_predictive_variance_grows_with_the_noise():
    """What the noise does to the weights is part of the posterior."""
    x = np.array([[0.9, -0.9, 0.9]])
    little = fit(some_task(500), BudgetSpec(noise_multiplier=0.01)).posterior.predictive(x).variance
    much = fit(some_task(500), BudgetSpec(noise_multiplier=20.0)).posterior.predictive(x).variance
    assert much > 1.5 * little


def test_a_row_that_is_an_outlier_changes_little():
    task = some_task(2000)
    x, y = task.x.copy(), task.y.copy()
    x[0], y[0] = 1e200, -1e300
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    other = fit(Task("wine", task.model, x, y, task.public), spec).posterior
    # the same noise; one of 2000 rows, clipped
    np.testing.assert_allclose(slopes(other), slopes(fit(task, spec).posterior), rtol=0, atol=0.05)


@pytest.mark.parametrize(
    "change", [{"scaling_share": 0.0}, {"scaling_share": 1.0}, {"margin": 0.0}, {"noise_part": -1.0}]
)
def test_settings_out_of_range_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        METHOD.Settings(**change)


def test_a_budget_that_states_nothing_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        fit(some_task(50), BudgetSpec())
