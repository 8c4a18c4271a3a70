"""Verified reuse: which committed scores the present code still gives.

A committed cell is its values (experiment, data set, protocol, method, setting, model, budget, splits: ``Cell.id``) and
its data (``data_hash``); no hash of code decides whether it may be restored. A change of code makes its pair
(experiment, method) *unverified*: ``python -m workflow.gates check --changed`` recomputes a sample of the pair and
compares scores within the bands of config/gates.yaml and ledgers exactly. ``reports/reference/verified.csv`` has one
row a pair:

============== =====================================================================================================
status         ``verified``; ``stale``: the present code gives other numbers, so the committed ones are shown as such,
               refused by ``reports.build reference``, restored by no run; ``unverified``: the sample agrees, but
               cannot speak for all that changed (see ``reason``)
how            ``sample``, ``short run`` (a dear method after one epoch), ``full run`` (all of its cells were run)
closure        digest of all code that the pair's score rows depend on, as of the last verification
commit         commit whose code that was; empty where files differed from it
dataset        data sets of the sample; ``splits``, ``cells``: how many of each were recomputed
compared       numbers compared; ``largest_shift``: the relative shift nearest to its ``band``, and ``where`` (metric)
ledger         digest of the events of the first and last split
seconds        CPU time of the sample
versions       of the libraries that make numbers
reason         why a pair is not verified
============== =====================================================================================================
"""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workflow.experiments import Cell, cells, experiment_files
from workflow.files import write_text
from workflow.imports import ROOT, code_hash, reached

FILE = ROOT / "reports" / "reference" / "verified.csv"
COLUMNS = (
    *("experiment", "method", "status", "how", "closure", "commit", "dataset", "splits", "cells", "compared"),
    *("largest_shift", "band", "where", "ledger", "seconds", "versions", "reason"),
)
VERIFIED, STALE, UNVERIFIED = "verified", "stale", "unverified"
#: libraries whose version may move a number.
LIBRARIES = ("numpy", "scipy", "numba", "jax", "numpyro", "torch", "scikit-learn", "autodp", "dp-accounting")

Pair = tuple[str, str]
Row = dict[str, str]


def pairs() -> dict[Pair, list[Cell]]:
    """(experiment, method) -> its cells at full scale, in the order of the config."""
    out: dict[Pair, list[Cell]] = {}
    for path in experiment_files():
        for cell in cells(path, "full"):
            out.setdefault((cell.experiment, cell.method), []).append(cell)
    return out


def roots(of: Iterable[Cell]) -> tuple[str, ...]:
    """Modules from which all code is reached that the score rows of these cells depend on."""
    return tuple(sorted(frozenset().union(*(c.closure_roots for c in of))))


def closure(of: Iterable[Cell], root: Path = ROOT) -> str:
    """Digest of that code in the checkout at ``root``. Comments, docstrings and layout do not move it."""
    return code_hash(*roots(of), root=root)


def modules(of: Iterable[Cell]) -> tuple[str, ...]:
    """The modules themselves."""
    return reached(*roots(of))


@cache
def versions() -> str:
    """Versions of Python and of the libraries that make numbers, in one line."""
    found = [f"python {'.'.join(platform.python_version_tuple()[:2])}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def read(path: Path = FILE) -> dict[Pair, Row]:
    """The committed rows; none where the file is missing. Raises ValueError for other columns or an unknown status."""
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path}: columns {reader.fieldnames}; they must be {', '.join(COLUMNS)}")
        rows = {(r["experiment"], r["method"]): r for r in reader}
    for pair, row in rows.items():
        if row["status"] not in (VERIFIED, STALE, UNVERIFIED):
            raise ValueError(f"{path}: {'/'.join(pair)}: status '{row['status']}'")
    return rows


def write(rows: Mapping[Pair, Row], path: Path = FILE) -> None:
    """All rows, sorted by pair."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[pair] for pair in sorted(rows))
    write_text(path, buffer.getvalue())


def state(row: Row | None, now: str) -> str:
    """What is known of a pair whose code has the digest ``now``.

    ``closure`` is that of the last verification whatever happened since, so a change that is undone is verified again.
    """
    if row is not None and row["closure"] == now and row["versions"] == versions():
        return VERIFIED
    return STALE if row is not None and row["status"] == STALE else UNVERIFIED


def states() -> dict[Pair, str]:
    """:func:`state` of every pair, for code and libraries as they are now."""
    rows = read()
    return {pair: state(rows.get(pair), closure(of)) for pair, of in pairs().items()}


def restorable(experiment: str, method: str, path: Path = FILE) -> bool:
    """May committed scores of this pair be restored? Not where the present code was seen to give others."""
    row = read(path).get((experiment, method))
    return row is not None and row["status"] != STALE
