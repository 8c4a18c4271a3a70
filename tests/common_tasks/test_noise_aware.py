"""Noise-aware methods beside the exact posterior of their release: the exact posteriors, the words, committed rows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common_tasks import noise_aware, noise_aware_page
from evaluation.release_posterior import moments
from models.conjugate_simulators import ConjugateSimulator
from reports.blocks import markdown
from workflow import extra

REFERENCE = Path(noise_aware.__file__).parent / "reference"


@pytest.mark.parametrize(
    ("n", "z", "b", "mean", "sd"),
    [
        (5000, 2600.0, 10.0, 0.5199088958, 0.0075913713),
        (5000, 2600.0, 100.0, 0.5188984459, 0.0273477044),
        (100, 60.0, 10.0, 0.5482930711, 0.0822444779),
    ],
)
def test_a_noisy_count_has_the_posterior_of_a_plain_sum(n, z, b, mean, sd):
    """Expected: sums over all counts by other code. Counts beyond 20 noise scales are left out here."""
    found = noise_aware.exact_counts(np.array([10.0, 10.0]), np.array([z]), b, n)
    assert (found.mean[0], found.sd[0]) == pytest.approx((mean, sd), rel=1e-6)


def errors_of_simulation(found, values, sums, z, b):
    """Mean and sd of weighted simulations less ``found``, in units of sd, and their size."""
    w = np.exp(-np.abs(z - sums).sum(axis=1) / b)
    w /= w.sum()
    mean = w @ values
    sd = math.sqrt(w @ (values - mean) ** 2)
    return (found.mean[0] - mean) / sd, math.log(found.sd[0] / sd), 1 / (w**2).sum()


def test_two_noisy_counts_have_the_posterior_of_weighted_simulations():
    """Errors are within 5 standard errors (1 / sqrt(size) at most): a false-alarm rate of 1e-6."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet((5.0, 5.0, 5.0), 100_000)
    counts = np.array([rng.multinomial(4, q) for q in p])[:, :2]
    z, b = np.array([3.0, -1.0]), 1.5
    found = noise_aware.exact_counts(np.full(3, 5.0), z, b, 4)
    mean, log_sd, size = errors_of_simulation(found, p[:, 0], counts, z, b)
    assert size > 10_000
    assert max(abs(mean), abs(log_sd)) < 5 / math.sqrt(size)


@pytest.mark.parametrize("n", [1, 4])
def test_a_noisy_sum_of_rows_below_a_bound_has_the_posterior_of_weighted_simulations(n):
    """As above. With one row the released sum is 0 with a probability that the rate decides."""
    rng, model, high = np.random.default_rng(1), ConjugateSimulator("gamma_exponential"), 1.2
    rate = rng.gamma(8.0, 0.5, 100_000)
    x = rng.exponential(1.0, (100_000, n)) / rate[:, None]
    sums, z, b = np.where(x < high, x, 0.0).sum(axis=1, keepdims=True), 0.4 * n, 0.3
    found = noise_aware.exact_section(model.prior, z, b, n, high)
    mean, log_sd, size = errors_of_simulation(found, rate, sums, z, b)
    assert size > 10_000
    assert max(abs(mean), abs(log_sd)) < 5 / math.sqrt(size)


def test_the_moments_of_the_authors_code_are_those_of_the_exact_sampler():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    design = np.column_stack([x, np.ones(20)])
    z = np.concatenate([(design.T @ design)[np.triu_indices(4)], design.T @ y, [y @ y]])
    wide = np.full(4, math.inf)
    np.testing.assert_allclose(noise_aware._as_moments(z, 3), moments(x, y, wide, np.ones(4)), atol=1e-12)


def test_a_naive_posterior_of_exact_moments_is_the_conjugate_one():
    task, _ = noise_aware.simulated(noise_aware.ONE, 50, 0)
    z = moments(task.x.copy(), task.y.copy(), np.full(2, math.inf), np.ones(2))
    draws = noise_aware.naive(noise_aware.ONE, task, z, np.random.default_rng(3))
    exact = task.model.exact_posterior(task.x, task.y).sample(noise_aware.DRAWS, np.random.default_rng(3))
    np.testing.assert_allclose(draws, noise_aware.natural(noise_aware.ONE, exact))
    assert noise_aware.naive(noise_aware.ONE, task, -z, np.random.default_rng(3)) is None


@pytest.mark.parametrize(
    ("ratio", "z", "expected"),
    [((0.95, 1.05), (0.0, 0.1), "same"), ((0.8, 0.89), (0.0, 0.1), "different"), ((0.95, 1.2), (0.0, 0.1), "open"),
     ((0.95, 1.05), (0.21, 0.3), "different"), ((0.95, 1.05), (0.1, 0.3), "open")],
)  # fmt: skip
def test_a_word_needs_whole_intervals(ratio, z, expected):
    row = {"ratio": 1.0, "ratio_low": ratio[0], "ratio_high": ratio[1], "z_low": z[0], "z_high": z[1]}
    assert noise_aware.word(row) == expected


