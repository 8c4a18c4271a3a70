"""Tables, experiments and figures of the study of rows, without a fit. About 2 CPU seconds."""

from __future__ import annotations

from pathlib import Path

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
    """All cells of both tasks."""
    config = dict(word.partition("=")[::2] for word in rows.plan(tmp_path))
    before = datasets.outside()
    datasets.take(map(Path, config["datasets"].split(",")))
    try:
        found = [c for path in config["experiments"].split(",") for c in cells(path, "full")]
        n = datasets.get("rows_regression_10000_protein").n_rows
    finally:
        datasets.take(before)
    # per table: both ends of the scale, and six methods at three budgets
    assert len(found) == 28 * (2 + 6 * 3)
    assert {c.splits for c in found if "1000000" in c.dataset} == {rows.FEW}
    assert {c.splits for c in found if c.dataset == "rows_regression_10000_protein"} == {n // 12_000} == {3}


@pytest.mark.parametrize("task", list(rows.GENUINE))
def test_leading_methods_are_private_share_no_run_and_are_committed(task):
    committed = rows.committed()
    assert set(rows.LEADING[task]) == set(committed[committed["task"] == task]["method"])
    assert set(rows.LEADING[task]) <= {group[0] for group in study.private_methods(study.KINDS[task])}


def test_synthetic_tables_are_of_one_shape_with_and_without_ranges():
    known, estimated = (rows.Point("classification", "synthetic", 1000, r).data_set for r in rows.KNOWN)
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
        made = rows.Point("regression", whole.name, n, "documented").data_set
        kept = made.parse("protein.csv").y
        assert (made.folder, made.x_bounds, made.n_splits) == (whole.name, whole.x_bounds, parts)
        assert set(made.x_bounds) == {None}  # as ``LIMITS`` says
        assert made.n_rows == len(kept) == len(set(kept)) == parts * (n + 2000)
        assert not np.array_equal(kept, np.sort(kept))


def test_enough_rows_are_those_from_which_on_the_interval_is_above_the_limit():
    """Not the first size that is above it by chance; and infinitely many if the largest size is not."""
    lows = {"a": (0.1, 0.95, 0.8, 0.91, 0.99), "b": (0.95, 0.95, 0.95, 0.95, 0.9), "c": (0.91, 0.95, 0.95, 0.95, 1)}
    made = [
        {"task": "regression", "table": "synthetic", "rows": n, "ranges": "known", "method": m, "title": m}
        | {"epsilon": "1", "score": low, "low": low, "high": low, "splits": 5}
        for m, each in lows.items()
        for n, low in zip(rows.ROWS, each, strict=False)
    ]
    frame = pd.DataFrame(made, columns=rows.HEADS).sample(frac=1, random_state=0)
    found = rows.needed(frame).set_index("method")["1"]
    assert found.to_dict() == {"a": rows.ROWS[3], "b": float("inf"), "c": rows.ROWS[0]}
    # what is said is about the nearest size and budget, and about the genuine table
    genuine = frame[frame["rows"] == 10_000].assign(table="protein", ranges="documented")
    said = rows.sentence(pd.concat([frame, genuine]), "regression", 25_000, 2.0, True)
    assert said == (
        "At epsilon = 1 (the nearest to 2 that was run) with 30,000 rows (the nearest to 25,000 that was run), privacy "
        "costs 0.05 to 0.09 on synthetic tables, by method. On parts of Protein Structure it costs 0.05 to "
        "0.20 with 10,000 rows. Needed for a cost below 0.1 (95 % intervals) are 1,000 to 30,000 rows of a synthetic "
        "table, and more than 100,000 for 1 of 3 methods. With 10,000 rows of Protein Structure, it is shown for 2 of "
        "3 methods."
    )
    said = rows.sentence(pd.concat([frame, genuine]), "regression", 400, 1.0, True)
    assert "We infer that it costs more with 400 rows, which were not run." in said
    table, scores = rows.rows_table(frame)
    assert [line[1][0].lines for line in table.blocks[0].rows] == [("30,000",), ("more than 100,000",), ("1,000",)]
    assert len(scores) == len(frame)


def test_a_figure_of_a_part_says_so(tmp_path):
    made = [
        {"task": "regression", "table": p.table, "rows": p.rows, "ranges": p.ranges, "method": m, "title": m}
        | {"epsilon": f"{e:g}", "score": 0.5, "low": 0.4, "high": 0.6, "splits": 5}
        for p in rows.points("regression")
        for m in rows.LEADING["regression"]
        for e in rows.EPSILONS
    ]
    whole = pd.DataFrame(made, columns=rows.HEADS)
    assert rows.missing("regression", whole) == ""
    assert rows.missing("regression", whole.iloc[1:]) == "Not the whole: 1 of 252 scores are missing"
    drawn = rows.figure(tmp_path, whole.iloc[:60])
    assert "Not the whole: 192" in (tmp_path / f"{drawn.name}.svg").read_text()


@pytest.mark.nightly
def test_the_smallest_cell_of_the_study_is_the_committed_one(tmp_path, monkeypatch):
    """1,000 rows with known ranges, both ends and one method, by the workflow. About 25 CPU seconds."""
    monkeypatch.setattr(rows, "GENUINE", {"regression": rows.GENUINE["regression"]})
    monkeypatch.setattr(rows, "points", lambda task: [rows.Point(task, "synthetic", 1000, "known")])
    monkeypatch.setattr(rows, "LEADING", {"regression": ("dp_sgd",)})
    rows.run(tmp_path, largest=1000)
    found = rows.table(tmp_path)
    told = rows.committed().merge(found[["task", "table", "rows", "ranges", "method", "epsilon"]])
    assert len(found) == len(told) == len(rows.EPSILONS)
    pd.testing.assert_frame_equal(found, told, rtol=1e-3, atol=1e-3)


def test_a_cost_that_rounds_to_zero_is_a_bound():
    assert "privacy costs less than 0.01 on" in rows.sentence(rows.committed(), "classification", 100_000, 8, True)
