"""EP, SEP and the variational Gaussian against what they must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit

from methods._shared.logistic_gaussian import posterior
from methods._shared.logistic_gaussian.kernel import sites
from methods.baselines import _logistic_minimiser as minimiser
from methods.contract import Diverged
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


def cavity_of(mean, variance):
    """N(m, c) whose product with sigmoid(t) has this mean and variance: by Newton's method, sums over a fine grid.

    The product is an exponential family in (m / c, -1 / (2 c)), so that there is one answer.
    """

    def tilted(m, log_c):
        sd = np.exp(0.5 * log_c)
        t = m + sd * np.linspace(-14.0, 14.0, 8001)
        log_p = -0.5 * ((t - m) / sd) ** 2 - np.logaddexp(0.0, -t)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        first = p @ t
        return [(first - mean) / np.sqrt(variance), (p @ (t - first) ** 2) / variance - 1.0]

    found = root(lambda a: tilted(*a), [mean - 0.5 * variance, np.log(variance) + 0.1], tol=1e-12)
    assert np.max(np.abs(found.fun)) < 1e-9
    return found.x[0], np.exp(found.x[1])


def distance_from_the_fixed_point(z, prior, q):
    """How far q is from prior x sites, each site the one under which tilted and q have the same moments in its margin.

    Largest gap of the mean in standard deviations, and of the precision relative to its norm.
    """
    shift, precision = np.zeros(z.shape[1]), prior * np.eye(z.shape[1])
    for row in z:
        mean, variance = row @ q.mean, row @ q.covariance @ row
        m, c = cavity_of(mean, variance)
        shift += (mean / variance - m / c) * row
        precision += (1 / variance - 1 / c) * np.outer(row, row)
    covariance = np.linalg.inv(precision)
    whole = np.linalg.inv(q.covariance)
    gap = np.abs(covariance @ shift - q.mean) / np.sqrt(np.diag(covariance))
    return max(np.max(gap), np.linalg.norm(precision - whole) / np.linalg.norm(whole))


@pytest.mark.parametrize("damping", [1.0, 0.3])
def test_ep_stands_at_its_fixed_point(damping, monkeypatch):
    """Every tilted law has the moments of q: sites that are made from q and these moments alone give q back."""
    z = some_rows(60)
    monkeypatch.setattr(posterior, "TOLERANCE", 1e-9)
    q, told = posterior.ep(z, 1.0, name="ep", passes=1000, damping=damping)
    assert told["passes"] < 1000
    assert distance_from_the_fixed_point(z, 1.0, q) < 1e-6  # the oracle's roots: 1e-9 each, over sites of 60 rows


@pytest.mark.parametrize("wrong", ["precision", "slope", "not tilted"])
def test_a_slightly_wrong_update_stands_elsewhere(wrong, monkeypatch):
    """The test above has power: sites that are 1 % off in one number, or matched under the cavity and not the tilted
    law, come to rest as quickly, a thousand times its tolerance away."""

    def near(mean, variance, tilted):
        slope, precision = sites(mean, variance, tilted and wrong != "not tilted")
        return slope * (1.01 if wrong == "slope" else 1.0), precision * (1.01 if wrong == "precision" else 1.0)

    z = some_rows(60)
    monkeypatch.setattr(posterior, "TOLERANCE", 1e-9)
    monkeypatch.setattr(posterior, "sites", near)
    q, told = posterior.ep(z, 1.0, name="ep", passes=1000, damping=1.0)
    assert told["passes"] < 1000
    assert distance_from_the_fixed_point(z, 1.0, q) > 1e-3


def test_the_usual_tolerance_stops_near_the_fixed_point():
    """Full and damped passes end within five of their tolerances of each other, and of the fixed point."""
    z = some_rows(60)
    q, again = (posterior.ep(z, 1.0, name="ep", passes=60, damping=d)[0] for d in (1.0, 0.3))
    sd = np.sqrt(np.diag(q.covariance))
    assert np.max(np.abs(q.mean - again.mean) / sd) < 5 * posterior.TOLERANCE
    assert distance_from_the_fixed_point(z, 1.0, q) < 5 * posterior.TOLERANCE


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


@pytest.mark.parametrize("right", [True, False])
def test_a_batch_of_sep_is_its_formula(right):
    """Three rows a batch: one cavity, theta - f, for all of them; then n f keeps (1 - c / n)^3 and takes the rest.

    The near-miss takes q itself for the cavity, as if no site were removed: another posterior by a hundredth.
    """
    z, n, c = some_rows(12, 3), 12, 0.7
    q, _ = posterior.sep(z, 1.0, np.random.default_rng(4), name="sep", epochs=2, coefficient=c, batches=4)
    rng, keep, left = np.random.default_rng(4), (1 - c / 12) ** 3, (1 - 1 / n) if right else 1.0
    shift, data = np.zeros(3), np.zeros((3, 3))
    for _ in range(2):
        for rows in rng.permutation(n).reshape(4, 3):
            cavity = np.linalg.inv(np.eye(3) + left * data)
            t, v = z[rows] @ cavity @ (left * shift), np.diag(z[rows] @ cavity @ z[rows].T)
            g, k = sites(t, np.ascontiguousarray(v), True)
            shift = keep * shift + (1 - keep) * n * np.mean((k * t + g)[:, None] * z[rows], axis=0)
            data = keep * data + (1 - keep) * n * np.mean(k[:, None, None] * z[rows][:, :, None] * z[rows][:, None], 0)
    precision = np.eye(3) + data
    gap = np.abs(np.linalg.solve(precision, shift) - q.mean).max() + np.abs(precision @ q.covariance - np.eye(3)).max()
    assert gap < 1e-9 if right else gap > 1e-3


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
