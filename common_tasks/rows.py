"""The number of rows that a method needs: scores of the leading methods against the number of rows.

    python -m common_tasks.rows run FOLDER --largest N    # tables of at most N rows; resumes after a kill
    python -m common_tasks.rows commit FOLDER             # the scores in FOLDER become common_rows.csv

Synthetic tables follow the model, linear or logistic with ten inputs. They are drawn anew for each split, with 2,000
fresh rows to test (``common_tasks.own_data.surrogates``, shape "linear"). Each exists with the range of every column
known, and with no known range. Subsets of Protein and Adult are disjoint parts of one random order. Each has 2,000
other rows to test, and the ranges that its documentation states. All methods have default settings.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from common_tasks import best, scores
from common_tasks.own_data import study, surrogates
from datasets import adult, protein
from datasets.base import DataSet
from datasets.base import Table as Data
from datasets.files import ROOT, write_csv, write_text
from datasets.protocols.surrogates import TEST
from evaluation.summary import read_scores
from reports import palette, style
from reports.blocks import Block, Figure, Table, entry
from reports.tables import SCALE_BANNERS
from workflow import environment

#: file of the committed scores.
NAME = "common_rows.csv"
ROWS = (1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
COLUMNS = 10
EPSILONS, DELTA = (0.1, 1, 8), 1e-5
#: the six methods of each task with the highest committed probability of being best, in the mean over three budgets, on
#: the day of the study (28 November 2026).
LEADING = {
    "regression": ("dp_sgd", "dp_sgld", "dp_sgnht", "dp_vi_vinaroz_corrected", "dpvi", "dpvim"),
    "classification": ("dp_hmc", "dp_penalty", "dp_sep_corrected", "dp_sgd", "dp_sgnht", "dp_vi_vinaroz_corrected"),
}
#: number of tables per size, and for a million rows, whose fits take long.
SPLITS, FEW = 5, 3
#: task -> real table, and the sizes of its subsets.
GENUINE = {"regression": protein.DATASET, "classification": adult.DATASET}
SUBSETS = (1000, 10_000)
_TITLES = {"synthetic": "Synthetic"} | {d.name: d.title for d in GENUINE.values()}
KNOWN = {"known": True, "estimated": False}
#: privacy costs little if the lower end of the interval of a score is above it.
ENOUGH = 0.9
#: columns of ``NAME``. ``score`` has a 95 % t interval over ``splits``. 0 is the training mean, 1 the non-private
#: reference.
HEADS = ("task", "table", "rows", "ranges", "method", "title", "epsilon", "score", "low", "high", "splits")
LIMITS = (
    "This is for six leading methods with default settings. The synthetic tables are linear in "
    f"{COLUMNS} columns, as the models assume. Of the genuine tables, only the target of Protein Structure and the "
    "levels of Adult have a documented range. Other tables may need more rows."
)


@dataclass(frozen=True)
class Point:
    """A table of the study. ``table`` is "synthetic" or the name of the data set whose subset it is."""

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
        """The text of the file of its data set."""
        return f'"""A table of the study."""\n\nfrom common_tasks.rows import Point\n\nDATASET = {self}.data_set\n'

    @property
    def data_set(self) -> DataSet:
        """Blocks of ``rows`` rows to fit and ``TEST`` to test, one per split. A real table is in random order."""
        if self.table == "synthetic":
            known = KNOWN[self.ranges]
            return surrogates.data_set(self.name, self.task, self.rows, COLUMNS, self.splits, known, ("linear",))
        whole, kept = GENUINE[self.task], self.splits * (self.rows + TEST)
        facts = {"name": self.name, "folder": whole.name, "title": f"{whole.title}, {self.rows} rows"}
        parse = partial(_first, whole, kept)
        return replace(whole, **facts, table_sha256="", n_rows=kept, n_splits=self.splits, parse=parse)

    def scores(self, folder: Path) -> Path:
        """Its scores below the folder of a run."""
        return folder / "scores" / f"rows_{self.task}" / f"{self.name}.csv"


def points(task: str) -> list[Point]:
    """All tables of a task."""
    made = [Point(task, "synthetic", n, ranges) for n in ROWS for ranges in KNOWN]
    return [*made, *(Point(task, GENUINE[task].name, n, "documented") for n in SUBSETS)]


def _first(whole: DataSet, rows: int, *paths: Path) -> Data:
    assert whole.parse is not None
    table = whole.parse(*paths)
    kept = np.random.default_rng(0).permutation(whole.n_rows)[:rows]
    return Data(table.x[kept], table.y[kept], table.columns)


def experiment(task: str) -> dict[str, Any]:
    """The config of one task."""
    every = points(task)
    where = {"protocols": ["surrogates"]}
    budget = {"budget": {"delta": DELTA, "mode": "enforce"}, "budget_grid": {"epsilons": [*EPSILONS]}}
    arms = [{"method": m, **where} for m in study.ENDS[task]]
    arms += [{"method": m, **where, **budget} for m in LEADING[task]]
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
    """Write the experiments and their data sets. Returns the words of a run's ``--config``."""
    files = {folder / f"{p.name}.py": p.text for task in GENUINE for p in points(task)}
    configs = {folder / f"rows_{t}.yaml": yaml.safe_dump(experiment(t), sort_keys=False, width=120) for t in GENUINE}
    for path, text in (files | configs).items():
        write_text(path, text)
    lists = {"datasets": files, "experiments": configs}
    return ["scale=full", f"results={folder}", *(f"{k}={','.join(map(str, of))}" for k, of in lists.items())]


