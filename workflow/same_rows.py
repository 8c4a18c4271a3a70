"""Do two references hold the same rows, after files were moved or names changed?

    python -m workflow.same_rows OLD NEW [--renames docs/decisions/renames.yaml]

``OLD`` and ``NEW`` are folders or commits of this repository; each of their tables (``*.csv``, ``*.csv.gz`` below a
folder named ``reference``) is found by its file's name and columns, wherever it lies. Rows are compared whole, as text,
in any order; an empty value is as good as a column that older tables lack. Ids of cells hash the names of method and
experiment, so they may differ, but one to one, and by the same pairs in every table.
A file of renames says which words of the old rows read otherwise now:

    ignore: {verified: [closure, commit]}                 # columns that are no numbers, by table
    words: {dp_sep_corrected: dp_sep_corrected}              # whole words, in every column
    columns: {reading: {released: authors}}               # whole values of one column, before the words
    tables: {old_name: new_name}                          # files that are named otherwise
    kept: {verdicts: [method]}                            # columns that mean something else, by table
    phrases: {"released program": "authors' program"}     # parts of sentences
    within:                                               # words in one table, experiment or kind of model alone
      - {rows: [common_linear_regression, bounded_linear_regression], words: {adassp: adassp}}

Exits with 1 and the first rows that differ, a table that is missing, or an id of two cells.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from datasets.files import ROOT
from evaluation.summary import OPTIONAL

_WORD = re.compile(r"\w+")
_KEYS = {"ignore", "words", "columns", "tables", "kept", "phrases", "within"}
#: columns that name a cell by its id.
CELL = "cell"
SHOWN = 5

Row = dict[str, str]
#: name of the file without its endings, and its columns: two papers may use one name for different tables.
Table = tuple[str, tuple[str, ...]]


class Renames:
    """Old words -> new words, as the file of renames says. Raises ValueError for a key that it does not know."""

    def __init__(self, told: Mapping | None = None):
        told = told or {}
        if unknown := set(told) - _KEYS:
            raise ValueError(
                f"unknown key {', '.join(sorted(unknown))}; a file of renames has {', '.join(sorted(_KEYS))}"
            )
        self.ignored = {table: set(names) for table, names in told.get("ignore", {}).items()}
        self.words = dict(told.get("words", {}))
        self.columns = {column: dict(words) for column, words in told.get("columns", {}).items()}
        self.tables = dict(told.get("tables", {}))
        self.kept = {table: set(names) for table, names in told.get("kept", {}).items()}
        self.phrases = dict(told.get("phrases", {}))
        self.within = [(set(part["rows"]), dict(part["words"])) for part in told.get("within", [])]

    def row(self, table: str, row: Row) -> Row:
        """The row of this (old) table in new words; its cell's id is left as it is."""
        whole = {column: self.columns.get(column, {}).get(value, value) for column, value in row.items()}
        home = {table, whole.get("experiment", ""), whole.get("kind", ""), row.get(CELL, "").split("-")[0]}
        home.add(row.get("id", "").split(",")[0])
        words = self.words.copy()
        for rows, special in self.within:
            if home & rows:
                words |= special
        settled = {CELL, *self.kept.get(table, ()), *(c for c in row if whole[c] != row[c])}
        return {c: value if c in settled else self._text(value, words) for c, value in whole.items()}

    def _text(self, value: str, words: Mapping[str, str]) -> str:
        for old, new in self.phrases.items():
            value = value.replace(old, new)
        return _WORD.sub(lambda found: words.get(found[0], found[0]), value)


def tables(where: str) -> dict[Table, list[Row]]:
    """Rows of every reference table of a folder or commit. Tables of one file name and the same columns are one table.

    Raises FileNotFoundError where there are none.
    """
    found: dict[Table, list[Row]] = {}
    for path, data in _files(where):
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        lines = csv.DictReader(io.StringIO(text))
        name = Path(path).name.removesuffix(".gz").removesuffix(".csv")
        columns = tuple(sorted(set(lines.fieldnames or ()) - set(OPTIONAL)))
        found.setdefault((name, columns), []).extend(lines)
    if not found:
        raise FileNotFoundError(f"{where}: no table below a folder named reference")
    return found


