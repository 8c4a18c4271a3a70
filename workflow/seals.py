"""Score files with their checksum beside them: one that was cut, emptied or edited is set aside, not used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from datasets.files import write_bytes
from datasets.store import Damaged, set_aside


def seal_of(path: Path) -> Path:
    """Where the checksum of a file stands."""
    return path.with_name(f"{path.name}.sha256")


def write_sealed(path: str | Path, text: str) -> None:
    """Write a text, and its checksum first: a run that is killed in between makes both again."""
    path, content = Path(path), text.encode("utf-8")
    write_bytes(seal_of(path), f"{hashlib.sha256(content).hexdigest()}\n".encode())
    write_bytes(path, content)


def check(paths: Iterable[Path]) -> None:
    """Raise Damaged for files that are not what was written, once they are set aside. One without seal has to be there.

    A run makes them anew, because they are missing then.
    """
    bad = [path for path in map(Path, paths) if path.is_file() and not _intact(path)]
    if bad:
        for path in bad:
            set_aside(path)
        names = ", ".join(map(str, bad))
        raise Damaged(f"damaged and set aside: {names}. Run the same command again: it makes them anew")


def _intact(path: Path) -> bool:
    seal = seal_of(path)
    content = path.read_bytes()
    if not seal.is_file():  # written by hand, or before there were seals
        return bool(content)
    return seal.read_text(encoding="utf-8").strip() == hashlib.sha256(content).hexdigest()
