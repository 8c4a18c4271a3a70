"""Verdicts by kind of number, every committed one by other code, and what else is committed."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import t as student

from papers.honkela2018robust import published, run, verdicts
from reports.verdict import judge
from workflow.program import read_scores

REFERENCE = Path(verdicts.__file__).parent / "reference"
KEY = ["table", "dataset", "method", "setting", "metric"]


@pytest.fixture(scope="module")
def judged():
    return pd.read_csv(REFERENCE / "verdicts.csv.gz", dtype={"published_mean": str}, keep_default_na=False)


@pytest.fixture(scope="module")
def scores():
    return read_scores(REFERENCE / "scores")


def row(values, reading="authors"):
    values = np.asarray(values, dtype=float)
    return {"runs": " ".join(map(repr, values.ravel().tolist())), "parts": str(values.shape[0]),
            "streams": str(values.shape[1]), "reading": reading}  # fmt: skip


def cell(mean, metric="spearman"):
    return {"mean": mean, "metric": metric}


def word(number, own):
    return judge(verdicts.runs_of(number, own), family=249).verdict


def test_words_of_each_kind():
    values = 0.8 + 0.002 * np.random.default_rng(0).standard_normal((50, 3))
    centre = f"{values.mean():.19f}"
    far = f"{values.max(axis=1).mean() + 1e-4:.19f}"
    assert word(cell(centre), row(values)) == "reproduced"
    assert word(cell(far), row(values)) == "worse"
    one = np.full((50, 1), 0.8)
    said = [word(cell(m), row(one, "printed")) for m in ("0.8", "0.8015", "0.7900")]
    assert said == ["reproduced", "compatible", "better"]
    multiple = [
        word(cell(m, "clipping_multiple"), row([[0.1]])) for m in ("0.1000000000000000056", "0.2000000000000000111")
    ]
    assert multiple == ["reproduced", "differs"]
    runs = 0.85 + 0.004 * np.random.default_rng(1).standard_normal((20, 1))
    assert word(cell("0.60"), row(runs, "corrected")) == "better"


def test_the_distribution_of_a_mean_by_its_streams():
    values = np.random.default_rng(2).standard_normal((6, 3))
    means, deviations = verdicts.chosen_means(values, 40_000, np.random.default_rng(3))
    error = verdicts.error_of(values)
    assert means.std() == pytest.approx(error, rel=0.02)  # about five standard errors
    assert means.mean() == pytest.approx(values.mean(), abs=5 * error / 200)
    assert means.min() >= values.min(axis=1).mean() - 1e-12
    assert deviations.shape == (40_000,)


def test_readings_of_a_number():
    cells = published.numbers()
    made = {tuple(c[k] for k in KEY): run.readings_of(c) for c in cells.to_dict("records") if c["dataset"] != "gdsc"}
    count = pd.Series([r for of in made.values() for r in of]).value_counts()
    assert count.to_dict() == {"authors": 249, "printed": 48, "corrected": 15}


# --------------------------------------------------------------------------------------------------- what is committed


def test_every_committed_verdict_by_other_code(judged, scores):
    """From the rule's words alone: plain numbers and scipy, no function of the modules that judge."""
    known = {(*(r[k] for k in KEY), r["reading"]): r for r in scores.to_dict("records")}
    wrong, count = [], 0
    for told in judged.to_dict("records"):
        if told["dataset"] == "gdsc":
            assert told["verdict"] == "no_data"
            continue
        own = known[(*(told[k] for k in KEY), told["reading"])]
        if own["status"] != "ok":
            assert (told["verdict"], told["reason"]) == (own["status"], own["reason"])
            continue
        values = np.array(own["runs"].split(), float).reshape(int(own["parts"]), int(own["streams"]))
        said, count = by_hand(told, values), count + 1
        if said != told["verdict"]:
            wrong.append((told["table"], told["setting"], told["reading"], said, told["verdict"]))
    assert not wrong
    assert count == 249 + 34 + 15
    assert len(judged) == 249 + 380 + 48 + 15


