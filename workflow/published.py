"""The files of a paper's published numbers, read as strings (digits are data) and checked before any fit."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

NUMBERS, ANNOTATIONS = "published.csv", "annotations.csv"
KEY = ["source", "table", "dataset", "method", "setting", "metric"]
VALUES = ["mean", "std", "n_runs"]
NOTES = ["digits", "n_published", "std_kind", "same_as", "note"]

#: column -> pattern of its values, and the pattern in words.
_FORMS = {
    "mean": (r"-?\d+(\.\d+)?(e-?\d+)?", "plain digits as the paper prints them, such as -0.67"),
    "std": (r"(\d+(\.\d+)?(e-?\d+)?)?", "plain digits as the paper prints them, such as 0.08, or nothing"),
    "n_runs": (r"([1-9]\d*)?", "a whole number of at least 1, or nothing"),
    "digits": (r"\d+", "a whole number: how many decimals the table prints"),
    "n_published": (r"[1-9]\d*", "a whole number of at least 1"),
    "std_kind": (r"sd|se|redraws|none", "sd, se, redraws or none"),
    "same_as": (r"([^:]+:[^:]+)?", "source:table of the original, or nothing"),
}


class PublishedError(ValueError):
    """A file of published numbers that cannot be used. The message names file, row, key and remedy."""


def table(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Rows of a CSV file by column name, as strings. The line below the header is row 1.

    Raises PublishedError for a file that is not CSV, a row of another width, or a missing column.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as f:
            lines = [line for line in csv.reader(f, strict=True) if line]
    except (OSError, csv.Error, UnicodeDecodeError) as e:
        raise PublishedError(f"{path}: not readable as CSV ({e}); save it as UTF-8 with commas") from None
    head, *rows = lines or [[]]
    if wrong := [c for c in columns if head.count(c) != 1]:
        count = head.count(wrong[0])
        raise PublishedError(f"{path}: the header has '{wrong[0]}' {count} times, not once: {', '.join(head)}")
    for k, row in enumerate(rows, 1):
        if len(row) != len(head):
            raise PublishedError(
                f"{path}: row {k} ({','.join(row)[:80]}) has {len(row)} fields and the header {len(head)}; "
                "quote a field that has a comma"
            )
    return [dict(zip(head, row, strict=True)) for row in rows]


def read(home: Path) -> list[dict[str, str]]:
    """The published numbers of a folder with their annotations, in their order.

    Raises PublishedError for a malformed value, a repeated key, or a number without annotation.
    """
    numbers = _keyed(home / NUMBERS, VALUES)
    notes = _keyed(home / ANNOTATIONS, NOTES)
    for mine, name, others, other in ((numbers, NUMBERS, notes, ANNOTATIONS), (notes, ANNOTATIONS, numbers, NUMBERS)):
        if lost := [key for key in mine if key not in others]:
            k = list(mine).index(lost[0]) + 1
            raise PublishedError(
                f"{home}: {NUMBERS} and {ANNOTATIONS} differ in their keys: row {k} of {name}, {','.join(lost[0])}, is "
                f"not in {other}; each number has one annotation"
            )
    return [row | notes[key] for key, row in numbers.items()]


def _keyed(path: Path, columns: list[str]) -> dict[tuple[str, ...], dict[str, str]]:
    """Rows by key, with checked values."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for k, row in enumerate(table(path, [*KEY, *columns]), 1):
        key = tuple(row[c] for c in KEY)
        where = f"{path}: row {k} ({','.join(key)})"
        if key in found:
            raise PublishedError(f"{where} has the key of row {list(found).index(key) + 1}; keep one")
        for column in columns:
            form, words = _FORMS.get(column, (r"(?s).*", ""))
            if not re.fullmatch(form, row[column]):
                said = f"is '{row[column]}'" if row[column] else "is empty"
                comma = (
                    ", with a decimal point for the comma"
                    if re.fullmatch(r"-?\d+,\d+", row[column]) and column in VALUES[:2]
                    else ""
                )
                raise PublishedError(f"{where}: {column} {said}; give {words}{comma}")
        found[key] = row
    return found


def original(
    row: Mapping[str, str], rows: Iterable[Mapping[str, str]], where: object = ANNOTATIONS
) -> Mapping[str, str]:
    """The row that a copy repeats (``same_as``), or the row itself. Raises PublishedError if there is none."""
    if not row["same_as"]:
        return row
    keys = {tuple(other[c] for c in KEY): other for other in rows}
    found = keys.get((*row["same_as"].split(":"), *(row[c] for c in KEY[2:])))
    if found is None:
        key = tuple(row[c] for c in KEY)
        said = (
            f"row {list(keys).index(key) + 1} ({','.join(key)}): same_as is '{row['same_as']}', which has no such cell"
        )
        raise PublishedError(f"{where}: {said}")
    return found


def in_scope(config: Mapping[str, Any], source: str, table: str, datasets: set[str]) -> bool:
    """Whether an experiment answers a published table.

    ``tables`` of the config lists them ("3" or "source:3"). An experiment without this key answers every table of its
    sources that has one of its data sets.
    """
    if source not in config["sources"]:
        return False
    if "tables" in config:
        return table in config["tables"] or f"{source}:{table}" in config["tables"]
    return bool(datasets & set(config["datasets"]))


def answers(config: Mapping[str, Any], row: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The entries of ``answers`` for a published number."""
    same = ("source", "method", "setting")
    return [a for a in config["answers"] if row["table"] in a["tables"] and all(a[k] == row[k] for k in same)]


def check(home: Path, configs: Mapping[Path, Mapping[str, Any]], scale: str = "full") -> None:
    """Check the published numbers of a paper, and that at full scale its experiments answer each of them.

    ``configs``: its experiments by file; empty for a paper with its own code. Raises PublishedError.
    """
    if not (home / NUMBERS).is_file():
        return
    if not (home / ANNOTATIONS).is_file() and not configs:
        _keyed(home / NUMBERS, [])
        return
    rows = read(home)
    tables: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        original(row, rows, home / ANNOTATIONS)
        tables.setdefault((row["source"], row["table"]), set()).add(row["dataset"])
    for path, config in configs.items() if scale == "full" else ():
        for k, row in enumerate(rows, 1):
            if not in_scope(config, row["source"], row["table"], tables[row["source"], row["table"]]):
                continue
            if len(found := answers(config, row) or answers(config, original(row, rows))) != 1:
                raise PublishedError(
                    f"{path}: answers: {len(found)} entries for row {k} of {home / NUMBERS} "
                    f"({','.join(row[c] for c in KEY)}); give one"
                )
