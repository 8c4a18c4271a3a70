"""Drafts of a public schema: from the header line and what the user states, or from public rows.

No draft is made from private rows, because a level or a range that is read off them would be a release. A draft from
the header line has ``TO_STATE`` for what only a person can state. Public rows give a whole schema, or one list of
everything that keeps them from being read. Messages have rows and columns, and no value of a row.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datasets import records, row_faults, yaml_file
from datasets.base import Bounds, Table
from datasets.records import MISSING
from datasets.schema import (
    ABSENT,
    BOOLEAN,
    DEFAULT,
    EMPTY,
    LEFT_OUT,
    LEVELS,
    NUMBER,
    OTHER,
    SEPARATORS,
    TO_STATE,
    Column,
    Problems,
    Schema,
    TableError,
    codec,
    number,
    shown,
    some,
)  # fmt: skip

#: largest number of different texts in a column whose levels are taken from the rows.
MOST_LEVELS = 100
#: source of levels that a public table has.
FROM_ROWS = "taken from the rows"
_YES_AND_NO = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
#: numbers such as 1,234, whose sign may separate thousands or be a decimal sign.
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[.,][0-9]{3})+")
_DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])(?:[0-9]{1,2}|[A-Za-z]{3,9})\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}\.? [A-Za-z]{3,9}\.? [0-9]{4}|[A-Za-z]{3,9}\.? [0-9]{1,2}, [0-9]{4})"
    r"(?:[T ]+[0-9]{1,2}:[0-9]{2}.*)?|[0-9]{1,2}:[0-9]{2}(?::[0-9.]+)?(?: ?[AaPp]\.?[Mm]\.?)?"
)
_SAMPLE_LINES = 100
_NAMES = (
    "give --columns with all names, separated by commas, or --no-header, which names them c1, c2, ..., or --header if "
    "that line is one"
)


@dataclass(frozen=True)
class Given:
    """The user's statements about a file.

    Parameters
    ----------
    columns : names of all columns of a file without a header line, or () if it has one.
    no_header : whether the file has no header line. Without ``columns``, the names are then c1, c2, ...
    header : whether the first line is a header although it looks like values.
    drop : columns to leave out.
    levels, ranges : column -> its public levels, its public range.
    encoding : "" for UTF-8.
    rows_are_public : whether levels that are not stated may be taken from the rows.
    source : where levels and ranges are stated.
    """

    columns: tuple[str, ...] = ()
    no_header: bool = False
    header: bool = False
    drop: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, Bounds] = field(default_factory=dict)
    encoding: str = ""
    rows_are_public: bool = False
    source: str = ""

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Option -> the columns that it names."""
        return {"--drop": self.drop, "--levels": tuple(self.levels), "--bounds": tuple(self.ranges)}


def from_header(path: Path, target: str | None, task: str, given: Given, rows: int | None) -> dict[str, Any]:
    """A draft, as ``Schema.of`` reads it, from the header line and what is stated. No row is read.

    Raises :class:`Problems`, because a first line that may be a row is not shown.
    """
    found: list[str] = []
    encoding, separator = given.encoding or "utf-8", ","
    if given.columns:
        names = [*given.columns]
    elif given.no_header:
        raise Problems(path, ["--no-header does not say how many columns there are; name them with --columns A,B,C"])
    else:
        with records.opened(path) as file:
            line = records.first_line(file)
        found += _no_text(line)
        separator = _separator([line], encoding)
        names = records.parsed(line, encoding, separator)
        found += _header_faults(names, given)
    if not found:
        found += _unknown(names, target, task, given)
    if found:
        raise Problems(path, found)
    columns: dict[str, Any] = {}
    for name in names:
        kind = TO_STATE
        if name in given.drop or (task == "density" and name == target):
            kind = LEFT_OUT
        elif name in given.levels or (name == target and task == "classification"):
            kind = LEVELS
        elif name in given.ranges or (name == target and task == "regression"):
            kind = NUMBER
        of: dict[str, Any] = {"kind": kind}
        if kind in (NUMBER, TO_STATE):
            pair = given.ranges.get(name)
            of["range"] = [f"{v!r}" for v in pair] if pair else TO_STATE
        if kind == LEVELS:
            of["levels"] = [*given.levels[name]] if name in given.levels else TO_STATE
        if kind != LEFT_OUT and name != target:
            of |= {"default": OTHER, "missing": ABSENT} if kind == LEVELS else {"default": EMPTY}
        if kind != LEFT_OUT:
            of["source"] = given.source if name in given.levels or name in given.ranges else TO_STATE
        columns[name] = of
    words = {sign: word for word, sign in SEPARATORS.items()}
    out = {"encoding": encoding, "separator": words[separator], "decimal": "point"}
    out |= {"header": "no" if given.columns else "yes", "rows": str(rows) if rows else TO_STATE, "task": task}
    return out | ({} if target is None or task == "density" else {"target": target}) | {"columns": columns}


