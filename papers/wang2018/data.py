"""The 29 tables of Wang (2018), from raw files to normalised rows.

What differs between the tables stands in ``datasets.csv`` (sizes, target) and ``files.csv`` (sources, checksums,
licences), both of the published results, and in ``RECIPES``: which column is the target, how it is
transformed, which columns the preparation scripts drop. The preparation is one law (:func:`normalised`).
It uses all rows, test rows included.

Departures from the bytes that the authors used: ``protein`` and ``wine`` are UCI's files (in protein numbers differ
by rounding), ``gas`` is a copy of five digits (``files.csv``). A test bounds what they change by the
noise-free numbers.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

import datasets
from datasets.base import DataError, DataSet, RawFile, Source, Table
from datasets.fetch import build, fetch

HERE = Path(__file__).parent
ABSENT = "NOT HERE"
#: tables whose raw file is that of one of the suite's own data sets, with its checksum.
SHARED = frozenset({"protein", "wine"})


def _log(y: np.ndarray) -> np.ndarray:
    return np.log(y)


def _log_of_one_more(y: np.ndarray) -> np.ndarray:
    return np.log(y + 1)


def _as_it_is(y: np.ndarray) -> np.ndarray:
    return y


@dataclass(frozen=True)
class Recipe:
    """Column of the target, its transform, columns that are neither; ``centred``: last columns that are not scaled."""

    target: int = -1
    transform: Callable[[np.ndarray], np.ndarray] = _as_it_is
    drop: tuple[int, ...] = ()
    centred: int = 0
    why: str = ""  # where the target or an input is not what the table's name suggests


RECIPES = {
    "3droad": Recipe(),
    "airfoil": Recipe(),
    "autompg": Recipe(0),
    "autos": Recipe(transform=_log),
    "bike": Recipe(
        transform=_log, drop=(0,), why="counts of casual and registered riders, whose sum is the target, are inputs"
    ),
    "breastcancer": Recipe(2, drop=(34,), why="the patient's number is an input"),
    "concrete": Recipe(),
    "concreteslump": Recipe(7, drop=(8, 9, 10), why="the target is the fine aggregate; the row number is an input"),
    "elevators": Recipe(transform=_log),
    "energy": Recipe(8, drop=(9,)),
    "fertility": Recipe(8, why="the target is hours spent sitting; the diagnosis is an input"),
    "forest": Recipe(transform=_log_of_one_more),
    "gas": Recipe(),  # its copy holds the transformed target
    "housing": Recipe(),
    "kin40k": Recipe(),
    "machine": Recipe(7, _log, drop=(8,), why="two rows have a field too few, and all their columns are shifted"),
    "parkinsons": Recipe(5, drop=(4,), why="the subject's number is an input"),
    "pendulum": Recipe(),
    "pol": Recipe(),
    "protein": Recipe(0, _log_of_one_more),
    "pumadyn32nm": Recipe(),
    "servo": Recipe(transform=_log),
    "skillcraft": Recipe(12, _log, why="the target is the logarithm of the 13th column"),
    "sml": Recipe(11, why="the target is the 12th column"),
    "solar": Recipe(10, centred=2, why="the flares of the other classes are inputs"),
    "stock": Recipe(3, why="the target is the 4th column"),
    "tamielectric": Recipe(1, drop=(3,)),
    "wine": Recipe(10, why="the target is alcohol; the quality is an input"),
    "yacht": Recipe(transform=_log),
}


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
    """The data set as the suite fetches and checks it. Raises DataError where a raw file has no known checksum."""
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


def parse(name: str, *paths: Path) -> Table:
    """Columns and target of the raw files, rows in their order, the target transformed. Raises DataError."""
    recipe = RECIPES[name]
    rows = np.concatenate([read(Path(path)) for path in paths])
    target = recipe.target % rows.shape[1]
    x = np.delete(rows, sorted({target, *recipe.drop}), axis=1)
    return Table(x, recipe.transform(rows[:, target]), tuple(f"input {j + 1}" for j in range(x.shape[1])))


def read(path: Path) -> np.ndarray:
    """Numbers of a raw file (n, k): Matlab's ``data``, or text without a header.

    Text: fields between commas, semicolons or blanks, lines that end in CR, LF or both; a header in quotation marks
    or letters is passed over; a line with fewer fields than the longest gets zeros at its end, as the authors' reader
    does.
    """
    if path.suffix == ".mat":
        from scipy.io import loadmat

        return np.asarray(loadmat(path)["data"], dtype=np.float64)
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_bytes().decode()
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", text) if line.strip()]
    lines = lines[1:] if re.match(r'["a-z]', lines[0]) else lines
    try:
        rows = [[float(v) for v in re.split(r"\s*[,;]\s*|\s+", line)] for line in lines]
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read ({error}); delete the file and fetch it again") from error
    width = max(len(r) for r in rows)
    return np.array([r + [0.0] * (width - len(r)) for r in rows])


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
