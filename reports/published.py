"""The numbers of the papers, read as strings (digits are data), with their annotations and their copies."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from workflow.papers import of_experiments, papers

NUMBERS, ANNOTATIONS, SIZES = "published.csv", "annotations.csv", "dataset_sizes.csv"
KEY = ["source", "table", "dataset", "method", "setting", "metric"]
COLUMNS = [*KEY, "mean", "std", "n_runs", "digits", "n_published", "std_kind", "same_as", "note"]
#: key of each source -> how tables head it.
SOURCE_TITLES = {source: title for paper in papers() for source, title in paper.sources.items()}
#: published method -> its column heading.
METHOD_TITLES = {method: title for paper in papers() for method, title in paper.methods.items()}
#: published methods that claim differential privacy.
PRIVATE = tuple(method for paper in papers() for method in paper.private)


@cache
def _load(folder: Path) -> pd.DataFrame:
    numbers = pd.read_csv(folder / NUMBERS, dtype=str, keep_default_na=False)
    notes = pd.read_csv(folder / ANNOTATIONS, dtype=str, keep_default_na=False)
    for name, frame in ((NUMBERS, numbers), (ANNOTATIONS, notes)):
        if frame.duplicated(KEY).any():
            raise ValueError(
                f"{folder / name}: two rows with the key {frame[frame.duplicated(KEY)].iloc[0][KEY].tolist()}"
            )
    both = numbers.merge(notes, on=KEY, how="outer", indicator=True, validate="one_to_one")
    if (both["_merge"] != "both").any():
        raise ValueError(f"{folder}: {NUMBERS} and {ANNOTATIONS} differ in their keys; each number has one annotation")
    both = numbers.merge(notes, on=KEY, how="left", validate="one_to_one")
    both["n_published"] = both["n_published"].astype(int)
    both["digits"] = both["digits"].astype(int)
    return both


def folders() -> list[Path]:
    """Folders of the papers with experiments that have published numbers."""
    return [p.home for p in of_experiments() if (p.home / NUMBERS).is_file()]


def load(*homes: Path) -> pd.DataFrame:
    """All published cells of these folders (default: of all papers), in the order of their files.

    Columns: the six of ``KEY``, mean, std, n_runs (strings, as printed), digits, n_published (int), std_kind,
    same_as, note. Raises ValueError where two files do not belong together, or two papers share a cell.
    """
    found = [f for f in (_load(Path(home)) for home in homes or folders()) if len(f)]
    every = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)
    if every.duplicated(KEY).any():
        raise ValueError(f"two papers have the cell {every[every.duplicated(KEY)].iloc[0][KEY].tolist()}")
    return every


def original_of(row, published: pd.DataFrame):
    """The row that a copy repeats (``same_as`` = "source:table"), or the row itself. Raises ValueError if lost."""
    if not row["same_as"]:
        return row
    source, table = row["same_as"].split(":")
    keep = (published["source"] == source) & (published["table"] == table)
    for column in ("dataset", "method", "setting", "metric"):
        keep &= published[column] == row[column]
    if keep.sum() != 1:
        raise ValueError(
            f"{ANNOTATIONS}: {[row[k] for k in KEY]} says same_as {row['same_as']}, which has no such cell"
        )
    return published[keep].iloc[0]


def is_copy(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> np.ndarray:
    """Which rows are of a number that repeats another (``same_as``), bool (n,). ``rows`` has the columns of ``KEY``."""
    numbers = load() if published is None else published
    copies = set(map(tuple, numbers.loc[numbers["same_as"] != "", KEY].to_numpy()))
    return np.array([tuple(row) in copies for row in rows[KEY].to_numpy()], dtype=bool)


def dataset_sizes() -> pd.DataFrame:
    """Published sizes of the data sets, of all papers: source, table, dataset, n, d (strings)."""
    paths = [p.home / SIZES for p in of_experiments() if (p.home / SIZES).is_file()]
    found = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths]
    return (
        pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["source", "table", "dataset", "n", "d"])
    )
