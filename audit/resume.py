"""Results that the audit's commands keep case by case, so that a stopped command resumes.

A kept result is used again if no file that it may depend on has changed: the method's own file, the shared files of its
family, the models, the privacy layer and the audit. So an edit of one method recomputes only that method, and an edit
of the privacy layer recomputes all.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from datasets.files import ROOT, write_json

#: the files that every case depends on, as patterns below the root of the repository
SHARED = ("methods/contract.py", "methods/_shared/**/*.py", "models/**/*.py", "privacy/**/*.py")
SHARED += ("datasets/files.py", "constraints.txt", "audit/cases.py", "audit/resume.py", "audit/tables.py")


def files_of(method: object) -> list[Path]:
    """The files that the audit of this adapter depends on, sorted.

    These are its own file, the files of its family whose names begin with "_", and ``SHARED``. No adapter imports
    another one.
    """
    own = Path(inspect.getfile(type(method))).resolve()
    family = [p for p in own.parent.rglob("*.py") if p.relative_to(own.parent).parts[0].startswith("_")]
    here = family if own.is_relative_to(ROOT / "methods") else []
    return sorted({own, *here, *(p for pattern in SHARED for p in ROOT.glob(pattern))})


def key_of(files: Iterable[Path]) -> str:
    """16 hexadecimal digits over these files and the version of Python; comments and formatting do not count."""
    digest = hashlib.sha256(platform.python_version().encode())
    for path in files:
        digest.update(f"{path.name}\n{_digest(path)}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _digest(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.dump(ast.parse(text), annotate_fields=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Kept:
    """A kept ``result`` (JSON), the CPU seconds of its computation, and whether it was computed ``now``."""

    result: Any
    seconds: float
    now: bool


def kept(path: Path | None, key: str, make: Callable[[], Any]) -> Kept:
    """The result at ``path`` if it was made under this ``key``, otherwise that of ``make``, which is then written.

    ``path`` is a JSON file, or None to keep nothing. A file that is not such a JSON file is replaced.
    """
    if path is not None and (found := _read(path, key)) is not None:
        return found
    began = time.process_time()
    result = make()
    seconds = round(time.process_time() - began, 2)
    if path is not None:
        write_json(path, {"key": key, "seconds": seconds, "result": result})
    return Kept(result, seconds, True)


def _read(path: Path, key: str) -> Kept | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Kept(found["result"], found["seconds"], False) if found["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def file_name(*words: str) -> str:
    """A file name made of these words."""
    return ".".join(word.replace("/", "-").replace(" ", "_") for word in words) + ".json"
