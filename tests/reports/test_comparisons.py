"""What findings compare: by hand on made-up scores, and every committed answer from the committed scores."""

import math

import pandas as pd
import pytest

from evaluation.paired import median_paired, paired, unpaired
from reports import comparisons
from reports.config import ReportError
from reports.findings import read_committed, render
from reports.frames import Frames
from reports.reference import FOLDER
from workflow import committed

ASKED = dict.fromkeys(comparisons.PLAN, "") | {"id": "q", "kind": "mean", "experiment": "x", "protocol": "literature"}


def scores(**cells):
    """Cells ``method_setting`` -> values by split; protocol literature, data set wine, metric rmse."""
    rows = []
    for name, values in cells.items():
        method, _, setting = name.partition("_")
        for k, v in enumerate(values):
            rows.append(
                {"dataset": "wine", "protocol": "literature", "method": method, "setting": setting, "split": str(k)}
                | {
                    "metric": "rmse",
                    "value": "" if v is None else repr(v),
                    "status": "ok" if v is not None else "failed",
                }
            )
    return pd.DataFrame(rows)


def ask(frame, **asked):
    plan = [ASKED | {"metric": "rmse", "method": "a", "other_method": "b"} | asked]
    return comparisons.build({"x": frame}, plan).to_dict("records")


A, B = [1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.3]


def test_paired_over_the_splits_that_both_have():
    (row,) = ask(scores(a=[*A, None], b=[*B, 9.0]))
    expected = paired(dict(enumerate(A)), dict(enumerate(B)))
    assert (row["low"], row["high"], row["n"]) == (expected.low, expected.high, 4)
    assert (row["mean"], row["other_mean"]) == (pytest.approx(1.075), pytest.approx(2.15))
    assert (row["compared"], row["close"], row["not_worse"]) == ("better", "no", "yes")  # a smaller error is better
    assert ask(scores(a=B, b=A))[0]["compared"] == "worse"
    assert row["interval"].startswith("-1.07 (-1.")


def test_close_and_not_worse_ask_for_the_whole_interval():
    (row,) = ask(scores(a=[1.0, 1.01, 1.0], b=[1.0, 1.0, 1.01]))
    assert (row["compared"], row["close"], row["not_worse"]) == ("not separated", "yes", "yes")
    assert row["margin"] == pytest.approx(0.1 * row["other_mean"])
    (row,) = ask(scores(a=[1.0, 1.5, 0.5], b=[1.0, 1.0, 1.0]))
    assert (row["compared"], row["close"], row["not_worse"]) == ("not separated", "no", "no")


def test_the_margin_of_a_common_task_is_a_tenth_of_its_scale():
    values = {"predict_mean": [-2.0, -2.2], "exact_posterior": [-1.0, -1.2], "a": [-1.1, -1.3], "b": [-1.05, -1.25]}
    frame = scores(**values).assign(metric="test_log_likelihood")
    frame["method"] = frame["method"].replace({"predict": "predict_mean", "exact": "exact_posterior"})
    frame["setting"] = ""
    plan = [ASKED | {"metric": "test_log_likelihood", "method": "a", "other_method": "b"}]
    (row,) = comparisons.build({"x": frame}, plan).to_dict("records")
    assert row["margin"] == pytest.approx(math.log(1.1))  # no common task
    plan = [plan[0] | {"experiment": "common_linear_regression"}]
    (row,) = comparisons.build({"common_linear_regression": frame}, plan).to_dict("records")
    assert (row["margin"], row["close"]) == (pytest.approx(0.1), "yes")
    (row,) = comparisons.build({"common_linear_regression": frame[frame["method"] != "predict_mean"]}, plan).to_dict(
        "records"
    )
    assert row["margin"] == pytest.approx(math.log(1.1))  # no scale without both ends