def from_rows(path: Path, target: str | None, task: str, given: Given) -> Schema:
    """The schema of a file of public rows. Raises TableError; :class:`Problems` has everything that is wrong.

    ``task`` is "regression", "classification", or "density", which leaves the target out.
    """
    with records.opened(path) as file:
        first = records.first_line(file)
        content = first + file.read()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        raise TableError(f"{path} has zero bytes, so it is UTF-16 or no text; save it as CSV in UTF-8")
    if faults := _no_text(first):
        raise Problems(path, faults)
    encoding = given.encoding or "utf-8"
    try:
        content.decode(codec(encoding))
    except UnicodeDecodeError:
        how = "another one" if given.encoding else "its encoding with --encoding, such as cp1252 or cp1251"
        raise TableError(f"{path} is not in {encoding}; state {how}, or save it as UTF-8") from None
    lines = content.replace(b"\r\n", b"\n").rstrip(b"\n \t").split(b"\n")
    if not content.strip():
        raise TableError(f"{path} is empty; give a CSV file with a header line and rows")
    separator = _separator(lines[:_SAMPLE_LINES], encoding)
    head = records.parsed(lines[0], encoding, separator)
    header = not (given.columns or given.no_header)
    names = head if header else [*given.columns] or [f"c{k + 1}" for k in range(len(head))]
    found = _header_faults(names, given) if header else []
    if header:
        names = [name or f"c{k + 1}" for k, name in enumerate(names)]
    if len(names) != len(head):
        found.append(f"it has {len(head)} columns, and --columns names {len(names)}; name each")
    found += [] if found else _unknown(names, target, task, given)
    rows = lines[1:] if header else lines
    if not rows:
        found.append("it has no rows; give rows below the header line")
    if found:
        raise Problems(path, found)
    drop = {*given.drop, *([target] if task == "density" and target is not None else [])}
    seen = [_Seen(n in drop, n in given.levels) for n in names]
    broken, again = [], [False] * len(names)
    for row, line in enumerate(rows, start=1):
        record = records.parsed(line, encoding, separator)
        if len(record) != len(names):
            broken.append(row)
            continue
        for k, value in enumerate(record):
            seen[k].take(row, value)
            again[k] = again[k] or (header and value == head[k])
    if broken:
        found.append(
            f"{len(broken)} lines are blank, have an open quote or not {len(names)} fields, separated by "
            f"{next(w for w, s in SEPARATORS.items() if s == separator)}: first row {broken[0]}; correct or drop them"
        )
    if header and len(broken) < len(rows) and all(again):
        found.append(
            "it has no header line, or has it twice: the values of its first line are there again in rows below; "
            f"drop the second, or {_NAMES}"
        )
    decimal = _decimal([(n, s) for n, s in zip(names, seen, strict=True) if n not in drop], separator, found)
    columns = []
    for name, s in zip(names, seen, strict=True):
        if name in drop:
            columns.append(Column(name, LEFT_OUT))
            continue
        column, fault = _column(name, s, name == target and task != "density", task, given, header)
        columns.append(column)
        found += [f"column '{shown(name)}': {fault}"] if fault else []
    if found:
        raise Problems(path, found)
    try:
        return Schema(
            len(rows), None if task == "density" else target, task, tuple(columns), codec(encoding), separator,
            decimal, header,
        )  # fmt: skip
    except Problems as e:
        raise Problems(path, e.all) from None


