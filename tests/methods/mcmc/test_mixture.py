"""NUTS on the mixture: against closed forms and a grid, the mode that the chains start from, diagnostics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from methods.mcmc import _mixture as sampling
from methods.mcmc.nuts import NUTS
from models.mixture_of_gaussians import MixtureOfGaussians, posterior_given_labels
from models.task import Task
from privacy.budget import BudgetSpec

SETTINGS = NUTS.Settings(num_warmup=200, num_samples=600, chains=2)


def far_apart(n=60, components=3, d=2, seed=0):
    """Clusters 16 noise standard deviations apart or more, each nearest to its own prior mean."""
    model = MixtureOfGaussians(components)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, components, n)
    return model, 8 * model.prior_means(d)[labels] + 0.5 * rng.standard_normal((n, d)), labels


def sample(model, x, settings=SETTINGS, seed=0):
    return NUTS().fit(
        Task("toy", model, x), settings, BudgetSpec().open(np.random.default_rng(1)), np.random.default_rng(seed)
    )


@pytest.fixture(scope="module")
def far():
    model, x, labels = far_apart()
    return model, x, labels, sample(model, x)


def test_far_apart_clusters_give_the_posterior_of_known_labels(far):
    """Six means and six variances, each within 5 Monte Carlo standard errors: false-alarm rate below 1e-5.

    Standard error of a mean: sd / sqrt(ess); of a variance: variance x sqrt(2 / ess) with a quarter of the ess, because
    squares of a chain are at most as good as the draws.
    """
    model, x, labels, fit = far
    wanted = posterior_given_labels(model, x, labels)
    ess = min(fit.diagnostics["ess_min"], fit.diagnostics["draws"])
    variances = np.diagonal(wanted.covariances, axis1=1, axis2=2)
    assert (np.abs(fit.posterior.means - wanted.means) < 5 * np.sqrt(variances / ess)).all()
    found = np.diagonal(fit.posterior.covariances, axis1=1, axis2=2)
    assert (np.abs(found / variances - 1) < 5 * np.sqrt(2 / (ess / 4))).all()


def test_diagnostics_of_an_easy_problem(far):
    d = far[-1].diagnostics
    assert d["rhat_max"] < 1.05
    assert d["ess_min"] > 200
    assert d["ess_min"] <= d["ess_median"]
    assert d["draws"] == 1200
    assert d["divergences"] == d["label_switches"] == 0
    assert d["mean_leapfrog_steps"] >= 1
    assert len(far[-1].ledger) == 0


def test_overlapping_clusters_agree_with_a_grid():
    """J = 2, D = 1, 12 rows: mean of mu_1 + mu_2, which no labelling touches, by quadrature over both means.

    Within 5 Monte Carlo standard errors with the effective sample size of the worst mean (false-alarm rate 6e-7).
    """
    model = MixtureOfGaussians(2, noise_sd=0.5, prior_variance=1.0)
    rng = np.random.default_rng(2)
    x = np.where(rng.random(12) < 0.3, 0.9, -0.5)[:, None] + 0.5 * rng.standard_normal((12, 1))
    grid = np.linspace(-5, 5, 801)
    one, two = model.prior_means(1)[:, 0]
    density = stats.norm.logpdf(grid, one, 1.0)[:, None] + stats.norm.logpdf(grid, two, 1.0)
    for value in x[:, 0]:
        p = stats.norm.pdf(value, grid, 0.5)
        density = density + np.log(p[:, None] + p)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    both = grid[:, None] + grid
    mean = np.sum(weight * both)
    sd = np.sqrt(np.sum(weight * np.square(both - mean)))
    fit = sample(model, x, NUTS.Settings(num_warmup=300, num_samples=1500, chains=2))
    assert abs(fit.posterior.means.sum() - mean) < 5 * sd / np.sqrt(fit.diagnostics["ess_min"])


def test_the_mode_is_found_without_labels_and_ordered_by_the_prior():
    """Rows in any order; the components come in the order that the prior prefers."""
    model, x, labels = far_apart(200, 4, 3, seed=5)
    found = sampling.mode(x[np.random.default_rng(0).permutation(200)], model, np.random.default_rng(1))
    np.testing.assert_allclose(found, posterior_given_labels(model, x, labels).means, atol=1e-6)


def test_the_mode_is_stationary():
    """Gradient of the log posterior, by differences, where clusters overlap."""
    model = MixtureOfGaussians(3)
    x = np.random.default_rng(3).normal(0, 1, (50, 2))
    found = sampling.mode(x, model, np.random.default_rng(1))

    def log_posterior(means):
        rows = -0.5 * np.square(x[:, None] - means).sum(axis=2) / 0.25
        return np.log(np.exp(rows).sum(axis=1)).sum() - 0.5 * np.square(means - model.prior_means(2)).sum() / 10

    for j, k in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[j, k] = 1e-4
        slope = (log_posterior(found + step) - log_posterior(found - step)) / 2e-4
        assert abs(slope) < 1e-2  # the curvature is about 200: this is within 1e-4 of the mode


def test_more_components_than_distinct_rows_still_have_a_mode():
    model = MixtureOfGaussians(4)
    found = sampling.mode(np.ones((3, 2)), model, np.random.default_rng(0))
    assert np.isfinite(found).all()


def test_a_chain_in_another_labelling_is_seen():
    start = np.array([[0.0, 0.0], [5.0, 5.0], [-5.0, 5.0]])
    assert sampling._same_order(start + 0.3, start)
    assert not sampling._same_order(start[[1, 0, 2]], start)


def test_replicates_share_one_compilation():
    model = far_apart()[0]
    run = sampling._sampler(0.25, 10.0, 200, 600, 10, 0.8)
    first = sample(model, far_apart(seed=8)[1])  # of this test: those of others may have been freed
    before = run._cache_size()
    other = sample(model, far_apart(seed=9)[1])
    assert run._cache_size() == before
    assert not np.array_equal(other.posterior.means, first.posterior.means)


def test_what_cannot_be_sampled_is_refused():
    model, x, _ = far_apart()
    with pytest.raises(ValueError, match="at least 2 training rows"):
        sample(model, x[:1])
    with pytest.raises(ValueError, match="noise_sd"):
        sample(MixtureOfGaussians(3, None), x)
