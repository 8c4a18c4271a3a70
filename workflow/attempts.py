"""Splits that a cell or family has lost, and whether the next call tries them again.

A split that timed out is tried again by the next call, one whose fit raised by a call with ``retry=failed``. What was
lost stands in ``results/partial/<name>.lost``, with the number of the attempt. The number is a parameter of Snakemake's
rule: where it is another than that of the last run, the rule runs again.
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
    """Where the losses of a cell or family stand."""
    return Path(results) / "partial" / f"{name}.lost"


def wanted(results: str | Path, name: str, retry: str) -> int:
    """Number of the attempt that a call makes: a new one where the last has lost splits that are tried again."""
    try:
        found = json.loads(path_of(results, name).read_text(encoding="utf-8"))
        return found["attempt"] + any(found["lost"].get(status) for status in RETRIED[retry])
    except FileNotFoundError:
        return 0
    except (ValueError, TypeError, KeyError, AttributeError):  # damaged: one attempt more does no harm
        return 1


def write(results: Path, name: str, attempt: int, rows: Iterable[dict]) -> bool:
    """Keep what attempt number ``attempt`` has lost; True where that is anything."""
    statuses = Counter(row["status"] for row in rows)
    lost = {status: statuses[status] for status in RETRIED["failed"] if statuses[status]}
    if lost or attempt:
        write_json(path_of(results, name), {"attempt": attempt, "lost": lost})
    else:
        path_of(results, name).unlink(missing_ok=True)
    return bool(lost)
