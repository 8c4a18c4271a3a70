"""A user's public table: its file, its schema, and what else the pages say of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from datasets import draft
from datasets.base import DataSet, RawFile
from datasets.draft import Given
from datasets.schema import LEVELS, Problems, Schema, TableError

#: smallest number of rows. With fewer, the test part of a split would have fewer than five.
FEWEST = 50
#: why a classification has two classes, and what to do with more.
TWO_CLASSES = (
    "the classification of the common tasks is a logistic regression of two classes, and no private method here fits "
    "it to more; code one class against the rest as the target, and compare on each"
)


@dataclass(frozen=True)
class Facts:
    """A public file: its name, its sha256, its schema, and the rows of each class."""

    file: str
    sha256: str
    schema: Schema
    counts: list[int]

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Column -> (lower, upper) where it is known, of coded inputs and the target."""
        schema = self.schema
        pairs = [*zip(schema.coded, schema.bounds, strict=True), (schema.target, schema.y_bounds)]
        return {name: pair for name, pair in pairs if name is not None and pair is not None}


def facts(path: Path, target: str | None, task: str, given: Given | None = None) -> Facts:
    """Read and check the table. Raises TableError; what is wrong is listed at once."""
    if task != "density" and target is None:
        raise TableError(f"{path}: {task} needs --target COLUMN")
    schema = draft.from_rows(path, target, task, given or Given(rows_are_public=True))
    found = []
    if schema.n < FEWEST:
        found.append(f"it has {schema.n} rows; give at least {FEWEST}, a tenth of which test in each split")
    if task == "classification" and len(schema.classes) != 2:
        found.append(f"target '{target}' has {len(schema.classes)} classes: {TWO_CLASSES}")
    table = draft.table(path, schema)
    at = 0
    for column in schema.inputs:
        values = table.x[:, at : at + len(column.coded)]
        at += len(column.coded)
        # a stated level that does not occur is a column of zeros, independently of the rows
        if column.kind != LEVELS and np.ptp(values) == 0:
            found.append(f"column '{column.name}' is constant; leave it out with --drop")
        found += _not_covered(column.name, column.range, values)
    if target is not None and task == "regression":
        if np.ptp(table.y) == 0:
            found.append(f"the target '{target}' is constant, so there is nothing to predict; name another target")
        found += _not_covered(target, schema.y_bounds, table.y)
    if found:
        raise Problems(path, found)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    counts = np.bincount(table.y.astype(int), minlength=2).tolist() if schema.classes else []
    return Facts(path.name, digest, schema, counts)


def _not_covered(name: str, pair: tuple[float, float] | None, values: np.ndarray) -> list[str]:
    """What is wrong with the range of a public column, which has to cover its values."""
    if pair is None or (pair[0] <= values.min() and values.max() <= pair[1]):
        return []
    return [
        f"[{pair[0]:g}, {pair[1]:g}] does not cover column '{name}', whose values go from {values.min():g} to "
        f"{values.max():g}; widen it, or leave it out and it is estimated privately"
    ]


def write_facts(known: Facts) -> str:
    """The text of the file that :func:`data_set` reads."""
    told = {"file": known.file, "sha256": known.sha256, "counts": known.counts, "schema": known.schema.text()}
    return yaml.safe_dump(told, sort_keys=False)


def data_set(path: Path) -> DataSet:
    """The data set of a file of facts, named like that file."""
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = Schema.of(yaml.load(given["schema"], yaml.BaseLoader), path)
    known = Facts(**{**given, "schema": schema})
    return DataSet(
        name=path.stem,
        title=known.file,
        n_rows=schema.n,
        n_inputs=len(schema.coded),
        columns=schema.coded,
        target=schema.target or "none",
        unit="",
        licence="declared public by whoever ran `./bench compare`",
        doi="",
        raw=(RawFile(known.file, known.sha256, ()),),
        parse=lambda raw: draft.table(Path(raw), schema),
        x_bounds=schema.bounds,
        y_bounds=schema.y_bounds,
        bounds_citation="the file of ranges, and the coding of columns as 0 and 1" if known.bounds else "",
        extremes=() if known.bounds else None,
        task=schema.task,
        labels=schema.classes,
    )


def name_of(path: Path) -> str:
    """A data set's name from a file's name: lowercase letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "table"