def test_a_coverage_is_judged_by_its_exact_interval():
    for hits, expected in ((100, "covers more"), (98, "not refuted"), (80, "covers less")):
        row = dict(zip(("coverage", "coverage_low", "coverage_high"), noise_aware.share(hits, 100), strict=True))
        assert noise_aware.word(row) == expected
    assert noise_aware.share(95, 100) == pytest.approx((0.95, 0.8871651, 0.9835681), abs=1e-6)  # R: binom.test


def test_rows_of_the_particle_filter_follow_from_its_committed_runs():
    made = noise_aware.filters().set_index(["model", "method", "n", "epsilon"])
    row = made.loc["dp_pf_conjugate", "dp_pf_authors", 300, 0.5]
    home = REFERENCE.parents[1] / "papers/chen2025dppf/reference"
    scores = pd.read_csv(home / "scores/pf_conj_05.csv.gz", dtype=str)
    scores = scores[(scores["reading"] == "authors") & scores["setting"].str.contains(";n=300;")].set_index("metric")
    mean, var = (np.array(scores.loc[f"tau_{m}", "runs"].split(), dtype=float) for m in ("mean", "var"))
    exact = pd.read_csv(home / "posteriors.csv").query("prior == 'conjugate' and epsilon == 0.5 and n == 300")
    exact = exact[(exact["parameter"] == "tau") & (exact["dataset"] == "chen_lr")].iloc[0]
    assert row["ratio"] == pytest.approx(math.exp(np.log(np.sqrt(var) / exact["sd"]).mean()))
    assert row["z"] == pytest.approx(math.sqrt(((mean - exact["mean"]) ** 2).mean()) / exact["sd"])


def test_the_committed_rows_are_those_of_the_plan_and_are_shown():
    long = noise_aware_page.read(REFERENCE)
    own = long[~long["model"].str.startswith("dp_pf")]
    planned = set(noise_aware.plan())
    fitted = own[own["method"] != noise_aware.NAIVE]
    assert {tuple(r) for r in fitted[["model", "method", "n", "epsilon"]].itertuples(index=False)} == planned
    assert ((own["sets"] + own["without"]) == own["model"].map(noise_aware.SETS)).all()
    shown = markdown(noise_aware_page.table(long, "full")[0])
    assert all(title in shown for title in noise_aware_page.MODELS.values())
    assert not long["word"].isna().any()


def test_each_method_gives_draws_of_what_is_judged():
    """One data set of the first setting of each method in the cheapest model. No exact posterior is given a trace."""
    first = {method: (name, method, n, epsilon) for name, method, n, epsilon in reversed([*noise_aware.plan()])}
    for method, setting in first.items():
        if setting[0] == "beta_bernoulli":
            found, exact, truth = noise_aware.one_set(*setting, 0)
            assert found[method].shape == (noise_aware.DRAWS, len(truth))
            assert (exact is None) == (method == noise_aware.NA_DPVI)
    assert noise_aware.NA_DPVI in first


@pytest.mark.nightly
def test_a_committed_row_is_recomputed():
    """The first row of the table, all of its data sets, with the row of the naive posterior."""
    first = next(noise_aware.plan())
    found = pd.DataFrame(noise_aware.rows_of(*first, noise_aware.SETS[first[0]])["rows"])
    told = pd.read_csv(REFERENCE / noise_aware.NAME).iloc[: len(found)]
    for column in found:
        if found[column].dtype == float:
            np.testing.assert_allclose(told[column], found[column], rtol=2e-5)
        else:
            assert list(told[column]) == list(found[column])


def test_the_rule_makes_rows_of_the_committed_columns(tmp_path, monkeypatch):
    """``workflow.extra`` as Snakemake calls it, for the cheapest row of the plan."""
    first = next(noise_aware.plan())
    monkeypatch.setattr(noise_aware, "plan", lambda: iter([first]))
    options = ["common_tasks", noise_aware.NAME, "--scale", "tiny", "--results", str(tmp_path), "--attempt", "1"]
    assert extra.main(options) == 0
    made, told = (pd.read_csv(folder / noise_aware.NAME) for folder in (tmp_path / "extra", REFERENCE))
    assert list(made) == list(told)
    key = ["model", "quantity", "method", "n", "epsilon", "n_epsilon"]
    pd.testing.assert_frame_equal(made[key], told.loc[: len(made) - 1, key])
    assert (made["sets"] == 2).all()
    assert [p.name for p in (tmp_path / "done").glob("*.extra")]
    assert not list((tmp_path / "extra").glob("*.partial"))
