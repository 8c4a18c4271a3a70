"""How many rows a method needs: scores of the leading methods against the number of rows. Not run yet; see below.

    python -m common_tasks.rows plan FOLDER               # the experiments, their data sets, and what they cost
    python -m common_tasks.rows run FOLDER --largest N    # tables of at most N rows; killed, it goes on
    python -m common_tasks.rows show FOLDER               # rows.csv, rows_needed.csv and figures of what has run

Synthetic tables follow the model: ten inputs, linear or logistic, drawn anew for each split, with 2,000 fresh rows to
test (``common_tasks.own_data.surrogates``, shape "linear"). They are there with the range of every column known, and
with none. Subsets of Protein and Adult are disjoint parts of one random order, each with 2,000 other rows to test, and
with the ranges that their documentation states. Methods are the six of a task whose committed probability of being best
is highest in the mean over the three budgets, with default settings; of those that read one run, the one that makes it.
No number of this module is committed, because the whole has not run: ``plan`` says what it costs.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

import datasets
from common_tasks import best, scores
from common_tasks.own_data import study, surrogates
from datasets import adult, fetch, protein
from datasets.base import DataSet, Table
from datasets.files import write_text
from datasets.protocols.surrogates import TEST
from evaluation.summary import read_scores
from methods import contract
from reports import palette, style
from workflow import cell, score
from workflow.experiments import Cell, cells, units
from workflow.store import begin, drop, kept_parameters, partial_of
from workflow.worker import Worker

ROWS = (1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
COLUMNS = 10
EPSILONS, DELTA = (0.1, 1, 8), 1e-5
LEADING = 6
#: tables of each size, and of a million rows, whose fits take long.
SPLITS, FEW = 5, 3
#: task -> genuine table, and the sizes of its subsets.
GENUINE = {"regression": protein.DATASET, "classification": adult.DATASET}
SUBSETS = (1000, 10_000)
KNOWN = {"known": True, "estimated": False}
#: privacy costs little if the lower end of the interval of a score is above it.
ENOUGH = 0.9
#: columns of ``rows.csv``; ``score`` with a 95 % t interval over ``splits``, 0 the training mean, 1 without privacy.
HEADS = ("task", "table", "rows", "ranges", "method", "title", "epsilon", "score", "low", "high", "splits")
_FILE = '"""Written by common_tasks.rows."""\n\nfrom common_tasks.rows import {maker}\n\nDATASET = {maker}{given!r}\n'


@dataclass(frozen=True)
class Point:
    """A table of the study: ``table`` is "synthetic" or the name of the data set that is thinned out."""

    task: str
    table: str
    rows: int
    ranges: str

    @property
    def name(self) -> str:
        return f"rows_{self.task}_{self.rows}_{self.ranges if self.table == 'synthetic' else self.table}"

    @property
    def splits(self) -> int:
        if self.table == "synthetic":
            return FEW if self.rows >= ROWS[-1] else SPLITS
        return min(SPLITS, GENUINE[self.task].n_rows // (self.rows + TEST))

    @property
    def text(self) -> str:
        """The file of its data set."""
        if self.table == "synthetic":
            return _FILE.format(maker="synthetic", given=(self.task, self.rows, self.ranges))
        return _FILE.format(maker="subset", given=(self.task, self.rows))


def points(task: str) -> list[Point]:
    """All tables of a task."""
    made = [Point(task, "synthetic", n, ranges) for n in ROWS for ranges in KNOWN]
    return [*made, *(Point(task, GENUINE[task].name, n, "documented") for n in SUBSETS)]


def synthetic(task: str, rows: int, ranges: str) -> DataSet:
    """A table of ``rows`` rows per split, ranges "known" or "estimated"."""
    point = Point(task, "synthetic", rows, ranges)
    return surrogates.data_set(point.name, task, rows, COLUMNS, point.splits, KNOWN[ranges], shapes=("linear",))


def subset(task: str, rows: int) -> DataSet:
    """Disjoint parts of a genuine table in random order: ``rows`` rows to fit and ``TEST`` to test, end to end."""
    whole = GENUINE[task]
    point = Point(task, whole.name, rows, "documented")
    kept = point.splits * (rows + TEST)
    same = ("n_inputs", "columns", "target", "unit", "licence", "doi", "raw", "x_bounds", "y_bounds")
    same += ("bounds_citation", "extremes", "task", "labels")
    return DataSet(
        name=point.name,
        folder=whole.name,
        title=f"{whole.title}, {rows} rows",
        n_rows=kept,
        n_splits=point.splits,
        parse=partial(_first, whole, kept),
        **{name: getattr(whole, name) for name in same},
    )


def _first(whole: DataSet, rows: int, *paths: Path) -> Table:
    assert whole.parse is not None
    table = whole.parse(*paths)
    kept = np.random.default_rng(0).permutation(whole.n_rows)[:rows]
    return Table(table.x[kept], table.y[kept], table.columns)


def leading(task: str) -> list[str]:
    """The six methods, the highest mean probability first; of the methods that read one run, the first."""
    frame = best.committed()
    frame = frame[(frame["task"] == study.COMMON[task]) & (frame["without"] == "")]
    mean = frame["probability"].groupby(frame["method"]).mean().sort_values(ascending=False)
    runs = dict.fromkeys(contract.get(m, study.KINDS[task]).run_of or m for m in mean.index if "," not in m)
    return [*runs][:LEADING]


def experiment(task: str) -> dict[str, Any]:
    """The config of one task."""
    every = points(task)
    where = {"protocols": ["surrogates"]}
    budget = {"budget": {"delta": DELTA, "mode": "enforce"}, "budget_grid": {"epsilons": [*EPSILONS]}}
    arms = [{"method": m, **where} for m in study.ENDS[task]]
    arms += [{"method": m, **where, **budget} for m in leading(task)]
    splits = {"by_dataset": {"default": SPLITS} | {p.name: p.splits for p in every if p.splits != SPLITS}}
    return {
        "experiment": f"rows_{task}",
        "title": f"{task.capitalize()}: score and number of rows",
        "sources": [],
        "model": {"kind": study.KINDS[task]},
        "datasets": [p.name for p in every],
        "timeout_s": 1200,
        "protocols": {"surrogates": {"splits": splits}},
        "scales": {"full": {}, "quick": {"datasets": [every[0].name], "splits": 1}, "tiny": {}},
        "arms": arms,
        "answers": [],
    }


def plan(folder: Path) -> list[str]:
    """Write experiments and data sets; gives lines on the cost."""
    said, total = [], 0.0
    for task in GENUINE:
        for point in points(task):
            write_text(folder / f"{point.name}.py", point.text)
        write_text(folder / f"rows_{task}.yaml", yaml.safe_dump(experiment(task), sort_keys=False, width=120))
    with taken(folder):
        for task in GENUINE:
            seconds = cost(task, cells(folder / f"rows_{task}.yaml", "full"))
            total += math.fsum(seconds.values())
            said += [f"{name}: about {s:.0f} CPU seconds" for name, s in seconds.items()]
    return [*said, f"all: about {total / 60:.0f} CPU minutes by the committed runs"]


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """The data sets of the study are known while the block runs."""
    before = datasets.outside()
    datasets.take([folder / f"{p.name}.py" for task in GENUINE for p in points(task)])
    try:
        yield
    finally:
        datasets.take(before)


def run(folder: Path, largest: int = ROWS[-1]) -> None:
    """Fit and score all tables of at most ``largest`` rows, those with few rows first.

    A run that is killed goes on where it was, method by method. All fits of a table are made by one process.
    """
    plan(folder)
    with taken(folder):
        every = {task: cells(folder / f"rows_{task}.yaml", "full") for task in GENUINE}
        for point in sorted((p for task in GENUINE for p in points(task)), key=lambda p: p.rows):
            out = folder / "scores" / f"rows_{point.task}" / f"{point.name}.csv"
            if point.rows <= largest and not out.is_file():
                began = time.monotonic()
                run_table(point, [c for c in every[point.task] if c.dataset == point.name], folder, out)
                print(f"{out}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def run_table(point: Point, every: list[Cell], folder: Path, out: Path) -> None:
    """Fit and score one table."""
    path = folder / "data" / f"{point.name}.npz"
    if not path.is_file():
        fetch.main([point.name, "--raw", str(folder / "raw"), "--out", str(path), "--offline"])
    data = datasets.load(str(path))
    if data.status != "ok":
        raise SystemExit(f"{point.name}: {data.reason}")
    partial = partial_of(folder, point.name)
    with Worker(every, path, begin(partial, {})) as worker:
        for group in units(every).values():
            if all(cell.finished(c, data, folder, "timeout") for c in group):
                continue
            found = [row for k in range(point.splits) for row in worker.fit([(c, k) for c in group])]
            for c in group:
                rows = {row["split"]: row for name, row in found if name == c.id}
                cell.finish(c, cell.head_of(c, data), [*rows.values()], kept_parameters(partial, rows, c), folder)
    drop(partial)
    given = {"config": folder / f"rows_{point.task}.yaml", "scale": "full", "dataset": point.name, "data": path}
    given |= {"results": folder, "reuse": None, "refit": [], "cells": len(every), "out": out}
    score.write(argparse.Namespace(**given))
    if point.rows >= ROWS[-1]:
        path.unlink()  # a gigabyte, which is made again if it is needed


def cost(task: str, every: list[Cell]) -> dict[str, float]:
    """Data set -> CPU seconds of all its cells, by the committed runs of the nearest size."""
    out: dict[str, float] = {}
    for name in dict.fromkeys(c.dataset for c in every):
        about = datasets.get(name)
        rows = about.n_rows // about.n_splits - TEST
        known = study.seconds_a_fit(study.KINDS[task], rows, about.n_inputs)
        out[name] = study.CELL_S + math.fsum(c.splits * known.get(c.method, 1.0) for c in every if c.dataset == name)
    return out


def table(folder: Path) -> pd.DataFrame:
    """Columns ``HEADS``, a row per table, method and epsilon whose scores are in the folder."""
    out: list[dict[str, Any]] = []
    for task in GENUINE:
        config = experiment(task)
        for point in points(task):
            path = folder / "scores" / f"rows_{task}" / f"{point.name}.csv"
            if not path.is_file():
                continue
            family = scores.read({**config, "datasets": [point.name]}, read_scores(path))
            about = best.About(fresh=True, reference=study.ENDS[task][1])
            for epsilon in family.epsilons:
                found = best.scores_of(family, epsilon, about)
                if not found.scaled:
                    continue
                for method in found.methods:
                    mean, error = found.on(method, point.name)
                    row = {"task": task, "table": point.table, "rows": point.rows, "ranges": point.ranges}
                    row |= {"method": method, "title": scores.title(method, family.kind), "epsilon": epsilon}
                    row |= {"score": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}
                    splits = int(found.n[found.methods.index(method)].sum())
                    out.append(row | {"splits": splits})
    return pd.DataFrame(out, columns=HEADS)


def needed(frame: pd.DataFrame) -> pd.DataFrame:
    """From how many rows on privacy costs little, a row per task, table, ranges and method, a column per epsilon.

    The number is the smallest at which the interval of the score is above ``ENOUGH``, and at all larger sizes too.
    "more" if this is not shown for the largest size, and "" if nothing has run.
    """
    keys = ["task", "table", "ranges", "method", "title"]

    def first(mine: pd.DataFrame) -> str:
        mine = mine.sort_values("rows", ascending=False)
        reached = mine["rows"][(mine["low"] > ENOUGH).cummin()]
        return str(reached.iloc[-1]) if len(reached) else "more"

    found = {key: first(mine) for key, mine in frame.groupby([*keys, "epsilon"], sort=False)}
    out = pd.Series(found, dtype=object).rename_axis([*keys, "epsilon"]).unstack("epsilon", fill_value="", sort=False)
    return out.reset_index().rename_axis(columns=None)


def words(task: str, frame: pd.DataFrame) -> str:
    """How many scores of a task are missing from its figure. "" if none is."""
    whole = len(points(task)) * LEADING * len(EPSILONS)
    have = int(np.isfinite(frame.loc[frame["task"] == task, "score"]).sum())
    return f"Not the whole: {whole - have} of {whole} scores are missing" if have < whole else ""


def draw(frame: pd.DataFrame, task: str) -> str:
    """SVG of one task: a panel per epsilon, and a row of panels for each kind of ranges and for the genuine table."""
    frame = frame[(frame["task"] == task) & np.isfinite(frame["score"])]
    rows = [("synthetic", r) for r in KNOWN] + [(GENUINE[task].name, "documented")]
    with style.canvas(len(rows), len(EPSILONS), panel=2.2) as (figure, axes):
        for line, (name, ranges) in zip(axes, rows, strict=True):
            for ax, epsilon in zip(line, EPSILONS, strict=True):
                here = frame[(frame["table"] == name) & (frame["ranges"] == ranges)]
                here = here[here["epsilon"] == f"{epsilon:g}"]
                for method, mine in here.sort_values("rows").groupby("method"):
                    look = palette.look(str(method))
                    ax.plot(mine["rows"], mine["score"], label=mine["title"].iloc[0], markersize=4, **look.line())
                    ax.vlines(mine["rows"], mine["low"], mine["high"], color=look.colour, linewidth=0.8)
                ax.set_xscale("log")
                ax.set_xlim(min(ROWS) / 1.6, max(ROWS) * 1.6)
                ax.set_ylim(-0.05, 1.1)
                ax.set_title(f"{name.capitalize()}, ranges {ranges}, epsilon = {epsilon:g}", fontsize=7.5)
        for ax in axes[-1]:
            ax.set_xlabel("rows of a fit", fontsize=8)
        for ax in axes[:, 0]:
            ax.set_ylabel("score", fontsize=8)
        figure.suptitle(words(task, frame), color=style.RED, fontsize=9)
        style.legend(figure, style.labels(axes))
        return style.svg(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="How many rows a method needs: plan the experiments, run or show them."
    )
    parser.add_argument("what", choices=("plan", "run", "show"))
    parser.add_argument("folder", type=Path, help="of experiments, data sets, results and figures")
    parser.add_argument("--largest", type=int, default=ROWS[-1], metavar="N", help="run tables of at most N rows")
    args = parser.parse_args()
    if args.what == "plan":
        print("\n".join(plan(args.folder)))
        return
    if args.what == "run":
        run(args.folder, args.largest)
        return
    frame = table(args.folder)
    if frame.empty:
        parser.error(f"{args.folder} has no scores; `run` makes them")
    frame.to_csv(args.folder / "rows.csv", index=False, lineterminator="\n")
    needed(frame).to_csv(args.folder / "rows_needed.csv", index=False, lineterminator="\n")
    for task in GENUINE:
        write_text(args.folder / f"rows_{task}.svg", draw(frame, task))
    print(f"{args.folder}/rows.csv: {len(frame)} scores; rows_{', rows_'.join(GENUINE)}.svg")


if __name__ == "__main__":
    main()
