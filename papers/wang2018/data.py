"""The 29 tables of Wang (2018), from raw files to normalised rows.

Three places describe a table. ``datasets.csv`` has its sizes and target, and ``files.csv`` the sources, checksums and
licences. ``RECIPES`` says which column is the target, how it is transformed, and which columns the preparation scripts
drop. The preparation is the same for all tables (:func:`normalised`). It uses all rows, including test rows.

Three tables differ from the authors' files. ``protein`` and ``wine`` are UCI's files, and numbers of protein differ by
rounding. ``gas`` is a copy with five digits (``files.csv``). A test bounds the effect of these differences by the
noise-free numbers.
"""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

import datasets
from datasets.base import DataError, DataSet, RawFile, Source, Table
from datasets.fetch import build, fetch
from datasets.wang2018 import FINGERPRINTS, RECIPES, parse, with_addresses

HERE = Path(__file__).parent
ABSENT = "NOT HERE"
#: tables that share raw file and checksum with a data set of ``datasets/``.
SHARED = frozenset({"protein", "wine"})


@cache
def sizes() -> pd.DataFrame:
    """``datasets.csv`` as strings, indexed by data set."""
    return pd.read_csv(HERE / "datasets.csv", dtype=str, keep_default_na=False).set_index("dataset")


@cache
def files() -> pd.DataFrame:
    """``files.csv`` as strings."""
    return pd.read_csv(HERE / "files.csv", dtype=str, keep_default_na=False)


def names() -> list[str]:
    return sorted(RECIPES)


def dataset(name: str) -> DataSet:
    """The data set as the suite fetches and checks it. Raises DataError if a raw file has no known checksum."""
    own = files()[files()["dataset"] == name]
    here = own[~own["remark"].str.startswith(ABSENT)]
    if here.empty:
        raise DataError(
            f"{name}: {', '.join(own['file'])} could not be had when the checksums were written "
            f"({own['origin'].iloc[0]}); remedy: put the file into the mirror's folder {name} and its sha256 into "
            "papers/wang2018/files.csv"
        )
    raw = tuple(
        with_addresses(name, RawFile(f["file"], f["sha256"], (Source(f["url_not_tried"]),))) for _, f in here.iterrows()
    )
    row, d = sizes().loc[name], int(sizes().loc[name]["d"])
    return DataSet(
        name=name,
        title=f"{name} (Wang 2018)",
        n_rows=int(row["n"]),
        n_inputs=d,
        columns=tuple(f"input {j + 1}" for j in range(d)),
        target=row["target"],
        unit="",
        licence=here["licence"].iloc[0],
        doi="",
        raw=datasets.get(name).raw if name in SHARED else raw,
        parse=partial(parse, name),
        n_splits=10,
        table_sha256=FINGERPRINTS[name],
    )


def every() -> list[DataSet]:
    """The data sets whose raw files have a known checksum."""
    known = files()[~files()["remark"].str.startswith(ABSENT)]
    return [dataset(name) for name in names() if name in set(known["dataset"])]


def normalised(name: str, table: Table) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows of norm 1, targets in [-1, 1], and the largest absolute centred target, as in the preparation scripts.

    1. Inputs become z-scores with the standard deviation of n - 1, over all rows. A constant column becomes 0.
    2. The target is centred and divided by its largest absolute value.
    3. Inputs become z-scores once more. A standard deviation of 0 counts as 1.
    4. Each row is divided by its norm. There is no intercept.
    """
    x, y = table.x - table.x.mean(axis=0), table.y - table.y.mean()
    spread = table.x.std(axis=0, ddof=1)
    constant = np.ptp(table.x, axis=0) == 0
    if RECIPES[name].centred:
        spread[-RECIPES[name].centred :] = 1.0
    x = np.where(constant, 0.0, x / np.where(constant, 1.0, spread))
    largest = float(np.abs(y).max())
    spread = x.std(axis=0, ddof=1)
    x = (x - x.mean(axis=0)) / np.where(spread == 0, 1.0, spread)
    return x / np.linalg.norm(x, axis=1, keepdims=True), y / largest, largest


def load(name: str, mirror: str | None, raw: str | Path = "results/raw") -> tuple[np.ndarray, np.ndarray, float]:
    """:func:`normalised` rows of a table whose raw files are in the mirror or can be fetched. Raises DataError."""
    known = dataset(name)
    table, _ = build(known, fetch(known, mirror, raw))
    x, y, largest = normalised(name, table)
    stated = sizes().loc[name]["max_abs_centred_target"]
    if stated and not math.isclose(largest, float(stated), rel_tol=1e-8):  # stated to ten digits
        raise DataError(f"{name}: the largest absolute centred target is {largest:.10g}, expected {stated}")
    return x, y, largest
