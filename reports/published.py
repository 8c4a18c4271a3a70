"""The published numbers of the papers, with annotations and copies. They are read as strings, because digits matter."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from workflow import published
from workflow.papers import of_experiments, papers
from workflow.published import KEY, NUMBERS

SIZES = "dataset_sizes.csv"
COLUMNS = [*KEY, *published.VALUES, *published.NOTES]
#: key of each source -> how tables head it.
SOURCE_TITLES = {source: title for paper in papers() for source, title in paper.sources.items()}
#: published method -> its column heading.
METHOD_TITLES = {method: title for paper in papers() for method, title in paper.methods.items()}
#: published methods that claim differential privacy.
PRIVATE = tuple(method for paper in papers() for method in paper.private)


@cache
def _load(folder: Path) -> pd.DataFrame:
    frame = pd.DataFrame(published.read(folder), columns=COLUMNS)
    return frame.astype({"n_published": int, "digits": int})


def folders() -> list[Path]:
    """The folders of the papers with experiments that have published numbers."""
    return [p.home for p in of_experiments() if (p.home / NUMBERS).is_file()]


def load(*homes: Path) -> pd.DataFrame:
    """All published cells of these folders (default: of all papers), in the order of their files.

    Columns: the six of ``KEY``, mean, std, n_runs (strings, as printed), digits, n_published (int), std_kind,
    same_as, note. Raises ValueError as ``workflow.published.read`` does, and if two papers share a number.
    """
    frames = [f for f in (_load(Path(home)) for home in homes or folders()) if len(f)]
    every = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)
    if every.duplicated(KEY).any():
        raise ValueError(f"two papers have the cell {every[every.duplicated(KEY)].iloc[0][KEY].tolist()}")
    return every


def original_of(row, numbers: pd.DataFrame):
    """The row that a copy repeats (``same_as`` = "source:table"), or the row itself. Raises ValueError if missing."""
    if not row["same_as"]:
        return row
    key = [*row["same_as"].split(":"), *(row[c] for c in KEY[2:])]
    found = numbers[(numbers[KEY] == key).all(axis=1)].to_dict("records")
    return found[0] if found else published.original(row, numbers.to_dict("records"))  # it says which one is lost


def is_copy(rows: pd.DataFrame) -> np.ndarray:
    """Whether each row's number repeats another (``same_as``), bool (n,). ``rows`` has the columns of ``KEY``."""
    numbers = load()
    copies = set(map(tuple, numbers.loc[numbers["same_as"] != "", KEY].to_numpy()))
    return np.array([tuple(row) in copies for row in rows[KEY].to_numpy()], dtype=bool)


def dataset_sizes() -> pd.DataFrame:
    """The published sizes of the data sets of all papers: source, table, dataset, n, d (strings)."""
    paths = [p.home / SIZES for p in of_experiments() if (p.home / SIZES).is_file()]
    frames = [pd.DataFrame(published.table(path, ["source", "table", "dataset", "n", "d"])) for path in paths]
    return (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=["source", "table", "dataset", "n", "d"])
    )