def last_column(path: Path, given: Given) -> str:
    """The name of the last column. Raises TableError."""
    with records.opened(path) as file:
        line = records.first_line(file)
    names = records.parsed(line, given.encoding or "utf-8", _separator([line], given.encoding or "utf-8"))
    if not names:
        raise TableError(f"{path} is empty, or its first line cannot be read; give a CSV file with a header line")
    if found := [] if given.columns or given.no_header else _header_faults(names, given):
        raise Problems(path, found)
    return given.columns[-1] if given.columns else f"c{len(names)}" if given.no_header else names[-1]


def table(path: Path, schema: Schema) -> Table:
    """The table of public rows. Raises :class:`Problems` with all faults of rows if a field does not fit."""
    rows = records.read(path, schema)
    if rows.replaced.any() or rows.empty.any():
        raise Problems(path, row_faults.of(path, schema))
    return Table(rows.x, rows.y, schema.coded)


def levels_of(path: Path | None) -> dict[str, tuple[str, ...]]:
    """Levels by column, of a YAML file of lists. Each level is the text as written. Raises TableError."""
    return {c: tuple(level.strip() for level in v) for c, v in _lists(path, "[level, level]").items()}


def ranges_of(path: Path | None) -> dict[str, Bounds]:
    """Ranges by column, of a YAML file of lines ``column: [lower, upper]``. Raises TableError."""
    found: dict[str, Bounds] = {}
    for column, given in _lists(path, "[lower, upper]").items():
        pair = [number(v) for v in given]
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            raise TableError(f"{path}: '{shown(column)}' has [{', '.join(given)}]; give [lower, upper], two numbers")
        if not pair[0] < pair[1]:
            raise TableError(f"{path}: '{shown(column)}' has [{pair[0]:g}, {pair[1]:g}]; give lower < upper")
        found[column] = (pair[0], pair[1])
    return found


def with_codebook(given: Given, path: Path) -> Given:
    """The statements with those of a codebook: a CSV file with a line per column. Raises TableError.

    Its header line names ``column`` and any of ``kind``, ``lower``, ``upper`` and ``levels`` (separated by |).
    """
    with records.opened(path) as file:
        lines = file.read().decode("utf-8-sig", "replace").splitlines()
    rows = list(csv.DictReader(lines, skipinitialspace=True))
    if not rows or "column" not in rows[0]:
        raise TableError(f"{path} is no codebook; its header line has column, kind, lower, upper and levels")
    drop, levels, ranges = [*given.drop], dict(given.levels), dict(given.ranges)
    for row in rows:
        name = (row["column"] or "").strip()
        words = [word.strip() for word in (row.get("levels") or "").split("|") if word.strip()]
        low, high = (number((row.get(end) or "").strip()) for end in ("lower", "upper"))
        if row.get("kind") == LEFT_OUT:
            drop.append(name)
        if words:
            levels.setdefault(name, tuple(words))
        if low is not None and high is not None:
            ranges.setdefault(name, (low, high))
    return replace(
        given, drop=tuple(drop), levels=levels, ranges=ranges, source=", ".join(filter(None, [given.source, path.name]))
    )


def _lists(path: Path | None, what: str) -> dict[str, list[str]]:
    if path is None:
        return {}
    if not path.is_file():
        raise TableError(f"no file {path}; write a line `column: {what}` for each")
    given = yaml_file.read(path, TableError, yaml_file.TEXT)
    if not isinstance(given, dict):
        raise TableError(f"{path}: give lines `column: {what}`")
    for name, values in given.items():
        if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
            raise TableError(f"{path}: '{shown(name)}' has {shown(values)}; give {what}")
    return given


# ------------------------------------------------------------------------------------------------------- the file


def _no_text(line: bytes) -> list[str]:
    """What the first bytes say if the file is no CSV, and Excel's line on the separator."""
    if line.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return ["it is a workbook or an archive, no text; save the sheet as CSV"]
    if line.startswith(b"PAR1"):
        return ["it is a Parquet file, no text; write it as CSV"]
    if re.match(rb"sep=.\s*$", line):
        return ["its first line is Excel's statement of the separator; delete that line"]
    return []


def _separator(lines: Sequence[bytes], encoding: str) -> str:
    """The separator by which the lines have the same number of fields; if none does, the most regular one."""
    best, most = ",", 0
    for separator in ("\t", ";", "|", ",", " "):
        if separator == " " and any(s.encode() in line for s in "\t;|," for line in lines):
            continue
        widths = [len(f) for line in lines if (f := records.parsed(line, encoding, separator))]
        width, count = Counter(widths).most_common(1)[0] if widths else (0, 0)
        if width > 1 and count == len(widths):
            return separator
        if width > 1 and count > most:
            best, most = separator, count
    return best


