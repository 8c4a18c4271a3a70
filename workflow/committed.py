"""The committed tidy scores: one compressed file an experiment, ``scores/<experiment>.csv.gz``, with all columns.

Cells repeat most of their columns in every row, which compression takes back (60 MB of text are 3).
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from pathlib import Path

import pandas as pd

from datasets.files import csv_text
from evaluation.summary import OPTIONAL, read_scores
from workflow import papers

SUFFIX = ".csv.gz"


def path_of(folder: Path, experiment: str) -> Path:
    """Where the scores of an experiment stand below the reference ``folder``, or would."""
    name = f"scores/{experiment}{SUFFIX}"  # found by its own name: its YAML may have been taken out
    return papers.find(name, folder) or papers.place(experiment, folder) / name


def experiments(folder: Path) -> list[str]:
    """Names of the experiments that have committed scores below ``folder``."""
    return sorted(p.name.removesuffix(SUFFIX) for home in papers.homes(folder) for p in home.glob(f"scores/*{SUFFIX}"))


def read(folder: Path, experiment: str) -> pd.DataFrame:
    """The committed tidy scores of one experiment, columns ``evaluation.summary.COLUMNS``, every column text.

    Raises FileNotFoundError where there are none, ValueError for a damaged file, a missing column or an unknown status.
    """
    path = path_of(folder, experiment)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; a full run and `reports.build reference` make it")
    try:
        return read_scores(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise ValueError(f"{path} is damaged ({e}); check it out again") from e


def splits_of(scores: pd.DataFrame) -> dict[tuple[str, ...], tuple[str, int]]:
    """(data set, protocol, method, setting) -> id of the committed cell and how many splits it names.

    0 where a row is of the cell as a whole: it cannot be had from fewer splits.
    """
    axes = ["dataset", "protocol", "method", "setting"]
    out = {}
    for key, group in scores.groupby(axes, sort=False):
        named = set(group["split"])
        out[key] = group["cell"].iloc[0], 0 if "" in named else len(named)
    return out


def as_committed(cell, known: dict[tuple[str, ...], tuple[str, int]]):
    """The cell as it is committed: itself, or the same with fewer splits, which are independent of one another.

    ``known``: of :func:`splits_of`. The cell itself where there is neither, or where its scores are made from the draws
    of all splits together.
    """
    then, splits = known.get((cell.dataset, cell.protocol, cell.method, cell.setting), ("", 0))
    if then == cell.id or cell.drawn or not 0 < splits < cell.splits:
        return cell
    fewer = replace(cell, splits=splits)
    return fewer if fewer.id == then else cell


def encoded(scores: pd.DataFrame) -> bytes:
    """What the file of these scores holds; the same scores give the same bytes (with the same zlib).

    A column that older rows lack is left out as long as no row has it.
    """
    unused = [c for c in OPTIONAL if c in scores and (scores[c] == "").all()]
    return gzip.compress(csv_text(scores.drop(columns=unused)).encode("utf-8"), mtime=0)
