"""What is committed: every verdict by other code, tables beside an independent computation, figures."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu, norm, wilcoxon
from scipy.stats import t as student

from papers.chen2025dppf import PAPER, figures, published, run, verdicts
from reports.verdict import judge
from workflow.program import read_scores
from workflow.published import KEY

REFERENCE = published.HERE / "reference"


@pytest.fixture(scope="module")
def judged():
    return pd.read_csv(REFERENCE / "verdicts.csv.gz", dtype={"published_mean": str}, keep_default_na=False)


@pytest.fixture(scope="module")
def scores():
    return read_scores(REFERENCE / "scores")


def test_every_committed_verdict_by_other_code(judged, scores):
    """From the rule's words alone: plain numbers and SciPy."""
    known = {(*(r[k] for k in KEY[1:]), r["reading"]): r for r in scores.to_dict("records")}
    count = 0
    for told in judged.to_dict("records"):
        own = known.get((*(told[k] for k in KEY[1:]), told["reading"]))
        if own is None:
            assert told["verdict"] in ("no_data", "not_run")
            assert "remedy: " in told["reason"]
            continue
        assert by_hand(told, own) == told["verdict"], tuple(told[k] for k in KEY)
        count += 1
    assert count == len(scores)
    assert (judged["reading"] == "authors").sum() == 2025


def by_hand(told, own):
    ours = np.array(own["runs"].split(), float)
    if own["table"] == published.POOLED:
        return pooled_by_hand(told, ours)
    theirs = published.runs_of(told["table"], told["setting"], told["metric"])
    if own["kind"] == "run by run":
        z = (ours - theirs[: len(ours)]) / np.array(own["errors"].split(), float)
        p, each = wilcoxon(z, method="approx").pvalue, norm.cdf(z)
        centre, half = each.mean(), 2.0095752 * each.std(ddof=1) / math.sqrt(len(z))  # t of 49 degrees
        assert len(z) == 50
    else:
        p = mannwhitneyu(ours, theirs, method="asymptotic").pvalue if np.ptp(np.r_[ours, theirs]) > 0 else 1.0
        above = (ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)
        centre = above.mean()
        variance = above.mean(axis=1).var(ddof=1) / len(ours) + above.mean(axis=0).var(ddof=1) / len(theirs)
        half = 1.959963985 * math.sqrt(variance)
    if p <= 0.01 / 2018:
        return "differs"
    if p <= 0.05:
        return "inconclusive"
    return "reproduced" if centre - half >= 1 / 3 and centre + half <= 2 / 3 else "compatible"


def pooled_by_hand(told, ours):
    """The rule for two means: none of the runs has heavy tails. The chance is that of normal runs."""
    n, mine, theirs = len(ours), ours.std(ddof=1), float(told["published_std"]) + 0.001  # a unit of its last digit
    assert n == 60
    assert mine < 2 * 1.4826 * np.median(np.abs(ours - np.median(ours)))
    gap = max(0.0, abs(ours.mean() - float(told["published_mean"])) - 0.001)
    error = max(mine, theirs) * math.sqrt(1 / n + 1 / int(told["n_published"]))
    p = 2 * student.sf(gap / error, n - 1) if gap > 0 else 1.0
    if p <= 0.05:
        return "differs" if p <= 0.01 / 2018 else "inconclusive"
    chance = norm.cdf((gap + student.ppf(0.95, n - 1) * error) / math.sqrt(2) / min(mine, theirs))
    return "reproduced" if chance <= 2 / 3 else "compatible"


def test_what_was_run_is_what_the_settings_say(scores):
    cells = published.numbers().to_dict("records")
    expected = {(c["table"], c["setting"], c["metric"], r) for c in cells if run.is_run(c) for r in run.readings_of(c)}
    assert set(map(tuple, scores[["table", "setting", "metric", "reading"]].to_numpy())) == expected
    assert set(scores["status"]) == {"ok"}
    assert {p.name.partition(".")[0] for p in (REFERENCE / "scores").iterdir()} == set(PAPER.program.scores)