def _header_faults(names: Sequence[str], given: Given) -> list[str]:
    """What is wrong with a header line, whose fields are not shown."""
    if not names:
        return ["its first line is empty, has an open quote, or is not in the encoding; give a header line"]
    out = []
    if not given.header:
        for k, value in enumerate(names, start=1):
            if _NUMBER.fullmatch(value) or _DATE.fullmatch(value) or (value and value.lower() in MISSING):
                return [f"it has no header line: field {k} of its first line is a value; {_NAMES}"]
    for k, value in enumerate(names, start=1):
        if not value and f"c{k}" not in given.drop:
            out.append(f"column {k} has no name; give it one, or leave it out with --drop c{k}")
    if twice := [n for n, count in Counter(names).items() if count > 1 and n]:
        places = [k for k, n in enumerate(names, start=1) if n == twice[0]]
        out.append(
            f"columns {places[0]} and {places[1]} have the same name; rename one, or, if the first line is a row, "
            f"{_NAMES}"
        )
    return out


def _unknown(names: Sequence[str], target: str | None, task: str, given: Given) -> list[str]:
    """Options that name a column that the file does not have, or the target where it cannot be."""
    known = f"the columns are {some(names)}" if given.rows_are_public or given.columns or given.no_header else (
        f"its first line does not name it; if that line is a row, {_NAMES}")  # fmt: skip
    out = []
    if target is not None and target not in names:
        out.append(f"it has no column '{shown(target)}'; {known}")
    for what, words in given.named.items():
        if unknown := [w for w in words if w not in names]:
            out.append(f"it has no column {', '.join(map(repr, map(shown, unknown)))}, named by {what}; {known}")
    if target in given.drop and task != "density":
        out.append(f"the target '{shown(target or '')}' is left out by --drop; take it out there")
    if target in given.levels and task == "regression":
        out.append(f"the target '{shown(target or '')}' of a regression has levels; leave them out")
    return out


# ------------------------------------------------------------------------------------------------------- a column


@dataclass
class _Seen:
    """The sorts of values in a column, with the first row of each sort.

    ``left_out``: the column is not examined. ``coded``: by stated levels, so none of its values is a number.
    """

    left_out: bool
    coded: bool
    numbers: int = 0
    texts: int = 0
    dates: int = 0
    missing: int = 0
    values: set[str] = field(default_factory=set)
    #: first row with a text, with a missing value, and with a number with decimal point or comma. 0 for none.
    text: int = 0
    absent: int = 0
    point: int = 0
    comma: int = 0
    #: whether it has a number whose point or comma cannot be a sign of thousands.
    clear: bool = False

    def take(self, row: int, value: str) -> None:
        if self.left_out:
            return
        if not self.coded and _NUMBER.fullmatch(value):
            self.numbers += 1
            if not value.lstrip("+-").isdigit():
                if "," in value:
                    self.comma = self.comma or row
                elif "." in value:
                    self.point = self.point or row
                self.clear = self.clear or not _THOUSANDS.fullmatch(value)
        elif value.lower() in MISSING:
            self.missing += 1
            self.absent = self.absent or row
            return
        else:
            self.texts += 1
            self.dates += _DATE.fullmatch(value) is not None
            self.text = self.text or row
        if len(self.values) <= MOST_LEVELS:
            self.values.add(value)


def _decimal(columns: Sequence[tuple[str, _Seen]], separator: str, found: list[str]) -> str:
    """The decimal sign of all columns. Adds to ``found`` if there are two, or signs that may separate thousands."""
    commas = [(name, s.comma) for name, s in columns if s.comma]
    points = [(name, s.point) for name, s in columns if s.point]
    if commas and points:
        (name, row), (other, at) = commas[0], points[0]
        found.append(
            f"row {row}, column '{shown(name)}': the number has a comma, and row {at} of column '{shown(other)}' a "
            "point; write all numbers with one decimal sign, and none for thousands"
        )
    elif commas and not any(s.clear for _, s in columns):
        name, row = commas[0]
        found.append(
            f"row {row}, column '{shown(name)}': the comma of the number may be a decimal sign or one of thousands; "
            "write such numbers with a decimal point, or without a sign for thousands"
        )
    elif points and separator == ";":
        for name, s in columns:
            if s.point and not s.clear:
                found.append(
                    f"column '{shown(name)}': the point of each number may be a sign of thousands, because semicolons "
                    "separate the fields; write the numbers without it, or separate the fields by commas"
                )
    return "," if commas else "."


