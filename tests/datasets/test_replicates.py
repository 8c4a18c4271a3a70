"""Simulated data sets, their replicates, and cross-validation folds."""

import numpy as np
import pytest

import datasets
from datasets import folds, mixture_of_gaussians_released, replicates, trials
from datasets.mixture_of_gaussians import NOISE_SD, observe


def test_folds_cover_the_table_once():
    n = 103
    tests = [folds.split("x", "folds", n, k)[1] for k in range(folds.FOLDS)]
    assert sorted(np.concatenate(tests)) == list(range(n))
    for k, test in enumerate(tests):
        train, again = folds.split("x", "folds", n, k)
        assert np.array_equal(test, again)
        assert not set(train) & set(test)
        assert len(train) + len(test) == n
    with pytest.raises(ValueError, match="fold 10"):
        folds.split("x", "folds", n, 10)
    with pytest.raises(ValueError, match="at least 10"):
        folds.split("x", "folds", 9, 0)


@pytest.mark.parametrize("law", [replicates, trials])
def test_replicates_are_blocks_of_the_table(law):
    n = 3 * (law.TRAIN + law.TEST)
    seen = [rows for k in range(3) for rows in law.split("x", "protocol", n, k)]
    assert np.array_equal(np.concatenate(seen), np.arange(n))
    assert [len(rows) for rows in seen] == [law.TRAIN, law.TEST] * 3
    for bad in (3, -1):
        with pytest.raises(ValueError, match="replicate"):
            law.split("x", "protocol", n, bad)
    with pytest.raises(ValueError, match="replicate"):
        law.split("x", "protocol", n + 1, 0)


@pytest.mark.parametrize(("name", "rho"), [("half", 1 / 2), ("third", 1 / 3), ("two_thirds", 2 / 3), ("fifth", 1 / 5)])
def test_trials_have_their_probability(name, rho):
    """Fresh trials, not those of the suite: within 6 standard errors."""
    dataset = datasets.get(f"bernoulli_{name}")
    table = dataset.generate(np.random.default_rng(0))
    assert set(np.unique(table.x)) == {0.0, 1.0}
    assert abs(table.x.mean() - rho) < 6 * np.sqrt(rho * (1 - rho) / dataset.n_rows)
    assert (table.y == 0).all()


def test_rows_follow_the_law():
    """40,000 rows: component means within 6 standard errors, noise variance within 6 of its own."""
    means = np.array([[0.0, 5.0], [-5.0, 0.0]])
    x, labels = observe(np.random.default_rng(0), means, 40_000)
    for j in range(2):
        mine = x[labels == j]
        assert np.abs(mine.mean(axis=0) - means[j]).max() < 6 * NOISE_SD / np.sqrt(len(mine))
    residual = x - means[labels]
    assert abs(residual.var() / NOISE_SD**2 - 1) < 6 * np.sqrt(2 / residual.size)
    assert abs((labels == 0).mean() - 0.5) < 6 * 0.5 / np.sqrt(len(x))


def test_released_law_draws_the_programs_data():
    """Norms of the means of data seed 6, read off the authors' stored file: 2.26 to 4.32."""
    x, labels, means = mixture_of_gaussians_released.draw(6, 1000)
    norms = np.linalg.norm(means, axis=1)
    assert norms.min() == pytest.approx(2.26, abs=0.005)
    assert norms.max() == pytest.approx(4.32, abs=0.005)
    assert x.shape == (1000, 4)
    again = mixture_of_gaussians_released.draw(6, 1000)
    assert np.array_equal(x, again[0])
    assert set(labels) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", datasets.names("simulated"))
def test_simulated_sets_state_what_they_are(name):
    dataset = datasets.get(name)
    assert dataset.task == "density"
    law = trials if name.startswith("bernoulli_") else replicates
    assert dataset.n_rows % (law.TRAIN + law.TEST) == 0
    assert dataset.n_rows // (law.TRAIN + law.TEST) == dataset.n_splits
    assert len(dataset.table_sha256) == 64
