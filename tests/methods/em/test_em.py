"""EM for a mixture of Gaussians: it climbs, finds clusters, and agrees with an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from methods import contract
from methods.contract import Diverged
from methods.em import _em as em
from models.mixture_of_gaussians import MixtureOfGaussians, MixtureParameters
from models.task import Task
from privacy.budget import BudgetSpec

METHOD = contract.get("em")
CENTRES = np.array([[-6.0, 0.0], [5.0, 5.0], [5.0, -4.0]])


def clusters(n: int = 300, seed: int = 0) -> np.ndarray:
    """n rows, equally many in each of three clusters with unit covariance."""
    rng = np.random.default_rng(seed)
    return CENTRES[np.arange(n) % 3] + rng.standard_normal((n, 2))


def near_start() -> MixtureParameters:
    return MixtureParameters(np.full(3, 1 / 3), CENTRES + 1.0, np.repeat(np.eye(2)[None], 3, axis=0))


def fit(x: np.ndarray, seed: int = 1, components: int = 3, **settings):
    task = Task("toy", MixtureOfGaussians(components, None), x)
    budget = BudgetSpec().open(np.random.default_rng(0))
    return METHOD.fit(task, METHOD.Settings(**settings), budget, np.random.default_rng(seed))


def by_first_mean(p: MixtureParameters) -> MixtureParameters:
    order = np.lexsort((p.means[:, 1], p.means[:, 0].round(3)))
    return MixtureParameters(p.weights[order], p.means[order], p.covariances[order])


def test_responsibilities_and_likelihood_against_scipy():
    x, p = clusters(30), near_start()
    g, log_likelihood = em.e_step(x, p.weights, p.means, p.covariances)
    density = np.stack(
        [w * stats.multivariate_normal(m, c).pdf(x) for w, m, c in zip(p.weights, p.means, p.covariances, strict=True)]
    )
    np.testing.assert_allclose(g, (density / density.sum(axis=0)).T, rtol=1e-10, atol=1e-300)
    assert log_likelihood == pytest.approx(np.log(density.sum(axis=0)).sum(), rel=1e-12)
    np.testing.assert_allclose(p.log_density(x).sum(), log_likelihood, rtol=1e-12)  # the posterior's own density


def test_log_prior_against_scipy():
    p = MixtureParameters(
        np.array([0.3, 0.7]),
        np.array([[0.1, -0.2], [0.5, 0.0]]),
        np.array([[[0.3, 0.1], [0.1, 0.2]], [[0.1, 0.0], [0.0, 0.4]]]),
    )
    expected = float(np.log(p.weights).sum())
    for m, c in zip(p.means, p.covariances, strict=True):
        expected += stats.multivariate_normal(np.zeros(2), c / 1.01).logpdf(m)
        expected += stats.invwishart(df=3, scale=0.1 * np.eye(2)).logpdf(c)
    assert em.log_prior(p, em.Prior()) == pytest.approx(expected, rel=1e-12)
    assert em.log_prior(p, None) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_map_em_never_decreases_likelihood_plus_prior(seed):
    """The M-step is the exact mode of the complete-data posterior: normal-inverse-Wishart and Dirichlet."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 3)) * 0.3
    prior = em.Prior()
    _, objectives = em.iterate(
        x, em.initial(3, 4, rng), lambda g, _: em.map_m_step(em.moments(x, g), prior), 60, 0.0, prior
    )
    assert len(objectives) == 60
    assert np.diff(objectives).min() > -1e-9 * abs(objectives[-1])  # rounding of a sum of some hundred terms
    assert objectives[-1] > objectives[0] + 1.0


def test_maximum_likelihood_agrees_with_scikit_learn():
    """The same start, ten iterations, no prior and no regulariser on either side."""
    mixture = pytest.importorskip("sklearn.mixture")
    rng = np.random.default_rng(3)
    x = 0.3 * CENTRES[np.arange(150) % 3] + rng.standard_normal((150, 2))  # overlapping, so that ten do not converge
    start = MixtureParameters(np.full(3, 1 / 3), 0.3 * CENTRES + 1.0, np.repeat(np.eye(2)[None], 3, axis=0))
    ours, _ = em.iterate(x, start, lambda g, _: em.map_m_step(em.moments(x, g), None), 10, 0.0, None)
    theirs = mixture.GaussianMixture(
        3,
        tol=1e-300,
        reg_covar=0.0,
        max_iter=10,
        init_params="random_from_data",
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
        random_state=0,
    )
    with pytest.warns(Warning, match="converge"):
        theirs.fit(x)
    np.testing.assert_allclose(ours.weights, theirs.weights_, rtol=1e-8)
    np.testing.assert_allclose(ours.means, theirs.means_, rtol=1e-8)
    np.testing.assert_allclose(ours.covariances, theirs.covariances_, rtol=1e-7, atol=1e-10)


