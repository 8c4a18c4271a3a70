"""The root of the checkout, and functions that write files atomically: to a temporary file, which is then renamed."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pandas as pd

#: the root of this checkout.
ROOT = Path(__file__).resolve().parents[1]


#: allowed names of folders. Snakemake reads braces in a path as wildcards, and a shell interprets other characters.
_FOLDER = re.compile(r"[\w./][\w./ +=@,~-]*")


def folder_name(value: object, what: str) -> str:
    """Return ``value``. Raises ValueError if it is not a safe name of a folder for commands."""
    if not isinstance(value, str) or not _FOLDER.fullmatch(value) or value != value.strip():
        raise ValueError(f"{what} is '{value}'; give a folder of letters, digits, spaces and . / _ + = @ , ~ -")
    return value


def write_text(path: str | Path, text: str) -> None:
    """Write a text atomically. A full disk gives one clear error and leaves the old file unchanged."""
    write_bytes(path, text.encode("utf-8"))


def file_sha256(path: str | Path) -> str:
    """sha256 of a file (hexadecimal)."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write bytes as :func:`write_text` does."""
    with replacing(path) as f:
        f.write(content)


def seal_of(path: Path) -> Path:
    """The path of the file with the checksum of a table."""
    return path.with_name(f"{path.name}.sha256")


def write_sealed(path: str | Path, text: str | bytes) -> None:
    """Write the checksum of a table, then the table. A run that is killed in between makes both again."""
    path, content = Path(path), text.encode("utf-8") if isinstance(text, str) else text
    write_bytes(seal_of(path), f"{hashlib.sha256(content).hexdigest()}\n".encode())
    write_bytes(path, content)


def unbroken(path: Path) -> bool:
    """Whether a table matches its checksum. A table without a checksum only has to be non-empty."""
    content, seal = path.read_bytes(), seal_of(path)
    if not seal.is_file():  # written by hand
        return bool(content)
    return seal.read_bytes().strip() == hashlib.sha256(content).hexdigest().encode()


def csv_text(frame: pd.DataFrame) -> str:
    """The table as CSV. Floats have the shortest text that reads back equal, infinity is "inf", and NaN is empty."""
    return frame.to_csv(index=False, lineterminator="\n")


#: characters that are invisible, or that change how later characters are shown, except tabs and line ends.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_NUMBER = r"[-+]?(\d[\d.,]*([eE][-+]?\d+)?|inf)( ?%)?"
#: a number, or several numbers with the separators that our tables use.
_NUMBERS = re.compile(rf"-|{_NUMBER}( (±|to) {_NUMBER})*( †)?( \(\d+ of \d+\))?")


def visible(text: str) -> str:
    """The text with U+FFFD for each control character, so that it cannot control a terminal, page or table."""
    return _HIDDEN.sub("\ufffd", text)


def sheet_text(frame: pd.DataFrame) -> str:
    """:func:`csv_text` for a table with foreign texts, which a spreadsheet must not run as formulas.

    A text that a spreadsheet would compute gets an apostrophe in front, unless it is a number. Such a text begins with
    = + - @, a tab or a line end.
    """
    out = frame.rename(columns=_cell)
    for k, column in enumerate(out.columns):
        values = frame.iloc[:, k]
        known = {v: _cell(v) for v in values.unique() if isinstance(v, str)}
        if any(v != w for v, w in known.items()):
            out[column] = [known.get(v, v) if isinstance(v, str) else v for v in values]
    return csv_text(out)


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    computed = value[:1] in tuple("=+-@\t\r\n＝＋－＠") and not _NUMBERS.fullmatch(value)
    return ("'" if computed else "") + visible(value)


def write_csv(path: str | Path, frame: pd.DataFrame) -> None:
    """Write a table as :func:`write_text` does."""
    write_text(path, csv_text(frame))


def stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The frames stacked. Empty frames only contribute their columns, because they would change the types."""
    import pandas as pd

    full = [f for f in frames if len(f)]
    return pd.concat(full, ignore_index=True) if full else frames[0]


def write_npz(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name as :func:`write_text` does."""
    import numpy as np

    with replacing(path) as f:
        np.savez(f, **arrays)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A context manager for a file that replaces ``path`` if the block succeeds, and is deleted if it fails."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException as e:
        temporary.unlink(missing_ok=True)
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            raise OSError(e.errno, f"no space left to write {path}; free some and run the same command") from e
        raise


def write_json(path: str | Path, value) -> None:
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


@contextmanager
def locked(path: str | Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock, which the system releases however the process ends."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{what}: another process still works on it; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(f, fcntl.LOCK_EX)
        yield
