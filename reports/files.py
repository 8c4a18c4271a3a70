"""Writing files whole: to a temporary name, then renamed; never half-written."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd


def write_text(path: str | Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def csv_text(frame: pd.DataFrame) -> str:
    """CSV with "\\n" ends; floats as repr (shortest text that reads back equal), inf as "inf", NaN as empty."""
    return frame.to_csv(index=False, lineterminator="\n")


def write_csv(path: str | Path, frame: pd.DataFrame) -> None:
    write_text(path, csv_text(frame))


def stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The frames below one another; empty ones lend their columns only (they would change the types)."""
    full = [f for f in frames if len(f)]
    return pd.concat(full, ignore_index=True) if full else frames[0]
