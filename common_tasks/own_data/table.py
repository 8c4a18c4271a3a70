"""A table of one's own that is declared public: a CSV file, its target and what is known of its ranges."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from datasets.base import DataSet, RawFile, Table
from workflow import yaml_file

#: rows below which ten splits say nothing: a test part would have fewer than five.
FEWEST = 50


class TableError(ValueError):
    """A table that cannot be compared on; the message names the file, what is wrong and the remedy."""


@dataclass(frozen=True)
class Facts:
    """What the file of the data set holds. ``bounds``: column -> [lower, upper], the target by its name."""

    file: str
    sha256: str
    rows: int
    columns: list[str]
    target: str
    task: str
    labels: list[str]
    bounds: dict[str, list[float]]


def facts(path: Path, target: str | None, task: str, bounds: Path | None = None) -> Facts:
    """Read and check the table. Raises TableError."""
    frame = read(path)
    if task != "density" and target is None:
        raise TableError(f"{path}: {task} needs --target COLUMN; the columns are {_some(frame.columns)}")
    if target is not None and target not in frame.columns:
        raise TableError(f"{path} has no column '{target}'; the columns are {_some(frame.columns)}")
    columns = [c for c in frame.columns if c != target]
    if not columns:
        raise TableError(f"{path} has no column besides the target '{target}'; give at least one input")
    if len(frame) < FEWEST:
        raise TableError(f"{path} has {len(frame)} rows; give at least {FEWEST}, a tenth of which test in each split")
    labels = _labels(path, frame[target]) if task == "classification" else []
    numbers = [*columns, *([target] if task == "regression" else [])]
    _check_numbers(path, frame, numbers)
    known = ranges(bounds, frame, numbers) if bounds else {}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Facts(path.name, digest, len(frame), columns, target or "", task, labels, known)


def read(path: Path) -> pd.DataFrame:
    """The table as text and numbers. Raises TableError where it cannot be read."""
    if not path.is_file():
        raise TableError(f"no file {path}; name a CSV file with a header line")
    try:
        frame = pd.read_csv(path, skipinitialspace=True)
    except (ValueError, OSError, UnicodeDecodeError) as e:
        raise TableError(f"{path} cannot be read as CSV ({str(e).splitlines()[0]}); save it with commas") from None
    frame.columns = [str(c).strip() for c in frame.columns]
    if twice := sorted({c for c in frame.columns if list(frame.columns).count(c) > 1}):
        raise TableError(f"{path} has two columns '{twice[0]}'; rename one")
    return frame


def _some(names: Any) -> str:
    names = list(names)
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _labels(path: Path, column: pd.Series) -> list[str]:
    """The two classes of a target, as the file words them, sorted. Raises TableError."""
    if column.isna().any():
        raise TableError(f"{path}: target '{column.name}' is empty in row {_first(column.isna())}; drop those rows")
    found = sorted(column.unique().tolist())
    if len(found) != 2:
        raise TableError(f"{path}: target '{column.name}' has {len(found)} values; classification is of two classes")
    return [str(v) for v in found]


def _check_numbers(path: Path, frame: pd.DataFrame, columns: list[str]) -> None:
    """Every column holds finite numbers, and more than one. Raises TableError."""
    for c in columns:
        column = frame[c]
        if not pd.api.types.is_numeric_dtype(column):
            text = pd.to_numeric(column, errors="coerce").isna() & column.notna()
            row = f" (row {_first(text)}: '{column[text].iloc[0]}')" if text.any() else ""
            raise TableError(f"{path}: column '{c}' is text{row}; code it as numbers, or drop it")
        bad = ~np.isfinite(column.to_numpy(np.float64))
        if bad.any():
            raise TableError(
                f"{path}: column '{c}' is empty, NaN or infinite in {bad.sum()} rows, the first is row "
                f"{_first(pd.Series(bad))}; drop or fill those rows"
            )
        if column.nunique() == 1:
            raise TableError(f"{path}: column '{c}' is constant ({column.iloc[0]}); drop it")


def _first(mask: pd.Series) -> int:
    """Number of the first row that is marked, the line after the header is row 1."""
    return int(np.flatnonzero(mask.to_numpy())[0]) + 1


def ranges(path: Path, frame: pd.DataFrame, columns: list[str]) -> dict[str, list[float]]:
    """Ranges of a YAML file, ``column: [lower, upper]``. Raises TableError where they do not fit the table."""
    if not path.is_file():
        raise TableError(f"no file {path}; write a line `column: [lower, upper]` for each range that is known")
    given = yaml_file.read(path, TableError)
    if not isinstance(given, dict):
        raise TableError(f"{path}: give lines `column: [lower, upper]`")
    if unknown := [c for c in given if c not in columns]:
        raise TableError(f"{path}: '{unknown[0]}' is no column that takes a range; those are {_some(columns)}")
    return {c: _range(path, c, frame[c].to_numpy(np.float64), given[c]) for c in given}


def _range(path: Path, name: str, values: np.ndarray, given: Any) -> list[float]:
    number = (int, float)
    pair = isinstance(given, list) and len(given) == 2
    if not pair or any(isinstance(v, bool) or not isinstance(v, number) or not math.isfinite(v) for v in given):
        raise TableError(f"{path}: '{name}' has {given}; give [lower, upper], two numbers")
    low, high = map(float, given)
    if not low < high:
        raise TableError(f"{path}: '{name}' has [{low:g}, {high:g}]; give lower < upper")
    if values.min() < low or values.max() > high:
        raise TableError(
            f"{path}: [{low:g}, {high:g}] does not cover column '{name}', whose values go from {values.min():g} to "
            f"{values.max():g}; widen it, or leave it out and it is bought"
        )
    return [low, high]


def write_facts(known: Facts) -> str:
    """The text of the file that :func:`data_set` reads."""
    return yaml.safe_dump(asdict(known), sort_keys=False)


def data_set(path: Path) -> DataSet:
    """The data set of a file of facts, named like that file."""
    known = Facts(**yaml.safe_load(path.read_text(encoding="utf-8")))
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
        bounds_citation="the file of ranges" if bounds else "",
        extremes=() if bounds else None,
        task=known.task,
        labels=tuple(known.labels),
    )


def parse(path: Path, known: Facts) -> Table:
    """The table of a file that has been checked; classes by their place in ``labels``."""
    frame = read(path)
    x = np.ascontiguousarray(frame[known.columns].to_numpy(np.float64))
    if known.task == "classification":
        y = (frame[known.target].astype(str) == known.labels[1]).to_numpy(np.float64)
    else:
        y = frame[known.target].to_numpy(np.float64) if known.task == "regression" else np.zeros(len(frame))
    return Table(x, y, tuple(known.columns))


def name_of(path: Path) -> str:
    """A data set's name from a file's: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_") or "table"
