"""A user's table: its file as read by ``datasets.reader``, its target, and what is known of its ranges."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from datasets import reader
from datasets.base import DataSet, RawFile, Table
from datasets.reader import NUMBER, WHOLE, Given, Layout, TableError
from datasets import yaml_file

#: smallest number of rows. With fewer, the test part of a split would have fewer than five.
FEWEST = 50
#: why a classification has two classes, and what to do with more.
TWO_CLASSES = (
    "the classification of the common tasks is a logistic regression of two classes, and no private method here fits "
    "it to more; code one class against the rest as the target, and compare on each"
)


@dataclass(frozen=True)
class Facts:
    """The content of the file of a data set.

    * ``columns``: the inputs, with levels as columns of 0 and 1.
    * ``bounds``: column -> [lower, upper], with the target by its name.
    * ``counts``: rows of each class.
    """

    file: str
    sha256: str
    rows: int
    columns: list[str]
    target: str
    task: str
    labels: list[str]
    bounds: dict[str, list[float]]
    layout: Layout
    counts: list[int]


def facts(path: Path, target: str | None, task: str, bounds: Path | None = None, given: Given | None = None) -> Facts:
    """Read and check the table. Raises TableError."""
    if task != "density" and target is None:
        raise TableError(f"{path}: {task} needs --target COLUMN")
    layout, rows = reader.look(path, target, task, given or Given(rows_are_public=True))
    columns = layout.inputs(target)
    if rows < FEWEST:
        raise TableError(f"{path} has {rows} rows; give at least {FEWEST}, a tenth of which test in each split")
    labels = layout.column(target).levels if task == "classification" and target else ()
    if task == "classification" and len(labels) != 2:
        raise TableError(f"{path}: target '{target}' has {len(labels)} classes: {TWO_CLASSES}")
    numbers = [c.name for c in layout.columns if c.kind in (NUMBER, WHOLE)]
    values = reader.read(path, layout)
    for column in layout.columns:
        # a stated level that does not occur is a column of zeros, independently of the rows
        varies = not column.coded or (column.public == "stated" and column.name != target)
        if not varies and np.ptp(values[column.name]) == 0:
            raise TableError(f"{path}: column '{column.name}' is constant; leave it out with --drop")
    known = ranges(bounds, values, numbers) if bounds else {}
    coded = zip(columns, layout.bounds(target), strict=True)
    known |= {name: [*pair] for name, pair in coded if pair is not None}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    counts = np.bincount(values[target].astype(int), minlength=2).tolist() if labels else []
    return Facts(path.name, digest, rows, [*columns], target or "", task, [*labels], known, layout, counts)


def ranges(path: Path, values: Mapping[str, np.ndarray] | None, columns: Sequence[str]) -> dict[str, list[float]]:
    """Ranges of a YAML file, ``column: [lower, upper]``. Raises TableError if they do not fit the table.

    ``values``: of a public table, which the ranges have to cover. None for private rows, whose values are not checked
    here.
    """
    if not path.is_file():
        raise TableError(f"no file {path}; write a line `column: [lower, upper]` for each range that is known")
    given = yaml_file.read(path, TableError)
    if not isinstance(given, dict):
        raise TableError(f"{path}: give lines `column: [lower, upper]`")
    if unknown := [c for c in given if c not in columns]:
        some = ", ".join(columns[:8]) + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")
        raise TableError(f"{path}: '{unknown[0]}' is no column that takes a range; those are {some}")
    return {c: _range(path, c, None if values is None else values[c], given[c]) for c in given}


def _range(path: Path, name: str, values: np.ndarray | None, given: Any) -> list[float]:
    number = (int, float)
    pair = isinstance(given, list) and len(given) == 2
    if not pair or any(isinstance(v, bool) or not isinstance(v, number) or not math.isfinite(v) for v in given):
        raise TableError(f"{path}: '{name}' has {given}; give [lower, upper], two numbers")
    low, high = map(float, given)
    if not low < high:
        raise TableError(f"{path}: '{name}' has [{low:g}, {high:g}]; give lower < upper")
    if values is not None and (values.min() < low or values.max() > high):
        raise TableError(
            f"{path}: [{low:g}, {high:g}] does not cover column '{name}', whose values go from {values.min():g} to "
            f"{values.max():g}; widen it, or leave it out and it is estimated privately"
        )
    return [low, high]


def write_facts(known: Facts) -> str:
    """The text of the file that :func:`data_set` reads."""
    return yaml.safe_dump(asdict(known), sort_keys=False)


def data_set(path: Path) -> DataSet:
    """The data set of a file of facts, named like that file."""
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    known = Facts(**{**given, "layout": Layout.of(given["layout"])})
    bounds = {c: tuple(v) for c, v in known.bounds.items()}
    return DataSet(
        name=path.stem,
        title=known.file,
        n_rows=known.rows,
        n_inputs=len(known.columns),
        columns=tuple(known.columns),
        target=known.target or "none",
        unit="",
        licence="declared public by whoever ran `./bench compare`",
        doi="",
        raw=(RawFile(known.file, known.sha256, ()),),
        parse=lambda raw: parse(Path(raw), known),
        x_bounds=tuple(bounds.get(c) for c in known.columns),
        y_bounds=bounds.get(known.target),
        bounds_citation="the file of ranges, and the coding of columns as 0 and 1" if bounds else "",
        extremes=() if bounds else None,
        task=known.task,
        labels=tuple(known.labels),
    )


def parse(path: Path, known: Facts) -> Table:
    """The table of a file that has been checked. Classes are numbers by their place in ``labels``."""
    return reader.table(path, known.layout, known.target if known.task != "density" else None)


def name_of(path: Path) -> str:
    """A data set's name from a file's name: lowercase letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "table"
