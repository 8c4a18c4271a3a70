"""Lower bounds on the epsilon of each private method: their table, and the row of one method.

    python -m reports.lower_bounds --extra results/extra --out results/parts/bounds [--commit]

The command reads ``lower_bounds.csv`` of ``audit.bounds``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from datasets.files import write_text
from methods import contract
from reports import tables
from reports.blocks import Block, Table, entry
from reports.config import ReportError
from reports.reference import FOLDER

NAME = "lower_bounds.csv"
#: column of the committed table -> heading of :func:`lower_bound_row`
HEADS = {
    "epsilon": "Epsilon at delta 1e-5",
    "lower": "Lower bound",
    "power": "Power",
    "lower_gdp": "Lower bound under Gaussian DP",
    "power_gdp": "Power under Gaussian DP",
    "wide_epsilon": "Epsilon at delta 0.01",
    "wide_lower": "Lower bound at delta 0.01",
    "wide_power": "Power at delta 0.01",
    "false_alarm": "False-alarm rate of each bound",
    "reason": "Remark",
}
COLUMNS = [*HEADS.values()]
NOT_RUN = "not run yet"
#: the sentence of a page before the row of one method
SENTENCE = (
    "Many fits of a toy task on two neighbours show how large epsilon is at least, with confidence .95. The power is "
    "the estimated probability that the bound exceeds the ledger's epsilon if a fit adds 2/3 of the noise that it "
    "declares. [Privacy](/privacy.md) has all methods."
)
NOTES = (
    "Each lower bound is below the true epsilon of these fits with confidence .95. It comes from 10,000 fits on each "
    "of two neighbours of a dozen rows, and from all that they release. The threshold is chosen on one half of the "
    "fits and judged on the other half.",
    "Epsilon is that of the ledger of these fits, not of the cells with published numbers. Batches are all rows, so "
    "the bounds say nothing about sampling.",
    "Power: the share of bootstrap resamples whose bound exceeds the ledger's epsilon if 2/3 of the declared noise is "
    "added. At delta 1e-5 a bound for any mechanism has next to no power against Gaussian noise, because the events "
    "that decide there are too rare. At delta 0.01 it has.",
    "Gaussian DP: a second bound, valid for full-batch Gaussian releases only.",
)


@cache
def read(folder: Path = FOLDER) -> pd.DataFrame:
    """The committed bounds, with every column as text. The frame is empty if there are none."""
    path = folder / NAME
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame(columns=["method"])


def lower_bound_row(method: str, frame: pd.DataFrame | None = None) -> list[str]:
    """The texts under ``COLUMNS`` for one private method. Its remark says why a number is missing.

    ``frame`` has rows of ``audit.bounds``, by default the committed ones.
    """
    frame = read() if frame is None else frame
    rows = frame[frame["method"] == method].to_dict("records")
    if not rows:
        return [*[""] * (len(HEADS) - 1), NOT_RUN]
    (row,) = rows
    return [row[n] if n == "reason" or row[n] == "" else f"{float(row[n]):.2f}" for n in HEADS]


def table(frame: pd.DataFrame) -> tuple[Table, pd.DataFrame]:
    """One row per private method, with its long frame. ``frame``: rows of ``audit.bounds``, every column as text."""
    rows = []
    for r in frame.to_dict("records"):
        title = contract.get(r["method"], r["kind"]).title
        rows.append((title, [entry(text) for text in lower_bound_row(r["method"], frame)]))
    block = Block("", "Method", COLUMNS, rows)
    toy = "Toy tasks of a dozen rows"
    return Table("lower_bounds", "What many fits prove about epsilon", toy, [block], NOTES), frame


def commit(extra: Path, folder: Path = FOLDER) -> None:
    """Copy the bounds of a run into the reference. Raises ReportError unless each is at most the ledger's epsilon."""
    frame = _of_run(extra)
    for bound, epsilon in (("lower", "epsilon"), ("lower_gdp", "epsilon"), ("wide_lower", "wide_epsilon")):
        least, most = (pd.to_numeric(frame[column], errors="coerce") for column in (bound, epsilon))
        above = frame[(frame[bound] != "") & ~(least <= most)]
        if len(above):
            row = above.iloc[0]
            raise ReportError(f"{row['method']}: epsilon is at least {row[bound]}, the ledger says {row[epsilon]}")
    write_text(folder / NAME, (extra / NAME).read_text(encoding="utf-8"))


def _of_run(extra: Path) -> pd.DataFrame:
    if not (extra / NAME).is_file():
        raise ReportError(f"no {NAME} in {extra}; run `./bench lower_bounds` first")
    return read.__wrapped__(extra)


def main() -> None:
    tables.command("reports.lower_bounds", "bounds", lambda extra: [table(_of_run(extra))], commit)


if __name__ == "__main__":
    main()