def test_comparisons_of_any_private_method_leave_none_out():
    """On linear regression: those with a finite epsilon at that budget."""
    ran = committed.read(FOLDER, "common_linear_regression")
    plan = comparisons.read_plan()
    for name, setting in (
        ("linear, any private method / DP-VI", "epsilon=1"),
        ("linear, Wine at 0.1 / mean", "epsilon=0.1"),
    ):
        rows = [r for r in plan if r["id"] == name]
        private = set(
            ran.loc[(ran["setting"] == setting) & (ran["status"] == "ok") & (ran["epsilon"] != "inf"), "method"]
        )
        assert {r["method"] for r in rows} | {r["other_method"] for r in rows} - {"predict_mean"} == private


def test_other_protocols_other_experiments_and_settings_by_their_end():
    frame = scores(a=A)
    other = scores(b=B).assign(protocol="authors")
    (row,) = comparisons.build(
        {"x": frame, "y": other},
        [ASKED | {"metric": "rmse", "method": "a", "other_method": "b"}
         | {"other_experiment": "y", "other_protocol": "authors"}],
    ).to_dict("records")  # fmt: skip
    expected = unpaired(dict(enumerate(A)), dict(enumerate(B)))
    assert (row["low"], row["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    many = scores(**{"a_epsilon=1": A, "a_epsilon=8": A, "a_other": A, "b_fair;epsilon=1": B, "b_fair;epsilon=8": B})
    found = ask(many, setting="epsilon=*", other_setting="fair;epsilon=*")
    assert [r["setting"] for r in found] == ["epsilon=1", "epsilon=8"]
    assert len(ask(many, setting="epsilon=*", other_setting="fair;epsilon=1")) == 2


def test_a_median_of_independent_data_sets_and_a_side_without_scores():
    a, b = [float(k) for k in range(20)], [k + 1.0 + k % 3 for k in range(20)]
    (row,) = ask(scores(a=a, b=b), kind="median")
    expected = median_paired(dict(enumerate(a)), dict(enumerate(b)))
    assert (row["difference"], row["low"], row["high"]) == (expected.difference, expected.low, expected.high)
    assert ask(scores(a=A)) == ask(scores(a=A, b=[1.0])) == []  # nothing, or one split: no interval


def test_the_plan_is_checked(tmp_path):
    path = tmp_path / "plan.csv"
    path.write_text("id,kind\n")
    with pytest.raises(ReportError, match="columns"):
        comparisons.read_plan(path)
    line = "q,mode,x,literature,,rmse,a,,,,b,\n"
    path.write_text(",".join(comparisons.PLAN) + "\n" + line)
    with pytest.raises(ReportError, match="kind 'mode'"):
        comparisons.read_plan(path)
    path.write_text(",".join(comparisons.PLAN) + "\n" + line.replace("mode", "mean") * 2)
    with pytest.raises(ReportError, match="asked twice"):
        comparisons.read_plan(path)


def test_committed_comparisons_are_those_of_the_committed_scores():
    told = pd.read_csv(FOLDER / comparisons.NAME, dtype=str, keep_default_na=False)
    needed = {row[k] for row in comparisons.read_plan() for k in ("experiment", "other_experiment")} - {""}
    again = comparisons.build({n: committed.read(FOLDER, n) for n in sorted(needed)})
    assert told[["id", "dataset", "setting"]].to_numpy().tolist() == (
        again[["id", "dataset", "setting"]].to_numpy().tolist()
    )
    for column in ("difference", "low", "high"):
        for mine, theirs in zip(told[column], again[column], strict=True):
            assert math.isclose(float(mine), theirs, rel_tol=1e-9, abs_tol=1e-12)
    assert told["compared"].tolist() == again["compared"].tolist()


class Asked(Frames):
    """Notes which comparisons are asked for."""

    def __init__(self):
        super().__init__(read_committed())
        self.ids = set()

    def rows(self, table, /, **where):
        if table == comparisons.NAME:
            self.ids |= {where["id"]} if isinstance(where["id"], str) else set(where["id"])
        return super().rows(table, **where)


def test_every_comparison_is_asked_by_a_finding_and_every_one_that_is_asked_is_planned():
    tables = Asked()
    render(tables=tables)
    assert tables.ids == {row["id"] for row in comparisons.read_plan()}