def run(folder: Path, largest: int = ROWS[-1]) -> None:
    """Fit and score all tables of at most ``largest`` rows by the workflow, those with few rows first.

    After a kill, the same call resumes. Raises SystemExit if a step fails.
    """
    config = plan(folder)
    for n in (n for n in ROWS if n <= largest):
        wanted = [str(p.scores(folder)) for task in GENUINE for p in points(task) if p.rows == n]
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", *config, "--", *wanted]
        if subprocess.run(command, cwd=ROOT, env={**os.environ, **environment.variables()}).returncode:
            raise SystemExit(f"a table of {n} rows has no scores (see above); the same command goes on where it was")


def table(folder: Path) -> pd.DataFrame:
    """Scores with columns ``HEADS``, one row per table, method and epsilon whose scores are in the folder."""
    out: list[dict[str, Any]] = []
    for task in GENUINE:
        for point in points(task):
            path = point.scores(folder)
            if not path.is_file():
                continue
            family = scores.read({**experiment(task), "datasets": [point.name]}, read_scores(path))
            about = best.About(fresh=True, reference=study.ENDS[task][1])
            for epsilon in family.epsilons:
                found = best.scores_of(family, epsilon, about)
                if not found.scaled:
                    continue
                for method in found.methods:
                    mean, error = found.on(method, point.name)
                    row = {"task": task, "table": point.table, "rows": point.rows, "ranges": point.ranges}
                    row |= {"method": method, "title": scores.title(method, family.kind), "epsilon": epsilon}
                    ends = {"score": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}
                    row |= {name: round(value, 4) for name, value in ends.items()}
                    out.append(row | {"splits": int(found.n[found.methods.index(method)].sum())})
    return pd.DataFrame(out, columns=HEADS)


@cache
def committed(folder: Path = best.HERE / "reference") -> pd.DataFrame:
    """The committed scores, or those of another folder. Empty if there are none."""
    path = folder / NAME
    return pd.read_csv(path, dtype={"epsilon": str}) if path.is_file() else pd.DataFrame(columns=HEADS)


