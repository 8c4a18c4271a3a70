"""Splits and files that a job has lost, and whether the next call makes them again.

A split that timed out is tried again by the next call, one whose fit raised by a call with ``retry=failed``. A job
writes how many it has lost to ``results/partial/<name>.lost``, with the number of the attempt. The number is a
parameter of Snakemake's rule: if it differs from that of the last run, the rule runs again.

A job declares one file to Snakemake, the list of its cells. It writes several more for each cell. The number also
grows when one of these is gone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from datasets.files import write_json

#: value of the config's ``retry`` -> statuses that the next call tries again.
RETRIED = {"timeout": ("timeout",), "failed": ("timeout", "failed")}


def path_of(results: str | Path, name: str) -> Path:
    """File with the losses of a job."""
    return Path(results) / "partial" / f"{name}.lost"


def wanted(results: str | Path, name: str, retry: str, files: Iterable[str | Path] = ()) -> int:
    """Number of the attempt that a call makes: a new one if the last has lost splits that are tried again.

    ``files``: what the job writes; a new attempt also if it has been done and one of them is not there.
    """
    try:
        found = json.loads(path_of(results, name).read_text(encoding="utf-8"))
        lost = any(found["lost"].get(status) for status in RETRIED[retry])
        return found["attempt"] + (lost or not all(Path(path).exists() for path in files))
    except FileNotFoundError:
        return 0
    except (ValueError, TypeError, KeyError, AttributeError):  # damaged: one attempt more does no harm
        return 1


def lost(rows: Iterable[dict]) -> dict[str, int]:
    """How many splits of each status that is ever tried again."""
    statuses = Counter(row["status"] for row in rows)
    return {status: statuses[status] for status in RETRIED["failed"] if statuses[status]}


def write(results: Path, name: str, attempt: int, rows: Iterable[dict] = ()) -> None:
    """Keep that attempt number ``attempt`` is done, and what it has lost."""
    write_json(path_of(results, name), {"attempt": attempt, "lost": lost(rows)})