def by_hand(told, values):
    theirs, centre = float(told["published_mean"]), values.mean()
    gap, level = abs(centre - theirs), 0.01 / 249
    higher = centre > theirs
    if told["metric"] == "clipping_multiple":
        return "reproduced" if gap < 1e-15 else "differs"
    if told["reading"] == "printed":
        return "compatible" if gap <= verdicts.DRAWS else "better" if higher else "worse"
    if told["reading"] == "corrected":
        logs, n = np.log(values[:, 0]), len(values)
        error = logs.std(ddof=1) * math.sqrt(1 + 1 / n)
        p = 2 * student.sf(abs(logs.mean() - math.log(theirs)) / error, n - 1)
        bound = gap + student.ppf(0.95, n - 1) * values.std(ddof=1) * math.sqrt(1 + 1 / n)
    else:
        p, bound = tail(values, gap, not higher), gap + crossing(values, 0.1)
    if p <= level:
        return "better" if higher else "worse"
    return "inconclusive" if p <= 0.05 else "reproduced" if bound <= 0.01 else "compatible"


def tail(values, gap, up):
    """Twice Chernoff's bound by a search over the tilt; the rows are scaled to a standard error of 1."""
    steps = (values - values.mean(axis=1, keepdims=True)) / len(values) * (1 if up else -1)
    scale = math.sqrt(steps.var(axis=1).sum())

    def log_bound(tilt):
        x = tilt * steps / scale
        top = x.max(axis=1, keepdims=True)
        return float((np.log(np.exp(x - top).mean(axis=1)) + top[:, 0]).sum() - tilt * gap / scale)

    found = minimize_scalar(log_bound, bounds=(0, 20), method="bounded", options={"xatol": 1e-10})
    return min(1.0, 2 * math.exp(min(0.0, found.fun)))


def crossing(values, alpha):
    """The larger of the two distances at which twice the bound is ``alpha``, by bisection."""
    ends = []
    for up in (True, False):
        low, high = 0.0, 10 * math.sqrt(values.var(axis=1).sum()) / len(values)
        for _ in range(18):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(values, middle, up) > alpha else (low, middle)
        ends.append(high)
    return max(ends)


def test_centres_and_errors_of_the_cells(scores):
    """Against an independent run of the same fits: centre, standard error, ends of the range."""
    for (table, method, setting), (centre, error, *ends) in ORACLES.items():
        (found,) = scores[
            (scores["table"] == table) & (scores["method"] == method) & (scores["setting"] == setting)
            & (scores["reading"] == "authors")
        ].to_dict("records")  # fmt: skip
        values = verdicts.values_of(found)
        assert values.mean() == pytest.approx(centre, abs=6e-8)
        assert verdicts.error_of(values) == pytest.approx(error, rel=0.06)  # two digits are given
        if ends:
            assert [values.min(axis=1).mean(), values.max(axis=1).mean()] == pytest.approx(ends, abs=6e-7)