def test_exact_posteriors_and_their_diagnostics():
    """R-hat, effective draws, and values of another program; errors of both are .003 to .02 of a standard deviation."""
    found = pd.read_csv(REFERENCE / "posteriors.csv")
    assert len(found) == 5 * 3 * 4 * 7
    assert found["r_hat"].max() < 1.01
    assert found[["ess_bulk", "ess_tail"]].min().min() > 1000
    at = found.set_index(["dataset", "prior", "epsilon", "n", "seed", "parameter"]).sort_index()
    for (prior, epsilon, n), (mean, mu, phi, tau, beta0, beta1) in EXACT.items():
        of = at.loc["chen_lr", prior, epsilon, n, 11029 if n == 400 else 1]
        assert of.loc["tau", "mean"] == pytest.approx(mean, abs=0.1 * of.loc["tau", "sd"])
        for name, median in (("mu", mu), ("phi", phi), ("tau", tau), ("beta0", beta0), ("beta1", beta1)):
            spread = (of.loc[name, "q75"] - of.loc[name, "q25"]) / 1.349
            assert of.loc[name, "q50"] == pytest.approx(median, abs=0.12 * spread), (prior, epsilon, n, name)
    fixed = at.loc["chen_lr_fixed", "conjugate", 1.0, 500, 0]
    assert fixed.loc["beta1", "q50"] == pytest.approx(0, abs=0.05)
    assert fixed.loc["tau", "q50"] == pytest.approx(0.526, abs=0.03)


EXACT = {
    ("conjugate", 0.1, 100): (0.789, 0.187, 1.120, 0.473, 0.450, -0.216),
    ("conjugate", 0.1, 300): (0.530, 0.944, 0.735, 0.272, 0.717, 1.496),
    ("conjugate", 0.5, 300): (0.486, 1.126, 0.842, 0.350, 0.288, 1.893),
    ("conjugate", 1, 100): (0.393, 1.477, 0.992, 0.219, 1.240, 1.047),
    ("conjugate", 1, 300): (0.517, 1.084, 0.898, 0.409, 0.147, 1.925),
    ("conjugate", 2, 300): (0.591, 1.060, 0.949, 0.507, 0.046, 1.973),
    ("conjugate", 2, 500): (0.972, 1.017, 0.902, 0.875, 0.169, 1.861),
    ("heavy", 0.1, 100): (1.101, 0.548, 0.690, 1.033, 0.306, -0.287),
    ("heavy", 0.1, 300): (1.069, 1.025, 0.452, 0.999, 0.611, 1.589),
    ("heavy", 0.5, 300): (0.988, 1.089, 0.707, 0.908, 0.182, 2.030),
    ("heavy", 1, 300): (0.974, 1.064, 0.839, 0.884, 0.001, 2.087),
    ("heavy", 2, 300): (0.992, 1.051, 0.948, 0.895, -0.100, 2.126),
    ("heavy", 2, 400): (1.139, 1.020, 1.278, 1.062, -0.206, 2.136),
}


def test_the_chains_of_the_rival_follow_the_second_noise():
    found = pd.read_csv(REFERENCE / "rival.csv")
    at = found[(found["prior"] == "conjugate") & (found["epsilon"] == 2) & (found["n"] == 300)].set_index("parameter")
    expected = {"mu": 0.996, "phi": 0.972, "tau": 0.943, "beta0": 0.974, "beta1": 0.970}
    for name, correlation in expected.items():  # of 100 runs; a standard error of Fisher's z with 50 is .15
        assert abs(np.arctanh(at.loc[name, "correlation"]) - np.arctanh(correlation)) < 0.6
    # the errors of the coefficients come from their own effective draws, so their z has about the deviation 1
    own = found[found["parameter"].str.startswith("beta")]
    assert own["z_sd"].median() == pytest.approx(1, abs=0.3)