def _files(where: str) -> Iterator[tuple[str, bytes]]:
    if Path(where).is_dir():
        for path in sorted(Path(where).rglob("*")):
            if path.is_file() and _wanted(path.relative_to(where).as_posix()):
                yield path.as_posix(), path.read_bytes()
        return
    listed = _git("ls-tree", "-r", "--name-only", "-z", where).decode().split("\0")
    for path in filter(_wanted, listed):
        yield path, _git("show", f"{where}:{path}")


def _wanted(path: str) -> bool:
    return "reference" in Path(path).parts[:-1] and path.endswith((".csv", ".csv.gz")) and not path.startswith(".")


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise FileNotFoundError(f"git {words[0]}: {done.stderr.decode().strip()}; give a folder or a commit")
    return done.stdout


def differences(old: Mapping[Table, list[Row]], new: Mapping[Table, list[Row]], renames: Renames) -> Iterator[str]:
    """One sentence a table, row or id of a cell that differs; ``new`` may have tables that ``old`` has not."""
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    for (name, columns), rows in sorted(old.items()):
        now_named = (renames.tables.get(name, name), columns)
        if now_named not in new:
            yield f"{name}: no such table with columns {', '.join(columns)} in the new reference"
            continue
        dropped = renames.ignored.get(name, set())
        was = _by_rest((renames.row(name, row) for row in rows), dropped)
        now = _by_rest(new[now_named], dropped)
        lost, more = was.keys() - now.keys(), now.keys() - was.keys()
        if lost or more:
            yield from (f"{name}: only in the old: {_told(row)}" for row in sorted(lost)[:SHOWN])
            yield from (f"{name}: only in the new: {_told(row)}" for row in sorted(more)[:SHOWN])
            yield f"{name}: {len(lost)} kinds of row only in the old, {len(more)} only in the new"
            continue
        for rest, cells in was.items():
            yield from _one_to_one(name, cells, now[rest], ids, names)


def _by_rest(rows: Iterable[Row], dropped: set[str]) -> dict[tuple, Counter]:
    """Rows without their cell's id -> how often under which id."""
    found: dict[tuple, Counter] = {}
    for row in rows:
        rest = tuple(sorted((c, v) for c, v in row.items() if v and c != CELL and c not in dropped))
        found.setdefault(rest, Counter())[row.get(CELL, "")] += 1
    return found


def _one_to_one(name: str, was: Counter, now: Counter, ids: dict[str, str], names: dict[str, str]) -> Iterator[str]:
    if len(was) == len(now) == 1:
        (before, n), (after, m) = *was.items(), *now.items()
        if n != m:
            yield f"{name}: {before or 'a row'} stands {n} times in the old and {m} times in the new"
        elif ids.setdefault(before, after) != after:
            yield f"{name}: cell {before} is {after} here and {ids[before]} elsewhere"
        elif names.setdefault(after, before) != before:
            yield f"{name}: cells {before} and {names[after]} are both {after}"
    elif sorted(was.values()) != sorted(now.values()):
        yield f"{name}: equal rows of {', '.join(sorted(was))} are now of {', '.join(sorted(now))}"


def _told(rest: tuple) -> str:
    return ", ".join(f"{column}={value}" for column, value in rest if value)[:400]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", help="folder or commit")
    parser.add_argument("new", help="folder or commit")
    parser.add_argument("--renames", type=Path, help="YAML file of words that read otherwise in the new reference")
    a = parser.parse_args(argv)
    try:
        told = yaml.safe_load(a.renames.read_text(encoding="utf-8")) if a.renames else {}
        old, new = tables(a.old), tables(a.new)
        found = list(differences(old, new, Renames(told)))
    except (OSError, ValueError) as error:
        raise SystemExit(f"same_rows: {error}") from None
    for sentence in found:
        print(sentence)
    rows = sum(len(rows) for rows in old.values())
    if not found:
        print(
            f"same: {len(old)} tables, {rows:,} rows"
            + (f"; {len(new) - len(old)} tables are new" if len(new) > len(old) else "")
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
