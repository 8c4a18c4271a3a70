"""The parsed table on disk: one npz per data set, or the reason why there is none."""

from __future__ import annotations

import errno
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from datasets.base import DataSet, Table, table_sha256
from datasets.files import replacing

#: errors when a damaged archive is read. One wrong bit can also ask for a password, for another version of the archive,
#: or for a position before its start.
UNREADABLE = (KeyError, ValueError, EOFError, RuntimeError, OSError, struct.error, zipfile.BadZipFile, zlib.error)
#: system errors that are about the file, not about the machine.
_OF_THE_FILE = (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)


def of_the_file(error: Exception) -> bool:
    """Whether an error of ``UNREADABLE`` is due to the file, and not to the machine."""
    return not isinstance(error, OSError) or error.errno in _OF_THE_FILE


class Damaged(ValueError):
    """A damaged stored file. The message names it and the remedy."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that the next run makes it again. Returns its new name."""
    aside = path.with_name(f"{path.name}.damaged")
    path.replace(aside)
    return aside


@dataclass(frozen=True)
class Loaded:
    """A data set as a cell uses it. With status "no_data" the arrays are empty and ``reason`` says why.

    Parameters
    ----------
    name, kind : of the data set. A page that has a result of kind "synthetic" says so.
    status : "ok" or "no_data".
    x, y : float64 (n, d) and (n,), original units, read-only.
    columns : the d input names.
    authors_order : int64 (n,) or None, see ``datasets.base.Table``.
    raw_sha256 : one hash per raw file.
    data_hash : fingerprint of the parsed table, "" without data.
    """

    name: str
    kind: str
    status: str
    reason: str
    x: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    authors_order: np.ndarray | None
    raw_sha256: tuple[str, ...]
    data_hash: str

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def save(path: Path, dataset: DataSet, table: Table | None, reason: str = "", fingerprint: str = "") -> None:
    """Write the npz of a table, or of the ``reason`` why there is none (``table`` None), atomically.

    The bytes depend only on the content. ``fingerprint``: of the table, if it is known, to avoid a second pass over it.
    """
    if (table is None) != bool(reason):
        raise ValueError(f"{dataset.name}: give a table, or None and the reason why there is none")
    if table is None:
        table = Table(np.empty((0, dataset.n_inputs)), np.empty(0), dataset.columns)
    elif not fingerprint:
        fingerprint = table_sha256(table.x, table.y, table.extra)
    with replacing(path) as file:
        np.savez(
            file,
            name=np.array(dataset.name),
            kind=np.array(dataset.kind),
            status=np.array("no_data" if reason else "ok"),
            reason=np.array(reason),
            x=table.x,
            y=table.y,
            extra=np.empty((len(table.x), 0)) if table.extra is None else table.extra,
            columns=np.array(table.columns),
            authors_order=np.empty(0, np.int64) if table.authors_order is None else table.authors_order,
            raw_sha256=np.array([] if reason else [r.sha256 for r in dataset.raw], dtype=str),
            table_sha256=np.array(fingerprint),
        )


def status(path: str | Path) -> str:
    """The status "ok" or "no_data" of a stored table, or "" if there is no table or it cannot be read. Reads no row."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as npz:
            return str(npz["status"])
    except UNREADABLE as error:
        if of_the_file(error):
            return ""
        raise


def load(path: str | Path) -> Loaded:
    """Read what :func:`save` wrote. Raises FileNotFoundError, or Damaged after setting a damaged file aside."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; make it: ./bench --cores 1 {path}")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as npz:
            x, y, order = npz["x"], npz["y"], npz["authors_order"]
            for array in (x, y, order):
                array.setflags(write=False)
            return Loaded(
                name=str(npz["name"]),
                kind=str(npz["kind"]),
                status=str(npz["status"]),
                reason=str(npz["reason"]),
                x=x,
                y=y,
                columns=tuple(map(str, npz["columns"])),
                authors_order=order if len(order) else None,
                raw_sha256=tuple(map(str, npz["raw_sha256"])),
                data_hash=str(npz["table_sha256"]),
            )
    except UNREADABLE as error:
        if not of_the_file(error):
            raise
        what = f"has no array {error}" if isinstance(error, KeyError) else f"is damaged ({error})"
        aside = set_aside(path)
        words = f"{path} {what} and was set aside as {aside.name}"
        raise Damaged(f"{words}; run the same command again: it is made anew") from error
