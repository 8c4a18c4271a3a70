"""Folds and their rows."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from papers.honkela2018robust import data, release, streams
from tests.papers.honkela2018robust.test_streams import DRAWS, OPTIMISER


def test_the_rows_of_the_first_fold(fold):
    x, y = fold.private(500)
    assert x[0, :3] == pytest.approx([-0.210649936282, 0.170116810148, -0.454108782219], abs=1e-12)
    assert y[0] == pytest.approx(-0.373592320733, abs=1e-11)
    assert x.std(ddof=1) == pytest.approx(0.31625747011794, abs=1e-13)
    assert y.std(ddof=1) == pytest.approx(2.66862233441041, abs=1e-12)
    assert fold.private(0)[0].shape == (0, 10)


def test_moments_without_clipping(fold):
    found = release.as_published(fold, 500, None)
    both = found.private + found.public
    assert both.n == 510
    assert both.gram[0, :2] == pytest.approx([47.92806887189695, 3.752089925135], abs=1e-10)
    assert both.cross[0] == pytest.approx(-116.697886978913, abs=1e-10)
    assert both.square == pytest.approx(3653.020089199, abs=1e-8)


def test_the_generator_of_a_fold_after_its_permutation(fold):
    assert streams.seeds(fold.generator()) == (OPTIMISER, DRAWS)


def test_moments_and_noise_of_a_private_fit(fold):
    from privacy.budget import BudgetSpec

    found = release.as_published(fold, 500, (0.1, 0.5))
    assert found.bounds == pytest.approx((0.0316257470118, 1.334311167205), rel=1e-11)
    both = found.private + found.public
    assert both.gram[0, :2] == pytest.approx([0.484855830111, 0.020546007766], abs=1e-11)
    assert (both.cross[0], both.square) == pytest.approx((-3.040274527694, 669.846007947), abs=1e-8)
    rng = fold.generator()
    budget = BudgetSpec(claimed_epsilon=1.0).open(rng)
    noisy = release.published_release(found, 1.0, budget)
    assert noisy.gram[0, :2] == pytest.approx([0.400400867354, 0.628791941539], abs=1e-11)
    assert (noisy.gram == noisy.gram.T).all()
    assert (noisy.cross[0], noisy.square) == pytest.approx((-3.595752038379, 669.820694070), abs=1e-8)
    assert np.linalg.eigvalsh(noisy.gram)[0] == pytest.approx(-2.058275, abs=1e-6)
    assert streams.seeds(rng)[0] == [903972740, 1764095134, 910176528, 1961779497, 1795650898, 473564498]
    assert [e.sensitivity for e in budget.ledger] == [np.inf] * 3


def test_the_non_private_limit_of_the_authors_release(fold):
    from privacy.budget import BudgetSpec

    found = release.as_published(fold, 500, (0.1, 0.5))
    both = found.private + found.public
    noisy = release.published_release(found, 1e12, BudgetSpec().open(fold.generator()))
    assert noisy.gram == pytest.approx(both.gram, abs=1e-9)
    assert noisy.cross == pytest.approx(both.cross, abs=1e-9)
    assert (noisy.square, noisy.n) == (pytest.approx(both.square), both.n)


def test_the_pool_is_nested_and_the_public_rows_stay(fold):
    few, many = release.as_published(fold, 100, None), release.as_published(fold, 800, None)
    assert (few.public.n, few.public.square) == (many.public.n, many.public.square) == (10, few.public.square)
    assert (few.private.n, many.private.n) == (100, 800)


def test_rank_correlations():
    rng = np.random.default_rng(2)
    b, y = rng.standard_normal((3, 40)), rng.standard_normal(40)
    assert data.spearman(b, y) == pytest.approx([spearmanr(row, y)[0] for row in b], abs=1e-14)
    assert data.spearman(y, y) == 1
    assert data.spearman(-y, y) == -1
