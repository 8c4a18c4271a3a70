"""Simulated data sets, their replicates, and cross-validation folds."""

import numpy as np
import pytest

import datasets
from datasets import mixture_of_gaussians_released
from datasets.mixture_of_gaussians import NOISE_SD, observe
from datasets.protocols import folds, repeats, replicates, simulated_truth, trials

#: simulated sets that carry their true parameter -> its dimension
WITH_TRUTH = {
    "beta_bernoulli": 1,
    "gamma_exponential": 1,
    "dirichlet_categorical": 2,
    "linear_regression_10d": 12,
}


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
    assert len(dataset.table_sha256) == 64
    if name in WITH_TRUTH:
        assert dataset.n_splits == simulated_truth.REPLICATES
        assert dataset.n_rows == dataset.n_splits * (simulated_truth.TRAIN + WITH_TRUTH[name])
        return
    assert dataset.task == "density"
    law = trials if name.startswith("bernoulli_") else replicates
    assert dataset.n_rows % (law.TRAIN + law.TEST) == 0
    assert dataset.n_rows // (law.TRAIN + law.TEST) == dataset.n_splits
    assert len(dataset.table_sha256) == 64


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_the_last_targets_of_a_block_are_its_parameter(name):
    """A short table made by the same law: rows fit their own theta, the score is 0 within 6 standard errors."""
    from models.conjugate_simulators import ConjugateSimulator
    from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise

    module = __import__(f"datasets.{name}", fromlist=["draw"])
    model = LinearRegressionUnknownNoise() if name == "linear_regression_10d" else ConjugateSimulator(name)
    rng = np.random.default_rng(1)
    for _ in range(3):
        x, y, theta = module.draw(rng)
        assert theta.shape == (WITH_TRUTH[name],)
        score = model.likelihood.gradient(theta[None], model.likelihood.design(x), y)[:, 0]
        assert (np.abs(score.mean(axis=0)) < 6 * score.std(axis=0) / np.sqrt(len(x))).all()


@pytest.mark.parametrize("name", WITH_TRUTH)
def test_parameters_follow_the_models_prior(name):
    """Drawn parameters against draws of the model's prior: Kolmogorov-Smirnov, false-alarm rate 1e-4 a coordinate."""
    from scipy import stats

    from models.conjugate_simulators import ConjugateSimulator
    from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise

    module, rng = __import__(f"datasets.{name}", fromlist=["draw"]), np.random.default_rng(2)
    theta = np.array([module.draw(rng)[2] for _ in range(300)])
    if name == "linear_regression_10d":
        prior = LinearRegressionUnknownNoise().sample_prior(5000, rng, 10)
    else:
        prior = ConjugateSimulator(name).sample_prior(5000, rng)
    assert all(stats.ks_2samp(a, b).pvalue > 1e-4 for a, b in zip(theta.T, prior.T, strict=True))


def test_blocks_with_their_truth(monkeypatch):
    monkeypatch.setattr(simulated_truth, "REPLICATES", 4)
    monkeypatch.setattr(simulated_truth, "TRAIN", 7)
    table = datasets.get("linear_regression_10d").generate(np.random.default_rng(3))
    assert table.x.shape == (4 * 19, 10)
    draw = __import__("datasets.linear_regression_10d", fromlist=["draw"]).draw
    rng = np.random.default_rng(3)
    for k in range(4):
        train, test = simulated_truth.split("linear_regression_10d", "simulated_truth", len(table.y), k)
        x, y, theta = draw(rng)
        np.testing.assert_array_equal(table.x[train], x)
        np.testing.assert_array_equal(table.y[train], y)
        np.testing.assert_array_equal(table.y[test], theta)
        assert not table.x[test].any()
    for n, k in ((4 * 19, 4), (4 * 19, -1), (4 * 19 + 1, 0), (4 * 7, 0)):
        with pytest.raises(ValueError, match="replicate"):
            simulated_truth.split("x", "simulated_truth", n, k)


def test_repeats_share_one_published_split():
    one, two = (repeats.split("adult_complete", "repeats", 45_222, k) for k in (0, 19))
    assert (len(one[0]), len(one[1])) == (30_162, 15_060)
    np.testing.assert_array_equal(one[0], two[0])
    assert not set(one[0]) & set(one[1])
    for name, n, k in (("wine", 100, 0), ("adult_complete", 45_222, -1), ("adult_complete", 100, 0)):
        with pytest.raises(ValueError, match="repeats"):
            repeats.split(name, "repeats", n, k)
