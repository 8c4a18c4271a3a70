"""The committed scores without repetition: one row a number, and what a cell's rows share once a cell.

``scores/<experiment>.csv`` has the columns ``ROW``, ``cells/<experiment>.csv`` the cell's key (``KEY``) and the columns
``HOISTED``. A hoisted column that differs within any cell (a failed split has no ledger) stays in the scores file for
the whole experiment. The experiment is the file's name. The seed follows from data set, protocol, method and split by
the law of the workflow and is not stored; ``workflow.cell`` fills it in where it restores rows.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evaluation.summary import CELL, COLUMNS, checked

#: names a cell within its experiment.
KEY = CELL[1:]
ROW = [*KEY, "split", "metric", "value", "unit", "status", "reason", "seconds", "compile_seconds", "peak_mb"]
HOISTED = ["cell", "epsilon", "delta", "relation", "accountant", "code_hash", "data_hash", "scale"]
_SEEDED_BY = ["dataset", "protocol", "method", "split"]


def compact(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rows, cells) of the tidy scores of one experiment; :func:`expand` undoes it.

    ``scores``: columns ``evaluation.summary.COLUMNS``, all text. The rows keep their order; cells stand in the order
    of their first row. Raises ValueError for no or several experiments, and where one split of a method has two seeds:
    then the seed does not follow from its axes and would be lost.
    """
    names = sorted(set(scores["experiment"]))
    if len(names) != 1:
        raise ValueError(f"scores of {', '.join(names) or 'no experiment'}; give those of one experiment")
    seeds = scores[[*_SEEDED_BY, "seed"]].drop_duplicates()
    if seeds.duplicated(_SEEDED_BY).any():
        where = tuple(seeds.loc[seeds.duplicated(_SEEDED_BY), _SEEDED_BY].iloc[0])
        raise ValueError(f"{names[0]}: {where} has two seeds; run the experiment again with one version of the suite")
    varies = scores.groupby(KEY, sort=False)[HOISTED].nunique().gt(1).any()
    kept = [c for c in HOISTED if varies[c]]
    hoisted = [c for c in HOISTED if not varies[c]]
    cells = scores.drop_duplicates(KEY)[[*KEY, *hoisted]]
    return scores[[*ROW, *kept]].reset_index(drop=True), cells.reset_index(drop=True)


def expand(experiment: str, rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The tidy scores, columns ``evaluation.summary.COLUMNS`` in that order, with an empty seed.

    Raises ValueError where the two tables do not fit together: a column in neither or in both of them, a cell that
    stands twice, a row without its cell or a cell without rows.
    """
    for column in [*KEY, *sorted(set(COLUMNS) - {*KEY, "experiment", "seed"})]:
        homes = (column in rows.columns) + (column in cells.columns)
        if homes != (2 if column in KEY else 1):
            where = "missing" if homes < 1 + (column in KEY) else "in the scores and in the cells"
            raise ValueError(f"{experiment}: column '{column}' is {where}; write the reference again")
    if cells.duplicated(KEY).any():
        twice = tuple(cells.loc[cells.duplicated(KEY), KEY].iloc[0])
        raise ValueError(f"{experiment}: the cell {twice} stands twice in cells/{experiment}.csv")
    scored, named = (set(part[KEY].itertuples(index=False, name=None)) for part in (rows, cells))
    for lost, part in ((scored - named, "cells"), (named - scored, "scores")):
        if lost:
            raise ValueError(f"{experiment}: the cell {min(lost)} has no row in {part}/{experiment}.csv")
    return rows.merge(cells, on=KEY, how="left").assign(experiment=experiment, seed="")[COLUMNS]


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
