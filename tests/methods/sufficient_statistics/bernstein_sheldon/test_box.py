"""Bernstein & Sheldon in the box: sensitivity, laws, the sampler against exact answers."""

from __future__ import annotations

import numpy as np
import pytest

from methods import contract
from methods.sufficient_statistics._bernstein_sheldon import box as engine
from models.bounded import BoundedLinearRegression
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec

KIND = "bounded_linear_regression"
METHOD = contract.get("bernstein_sheldon_2019_corrected", KIND)
MODEL = BoundedLinearRegression()
SHORT = METHOD.Settings(grams=2, burn_in_sweeps=2, sweeps=2)


def some_task(n=1500, d=2, bounds=True):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, d))
    y = np.clip(x @ np.linspace(0.4, -0.2, d) + 0.1 + 0.1 * rng.standard_normal(n), -1, 1)
    public = PublicKnowledge(n, ((-1.0, 1.0),) * d, (-1.0, 1.0), "drawn so") if bounds else PublicKnowledge(n)
    return Task("toy", MODEL, x, y, public)


def fit(task, settings, spec, seed=1):
    return METHOD.fit(task, settings, spec.open(np.random.default_rng([seed, 1])), np.random.default_rng([seed, 2]))


def spec(epsilon):
    return BudgetSpec(epsilon=epsilon, delta=1e-5, mode="enforce")


@pytest.mark.parametrize("row", [[1.0, -1.0, 1.0], [np.nan, 5.0, -np.inf], [0.3, 0.2, -0.1]])
def test_no_number_moves_by_more_than_one(row):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (6, 2)), rng.uniform(-1, 1, 6)
    more = engine.moments(np.vstack([x, row[:2]]), np.append(y, row[2])) - engine.moments(x, y)
    assert len(more) == 9
    assert np.abs(more).max() <= 1 + 1e-12
    if row[0] == 1.0:
        assert np.abs(more).min() == pytest.approx(1.0)  # reached by every number at once


def test_unpacked_moments_are_those_of_the_design():
    task = some_task(40)
    design = np.column_stack([task.x, np.ones(40)])
    gram, s = engine.unpack(engine.moments(task.x, task.y), 40)
    np.testing.assert_allclose(gram, design.T @ design, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(s, np.append(design.T @ task.y, task.y @ task.y), rtol=1e-12)


def test_law_of_the_moments_given_the_inputs():
    """Mean and covariance of 40,000 simulated targets; 5 standard errors, false-alarm rate below 1e-4."""
    rng = np.random.default_rng(2)
    x, w, v = np.column_stack([rng.uniform(-1, 1, (30, 2)), np.ones(30)]), np.array([0.5, -0.3, 0.2]), 0.2
    y = x @ w + np.sqrt(v) * rng.standard_normal((40_000, 30))
    s = np.column_stack([y @ x, (y**2).sum(axis=1)])
    mean, covariance = engine.law(w, v, x.T @ x, 30)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(s.mean(axis=0) - mean) < 5 * sd / 200).all()
    # y'y is heavier-tailed than a normal, its kurtosis at most 3 + 12 / 30: a wider error of the covariances
    assert (np.abs(np.cov(s.T) - covariance) < 5 * 1.6 * np.outer(sd, sd) / 200).all()


def test_gram_of_hardly_any_noise_is_kept_and_of_much_is_possible():
    rng = np.random.default_rng(3)
    gram, _ = engine.unpack(engine.moments(some_task(100).x, some_task(100).y), 100)
    np.testing.assert_allclose(engine.draw_gram(gram, 1e-9, 100, rng), gram, atol=1e-6)
    wild = engine.draw_gram(gram, 1e4, 100, rng)
    assert np.linalg.eigvalsh(wild)[0] > -1e-6 * 100
    assert wild[-1, -1] == 100


def test_the_prior_comes_back_where_the_noise_is_everything():
    """b = 1e7 against n = 20: v has its prior InvGamma(2, 0.02), median 0.0119, whose deviation of log v is 0.80. The
    mean of log v over 200 chains, one after the other, had a standard deviation of 0.045 over seeds; 0.25 is five.
    """
    z = np.zeros(9)
    found, _ = engine.sample(MODEL.inner, z, 1e7, 20, 20, 100, 200, np.random.default_rng(4))
    log_v = np.log(np.logaddexp(0.0, found.draws[:, -1].astype(float)))
    reference = np.log(0.02 / np.random.default_rng(5).gamma(2.0, 1.0, 100_000))
    assert abs(log_v.mean() - reference.mean()) < 0.25


def test_with_a_huge_budget_it_is_the_exact_posterior():
    """epsilon = 1e6, so b < 1e-3: means within 0.5 posterior deviations and logarithms of deviations within 0.25. The
    1,000 draws are nearly independent: errors of 0.03 and 0.03; false-alarm rate below 1e-6.
    """
    task = some_task()
    exact = MODEL.inner.exact_posterior(task.x, task.y).sample(20_000, np.random.default_rng(0))
    found = fit(task, METHOD.Settings(), spec(1e6)).posterior.sample(1000, np.random.default_rng(0))
    sd = exact.std(axis=0)
    assert (np.abs(found.mean(axis=0) - exact.mean(axis=0)) < 0.5 * sd).all()
    assert (np.abs(np.log(found.std(axis=0) / sd)) < 0.25).all()


@pytest.mark.parametrize("bounds", [True, False])
def test_the_budget_is_used_and_kept_with_the_frame(bounds):
    one = fit(some_task(200, bounds=bounds), SHORT, spec(1.0))
    assert 0.95 < epsilon_of(one.ledger, 1e-5).epsilon <= 1.0
    assert len(one.ledger) == (1 if bounds else 3)
    assert one.ledger.events[-1].steps == 9


@pytest.mark.parametrize("key", ["grams", "burn_in_sweeps", "sweeps"])
def test_lengths_are_checked(key):
    with pytest.raises(ValueError, match=key):
        METHOD.Settings(**{key: -1})