def test_it_finds_separated_clusters():
    """From one of a few starts: 100 rows a cluster pin a mean to 0.1 (one standard deviation); 0.5 is far outside."""
    x = clusters()
    fits = [fit(x, seed, iterations=300, tolerance=0.0, prior_scale=1e-3, kappa0=1e-3) for seed in range(6)]
    best = by_first_mean(max(fits, key=lambda f: f.diagnostics["log_posterior"]).posterior)
    np.testing.assert_allclose(best.means, CENTRES[[0, 2, 1]], rtol=0, atol=0.5)
    np.testing.assert_allclose(best.weights, np.full(3, 1 / 3), rtol=0, atol=0.05)
    np.testing.assert_allclose(best.covariances, np.repeat(np.eye(2)[None], 3, axis=0), rtol=0, atol=0.6)


def closed_form(x: np.ndarray, part: np.ndarray, prior: em.Prior) -> MixtureParameters:
    """Mode of the posterior where every label is known: what EM must find where it can be sure of each row."""
    parts = [x[part == k] for k in range(3)]
    d, n = x.shape[1], np.array([len(p) for p in parts])
    centre = [p.mean(axis=0) for p in parts]
    scatter = [(p - c).T @ (p - c) for p, c in zip(parts, centre, strict=True)]
    kappa = prior.kappa0
    means = np.array([m * c / (kappa + m) for m, c in zip(n, centre, strict=True)])
    covariances = np.array(
        [
            (prior.scale * np.eye(d) + a + kappa * m / (kappa + m) * np.outer(c, c)) / (d + 1 + m + d + 2)
            for a, m, c in zip(scatter, n, centre, strict=True)
        ]
    )
    return MixtureParameters((n + 1) / (n + 1).sum(), means, covariances)


def test_of_separated_clusters_it_finds_the_mode_in_closed_form():
    """Nine standard deviations and more apart: a row counts for another cluster by less than 1e-6 of itself.

    Near-misses that are told apart: the means of the clusters without the prior's half row, and twice its scale.
    """
    x, part = clusters(), np.arange(300) % 3
    settings = {"prior_scale": 1e-2, "kappa0": 0.5}
    fits = [fit(x, seed, iterations=300, tolerance=0.0, **settings) for seed in range(6)]
    best = max(fits, key=lambda f: f.diagnostics["log_posterior"])
    found, size = by_first_mean(best.posterior), best.diagnostics["row_scale"]
    oracle = em.scaled(closed_form(x / size, part, em.Prior(0.5, 1e-2)), size)
    expected = by_first_mean(oracle)
    for name in ("weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5, atol=1e-4)
    sample = np.array([x[part == k].mean(axis=0) for k in (0, 2, 1)])
    assert np.abs(found.means - sample).max() > 0.01  # kappa0 = 0.5 of 100 rows, centres 6 from the origin
    wrong = by_first_mean(em.scaled(closed_form(x / size, part, em.Prior(0.5, 2e-2)), size))
    assert np.abs(found.covariances - wrong.covariances).max() > 1e-3


def test_scaling_back_is_the_units_alone():
    x = clusters()
    data, ball = fit(x), fit(x, scale_back=False)
    scale = np.linalg.norm(x, axis=1).max()
    assert data.diagnostics["row_scale"] == scale
    np.testing.assert_allclose(data.posterior.means, scale * ball.posterior.means, rtol=1e-12)
    np.testing.assert_allclose(data.posterior.covariances, scale**2 * ball.posterior.covariances, rtol=1e-12)
    assert np.linalg.norm(ball.posterior.means, axis=1).max() <= 1.0


def test_eleven_m_steps_unless_it_stops_early():
    x = clusters()
    assert fit(x, tolerance=0.0).diagnostics["m_steps"] == 11
    stopped = fit(x, tolerance=0.05)
    assert 2 <= stopped.diagnostics["m_steps"] < 11


def test_counts_of_at_most_one_are_replaced():
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    m = em.moments(x, np.array([[1.0, 0.0], [0.5, 0.5]]), 1.0, 1.01)
    np.testing.assert_allclose(m.counts, [1.5, 1.01])
    np.testing.assert_allclose(m.means[1], [0.0, 0.5 / 1.01])


def test_the_start_looks_at_no_data_and_fills_the_cube():
    p = em.initial(3, 8, np.random.default_rng(0), 0.5)
    slices = np.floor((p.means / 0.5 + 0.5) * 8)  # a Latin hypercube has one point in each slice, up to the jitter
    assert all(len(set(column)) >= 6 for column in slices.T)
    np.testing.assert_array_equal(p.covariances, np.repeat(np.eye(3)[None], 8, axis=0))


@pytest.mark.parametrize(
    "change", [{"iterations": 0}, {"tolerance": -1.0}, {"kappa0": 0.0}, {"prior_scale": 0.0}, {"dirichlet": 0.5}]
)
def test_settings_out_of_range_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        METHOD.Settings(**change)


def test_a_component_without_rows_is_named_without_a_prior():
    m = em.Moments(np.array([2.0, 0.0]), np.zeros((2, 2)), np.zeros((2, 2, 2)))
    with pytest.raises(Diverged, match="prior"):
        em.map_m_step(m, None)
    with pytest.raises(Diverged, match="positive definite"):
        em.e_step(np.zeros((1, 2)), np.ones(1), np.zeros((1, 2)), np.zeros((1, 2, 2)))