def needed(frame: pd.DataFrame) -> pd.DataFrame:
    """Smallest number of rows from which privacy costs little: one row per task, table, ranges and method.

    There is one column per epsilon. At that number and all larger sizes, the interval of the score is above ``ENOUGH``.
    The number is infinite if this is not shown for the largest size, and NaN if nothing has run.
    """
    keys = ["task", "table", "ranges", "method", "title"]

    def first(mine: pd.DataFrame) -> float:
        mine = mine.sort_values("rows", ascending=False)
        reached = mine["rows"][(mine["low"] > ENOUGH).cummin()]
        return float(reached.iloc[-1]) if len(reached) else np.inf

    found = {key: first(mine) for key, mine in frame.groupby([*keys, "epsilon"], sort=False)}
    out = pd.Series(found).rename_axis([*keys, "epsilon"]).unstack("epsilon", sort=False)
    return out.reset_index().rename_axis(columns=None)


def missing(task: str, frame: pd.DataFrame) -> str:
    """A sentence on how many scores of a task are missing from its figure. "" if none is."""
    whole = len(points(task)) * len(LEADING[task]) * len(EPSILONS)
    have = int(np.isfinite(frame.loc[frame["task"] == task, "score"]).sum())
    return f"Not the whole: {whole - have} of {whole} scores are missing" if have < whole else ""


def sentence(frame: pd.DataFrame, task: str, rows: int, epsilon: float, known: bool) -> str:
    """The cost of privacy with this number of rows, and the rows needed, at the nearest size and epsilon that were run.

    It is "" for a task that was not run. ``known``: whether the range of every column is public.
    """
    if (frame := frame[frame["task"] == task]).empty:
        return ""
    at = min(frame["epsilon"].unique(), key=lambda e: abs(np.log(float(e) / epsilon)))
    frame = frame[frame["epsilon"] == at]
    genuine = frame[frame["table"] != "synthetic"]
    here = frame[frame["ranges"] == next(r for r, is_known in KNOWN.items() if is_known == known)]
    near = int(min(here["rows"].unique(), key=lambda n: abs(np.log(n / rows))))
    few, most, title = needed(here)[at], f"more than {here['rows'].max():,}", GENUINE[task].title
    reach, shown = few[np.isfinite(few)], np.isfinite(needed(genuine)[at]).sum()
    low, high = (f"{n:,.0f}" for n in (reach.min(), reach.max())) if len(reach) else (most, most)
    enough = "" if len(reach) in (0, len(few)) else f", and {most} for {len(few) - len(reach)} of {len(few)} methods"
    budget = at if float(at) == epsilon else f"{at} (the nearest to {epsilon:g} that was run)"
    size = f"{near:,} rows" + ("" if near == rows else f" (the nearest to {rows:,} that was run)")
    parts = " and ".join(f"{_cost(genuine, n)} with {n:,} rows" for n in sorted(genuine["rows"].unique()))
    fewer = f" We infer that it costs more with {rows:,} rows, which were not run." if rows < here["rows"].min() else ""
    return (
        f"At epsilon = {budget} with {size}, privacy costs {_cost(here, near)} on synthetic tables, by method. On "
        f"parts of {title} it costs {parts}.{fewer} Needed for a cost below "
        f"{1 - ENOUGH:.1g} (95 % intervals) are {low}{'' if low == high else f' to {high}'} rows of a synthetic table"
        f"{enough}. With {genuine['rows'].max():,} rows of {title}, it is shown for {shown} of {len(few)} methods."
    )


def _cost(frame: pd.DataFrame, rows: int) -> str:
    """The smallest and the largest cost of the methods with this number of rows."""
    costs = (1 - frame.loc[frame["rows"] == rows, "score"]).round(2) + 0.0  # no "-0.00"
    return f"{costs.min():.2f} to {costs.max():.2f}" if costs.max() else "less than 0.01"


