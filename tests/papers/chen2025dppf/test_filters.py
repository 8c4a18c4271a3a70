"""The particle filters: weights, summaries, early ends, and their distribution."""

import math

import numpy as np
import pytest

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
        s = rows[-1] + rng.laplace(0, 5, 5)
        final = np.abs(rows[-1] - s).sum()
        bounds = [filters._still.py_func(rows[k], s, 39.0 - k) for k in range(40)]
        assert max(bounds) <= final + 1e-9
        assert bounds[-1] == pytest.approx(final)


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