def test_the_rival_without_a_second_noise(scores):
    """Its committed runs, and their gaps to the exact posterior by other code; none is large.

    200 gaps of a right chain exceed 4.1 standard errors with a probability of 1 %.
    """
    found = pd.read_csv(REFERENCE / "rival.csv")
    gaps = found["once_z"]
    assert len(gaps) == 200
    assert gaps.abs().max() < 4.1
    assert math.sqrt((gaps**2).mean()) == pytest.approx(1, abs=0.3)
    at = (
        found[(found["prior"] == "heavy") & (found["epsilon"] == 2) & (found["n"] == 400)]
        .set_index("parameter")
        .loc["tau"]
    )
    own = scores[(scores["reading"] == "corrected") & (scores["setting"] == "epsilon=2;n=400;prior=heavy")]
    runs = np.array(own.set_index("metric").loc["tau_mean", "runs"].split(), float)
    exact = pd.read_csv(REFERENCE / "posteriors.csv").query("prior == 'independent' and epsilon == 2 and seed == 11029")
    exact = exact.set_index("parameter").loc["tau"]
    error = math.sqrt(runs.var(ddof=1) / len(runs) + exact["mean_error"] ** 2)
    assert at["once_z"] == pytest.approx((runs.mean() - exact["mean"]) / error, rel=1e-6)
    assert at["once_sd"] == pytest.approx(runs.std(ddof=1))


def test_bias_of_the_filter():
    """Below the exact mean in every setting, and no smaller with more particles."""
    found = pd.read_csv(REFERENCE / "bias.csv")
    assert len(found) == 40
    assert (found["tau_bias"] < 0).all()
    more = pd.read_csv(REFERENCE / "particles.csv").set_index(["prior", "particles"])["median_bias"]
    assert more["conjugate"].to_numpy() == pytest.approx([-0.40, -0.39, -0.40], abs=0.03)


def test_ledgers():
    found = pd.read_csv(REFERENCE / "ledger.csv").groupby("dataset")["ratio"].agg(["min", "max"])
    for dataset, ratio in (("chen_lr", 2 / 3), ("chen_ls", 0.75), ("chen_lr_unscaled", 32 / 3)):
        assert found.loc[dataset].tolist() == pytest.approx([ratio, ratio], rel=1e-5)


def test_the_figure_is_drawn(tmp_path):
    (made,) = figures.build(REFERENCE, tmp_path)
    assert len(pd.read_csv(tmp_path / f"{made.name}.csv")) == 40


def test_the_runs_behind_a_number(judged):
    run_here = judged[~judged["verdict"].isin(["no_data", "not_run"])]
    assert set(verdicts.runs(REFERENCE)) == {
        (*(r[k] for k in [*KEY]), r["reading"]) for r in run_here.to_dict("records")
    }


def test_the_cost_of_what_was_not_run_is_told(judged):
    """Of each setting that is left out, as measured here."""
    left = judged[judged["verdict"] == "not_run"]
    for cell in left.to_dict("records"):
        status, reason = verdicts.absent(cell)
        assert (status, reason) == ("not_run", cell["reason"])
        assert "CPU seconds" in reason


def test_a_pooled_mean_is_compared_with_ours():
    """The words by other code, for runs at the published mean, and 0.3 and 3 standard deviations off."""
    cell = next(c for c in published.numbers().to_dict("records") if c["table"] == published.POOLED)
    told = {"setting": cell["setting"], "published_std": cell["std"], "n_published": cell["n_published"]}
    runs = norm.ppf((np.arange(60) + 0.5) / 60)
    for shift, expected in ((0.0, "reproduced"), (0.3, "inconclusive"), (3.0, "differs")):
        ours = float(cell["mean"]) + float(cell["std"]) * (runs + shift)
        row = {"runs": " ".join(map(str, ours)), "kind": "runs"}
        found = judge(verdicts.runs_of(cell, row), family=2018).verdict
        assert found == pooled_by_hand(told | {"published_mean": cell["mean"]}, ours) == expected
