"""Streams, models and counts of Räisä (2021). About 4 CPU seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from datasets.files import ROOT
from papers.raisa2021thesis import PAPER, models, run, streams
from papers.raisa2021thesis.models import Model
from privacy.accountants import gdp_epsilon

HOME = ROOT / "papers/raisa2021thesis"


def test_threefry_gives_the_published_vectors():
    """Random123's known answers of threefry2x32, 20 rounds."""
    assert [hex(v) for v in streams.threefry(np.zeros(2, np.uint32), np.zeros(2))] == ["0x6b200159", "0x99ba4efe"]
    ones = np.full(2, 0xFFFFFFFF, np.uint32)
    assert [hex(v) for v in streams.threefry(ones, ones)] == ["0x1cb996fc", "0xbb002be7"]


def test_the_streams_are_those_of_jax_before_it_changed_them():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64, jax.config.jax_threefry_partitionable
    try:
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_threefry_partitionable", False)
        key = jax.random.PRNGKey(43247)
        theirs, normal = np.asarray(jax.random.split(key, 3)), np.asarray(jax.random.normal(key, (5, 3)))
    finally:
        jax.config.update("jax_enable_x64", before[0])
        jax.config.update("jax_threefry_partitionable", before[1])
    own = streams.key_of(43247)
    assert (streams.split(own, 3) == theirs).all()
    np.testing.assert_allclose(streams.normal(own, (5, 3)), normal, rtol=1e-13)


@pytest.mark.parametrize("model", [Model(3, 40, 7.0, 10), Model(2, 40, correlated=True), Model(4, 40)])
def test_the_posterior_is_exact(model):
    """Differences of prior + T log-likelihood, row by row, are those of the normal law of phi."""
    rng = np.random.default_rng(1)
    x, lam, tau = rng.normal(size=(40, model.d)) + 1, models.precision_of(model), models.prior_of(model)
    theta = rng.normal(size=(5, model.d)) * 0.3
    at = models.phi(theta, model.curve)
    e = x[:, None] - at
    log = -0.5 * model.temper * np.einsum("nrj,jk,nrk->r", e, lam, e) - 0.5 * tau * (at**2).sum(axis=1)
    mean, covariance = models.posterior(model, x.mean(axis=0))
    z = at - mean
    normal = -0.5 * np.einsum("rj,jk,rk->r", z, np.linalg.inv(covariance), z)
    np.testing.assert_allclose(log - log[0], normal - normal[0], rtol=1e-9, atol=1e-9)


def test_exact_draws_have_the_law_of_the_posterior():
    model = Model(3, 500, 20.0)
    mean = np.array([0.1, 3.0, -0.1])
    draws = models.draws(model, mean, streams.key_of(5), 20_000)
    at, covariance = models.posterior(model, mean)
    z = (models.phi(draws, model.curve) - at) / np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(z.T), np.eye(3), atol=0.04)


def test_mmd_is_small_for_draws_of_one_law_and_large_for_two():
    rng = np.random.default_rng(2)
    exact, same = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))
    assert run.mmd(same, exact, rng) < 0.05 < 0.3 < run.mmd(same + 1, exact, rng)
    # unbiased: the mean of MMD^2 over small samples of one law is 0, which the biased estimate's is not
    square = [run.mmd(rng.normal(size=(9, 2)), exact, rng, width=1.5) for _ in range(50)]
    assert np.median(square) < 0.35


def test_repeated_draws_weigh_as_often_as_they_stand():
    rng = np.random.default_rng(3)
    exact, x = rng.normal(size=(50, 2)), rng.normal(size=(6, 2))
    chain = np.repeat(x, [3, 1, 2, 1, 1, 4], axis=0)

    def kernel(a, b):
        return np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / 2)

    n, m = len(chain), len(exact)
    own, theirs = kernel(chain, chain), kernel(exact, exact)
    square = (own.sum() - n) / n / (n - 1) + (theirs.sum() - m) / m / (m - 1) - 2 * kernel(chain, exact).mean()
    assert run.mmd(chain, exact, rng, width=1.0) == pytest.approx(np.sqrt(abs(square)), rel=1e-10)


COUNTS = {"dp_penalty": [56, 201, 419, 702, 1041, 1431], "dp_hmc": [33, 119, 248, 416, 616, 848]}


@pytest.mark.parametrize("method", COUNTS)
def test_iterations_fill_the_budget_and_no_more(method):
    model, setting = models.MODELS["flat_banana_2d"], run.setting_of("flat_banana_2d", method)
    assert [run.iterations(setting, model, e) for e in range(1, 7)] == COUNTS[method]
    for e, k in enumerate(COUNTS[method], 1):
        own, more = (gdp_epsilon(run.mu_of(setting, model.rows, i), model.delta) for i in (k, k + 1))
        assert own <= e < more


def test_a_ledger_has_every_release_and_stays_within_its_budget():
    model, setting = models.MODELS["flat_banana_2d"], run.setting_of("flat_banana_2d", "dp_hmc")
    budget = run.opened(model, 1.0, np.random.default_rng(0))
    run.charged(setting, model.rows, 33, budget)
    ratio, gradient = budget.ledger
    assert (ratio.steps, gradient.steps) == (33, 33 * 11)
    assert (ratio.sensitivity, gradient.sensitivity) == (1.0, 2.0)
    assert ratio.noise_scale == pytest.approx(0.1 * np.sqrt(1e5))
    assert gradient.noise_scale == pytest.approx(2 * 0.4 * np.sqrt(1e5))
    with pytest.raises(RuntimeError):
        run.charged(setting, model.rows, 34, run.opened(model, 1.0, np.random.default_rng(0)))


def test_the_table_of_the_suite_has_the_numbers_of_the_boxes():
    boxes, ours = (pd.read_csv(HOME / f, dtype=str, keep_default_na=False) for f in ("boxes.csv", "published.csv"))
    assert len(boxes) == len(ours) == PAPER.family == 592
    for column in ("median", "q1", "q3", "whisker_low", "whisker_high", "outliers", "metric"):
        assert (boxes[column] == ours[column]).all()
    assert (boxes["model"] == ours["dataset"]).all()
    assert (boxes["figure"] == ours["table"]).all()
    assert (ours["setting"].str.extract(r"epsilon=(\d)")[0] == boxes["epsilon"]).all()
    assert boxes.groupby("method").size().to_dict() == ours.groupby(boxes["method"])["method"].count().to_dict()
