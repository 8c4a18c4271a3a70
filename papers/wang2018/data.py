"""The 29 tables of Wang (2018), from raw files to normalised rows.

The tables differ in ``datasets.csv`` (sizes, target) and ``files.csv`` (sources, checksums, licences), both of the
published results, and in ``RECIPES``: which column is the target, how it is transformed, and which columns the
preparation scripts drop. The preparation is the same for all (:func:`normalised`). It uses all rows, including test
rows.

Departures from the bytes that the authors used: ``protein`` and ``wine`` are UCI's files (in protein numbers differ
by rounding), ``gas`` is a copy of five digits (``files.csv``). A test bounds what they change by the
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
from datasets.wang2018 import RECIPES, parse

HERE = Path(__file__).parent
ABSENT = "NOT HERE"
#: tables whose raw file is that of one of the suite's own data sets, with its checksum.
SHARED = frozenset({"protein", "wine"})


@cache
def sizes() -> pd.DataFrame:
    """``datasets.csv``, strings, by data set."""
    return pd.read_csv(HERE / "datasets.csv", dtype=str, keep_default_na=False).set_index("dataset")


@cache
def files() -> pd.DataFrame:
    """``files.csv``, strings."""
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
    raw = tuple(RawFile(f["file"], f["sha256"], (Source(f["url_not_tried"]),)) for _, f in here.iterrows())
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
    )


def every() -> list[DataSet]:
    """The data sets whose raw files have a known checksum."""
    known = files()[~files()["remark"].str.startswith(ABSENT)]
    return [dataset(name) for name in names() if name in set(known["dataset"])]


def normalised(name: str, table: Table) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows of norm 1, targets in [-1, 1], and the largest absolute centred target, as the preparation scripts make
    them.

    z-scores (sd over n - 1) of all rows, a constant column 0; the target less its mean, over its largest absolute
    value; z-scores once more, sd 0 counted as 1; each row over its norm. No intercept.
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
    table, _ = build(known, fetch(known, mirror, raw, offline=mirror is not None))
    x, y, largest = normalised(name, table)
    stated = sizes().loc[name]["max_abs_centred_target"]
    if stated and not math.isclose(largest, float(stated), rel_tol=1e-8):  # stated to ten digits
        raise DataError(f"{name}: the largest absolute centred target is {largest:.10g}, expected {stated}")
    return x, y, largest