A, B = "synth_A", "synth_B"
ORACLES = {
    (A, "lr", "epsilon=1;n=500"): (0.8856924, 1.1e-4, 0.884912, 0.886458),
    (A, "rlr", "epsilon=0.1;n=500"): (0.8965609, 1.4e-4, 0.895559, 0.897573),
    (A, "rlr", "epsilon=2;n=500"): (0.8917659, 1.5e-4),
    (A, "rplr", "epsilon=0.1;n=500"): (0.1116629, 1.6e-3, 0.101150, 0.121817),
    (A, "rplr", "epsilon=1;n=500"): (0.8146231, 2.4e-4, 0.812864, 0.816326),
    (A, "rplr", "epsilon=10;n=500"): (0.8821362, 1.7e-4),
    (B, "lr", "epsilon=2;n=0"): (0.6310381, 6.1e-4, 0.626969, 0.635430),
    (B, "lr", "epsilon=2;n=400"): (0.8853236, 1.2e-4),
    (B, "rlr", "epsilon=2;n=400"): (0.8902842, 1.6e-4),
    (B, "rplr", "epsilon=2;n=100"): (0.5587290, 8.4e-4, 0.552980, 0.564346),
    (B, "rplr", "epsilon=2;n=300"): (0.8202255, 2.7e-4),
    (B, "rplr", "epsilon=2;n=800"): (0.8768457, 1.7e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.05;p2=0.05"): (0.1311834, 7.6e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.15;p2=0.30"): (0.5783136, 8.7e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.30;p2=0.65"): (0.6745405, 1.8e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.35;p2=0.60"): (0.6745166, 1.9e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.50;p2=0.30"): (0.6269925, 2.8e-4),
    ("splits", "rplr", "epsilon=2;n=500;p1=0.90;p2=0.05"): (0.2325246, 6.2e-4),
}


def test_folds_with_a_posterior():
    found = pd.read_csv(REFERENCE / "posteriors.csv")
    private = found[(found["table"] == A) & (found["method"] == "rplr")]
    assert private["exist"].tolist() == [0, 0, 0, 0, 0, 21, 50]
    assert private["negative_eigenvalue"].tolist() == [50, 50, 50, 50, 50, 23, 0]
    without = found[found["method"] != "rplr"]
    assert (without["exist"] == 50).all()
    assert (found["exist"] + found["negative_eigenvalue"] + found["negative_residual"] == found["folds"]).all()


def test_the_ledgers():
    """By the authors' code no finite epsilon; corrected, the claimed one."""
    found = pd.read_csv(REFERENCE / "ledger.csv")
    assert len(found) == 15 * 3
    assert np.isposinf(found.loc[found["reading"] != "corrected", "ledger_epsilon"]).all()
    own = found[found["reading"] == "corrected"]
    assert own["ledger_epsilon"].to_numpy() == pytest.approx(own["claimed_epsilon"].to_numpy(), rel=1e-6)
    assert set(found["relation"]) == {"replace_one"}


def test_what_a_release_costs_and_what_an_outlier_shows():
    costs = pd.read_csv(REFERENCE / "costs.csv").set_index("scales")["together"]
    assert costs.tolist() == pytest.approx([0.603571, 0.65, 1.0], abs=1e-6)
    shown = pd.read_csv(REFERENCE / "outlier.csv")
    assert (shown["delta_at_least"] <= shown["delta"]).all()
    assert (shown.loc[shown["row"] == "typical", "delta"] == 0).all()
    assert (shown.loc[shown["row"] == "target 1000", "delta_at_least"] > 0.99).all()
    one = shown.set_index(["row", "epsilon", "at"])["delta"]
    # shares of 100,000 draws: five standard errors
    assert one["one input 1000, target 15", 1.0, 1.0] == pytest.approx(0.57, abs=0.015)
    assert one["all inputs 4, target 15", 0.1, 0.1] == pytest.approx(0.033, abs=0.004)


def test_more_updates():
    found = pd.read_csv(REFERENCE / "updates.csv")
    by = found.set_index(["method", "setting", "updates"])["score"].unstack()
    assert by.loc["lr"].iloc[0].round(3).tolist() == [0.876, 0.878, 0.886, 0.902, 0.909, 0.909]
    assert by.loc["rplr", "epsilon=2;n=500"].round(3).tolist() == [0.872, 0.873, 0.869, 0.837, 0.733, 0.511]


def test_corrected_scores():
    """Against ten runs of another program: within five standard errors of the two."""
    found = pd.read_csv(REFERENCE / "corrected.csv").set_index(["table", "setting"])
    others = {(A, "epsilon=0.1;n=500"): (0.306, 0.046), (A, "epsilon=1;n=500"): (0.850, 0.005),
              (A, "epsilon=10;n=500"): (0.8945, 0.001), (B, "epsilon=2;n=100"): (0.683, 0.014),
              (B, "epsilon=2;n=400"): (0.868, 0.003)}  # fmt: skip
    for at, (mean, sd) in others.items():
        own = found.loc[at]
        error = math.sqrt(sd**2 / 10 + own["std"] ** 2 / own["n"])
        assert own["mean"] == pytest.approx(mean, abs=5 * error)
    assert (found["n"] == 20).all()
    paid = pd.read_csv(REFERENCE / "charged.csv").set_index(["table", "setting"])
    assert paid.index.tolist() == found.index.tolist()
    asked = [published.fields(setting)["epsilon"] for _, setting in paid.index]
    # of eight Laplace releases at delta = 1e-9: at most their sum, and less in the sixth digit
    assert (paid["ledger_epsilon"] <= np.array(asked) * (1 + 1e-9)).all()
    assert paid["ledger_epsilon"].tolist() == pytest.approx(asked, rel=1e-5)
    rising = found.loc[A]["mean"].tolist()
    assert all(a < b for a, b in pairwise(rising))


def test_the_runs_behind_a_number(judged):
    runs = verdicts.runs(REFERENCE)
    noisy = judged[(judged["p_kind"] != "") & (judged["p_kind"] != "exact")]
    assert set(runs) == {(*(r[k] for k in ["source", *KEY]), r["reading"]) for r in noisy.to_dict("records")}
    assert len(runs) == 219 + 15


def test_claims_that_are_tested_and_not():
    found = pd.read_csv(REFERENCE / "claims.csv").set_index("claim")["verdict"]
    assert found.to_dict() == {
        "four-times": "not testable here", "efficiency": "not testable here", "similar-to-mcmc": "not testable here",
        "best-split": "undecided",
    }  # fmt: skip
