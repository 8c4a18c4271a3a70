"""Writing files whole: to a temporary name, then renamed; never half-written."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_text(path: str | Path, text: str) -> None:
    """Write atomically. A full disk gives one clear error and leaves the old file as it was."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except OSError as e:
        temporary.unlink(missing_ok=True)
        if e.errno == errno.ENOSPC:
            raise OSError(e.errno, f"no space left to write {path}; free some and run the same command") from e
        raise


def write_json(path: str | Path, value) -> None:
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


@contextmanager
def locked(path: str | Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock that the system drops when the process dies, however it dies."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{what}: another process still works on it; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(f, fcntl.LOCK_EX)
        yield
