"""The committed scores without repetition: one row a number, and what a cell's rows share once a cell.

``scores/<experiment>.csv`` has the columns ``ROW``, ``cells/<experiment>.csv`` what names a cell (``KEY``) and the
columns ``HOISTED``; the first column of both is ``key``, eight digits of a hash of ``KEY`` (:func:`key_of`). A hoisted
column that differs within any cell (a failed split has no ledger) stays in the scores file for the whole experiment.
The experiment is the file's name. The seed follows from data set, protocol, method and split by the law of the workflow
and is not stored; ``workflow.cell`` fills it in where it restores rows.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from evaluation.summary import CELL, COLUMNS, checked

#: names a cell within its experiment.
KEY = CELL[1:]
ROW = ["key", "split", "metric", "value", "unit", "status", "reason", "seconds", "compile_seconds", "peak_mb"]
HOISTED = ["cell", "epsilon", "delta", "relation", "accountant", "code_hash", "data_hash", "scale"]
_SEEDED_BY = ["dataset", "protocol", "method", "split"]


def key_of(*names: str) -> str:
    """Eight hexadecimal digits for data set, protocol, method and setting."""
    return hashlib.sha256("|".join(names).encode()).hexdigest()[:8]


def compact(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows, cells) of the tidy scores of one experiment; :func:`expand` undoes it.

    ``scores``: columns ``evaluation.summary.COLUMNS``, all text. The rows keep their order; cells stand in the order
    of their first row. Raises ValueError for no or several experiments, where one split of a method has two seeds (then
    the seed does not follow from its axes and would be lost), and where two cells have one key.
    """
    names = sorted(set(scores["experiment"]))
    if len(names) != 1:
        raise ValueError(f"scores of {', '.join(names) or 'no experiment'}; give those of one experiment")
    seeds = scores[[*_SEEDED_BY, "seed"]].drop_duplicates()
    if seeds.duplicated(_SEEDED_BY).any():
        where = tuple(seeds.loc[seeds.duplicated(_SEEDED_BY), _SEEDED_BY].iloc[0])
        raise ValueError(f"{names[0]}: {where} has two seeds; run the experiment again with one version of the suite")
    named = scores.drop_duplicates(KEY)[KEY]
    named.insert(0, "key", [key_of(*names) for names in named.itertuples(index=False)])
    if named["key"].duplicated().any():
        raise ValueError(f"{names[0]}: two cells have the key {named.loc[named['key'].duplicated(), 'key'].iloc[0]}")
    scores = scores.merge(named, on=KEY, how="left")
    varies = scores.groupby("key", sort=False)[HOISTED].nunique().gt(1).any()
    kept = [c for c in HOISTED if varies[c]]
    hoisted = [c for c in HOISTED if not varies[c]]
    cells = scores.drop_duplicates("key")[["key", *KEY, *hoisted]]
    return scores[[*ROW, *kept]].reset_index(drop=True), cells.reset_index(drop=True)


def expand(experiment: str, rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores, columns ``evaluation.summary.COLUMNS`` in that order, with an empty seed.

    Raises ValueError where the two tables do not fit together: a column in neither or in both of them, a cell that
    stands twice, a row without its cell or a cell without rows.
    """
    for column in ["key", *sorted(set(COLUMNS) - {"experiment", "seed"})]:
        homes = (column in rows.columns) + (column in cells.columns)
        if homes != 1 + (column == "key"):
            where = "missing" if homes < 1 + (column == "key") else "in the scores and in the cells"
            raise ValueError(f"{experiment}: column '{column}' is {where}; write the reference again")
    if cells["key"].duplicated().any():
        twice = cells.loc[cells["key"].duplicated(), "key"].iloc[0]
        raise ValueError(f"{experiment}: the cell {twice} stands twice in cells/{experiment}.csv")
    for lost, part in (
        (set(rows["key"]) - set(cells["key"]), "cells"),
        (set(cells["key"]) - set(rows["key"]), "scores"),
    ):
        if lost:
            raise ValueError(f"{experiment}: the cell {min(lost)} has no row in {part}/{experiment}.csv")
    return rows.merge(cells, on="key", how="left").assign(experiment=experiment, seed="")[COLUMNS]


def experiments(folder: Path) -> list[str]:
    """Names of the experiments that have committed scores below ``folder``."""
    return sorted(p.stem for p in (Path(folder) / "scores").glob("*.csv"))


def read(folder: Path, experiment: str) -> pd.DataFrame:
    """The committed tidy scores of one experiment, every column text (see :func:`expand`).

    Raises FileNotFoundError where one of its two files is missing, ValueError where they do not fit together or hold
    an unknown status.
    """
    parts = []
    for part in ("scores", "cells"):
        path = Path(folder) / part / f"{experiment}.csv"
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; a full run and `reports.build reference` make it")
        parts.append(pd.read_csv(path, dtype=str, keep_default_na=False))
    return checked(expand(experiment, *parts), Path(folder) / "scores" / f"{experiment}.csv")
