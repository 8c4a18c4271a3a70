"""Fits and draws of a cell as they stand in ``results/``. What is not whole is set aside, and made anew by a run."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from datasets.store import Damaged, set_aside
from workflow.sealed import KEY, intact


def parameters_of(store, split: int) -> dict:
    """Name -> array, of one split. ``store``: the open npz file of a cell, whose names are ``<split>/<parameter>``."""
    prefix = f"{split}/"
    return {n.removeprefix(prefix): store[n] for n in store.files if n.startswith(prefix)}


def whole(path: Path, arrays: int | None = None) -> bool:
    """Is it an npz file of which every array has its checksum, and, where it is given, that number of arrays?"""
    try:
        with zipfile.ZipFile(path) as store:
            return store.testzip() is None and arrays in (None, len(store.namelist()))
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error, EOFError):
        return False


def record_of(cell, fits: Path) -> dict:
    """What ``<cell>.json`` holds, once it and the posteriors beside it are known to be whole.

    Raises Damaged after both were set aside where they are not.
    """
    path = fits / f"{cell.id}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        record = {}
    if _counted(record) and whole(path.with_suffix(".npz"), record.get("arrays")):
        return record
    raise damaged(path, path.with_suffix(".npz"))


def damaged(*paths: Path) -> Damaged:
    """The error that says what was set aside, and what to do."""
    aside = [set_aside(path).name for path in paths if path.exists()]
    where = f"{paths[0]} is damaged, or not all of it is there"
    return Damaged(f"{where}; set aside: {', '.join(aside)}. Run the same command again: it is made anew")


def _counted(record: object) -> bool:
    """Has it the checksum that it was written with, or, where it was written without one, all its splits?"""
    if not isinstance(record, dict) or not {"splits", "reused"} <= set(record):
        return False
    if KEY in record:
        return intact(record)
    there = {r["split"] for r in record["splits"]} | {int(r.get("split") or -1) for r in record["reused"]}
    return bool(there & {None, -1}) or len(there) == record.get("n_splits", len(there))


def draws_of(cell, draws: Path, record: dict) -> dict:
    """Split -> array or, as a text, why there is none. Raises Damaged where a split of the ``record`` is not there."""
    import numpy as np

    path = draws / f"{cell.id}.npz"
    wanted = {str(r["split"]) for r in record["splits"] if r["status"] == "ok"}
    if not whole(path, len(wanted)):
        raise damaged(path)
    with np.load(path) as store:
        return {int(k): store[k] for k in store.files}


def fits_of(cell, fits: Path) -> Iterator[tuple[int, object]]:
    """(split, posterior) of every split of a cell whose fit is ok. None of a cell that was restored."""
    import numpy as np

    from models import posteriors

    record = record_of(cell, fits)
    with np.load(fits / f"{cell.id}.npz") as store:
        for row in [r for r in record["splits"] if r["status"] == "ok"]:
            yield row["split"], posteriors.load(row["posterior_kind"], parameters_of(store, row["split"]))
