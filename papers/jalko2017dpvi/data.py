"""Abalone and Adult as Jälkö, Dikmen & Honkela (2017) coded them, from the raw files of the suite's own data sets.

* ``abalone_coded``: all rows of abalone.data. Sex is one number, I < F < M = 0, 1, 2. The seven numbers follow.
* ``adult_coded``: the rows of adult.data with all 14 columns. A nominal column is the number of its level in the order
  of the characters, "?" first. The authors' own input is lost. This coding is **inferred** from the published numbers
  (:func:`papers.jalko2017dpvi.checks.coding` compares it with others).

Every column is scaled to mean 0 and standard deviation 1 (ddof = 0) over all rows, as the authors' inputs are. That
includes test rows, and no guarantee here is charged for it. There is one split: the first int(0.8 n) rows of the file
are training rows, the rest test rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import datasets
from datasets import adult
from datasets.base import DataError, DataSet, Table
from datasets.fetch import build, fetch

SEXES = ("I", "F", "M")
RINGS = 9
TRAIN = 0.8
#: orders of the levels of Adult's nominal columns that :func:`parse_adult` knows; the first is the inferred one.
CODINGS = ("alphabet", "appearance", "names")


@dataclass(frozen=True)
class Split:
    """Inputs and 0/1 labels: x (n, d), y (n,), float64."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def n(self) -> int:
        return len(self.y)


def parse_abalone(path: Path) -> Table:
    """Inputs and label of abalone.data. Raises DataError for a line that is not a sex and eight numbers."""
    rows = [line.strip().split(",") for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    try:
        x = np.array([[SEXES.index(r[0]), *map(float, r[1:8])] for r in rows])
        y = np.array([int(r[8]) > RINGS for r in rows], dtype=np.float64)
    except (ValueError, IndexError) as error:
        raise DataError(f"{Path(path).name} cannot be read ({error}); delete the file and fetch it again") from error
    return Table(x, y, ("sex", *(c for c in datasets.get("abalone").columns if not c.startswith("sex="))))


def adult_fields(path: Path) -> tuple[dict[str, tuple[str, ...]], np.ndarray]:
    """Columns of adult.data as words, and the label. Raises DataError."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    rows = [[f.strip() for f in line.split(",")] for line in lines if line.strip()]
    if not rows or {len(r) for r in rows} != {len(adult.FIELDS) + 1}:
        raise DataError(f"{Path(path).name} is no adult.data; delete the file and fetch it again")
    *columns, label = zip(*rows, strict=True)
    return dict(zip(adult.FIELDS, columns, strict=True)), np.array([v == adult.LABELS[1] for v in label], float)


def levels(column: Sequence[str], name: str, coding: str) -> Sequence[str]:
    """The levels of a nominal column in the order in which a coding counts them."""
    if coding == "alphabet":
        return sorted(set(column))
    if coding == "appearance":
        return list(dict.fromkeys(column))
    return adult.LEVELS[name].split(", ")


def parse_adult(path: Path, coding: str = CODINGS[0]) -> Table:
    """Inputs and label of adult.data in a coding. Raises DataError."""
    fields, y = adult_fields(path)
    x = np.empty((len(y), len(adult.FIELDS)))
    for j, name in enumerate(adult.FIELDS):
        if name in adult.NUMBERS:
            x[:, j] = np.array(fields[name], dtype=np.float64)
        else:
            number = {level: k for k, level in enumerate(levels(fields[name], name, coding))}
            x[:, j] = [number[v] for v in fields[name]]
    return Table(x, y, adult.FIELDS)


def _dataset(name: str, of: DataSet, raw: tuple, columns: tuple[str, ...], n: int, parse, sha256: str) -> DataSet:
    return DataSet(
        name=name,
        title=f"{of.title} (one number a column)",
        n_rows=n,
        n_inputs=len(columns),
        columns=columns,
        target=of.target,
        unit="",
        licence=of.licence,
        doi=of.doi,
        raw=raw,
        parse=parse,
        n_splits=1,
        table_sha256=sha256,
        task="classification",
        labels=of.labels,
    )


def dataset(name: str, coding: str = CODINGS[0]) -> DataSet:
    """The data set as the suite fetches and checks it. Raises KeyError for another name."""
    if name == "abalone_coded":
        own = datasets.get("abalone")
        columns = ("sex", *own.columns[:7])
        return _dataset(name, own, own.raw, columns, own.n_rows, parse_abalone, FINGERPRINTS[name])
    if name == "adult_coded":
        own, sha256 = datasets.get("adult"), FINGERPRINTS[name] if coding == CODINGS[0] else ""
        parse = partial(parse_adult, coding=coding)
        return _dataset(name, own, own.raw[:1], tuple(adult.FIELDS), 32_561, parse, sha256)
    raise KeyError(f"unknown data set '{name}'")


#: fingerprints of the coded tables before scaling.
FINGERPRINTS: Mapping[str, str] = {
    "abalone_coded": "2ef542b5b137ecf3fcce30bd1c91932097262029c5c8d235626967e19d5eac71",
    "adult_coded": "43eb2236260b1431600ef68a85d8adb5d7daa217a72a3953ebf28a19c9a5dc27",
}
NAMES = tuple(FINGERPRINTS)
#: the data set of ``datasets/`` with the same raw file.
OF = {"abalone_coded": "abalone", "adult_coded": "adult"}


def scaled(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and standard deviation 1 over all rows (ddof = 0)."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def split(table: Table) -> Split:
    x, n = scaled(table.x), int(TRAIN * len(table.y))
    return Split(x[:n], table.y[:n], x[n:], table.y[n:])


def load(name: str, mirror: str | None, raw: str | Path = "results/raw", coding: str = CODINGS[0]) -> Split:
    """The split of a table whose raw file is in the mirror or can be fetched. Raises DataError."""
    return split(table(name, mirror, raw, coding))


def table(name: str, mirror: str | None, raw: str | Path = "results/raw", coding: str = CODINGS[0]) -> Table:
    """The coded rows before scaling. Raises DataError."""
    return build(dataset(name, coding), (raw_path(name, mirror, raw, coding),))[0]


def raw_path(name: str, mirror: str | None, raw: str | Path = "results/raw", coding: str = CODINGS[0]) -> Path:
    """The raw file of a table. It is stored under the name in ``datasets/``. Raises DataError."""
    return fetch(replace(dataset(name, coding), name=OF[name]), mirror, raw)[0]
