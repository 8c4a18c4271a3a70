"""A data set: where its raw files come from, how they become a table, and what is publicly known about it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

UCI = "https://archive.ics.uci.edu/static/public/"
UCI_OLD = "https://archive.ics.uci.edu/ml/machine-learning-databases/"

Bounds = tuple[float, float] | None


class DataError(RuntimeError):
    """Data that cannot be had or read; the message names the file and the remedy. Becomes status ``no_data``."""


@dataclass(frozen=True)
class Source:
    """One address of a raw file: the file itself, or a zip with the file as ``member``.

    ``zip_sha256`` is that of the published zip. A zip with another hash is still good when its member has the
    hash of the raw file: repositories repack their archives.
    """

    url: str
    member: str | None = None
    zip_sha256: str | None = None


@dataclass(frozen=True)
class RawFile:
    """A raw file by name and sha256 (hexadecimal), with its sources in the order in which they are tried.

    ``megabytes``: about how much the first source sends (said before a run starts).
    """

    name: str
    sha256: str
    sources: tuple[Source, ...]
    megabytes: float = 0.0


@dataclass(frozen=True)
class Table:
    """A parsed data set.

    Parameters
    ----------
    x : float64 (n, d), inputs in the literature's column and row order, original units.
    y : float64 (n,), target in original units; the number of the class for a classification set.
    columns : the d input names.
    authors_order : int64 (n,) such that rows[authors_order] are in the order that the authors of DP-SEP used;
        None where that is the order of the table.
    extra : float64 (n, k), columns of the file that are neither input nor target (they count in the fingerprint).
    """

    x: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    authors_order: np.ndarray | None = None
    extra: np.ndarray | None = None


@dataclass(frozen=True)
class DataSet:
    """Everything about one data set that is known before its rows are seen.

    Parameters
    ----------
    name, title : the file's name in ``datasets/``; the name in tables.
    n_rows, n_inputs : size of the table.
    columns : names of the inputs, in table order.
    target, unit : name and unit of the target ("" for a number without unit).
    raw : the raw files; ``parse`` takes their paths as positional arguments in this order.
    folder : of a mirror, where it is that of another data set with the same raw files.
    parse : raw paths -> Table. Raises DataError that names the file and what is missing in it.
    generate : a simulated or synthetic set has this instead of ``raw`` and ``parse``: rng -> Table.
    licence, doi : as the source states them ("" where it states none).
    x_bounds, y_bounds : documented ranges, one per input column, None where the documentation gives none.
        Never the minimum and maximum of the rows at hand: those are private.
    bounds_citation : where the ranges are documented.
    extremes : columns (the target by the name in ``target``) whose range, though printed, is that of the table's own
        rows: its minimum and maximum, perhaps rounded. Whoever prints them has looked at the rows, so that such a range
        is no public knowledge, and a guarantee that takes it for free is conditional on it. All other ranges hold
        whatever the rows: a scale, a coding, the domain of a simulation. A table with ranges has to say, () for none.
    range_guard : what the private release of ranges that are not documented has since a score of this table was looked
        at: a leak of every method that uses that release here. "" for most.
    as_programmed : a simulated set that is drawn as the authors' code draws it, where the paper prints another
        distribution. Its scores are those that the authors' code computes.
    n_splits : usual number of splits, blocks or replicates. An experiment states its own number.
    table_sha256 : fingerprint of the parsed table (see :func:`table_sha256`); "" where it is not known.
    kind : "table" (genuine rows), "simulated" (drawn by the distribution of a published simulation study) or
        "synthetic" (for time, memory and tests; a page that has a result of it says so).
    task : "regression", "classification", or "density" (the target, if it means anything, is shown to no method).
    labels : names of the classes 0, 1, ... of a classification set.
    """

    name: str
    title: str
    n_rows: int
    n_inputs: int
    columns: tuple[str, ...]
    target: str
    unit: str
    licence: str
    doi: str
    raw: tuple[RawFile, ...] = ()
    folder: str = ""
    parse: Callable[..., Table] | None = None
    generate: Callable[[np.random.Generator], Table] | None = None
    x_bounds: tuple[Bounds, ...] = ()
    y_bounds: Bounds = None
    bounds_citation: str = ""
    extremes: tuple[str, ...] | None = None
    range_guard: str = ""
    as_programmed: bool = False
    n_splits: int = 20
    table_sha256: str = ""
    kind: str = "table"
    task: str = "regression"
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.name):  # it is part of paths and commands
            raise ValueError(f"data set '{self.name}': give it a name of small letters, digits and _")
        if self.kind not in ("table", "simulated", "synthetic"):
            raise ValueError(f"{self.name}: kind = '{self.kind}'; give 'table', 'simulated' or 'synthetic'")
        if self.task not in ("regression", "classification", "density"):
            raise ValueError(f"{self.name}: task = '{self.task}'; give 'regression', 'classification' or 'density'")
        if (self.task == "classification") != bool(self.labels):
            raise ValueError(f"{self.name}: labels are for a classification set, and such a set needs them")
        if self.kind == "table" and (not self.raw or self.parse is None):
            raise ValueError(f"{self.name}: a table needs raw files and a parser")
        if self.kind != "table" and self.generate is None:
            raise ValueError(f"{self.name}: a {self.kind} set needs `generate`")
        if len(self.columns) != self.n_inputs or len(self.x_bounds) not in (0, self.n_inputs):
            raise ValueError(f"{self.name}: give {self.n_inputs} column names and as many x_bounds (or none)")
        for bounds in (*self.x_bounds, self.y_bounds):
            if bounds is not None and not bounds[0] < bounds[1]:
                raise ValueError(f"{self.name}: bounds {bounds} are not (lower, upper) with lower < upper")
        if any(b is not None for b in (*self.x_bounds, self.y_bounds)) and not self.bounds_citation:
            raise ValueError(f"{self.name}: bounds without a citation; say where the ranges are documented")
        if self.kind == "table" and self.bounds_of and self.extremes is None:
            raise ValueError(f"{self.name}: bounds without `extremes`; name the table's own, () for none")
        if unknown := sorted(set(self.extremes or ()) - set(self.bounds_of)):
            raise ValueError(f"{self.name}: extremes name '{unknown[0]}', which has no range")

    @property
    def bounds_of(self) -> dict[str, tuple[float, float]]:
        """column -> its range, the target by its name; those that have one."""
        ranges = [*zip(self.columns, self.x_bounds, strict=False), (self.target, self.y_bounds)]
        return {name: bounds for name, bounds in ranges if bounds is not None}

    def conditional(self, with_target: bool) -> tuple[str, ...]:
        """Columns among the inputs, and the target where it counts, whose range is that of the table's own rows."""
        return tuple(c for c in self.extremes or () if with_target or c in self.columns)