def _column(
    name: str, seen: _Seen, is_target: bool, task: str, given: Given, header: bool
) -> tuple[Column, str]:  # fmt: skip
    """The column, and what is wrong with it ("" for nothing)."""
    drop = f"leave it out with --drop {name}" if name.isprintable() and " " not in name else "leave it out with --drop"
    classes = is_target and task == "classification"
    rest = Column(name, LEFT_OUT)
    if name in given.levels:
        source = given.source or "stated"
        if classes:
            return Column(name, LEVELS, levels=given.levels[name], source=source), ""
        return Column(name, LEVELS, None, given.levels[name], OTHER, ABSENT, source), ""
    if not seen.numbers and not seen.texts:
        return rest, f"it is empty; {drop}"
    if is_target and seen.missing:
        return rest, f"the target is missing in {seen.missing} rows, first row {seen.absent}; drop such rows"
    if seen.numbers and seen.texts:
        first = seen.text == 1 and not header
        hint = "; if the first line is a header, leave out --no-header and --columns" if first else ""
        missing = f", and {seen.missing} are missing" if seen.missing else ""
        return rest, (
            f"{seen.texts} values are no numbers, as others are, first row {seen.text}{missing}; correct them, or list "
            f"the levels of the column with --levels{hint}"
        )
    if classes:
        return _classes(name, seen, given)
    if seen.numbers:
        if seen.missing:
            return rest, (
                f"the number is missing in {seen.missing} rows, first row {seen.absent}; fill or drop those rows, or "
                f"{drop}"
            )
        return Column(name, NUMBER, given.ranges.get(name), default="" if is_target else EMPTY), ""
    if 2 * seen.dates > seen.texts:
        return rest, (
            f"the values are dates or times, first row {seen.text}; write parts that matter, such as month or hour, as "
            f"columns of their own, and {drop}"
        )
    if is_target:
        return rest, "the target is text, and a regression is of numbers; name another target, or --task classification"
    if not seen.missing and any({v.lower() for v in seen.values} <= set(pair) for pair in _YES_AND_NO):
        return Column(name, BOOLEAN, default=EMPTY), ""
    if not given.rows_are_public:
        return rest, f"it is text; list its levels, which have to be public, with --levels FILE, or {drop}"
    if len(seen.values) > MOST_LEVELS:
        return rest, (
            f"it has more than {MOST_LEVELS} different texts; {drop}, or list the levels that matter with --levels FILE"
        )
    if len(seen.values) + bool(seen.missing) == 1:
        return rest, f"it is constant; {drop}"
    missing = ABSENT if seen.missing else DEFAULT
    return Column(name, LEVELS, None, tuple(sorted(seen.values)), EMPTY, missing, FROM_ROWS), ""


def _classes(name: str, seen: _Seen, given: Given) -> tuple[Column, str]:
    """The target of a classification whose classes are not stated: all texts of the rows, numbers in their order."""
    rest = Column(name, LEFT_OUT)
    if len(seen.values) > MOST_LEVELS:
        return rest, f"the target has more than {MOST_LEVELS} values, so it is no class"
    values = {v: number(v.replace(",", ".")) for v in seen.values}
    if seen.numbers and len({*values.values()}) < len(values):
        return rest, "classes are equal as numbers and differ as texts, such as 1 and 01; write each class in one way"
    levels = sorted(values, key=lambda v: values[v]) if seen.numbers else sorted(values)  # type: ignore[arg-type]
    if len(levels) < 2:
        return rest, "the target is constant, so there is nothing to predict; name another target"
    if not given.rows_are_public and levels != [str(k) for k in range(len(levels))]:
        return rest, "the classes of the target are not 0, 1, ...; state them with --levels FILE, or code them so"
    return Column(name, LEVELS, levels=tuple(levels), source=FROM_ROWS), ""