def rows_table(frame: pd.DataFrame) -> tuple[Table, pd.DataFrame]:
    """The rows that are needed in one task, with one block per table and ranges and methods in rows, and all scores."""
    task, made = frame["task"].iloc[0], []
    for (name, ranges), here in frame.groupby(["table", "ranges"], sort=False):
        most = here["rows"].max()
        found = needed(here)
        epsilons = [e for e in found.columns if e in set(here["epsilon"])]
        lines = [
            (r["title"], [entry(f"{r[e]:,.0f}" if np.isfinite(r[e]) else f"more than {most:,}") for e in epsilons])
            for r in found.to_dict("records")
        ]
        title = f"{_TITLES[str(name)]}, ranges {ranges}, 1,000 to {most:,} rows"
        made.append(Block(title, "Method", [f"epsilon = {e}" for e in epsilons], lines))
    notes = (
        f"A number is the smallest size from which on the lower end of the 95 % interval of the score is above "
        f"{ENOUGH}; fewer than {ROWS[0]:,} rows were not run. Intervals are over {SPLITS} tables or fewer, one method "
        "at a time. The file has all scores.",
        LIMITS,
        *filter(None, [missing(task, frame)]),
    )
    title = f"{task.capitalize()}: rows that a method needs"
    return Table(f"common_rows_{task}", title, SCALE_BANNERS["full"], made, notes), frame


def figure(folder: Path, frame: pd.DataFrame) -> Figure:
    """One task: one panel per epsilon, and one row of panels for each kind of ranges and for the real table."""
    task, frame = frame["task"].iloc[0], frame[np.isfinite(frame["score"])]
    looks = palette.looks(frame["method"])
    shades = [(look.colour, look.dashes) for look in looks.values()]
    # if two methods have the same colour and dash, the second has hollow markers
    drawn_as = {m: look.line(shades[:k].count(shades[k])) for k, (m, look) in enumerate(looks.items())}
    lines = [("synthetic", r) for r in KNOWN] + [(GENUINE[task].name, "documented")]
    with style.canvas(len(lines), len(EPSILONS), panel=2.2) as (drawn, axes):
        for line, (name, ranges) in zip(axes, lines, strict=True):
            for ax, epsilon in zip(line, EPSILONS, strict=True):
                here = frame[(frame["table"] == name) & (frame["ranges"] == ranges)]
                here = here[here["epsilon"] == f"{epsilon:g}"]
                for method, mine in here.sort_values("rows").groupby("method"):
                    ax.plot(mine["rows"], mine["score"], label=mine["title"].iloc[0], markersize=4, **drawn_as[method])
                    ax.vlines(mine["rows"], mine["low"], mine["high"], drawn_as[method]["color"], linewidth=0.8)
                ax.axhline(ENOUGH, color=style.GREY, linewidth=0.8, linestyle=":", zorder=1)
                ax.set_xscale("log")
                ax.set_xlim(min(ROWS) / 1.6, max(ROWS) * 1.6)
                ax.set_ylim(-0.05, 1.1)
                ax.set_title(f"{_TITLES[name]}, ranges {ranges},\nepsilon = {epsilon:g}", fontsize=7.5)
        for ax in axes[-1]:
            ax.set_xlabel("rows of a fit", fontsize=8)
        for ax in axes[:, 0]:
            ax.set_ylabel("score", fontsize=8)
        drawn.suptitle(missing(task, frame), color=style.RED, fontsize=9)
        style.legend(drawn, style.labels(axes), dict(zip(frame["title"], frame["method"], strict=True)))
        name = f"common_rows_{task}"
        style.save(drawn, folder / name, frame)
    return Figure(
        name,
        f"{task.capitalize()}: score and number of rows",
        "A score is 0 for the training mean and 1 without privacy, by the log-likelihood of test rows. Bars are 95 % "
        f"intervals over tables. The dotted line is {ENOUGH}. {LIMITS}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="How many rows a method needs: run the study, or commit its scores.")
    parser.add_argument("what", choices=("run", "commit"))
    parser.add_argument("folder", type=Path, help="of experiments, data sets and results")
    parser.add_argument("--largest", type=int, default=ROWS[-1], metavar="N", help="run tables of at most N rows")
    args = parser.parse_args()
    if args.what == "run":
        return run(args.folder.resolve(), args.largest)
    frame = table(args.folder)
    if frame.empty:
        parser.error(f"{args.folder} has no scores; `run` makes them")
    write_csv(best.HERE / "reference" / NAME, frame)
    print(f"{NAME}: {len(frame)} scores. " + ". ".join(filter(None, (missing(task, frame) for task in GENUINE))))


if __name__ == "__main__":
    main()
