"""Pooled effects: of made-up verdicts by hand, and of the committed ones by other code."""

import csv
import dataclasses
import math
import statistics

import numpy as np
import pandas as pd
import pytest

from reports import ceiling, pooled, scoreboard
from reports.published import KEY
from reports.readme import ROOT
from reports.verdict import REFUTED, VERDICTS, judge

ROW = {
    "source": "s", "table": "1", "method": "m", "setting": "", "reading": "authors", "verdict": "compatible",
    "published_error": "", "statistic": "", "n_published": "5", "median": "", "metric": "rmse",
}  # fmt: skip


def rows(values, **changes):
    """One row per (data set, ours, published)."""
    return pd.DataFrame(
        [ROW | {"dataset": d, "mean": str(m), "published_mean": str(p)} | changes for d, m, p in values]
    )


def test_errors_are_compared_by_ratio_and_log_likelihoods_by_difference():
    values = [("a", 1.0, 2.0), ("b", 3.0, 2.0), ("c", 2.0, 2.0)]
    (ratio,) = pooled.build(rows(values)).to_dict("records")
    assert (ratio["scale"], ratio["unit"], ratio["effect"], ratio["datasets"]) == ("ratio", "", 1.0, 3)
    (nats,) = pooled.build(rows(values, metric="test_log_likelihood")).to_dict("records")
    assert (nats["scale"], nats["unit"], nats["effect"]) == ("difference", "nats", 0.0)
    assert math.isnan(ratio["low"])  # three data sets give no interval
    assert pooled.text(ratio) == "1.000"
    assert pooled.text(nats) == "+0.000"


@pytest.mark.parametrize(
    ("metric", "scale"),
    [("rmse", "ratio"), ("test_error", "ratio"), ("mse", "ratio"), ("mmd", "ratio"), ("fnorm", "ratio"),
     ("kl_proxy", "ratio"), ("test_log_likelihood", "difference"), ("acceptance", "difference"),
     ("clipped_ratios", "difference"), ("tarp_coverage_rmse", "difference"), ("calibration_rmse", "difference")],
)  # fmt: skip
def test_the_scale_of_a_metric(metric, scale):
    assert pooled.scale_of(metric) == scale


def test_a_single_run_and_a_median_are_compared_with_our_median():
    values = [("a", 4.0, 2.0)]
    for changes in ({"n_published": "1"}, {"statistic": "median"}):
        assert pooled.build(rows(values, median="3.0", **changes))["effect"].item() == 1.5
    assert pooled.build(rows(values, median="3.0"))["effect"].item() == 2.0
    assert pooled.build(rows(values, n_published="1"))["effect"].item() == 2.0  # no median is stored


def test_what_has_no_ratio_is_left_out_and_counted_and_no_score_is_no_number():
    values = [("a", 1.0, 2.0), ("b", -1.0, 2.0), ("c", 1.0, 0.0)]
    (found,) = pooled.build(rows(values, metric="kl_proxy")).to_dict("records")
    assert (found["numbers"], found["left_out"], found["effect"]) == (3, 2, 0.5)
    assert pooled.build(rows(values, verdict="no_data")).empty
    assert pooled.build(rows(values, reading="corrected")).empty


def test_the_share_within_the_margin_and_the_distance_of_most():
    """A tenth of an error, a factor of two of a norm, ln 1.1 nats; the quantile is linear between 2 of 11 ratios."""
    values = [("a", 1 + k / 50, 1.0) for k in range(11)]
    (error,) = pooled.build(rows(values)).to_dict("records")
    assert error["within"] == 6 / 11
    assert error["distance_90"] == pytest.approx(0.18)
    (norm,) = pooled.build(rows([("a", 1.9, 1.0), ("a", 0.4, 1.0)], metric="fnorm")).to_dict("records")
    assert norm["within"] == 0.5
    nats = [("a", -1.0, -1.09), ("a", -1.0, -1.1)]
    assert pooled.build(rows(nats, metric="test_log_likelihood"))["within"].item() == 0.5


def test_single_runs_of_a_sampler_are_compared_by_chance():
    """Whatever their metric is called; 1/2 is no effect, and 1/3 to 2/3 is within the margin."""
    three = rows([("a", 1.0, 2.0)] * 3, metric="beta1_mean", std="0.5", detectable="1.0")
    (found,) = pooled.build(three.assign(chance=["0.4", "0.55", "0.8"])).to_dict("records")
    assert (found["metric"], found["scale"], found["effect"], found["left_out"]) == (
        "sampler_output",
        "chance",
        0.55,
        0,
    )
    assert found["within"] == 2 / 3
    assert (found["compatible"], found["shift"]) == (3, 2.0)  # in standard deviations of a run
    assert pooled.shift_text(found) == "2 sd of a run"
    assert pooled.text(found) == "0.550"


