"""Gibbs-SS-Noisy: the law of the moments, the conditional draw, the sensitivity, and the known limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from methods.sufficient_statistics._bernstein_sheldon import regression as reg
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.unconstrained import softplus


def test_moment_law_is_that_of_simulated_rows():
    """d = 2, 200,000 rows: means and covariances within 6 of their standard errors."""
    rng = np.random.default_rng(1)
    w, v = np.array([0.5, -0.8, 0.3]), 0.4
    x = rng.standard_normal((200_000, 2))
    y = x @ w[:2] + w[2] + math.sqrt(v) * rng.standard_normal(200_000)
    u = np.column_stack([x, y])
    a, b = np.triu_indices(3)
    t = np.column_stack([u[:, a] * u[:, b], u])
    mean, covariance = reg.moment_law(w, v)
    assert (np.abs(t.mean(axis=0) - mean) < 6 * t.std(axis=0) / math.sqrt(200_000)).all()
    c = t - t.mean(axis=0)
    products = c[:, :, None] * c[:, None, :]
    error = products.std(axis=0) / math.sqrt(200_000)
    assert (np.abs(products.mean(axis=0) - covariance) < 6 * error + 1e-12).all()
    assert np.linalg.eigvalsh(covariance)[0] > 0


def test_product_draw_is_the_gaussian_conditional():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((3, 3))
    c, w, mean, z = root @ root.T, np.array([0.5, 2.0, 1e6]), np.array([1.0, 0.0, -1.0]), np.array([3.0, 1.0, 9.0])
    gain = c @ np.linalg.inv(c + np.diag(w))
    factor = np.linalg.cholesky(c)
    draws = np.array(
        [reg.product_draw(mean, mean + factor @ rng.standard_normal(3), c, z, w, rng) for _ in range(8000)]
    )
    exact = c - gain @ c
    error = np.sqrt(np.diag(exact) / 8000)
    assert (np.abs(draws.mean(axis=0) - (mean + gain @ (z - mean))) < 5 * error).all()
    np.testing.assert_allclose(np.cov(draws.T), exact, atol=0.08 * np.diag(exact).max())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 1e6]), st.booleans())
def test_replacing_a_row_moves_the_moments_by_the_sensitivity_at_most(seed, scale, extreme):
    rng = np.random.default_rng(seed)
    x, y = scale * rng.standard_normal((3, 2)), scale * rng.standard_normal(3)
    bounds = np.array([2.0, 3.0, 5.0])
    one = reg.clipped_moments(x, y, bounds)
    x[-1], y[-1] = ([np.nan, np.inf], -np.inf) if extreme else (scale * rng.standard_normal(2), -y[-1])
    two = reg.clipped_moments(x, y, bounds)
    assert np.abs(one - two).sum() <= ((bounds.sum() + 1) ** 2 - 1) * (1 + 1e-9)


def some_rows(w, v, x, e):
    """(X'X, X'y with y'y last) of y = X w + sqrt(v) e, the bias the last column of X."""
    design = np.column_stack([x, np.ones(len(x))])
    y = design @ w + math.sqrt(v) * e
    return design.T @ design, np.append(design.T @ y, y @ y)


def test_what_is_held_rebuilds_the_rows_at_other_parameters():
    rng = np.random.default_rng(5)
    x, e = rng.standard_normal((30, 3)), rng.standard_normal(30)
    w, v, w_new, v_new = rng.standard_normal(4), 0.3, rng.standard_normal(4), 1.7
    gram, target = some_rows(w, v, x, e)
    held = reg.Held.of(gram, target, w, v)
    assert held.q == pytest.approx(e @ e)
    np.testing.assert_allclose(held.target(w_new, v_new), some_rows(w_new, v_new, x, e)[1])


@pytest.mark.parametrize("what", ["weights", "noise", "both", "prior"])
def test_moves_leave_the_prior_as_it_is_where_the_release_says_nothing(what, monkeypatch):
    """2,000 draws of the prior, each moved 12 times: Kolmogorov-Smirnov tests, false-alarm rate 4e-4 per case."""
    step = {"weights": ("weights", 0.5), "prior": ("both", math.inf)}.get(what, (what, 0.5))
    monkeypatch.setattr(reg, "MOVES", (step,) * 12)
    rng, model, d = np.random.default_rng(6), LinearRegressionUnknownNoise(4.0, 2.0, 0.5), 8
    held, moved = reg.Held(np.eye(d), np.zeros(d), 1.0), []
    for v in model.scale / rng.gamma(model.shape, 1.0, 2000):
        w = math.sqrt(v / model.precision) * rng.standard_normal(d)
        moved.append(np.append(*reg.move_together(model, w, v, held, np.zeros(d + 1), 1e12, rng)))
    w, v = np.array(moved)[:, :-1], np.array(moved)[:, -1]
    assert stats.kstest(v, stats.invgamma(4.0, scale=2.0).cdf).pvalue > 1e-4
    standard = w / np.sqrt(v / model.precision)[:, None]
    for found, law in ((standard[:, 0], stats.norm()), ((standard**2).sum(axis=1), stats.chi2(d))):
        assert stats.kstest(found, law.cdf).pvalue > 1e-4
    assert abs(stats.spearmanr((standard**2).sum(axis=1), v).statistic) < 4 / math.sqrt(2000)


def test_a_chain_from_an_impossible_start_does_not_stay_there():
    """b = 22, as at epsilon = 100: the noisy sums of squares are not possible, so the chain starts at the prior.

    Draws differ, and their means are within 6 posterior standard deviations of the parameters.
    """
    model, theta, x, y, rng = study()
    z = reg.clipped_moments(x, y, np.full(4, 100.0))
    noisy = z + 22.0 * np.sign(np.random.default_rng(0).standard_normal(z.shape))
    noisy[9] = 0.9 * np.sum((y - model.likelihood.design(x) @ theta[:-1]) ** 2)  # y'y below what v and w need
    posterior, stayed = reg.gibbs_corrected(model, noisy, 22.0, 2000, 300, 500, rng)
    draws = posterior.draws.astype(float)
    assert stayed < 0.5
    assert (draws.std(axis=0) > 0).all()
    assert (np.abs(draws.mean(axis=0) - theta)[:-1] < 6 * draws.std(axis=0)[:-1]).all()


def study(n=2000, d=3, seed=3):
    rng = np.random.default_rng(seed)
    model = LinearRegressionUnknownNoise()
    theta = model.sample_prior(1, rng, d)[0]
    return model, theta, *model.simulate(theta, n, rng), rng


def test_without_noise_the_exact_posterior_comes_back():
    """b = 1e-3: means within 5 standard errors times 3 (autocorrelation), standard deviations within 12 %."""
    model, _, x, y, rng = study()
    z = reg.clipped_moments(x, y, np.full(4, 100.0))
    posterior, stayed = reg.gibbs_corrected(model, z, 1e-3, 2000, 100, 1500, rng)
    exact = model.exact_posterior(x, y).sample(20_000, rng)
    draws = posterior.draws.astype(float)
    assert stayed == 0.0
    assert (np.abs(draws.mean(axis=0) - exact.mean(axis=0)) < 15 * exact.std(axis=0) / math.sqrt(1500)).all()
    np.testing.assert_allclose(draws.std(axis=0), exact.std(axis=0), rtol=0.12)


def test_noise_on_the_moments_widens_the_posterior():
    model, theta, x, y, rng = study()
    b = 40.0
    z = reg.clipped_moments(x, y, np.full(4, 100.0))
    noisy = z + rng.laplace(0.0, b, z.shape)
    draws = reg.gibbs_corrected(model, noisy, b, 2000, 500, 2000, rng)[0].draws.astype(float)
    exact = model.exact_posterior(x, y).sample(5000, rng)
    assert (draws[:, :-1].std(axis=0) > 1.5 * exact[:, :-1].std(axis=0)).all()
    assert (np.abs(draws.mean(axis=0) - theta) < 6 * draws.std(axis=0)).all()


def test_the_released_sampler_is_far_too_sure():
    """Second moments n times too large: the slopes' sd is far below the exact posterior's, and they are far off."""
    model, theta, x, y, rng = study(d=4)
    design = model.likelihood.design(x)
    p = design.shape[1]
    b = reg.released_sensitivity(x, y) / 0.05
    z = np.concatenate([(design.T @ design).ravel(), design.T @ y, [y @ y]])
    z = z + rng.laplace(0.0, b, z.shape)
    posterior, _ = reg.gibbs_released(model, z, b, 2000, reg.exact_fourth_moments(design), 100, 200, rng)
    draws = posterior.draws.astype(float)
    exact = model.exact_posterior(x, y).sample(5000, rng)
    assert draws.shape == (200, p + 1)
    assert (draws[:, :p].std(axis=0) < 0.5 * exact[:, :p].std(axis=0)).all()
    assert np.abs(draws[:, :p].mean(axis=0) - theta[:p]).max() > 20 * draws[:, :p].std(axis=0).max()


def test_released_sensitivity_by_hand():
    """p = 2 with the bias, ranges 3 and 2: 3 x 9 + 2 x 3 + 2 x 3 x 2 + 4."""
    x, y = np.array([[0.0], [3.0]]), np.array([1.0, -1.0])
    assert reg.released_sensitivity(x, y) == 27 + 6 + 12 + 4


def test_fourth_moments_are_sums_and_projected():
    _, _, x, _, _ = study(n=300)
    design = np.column_stack([x, np.ones(300)])
    second, factor = reg.exact_fourth_moments(design)
    np.testing.assert_allclose(second, design.T @ design)
    pairs = (design[:, :, None] * design[:, None, :]).reshape(300, -1)
    values, vectors = np.linalg.eigh(pairs.T @ pairs - np.outer(second.ravel(), second.ravel()))
    assert values[0] < -1e4  # what the projection takes away
    np.testing.assert_allclose(factor @ factor.T, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-6)


def test_draws_are_in_unconstrained_form():
    model, _, x, y, rng = study()
    z = reg.clipped_moments(x, y, np.full(4, 100.0))
    posterior, _ = reg.gibbs_corrected(model, z, 1e-3, 2000, 50, 100, rng)
    v = softplus(posterior.draws[:, -1].astype(float))
    design = model.likelihood.design(x)
    residual = y - design @ posterior.draws[:, :-1].mean(axis=0)
    assert v.mean() == pytest.approx(residual.var(), rel=0.1)