def table_sha256(x: np.ndarray, y: np.ndarray, extra: np.ndarray | None = None) -> str:
    """Fingerprint of a table: sha256 over C-order little-endian float64 rows (inputs, target, extra columns)."""
    digest = hashlib.sha256()
    for start in range(0, len(x), 20_000):  # in blocks, so that a table of 375 MB is not copied whole
        rows = slice(start, start + 20_000)
        parts = [x[rows], y[rows, None]] + ([] if extra is None else [extra[rows]])
        digest.update(np.ascontiguousarray(np.hstack(parts), dtype="<f8").tobytes())
    return digest.hexdigest()


def read_delimited(path: Path, delimiter: str | None, wanted: Sequence[str]) -> np.ndarray:
    """Numbers of a delimited text with a header line: float64 (n, len(wanted)), columns in the order ``wanted``.

    Raises DataError for a missing column, a ragged line or a field that is no number.
    """
    with path.open(encoding="utf-8") as lines:
        header = [h.strip().strip('"') for h in next(lines, "").rstrip("\r\n").split(delimiter)]
        require_columns(path, header, wanted)
        return parse_lines(path, lines, delimiter, [header.index(w) for w in wanted])


def parse_lines(path: Path, lines, delimiter: str | None, columns: Sequence[int] | None = None) -> np.ndarray:
    """float64 (n, columns) of text lines without a header; DataError that names ``path`` for a bad line."""
    try:
        lines = [line for line in lines if line.strip()]
        if not lines:
            raise DataError(f"{path.name} has no rows; delete the file and fetch it again")
        # Correctly rounded, unlike the default of faster readers: the fingerprints are of these bits.
        return np.loadtxt(lines, delimiter=delimiter, comments=None, usecols=columns, ndmin=2)
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read ({error}); delete the file and fetch it again") from error


def require_columns(path: Path, found: Sequence[object], wanted: Sequence[str]) -> None:
    """Raises DataError that names the missing columns of ``path``."""
    missing = [w for w in wanted if w not in found]
    if missing:
        raise DataError(
            f"{path.name} has no column {', '.join(repr(m) for m in missing)} (its header: "
            f"{', '.join(str(f) for f in found)}); delete the file and fetch it again"
        )


def require_width(path: Path, rows: np.ndarray, width: int) -> None:
    """Raises DataError unless the rows of a file without a header have ``width`` columns."""
    if rows.shape[1] != width:
        raise DataError(
            f"{path.name} has {rows.shape[1]} columns where {width} are due; delete the file and fetch it again"
        )