def test_what_compatible_is_worth():
    """By ratio: half of the number, a quarter, nothing; a reproduced number does not count."""
    four = rows([("a", 2.0, 2.0)] * 4).assign(
        detectable=["1.0", "0.5", "inf", "0.1"], verdict=["compatible"] * 3 + ["reproduced"]
    )
    (found,) = pooled.build(four).to_dict("records")
    worth = {k: found[k] for k in ("compatible", "shift", "shift_90", "no_shift", "quarter")}
    assert worth == {"compatible": 3, "shift": 0.5, "shift_90": math.inf, "no_shift": 1 / 3, "quarter": 2 / 3}
    assert [pooled.shift_text(found, c) for c in ("shift", "shift_90")] == ["50 %", "none"]


def test_an_accuracy_is_compared_as_an_error():
    (found,) = pooled.build(rows([("a", 0.2, 0.6)], metric="accuracy", published_error="0.4")).to_dict("records")
    assert (found["metric"], found["effect"]) == ("test_error", 0.5)


def test_the_interval_covers_the_median_of_sets():
    """100 sources of 20 sets with five equal numbers each: the interval of the median holds 0 in 86 or more.

    The coverage of this interval for a median of 20 is about 95 %; 86 of 100 are four standard errors below.
    """
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        low, high = pooled.interval({str(i): np.full(5, x) for i, x in enumerate(rng.standard_normal(20))}, rng)
        held += low <= 0 <= high
    assert held >= 86


def test_digits_follow_the_interval():
    row = {"scale": "ratio", "effect": 1.0000123, "low": 0.9999, "high": 1.0002}
    assert pooled.text(row) == "1.00001 [0.99990, 1.00020]"
    assert pooled.text(row | {"low": math.nan, "high": math.nan}) == "1.000"


# ----- what is committed


@pytest.fixture(scope="module")
def verdicts():
    return scoreboard.rows()


def test_the_committed_table_is_current(verdicts):
    made, told = pooled.build(verdicts), pooled.read()
    assert list(made.columns) == list(told.columns)
    keys = ["source", "metric", "reading", "scale", "numbers", "left_out", "datasets"]
    assert made[keys].astype(str).to_dict("records") == told[keys].astype(str).to_dict("records")
    for column in told.columns[told.columns.get_loc("joint_p") :].append(pd.Index(["effect", "low", "high"])):
        assert told[column].to_numpy() == pytest.approx(made[column].to_numpy(), rel=1e-9, nan_ok=True)


def test_the_worth_of_wangs_compatible_numbers_by_judging_other_numbers(verdicts):
    """Each of 150 is judged again as if 1.25 times the number had been printed.

    The share by ``detectable`` is for runs centred at the number. It may differ by runs that are not: by a twentieth.
    """
    (told,) = (r for r in pooled.read().to_dict("records") if (r["metric"], r["reading"]) == ("mse", "authors"))
    mine = verdicts[(verdicts["source"] == "wang2018adaptive") & (verdicts["verdict"] == "compatible")]
    keys = set(map(tuple, mine.loc[mine["reading"] == "authors", [*KEY, "reading"]].to_numpy()))
    assert told["compatible"] == len(keys)
    held = 0
    few = [c for c in ceiling.cases("wang2018") if c.key in keys][::10]
    for case in few:
        more = dataclasses.replace(case.runs.published, mean=1.25 * case.runs.published.mean)
        held += judge(dataclasses.replace(case.runs, published=more), case.lost, case.family).verdict not in REFUTED
    assert held / len(few) == pytest.approx(told["quarter"], abs=0.05)


def test_two_effects_by_other_code():
    """Medians over rows of ``verdicts.csv``, without pandas."""
    with open(ROOT / "reports/reference/verdicts.csv", newline="", encoding="utf-8") as f:
        lines = [r for r in csv.DictReader(f) if r["headline"] == "yes" and r["verdict"] in VERDICTS]
    told = {(r["source"], r["metric"], r["reading"]): r for r in pooled.read().to_dict("records")}
    with open(ROOT / "papers/vinaroz2023dpsep/annotations.csv", newline="", encoding="utf-8") as f:
        copies = {
            tuple(r[k] for k in ("source", "table", "dataset", "method", "setting", "metric"))
            for r in csv.DictReader(f) if r["same_as"]
        }  # fmt: skip
    for metric in ("rmse", "test_log_likelihood"):
        found = []
        for r in lines:
            key = tuple(r[k] for k in ("source", "table", "dataset", "method", "setting", "metric"))
            if (r["source"], r["metric"], r["reading"]) == (
                "vinaroz2023dpsep",
                metric,
                "printed",
            ) and key not in copies:
                ours = float(r["median"] if r["n_published"] == "1" and r["median"] else r["mean"])
                theirs = float(r["published_mean"])
                found.append(ours / theirs if metric == "rmse" else ours - theirs)
        row = told["vinaroz2023dpsep", metric, "printed"]
        assert row["numbers"] == len(found)
        assert row["effect"] == pytest.approx(statistics.median(found), rel=1e-12)
        assert row["low"] < row["effect"] < row["high"]
