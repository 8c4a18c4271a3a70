"""Tables, experiments and figures of the study of rows, without a fit. About 2 CPU seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import datasets
from common_tasks import rows
from common_tasks.own_data import study
from datasets.base import DataSet, Table
from datasets.fetch import build
from workflow.experiments import cells


def test_the_plan_is_one_that_the_workflow_runs(tmp_path):
    """All cells of both tasks; what they cost is the last line."""
    *each, whole = rows.plan(tmp_path)
    assert len(each) == sum(len(rows.points(task)) for task in rows.GENUINE) == 28
    assert whole.endswith("CPU minutes by the committed runs")
    with rows.taken(tmp_path):
        found = [c for task in rows.GENUINE for c in cells(tmp_path / f"rows_{task}.yaml", "full")]
        n = datasets.get("rows_regression_10000_protein").n_rows
    # per table: both ends of the scale, and six methods at three budgets
    assert len(found) == 28 * (2 + 6 * 3)
    assert {c.splits for c in found if "1000000" in c.dataset} == {rows.FEW}
    assert {c.splits for c in found if c.dataset == "rows_regression_10000_protein"} == {n // 12_000} == {3}


@pytest.mark.parametrize("task", list(rows.GENUINE))
def test_leading_methods_are_private_and_share_no_run(task):
    found = rows.leading(task)
    assert len(found) == rows.LEADING
    assert set(found) <= {group[0] for group in study.private_methods(study.KINDS[task])}


def test_synthetic_tables_are_of_one_shape_with_and_without_ranges():
    known, estimated = (rows.synthetic("classification", 1000, ranges) for ranges in rows.KNOWN)
    made, _ = build(known)
    assert made.x.shape == (rows.SPLITS * (1000 + 2000), rows.COLUMNS)
    assert (known.n_splits, known.kind) == (rows.SPLITS, "synthetic")
    assert set(known.x_bounds) == {(-1.0, 1.0)}
    assert set(estimated.x_bounds) == {None}


def test_parts_of_a_genuine_table_share_no_row(monkeypatch):
    """In random order, with its ranges; each has rows to test besides those that are fitted."""
    whole = rows.GENUINE["regression"]
    numbers = np.arange(whole.n_rows, dtype=float)
    parsed = Table(np.tile(numbers[:, None], whole.n_inputs), numbers, whole.columns)
    monkeypatch.setitem(rows.GENUINE, "regression", DataSet(**{**vars(whole), "parse": lambda path: parsed}))
    for n, parts in ((1000, 5), (10_000, 3)):
        made = rows.subset("regression", n)
        kept = made.parse("protein.csv").y
        assert (made.folder, made.x_bounds, made.n_splits) == (whole.name, whole.x_bounds, parts)
        assert made.n_rows == len(kept) == len(set(kept)) == parts * (n + 2000)
        assert not np.array_equal(kept, np.sort(kept))


def test_enough_rows_are_those_from_which_on_the_interval_is_above_the_limit():
    """Not the first size that is above it by chance; and more if the largest size is not."""
    lows = {"a": (0.1, 0.95, 0.8, 0.91, 0.99), "b": (0.95, 0.95, 0.95, 0.95, 0.9), "c": (0.91, 0.95, 0.95, 0.95, 1)}
    made = [
        {"task": "regression", "table": "synthetic", "rows": n, "ranges": "known", "method": m, "title": m}
        | {"epsilon": "1", "score": low, "low": low, "high": low, "splits": 5}
        for m, each in lows.items()
        for n, low in zip(rows.ROWS, each, strict=False)
    ]
    frame = pd.DataFrame(made, columns=rows.HEADS).sample(frac=1, random_state=0)
    found = rows.needed(frame).set_index("method")["1"]
    assert found.to_dict() == {"a": str(rows.ROWS[3]), "b": "more", "c": str(rows.ROWS[0])}


def test_a_figure_of_a_part_says_so():
    made = [
        {"task": "regression", "table": p.table, "rows": p.rows, "ranges": p.ranges, "method": m, "title": m}
        | {"epsilon": f"{e:g}", "score": 0.5, "low": 0.4, "high": 0.6, "splits": 5}
        for p in rows.points("regression")
        for m in rows.leading("regression")
        for e in rows.EPSILONS
    ]
    whole = pd.DataFrame(made, columns=rows.HEADS)
    assert "Not the whole" not in rows.words("regression", whole)
    assert rows.words("regression", whole.iloc[1:]) == "Not the whole: 1 of 252 scores are missing"
    assert rows.draw(whole.iloc[:60], "regression").lstrip().startswith("<?xml")


@pytest.mark.nightly
def test_a_run_scores_its_tables_and_goes_on(tmp_path, monkeypatch, capsys):
    """One small table, one private method; a second call fits nothing. About 6 CPU seconds."""
    monkeypatch.setattr(rows, "GENUINE", {"regression": rows.GENUINE["regression"]})
    monkeypatch.setattr(rows, "points", lambda task: [rows.Point(task, "synthetic", 200, "known")])
    monkeypatch.setattr(rows, "leading", lambda task: ["dp_sgd"])
    rows.run(tmp_path)
    assert "rows_regression_200_known.csv: " in capsys.readouterr().err
    frame = rows.table(tmp_path)
    assert frame["epsilon"].tolist() == ["0.1", "1", "8"]
    assert set(frame["splits"]) == {rows.SPLITS}
    assert frame["score"].is_monotonic_increasing
    # a score is not below 0, and at 0 on every split it has no spread
    assert (frame["low"] < frame["score"])[frame["score"] > 0].all()
    assert list((tmp_path / "partial").iterdir()) == []
    (tmp_path / "scores/rows_regression/rows_regression_200_known.csv").unlink()
    monkeypatch.setattr(rows.Worker, "fit", None)
    rows.run(tmp_path)
    pd.testing.assert_frame_equal(rows.table(tmp_path), frame)
