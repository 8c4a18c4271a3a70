"""Verified reuse: which committed scores the present code still gives (``reports/reference/verified.csv``).

A committed cell is its values (experiment, data set, protocol, method, setting, model, budget, splits: the hash in its
id) and its data (``data_hash``); no hash of code decides whether it may be restored. A change of code makes its pair
(experiment, method) *unverified*: ``python -m workflow.gates check --changed`` recomputes a sample of the pair and
compares scores within the bands of config/gates.yaml and ledgers exactly. One row a pair:

============== =====================================================================================================
status         ``verified``; ``stale``: the present code gives other numbers, so the committed ones are shown as such,
               refused by ``reports.build reference`` and restored by no run; ``unverified``: the sample agrees, but
               cannot speak for all that changed (see ``reason``)
how            ``sample``, ``short run`` (a dear method after one epoch), ``full run`` (all of its cells were run)
closure        digest of all code that the pair's score rows depend on, as of the last verification
commit         commit whose code that was; empty where files differed from it
dataset        data sets of the sample; ``splits``, ``cells``: how many of each were recomputed
compared       numbers compared; ``largest_shift``: the relative shift nearest to its ``band``, and ``where`` (metric)
ledger         digest of the events of the first and last split
seconds        CPU time of the sample
versions       of the libraries that make numbers, and the code of theirs that is run (``workflow.arithmetic``)
full_run       commit of one run of all its cells that gave the committed scores, or agrees with each
               (``reports.whole_run``); empty where there is none
reason         why a pair is not verified
============== =====================================================================================================
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from datasets.files import ROOT, write_text

NAME = "verified.csv"
FILE = ROOT / "reports" / "reference" / NAME
COLUMNS = (
    *("experiment", "method", "status", "how", "closure", "commit", "dataset", "splits", "cells", "compared"),
    *("largest_shift", "band", "where", "ledger", "seconds", "versions", "full_run", "reason"),
)
VERIFIED, STALE, UNVERIFIED = "verified", "stale", "unverified"
FULL = "full run"

Pair = tuple[str, str]
Row = dict[str, str]


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


def state(row: Row | None, now: str, versions: str) -> str:
    """What is known of a pair whose code has the digest ``now``, with these versions of libraries.

    ``closure`` is that of the last verification whatever happened since, so a change that is undone is verified again.
    """
    if row is not None and row["closure"] == now and row["versions"] == versions:
        return VERIFIED
    return STALE if row is not None and row["status"] == STALE else UNVERIFIED


def restorable(experiment: str, method: str, path: Path = FILE) -> bool:
    """May committed scores of this pair be restored? Not where the present code was seen to give others."""
    row = read(path).get((experiment, method))
    return row is not None and row["status"] != STALE


def of_full_run(pair: Pair, about: Mapping[str, str]) -> Row:
    """The row of a pair whose cells were all run. ``about``: closure, commit and versions of the run (its manifest)."""
    given = {k: about.get(k, "") for k in ("closure", "commit", "versions")}
    named = {"experiment": pair[0], "method": pair[1], "status": VERIFIED, "how": FULL, "full_run": given["commit"]}
    return dict.fromkeys(COLUMNS, "") | named | given
