"""EP, SEP and the variational Gaussian against what they must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from methods.contract import Diverged
from methods.engines.logistic_gaussian import minimiser, posterior
from methods.engines.logistic_gaussian.kernel import sites
from models.logistic_regression_normal_prior import LogisticRegressionNormalPrior
from models.task import Task


def some_rows(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(-1, 1, (n, d - 1)), np.ones(n)])
    y = rng.random(n) < expit(x @ rng.normal(0, 2, d))
    return x * np.where(y, 1.0, -1.0)[:, None]


def grid_moments(z, prior):
    """Mean and variance of one parameter (D = 1) by a sum over a fine grid."""
    theta = np.linspace(-8, 8, 40001)
    log_p = -np.logaddexp(0, -np.outer(z[:, 0], theta)).sum(axis=0) - 0.5 * prior * theta**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ theta
    return mean, p @ (theta - mean) ** 2


@pytest.mark.parametrize("n", [1, 5, 60])
def test_ep_is_near_the_exact_moments_of_one_parameter(n):
    """One row: EP is exact (one site, moment matching). More: 1 % of the standard deviation, 3 % of the variance."""
    z = some_rows(n, 2, seed=n)[:, :1] * 3
    q, _ = posterior.ep(z, 0.5, name="ep", passes=200, damping=0.5)
    mean, variance = grid_moments(z, 0.5)
    exact = n == 1
    assert q.mean[0] == pytest.approx(mean, abs=(1e-3 if exact else 0.01) * np.sqrt(variance))
    assert q.covariance[0, 0] == pytest.approx(variance, rel=1e-3 if exact else 0.03)


def test_ep_stands_at_its_fixed_point():
    """The sites recomputed from q's own cavities give q back, to the stopping tolerance."""
    z = some_rows()
    q, told = posterior.ep(z, 1.0, name="ep", passes=60, damping=1.0)
    again, _ = posterior.ep(z, 1.0, name="ep", passes=60, damping=0.3)
    sd = np.sqrt(np.diag(q.covariance))
    assert told["passes"] < 60
    assert np.max(np.abs(q.mean - again.mean) / sd) < 5 * posterior.TOLERANCE


def test_the_variational_gaussian_is_a_stationary_point_of_the_bound():
    z = some_rows()
    q, _ = posterior.variational(z, 1.0, name="vi", passes=60)
    g, k = sites(z @ q.mean, posterior.spreads(z, q.covariance), False)
    sd = np.sqrt(np.diag(q.covariance))
    assert np.max(np.abs(q.covariance @ (z.T @ g - q.mean)) / sd) < posterior.TOLERANCE
    np.testing.assert_allclose(
        np.linalg.inv(q.covariance), np.eye(4) + posterior.gram(z, k), rtol=1e-3, atol=1e-3 * len(z) * k.max()
    )


def test_sep_with_one_row_a_batch_is_the_sequential_algorithm():
    z = some_rows(6, 3)
    q, _ = posterior.sep(z, 1.0, np.random.default_rng(4), name="sep", epochs=2, coefficient=1.0, batches=6)
    rng, n = np.random.default_rng(4), 6
    shift, data = np.zeros(3), np.zeros((3, 3))
    for _ in range(2):
        for i in rng.permutation(n):
            cavity = np.linalg.inv(np.eye(3) + data * (1 - 1 / n))
            mean = cavity @ shift * (1 - 1 / n)
            t, v = z[i] @ mean, z[i] @ cavity @ z[i]
            g, k = (a[0] for a in sites(np.array([t]), np.array([v]), True))
            shift = (1 - 1 / n) * shift + (k * t + g) * z[i]
            data = (1 - 1 / n) * data + k * np.outer(z[i], z[i])
    np.testing.assert_allclose(q.mean, np.linalg.solve(np.eye(3) + data, shift), rtol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(q.covariance), np.eye(3) + data, rtol=1e-9)


def test_sep_comes_near_ep():
    """Within half a posterior standard deviation, covariance within 10 %: SEP weights late batches more."""
    z = some_rows(4000)
    q, _ = posterior.ep(z, 1.0, name="ep", passes=60, damping=1.0)
    s, told = posterior.sep(z, 1.0, np.random.default_rng(1), name="sep", epochs=8, coefficient=1.0, batches=40)
    assert np.max(np.abs(s.mean - q.mean) / np.sqrt(np.diag(q.covariance))) < 0.5
    np.testing.assert_allclose(np.diag(s.covariance), np.diag(q.covariance), rtol=0.1)
    assert told["fraction_absorbed"] == pytest.approx(1 - np.exp(-8), abs=1e-5)


def test_clipped_sites_are_counted_and_shorten_the_data_part():
    z = some_rows(200)
    free, _ = posterior.sep(z, 1.0, np.random.default_rng(1), name="s", epochs=2, coefficient=1.0, batches=5)
    tight, told = posterior.sep(
        z, 1.0, np.random.default_rng(1), name="s", epochs=2, coefficient=1.0, batches=5, clip=0.1
    )
    assert told["fraction_clipped"] > 0.9
    gap = np.linalg.inv(tight.covariance) - np.eye(4)
    assert np.linalg.norm(gap) <= 0.1 * 200 * (1 + 1e-9)
    assert np.linalg.norm(gap) < np.linalg.norm(np.linalg.inv(free.covariance) - np.eye(4))


def test_the_minimiser_has_no_gradient():
    z, penalty = some_rows(), np.diag([0.5, 1.0, 2.0, 0.1])
    theta = minimiser.minimise(z, penalty, 1e-8, "m")
    assert np.linalg.norm(penalty @ theta - z.T @ expit(-(z @ theta))) <= 1e-8


def test_what_is_no_task_or_no_density_is_refused():
    model = LogisticRegressionNormalPrior()
    with pytest.raises(ValueError, match="row"):
        posterior.signed(Task("none", model, np.zeros((0, 2)), np.zeros(0)))
    with pytest.raises(ValueError, match="y = 2"):
        posterior.signed(Task("two", model, np.zeros((1, 2)), np.array([2.0])))
    with pytest.raises(ValueError, match="target"):
        posterior.signed(Task("no y", model, np.zeros((1, 2))))
    with pytest.raises(Diverged, match="positive definite"):
        posterior.gaussian(np.zeros(2), -np.eye(2), "q")
