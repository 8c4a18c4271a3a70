"""The particle filters: weights, summaries, early ends, and their distribution."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from papers.chen2025dppf import filters, published
from papers.chen2025dppf.chains import PRIORS


def phi(*theta):
    return filters.to_phi(np.array(theta, dtype=float))


def test_kernels_and_weights():
    old, new = np.array([phi(0, 1, 1, 0, 1), phi(1, 2, 0.5, 0.5, 2)]), phi(0.5, 1.5, 0.8, 0.2, 1.5)
    kernels = [math.exp(filters.log_kernel(new, o, 0.25)) for o in old]
    assert kernels == pytest.approx([0.0715508595, 0.0541343946], abs=1e-10)
    w = np.array([0.4, 0.6])
    found = [filters.weight(new, old, w, 0.25, PRIORS["conjugate"], right, 0.0) for right in (False, True)]
    assert found == pytest.approx([0.0311519334, 0.0373823201], abs=1e-10)
    assert found[1] / found[0] == pytest.approx(1.5 * 0.8)  # the Jacobian
    far = phi(50, 1.5, 0.8, 0.2, 1.5)
    assert filters.weight(far, old, w, 0.25, PRIORS["heavy"], True, 0.1) <= 10


def test_weights_that_r_recycles():
    w, b = np.array([0.1, 0.2, 0.3, 0.4]), np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    assert (filters.recycled(w) * b).sum(axis=1) == pytest.approx([2.2, 8.0])
    particles = np.column_stack([np.ones((4, 3)), b.T])
    for aligned, expected in ((False, (2.2, 8.0)), (True, (3.0, 7.0))):
        found = filters.summary(particles, w, published.TRUTH, aligned)
        assert (found["beta0_mean"], found["beta1_mean"]) == pytest.approx(expected)
        assert found["ess"] == pytest.approx(1 / 0.3)


def test_quantiles_outside_the_weighted_sample():
    x, w = np.array([3.0, 1, 2]), np.array([0.2, 0.5, 0.3])
    assert filters.weighted_quantiles(x, w, [0.65])[0] == pytest.approx(1.5)
    assert np.isnan(filters.weighted_quantiles(x, w, [0.4])[0])
    assert filters.weighted_quantiles(x, w, [0.4], outside=True)[0] == 1.0


def test_an_attempt_ends_early_only_if_it_is_not_kept():
    """Bounds of the final distance never exceed it."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        u = rng.uniform(-1, 1, (40, 2))
        rows = np.column_stack([u[:, 1], u[:, 0] * u[:, 1], u[:, 1] ** 2, u[:, 0], u[:, 0] ** 2]).cumsum(axis=0)
        s, c = rows[-1] + rng.laplace(0, 5, 5), rng.uniform(-1, 1, 5)
        final = np.abs(rows[-1] - s).sum() + c @ (rows[-1] - s)
        bounds = [filters._still.py_func(rows[k], s, 39.0 - k, c) for k in range(40)]
        assert max(bounds) <= final + 1e-9
        assert bounds[-1] == pytest.approx(final)


def test_the_mean_of_a_tilted_row_by_quadrature():
    """Rows inside and at both ends of [-5, 5]; the limits where no bound is needed."""
    for mean, sd, c1, c2 in (
        (1.0, 1.0, 0.25, -0.25),
        (-4.0, 2.0, -0.2, 0.1),
        (7.0, 3.0, 0.3, 0.3),
        (0.5, 6.0, 0.0, -0.2),
    ):

        def weight(x, mean=mean, sd=sd, c1=c1, c2=c2):
            u = min(max(x / 5, -1.0), 1.0)
            return norm.pdf(x, mean, sd) * math.exp(c1 * u + c2 * u * u)

        ends = (mean - 12 * sd, -5.0, 5.0, mean + 12 * sd)
        expected = sum(quad(weight, a, b)[0] for a, b in itertools.pairwise(ends))
        assert filters.log_tilted.py_func(mean, sd, c1, c2) == pytest.approx(math.log(expected), abs=1e-6)
    assert filters.log_tilted.py_func(0.0, 9.0, 0.0, 0.25) == math.inf
    assert filters.log_tilted.py_func(26.0, 1.0, 0.0, 0.0) == math.inf


@pytest.mark.nightly
@pytest.mark.parametrize(("theta", "b"), [((1.2, 0.9, 0.3, 0.1, 1.5), 30.0), ((0.6, 1.2, 0.6, -0.2, 2.4), 60.0)])
def test_a_screen_does_not_change_the_chance_to_be_kept(theta, b):
    """Counts of kept attempts within 4.5 standard errors of their difference, once with each screen."""
    s, at, rng, none = published.release("chen_lr", 1.0, 100), np.array(theta), np.random.default_rng(5), np.zeros(5)
    count, c, seen = 60_000, np.zeros(5), 0
    plain = sum(filters.kept(at, 100, s, b, none, rng) for _ in range(count))
    passed = screened = 0
    for _ in range(count):
        if filters.screen(at, 100, s, b, c, rng):
            passed, seen = passed + 1, seen + c.any()
            screened += filters.kept(at, 100, s, b, c, rng)
    assert 0 < seen <= passed < 0.9 * count
    assert abs(plain - screened) < 4.5 * math.sqrt(plain + screened)
    assert plain > 500


@pytest.mark.nightly
def test_the_filter_of_location_scale_has_its_published_distribution():
    """20 filters beside the published runs: means within 4.5 standard errors of both."""
    s = published.release("chen_ls", 0.5, 100)
    made = [filters.filter_location_scale(s, 100, 0.5, 2, 100, np.random.default_rng([1, k])) for k in range(20)]
    found = [filters.summary_ls(*m[:2], published.TRUTH) for m in made]
    for metric in ("ess", "mu_mean"):
        ours = np.array([f[metric] for f in found])
        theirs = published.runs_of("pf_ls", "epsilon=0.5;n=100;N=100;prior=ig_sd", metric)
        error = math.sqrt(ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs))
        assert abs(ours.mean() - theirs.mean()) < 4.5 * error


@pytest.mark.nightly
def test_the_filter_of_location_scale_has_the_numbers_of_another_program():
    """20 filters with two steps: 4.5 standard errors for means, a factor of 2 for spreads."""
    s = published.release("chen_ls", 1.0, 300)
    made = [filters.filter_location_scale(s, 300, 1.0, 2, 100, np.random.default_rng([2, k])) for k in range(20)]
    found = [filters.summary_ls(*m[:2], published.TRUTH) for m in made]
    for metric, mean, sd in (("mu_mean", 1.095, 0.010), ("theta2_mean", 1.017, 0.041), ("ess", 87, 7)):
        ours = np.array([f[metric] for f in found])
        assert ours.mean() == pytest.approx(mean, abs=4.5 * sd * math.sqrt(2 / 20)), metric
        assert 0.5 < ours.std(ddof=1) / sd < 2, metric
