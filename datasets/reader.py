"""Reader of a user's CSV file: ``look`` finds the kinds of its columns, and ``read`` returns numbers.

``look`` finds the encoding, the separator, the decimal sign and the kind of each column, and refuses to guess. Its
result, a ``Layout``, is all that ``read`` needs, so the same file always gives the same numbers. A column of text is
coded by its levels: a column of 0 and 1 for each level except the first.

Levels have to be public knowledge, because the name of a level that only one row has would reveal that row. They are
taken from the rows only if ``look`` is told that the rows are public. No message shows a value of a row. It names the
row and column of the value. Names of columns are public, but a first line that may be a row is not shown either.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from datasets.base import Bounds, DataError, Table

#: texts of a missing value, in addition to an empty field.
MISSING = frozenset(
    {"", "?", ".", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "#null!", "#div/0!", "missing"}
)
#: levels that are added to every declared list: a text that the list does not name, and a missing value.
OTHER, ABSENT = "(other)", "(missing)"
#: largest number of different texts in a column whose levels are taken from the rows.
MOST_LEVELS = 100
#: kinds of column.
NUMBER, WHOLE, BOOLEAN, LEVELS, LEFT_OUT = "number", "whole number", "true or false", "levels", "left out"
_YES_AND_NO = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "vertical bars", ",": "commas", " ": "blanks"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
#: numbers such as 1,234, whose comma may be a separator of thousands or a decimal sign.
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_DATE = re.compile(
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])(?:[0-9]{1,2}|[A-Za-z]{3,9})\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}\.? [A-Za-z]{3,9}\.? [0-9]{4}|[A-Za-z]{3,9}\.? [0-9]{1,2}, [0-9]{4})"
    r"(?:[T ]+[0-9]{1,2}:[0-9]{2}.*)?|[0-9]{1,2}:[0-9]{2}(?::[0-9.]+)?(?: ?[AaPp]\.?[Mm]\.?)?"
)
_SAMPLE_CHARACTERS, _SAMPLE_LINES = 200_000, 100


class TableError(DataError, ValueError):
    """A table that cannot be read as it is. The message names the file, row, column and remedy."""


@dataclass(frozen=True)
class Column:
    """A column of the file: its name, its kind (``NUMBER``, ...), and for the kind ``LEVELS`` its levels.

    ``levels`` has ``OTHER`` and ``ABSENT`` at its end if they are levels. The first level has no column of its own.
    ``public``: how the levels are known, in words.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    public: str = ""

    @property
    def coded(self) -> tuple[str, ...]:
        """Names of the columns of numbers that this column becomes."""
        if self.kind == LEFT_OUT:
            return ()
        return tuple(f"{self.name}={level}" for level in self.levels[1:]) if self.kind == LEVELS else (self.name,)

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        """The range of each column in :attr:`coded` that the coding fixes, else None."""
        return ((0.0, 1.0) if self.kind in (LEVELS, BOOLEAN) else None,) * len(self.coded)

    @property
    def words(self) -> str:
        """The treatment of the column, in words."""
        if self.kind == BOOLEAN:
            return "true or false, coded as 1 and 0"
        if self.kind != LEVELS:
            return self.kind
        return (
            f"{len(self.levels)} levels, {self.public}; coded as {len(self.coded)} "
            f"column{'s' if len(self.coded) != 1 else ''} of 0 and 1, all of them 0 for '{self.levels[0]}'"
        )


@dataclass(frozen=True)
class Layout:
    """How a file is read.

    ``columns``: one per field of a line, in their order. ``separator``: " " means white space.
    """

    columns: tuple[Column, ...]
    header: bool = True
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def inputs(self, target: str | None) -> tuple[str, ...]:
        """Names of the columns of numbers, without the target."""
        return tuple(name for c in self.columns if c.name != target for name in c.coded)

    def bounds(self, target: str | None) -> tuple[Bounds, ...]:
        """Ranges of :meth:`inputs` that the coding fixes, else None."""
        return tuple(bounds for c in self.columns if c.name != target for bounds in c.bounds)

    def column(self, name: str) -> Column:
        """The column of that name. Raises KeyError."""
        return {c.name: c for c in self.columns}[name]

    @property
    def words(self) -> str:
        """How the file was read, as one sentence."""
        return (
            f"Read as {self.encoding.upper().removesuffix('-SIG')}, separated by {_SEPARATORS[self.separator]}, with a "
            f"decimal {'comma' if self.decimal == ',' else 'point'} and {'a' if self.header else 'no'} header line."
        )

    @staticmethod
    def of(values: Mapping[str, Any]) -> Layout:
        """The layout from what ``dataclasses.asdict`` wrote, with lists for tuples."""
        columns = tuple(Column(**{**c, "levels": tuple(c["levels"])}) for c in values["columns"])
        return Layout(**{**values, "columns": columns})


@dataclass(frozen=True)
class Given:
    """The user's statements about a file.

    Parameters
    ----------
    columns : names of all columns of a file without a header line, or () if it has one.
    no_header : whether the file has no header line. Without ``columns``, the names are then c1, c2, ...
    drop : columns to leave out.
    levels : column -> its public levels.
    rows_are_public : whether levels that are not stated may be taken from the rows.
    """

    columns: tuple[str, ...] = ()
    no_header: bool = False
    drop: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows_are_public: bool = False


def look(path: Path, target: str | None, task: str, given: Given) -> tuple[Layout, int]:
    """The layout of a file and its number of rows. Raises TableError.

    ``task`` is "regression" or "classification", whose ``target`` may not be missing, or "density", which leaves the
    target out. The target of a classification is a column of levels: its classes, without ``OTHER`` and ``ABSENT``.
    """
    encoding, separator, first, records = _opened(path)
    header = not (given.columns or given.no_header)
    names = _names(path, first, given)
    if target is not None and target not in names:
        raise TableError(f"{path} has no column '{_shown(target)}'; {_known(names, given)}")
    if task == "density" and target is not None:
        given = replace(given, drop=(*given.drop, target))
    for what, words in (("--drop", given.drop), ("--levels", given.levels)):
        if unknown := [w for w in words if w not in names]:
            raise TableError(
                f"{path} has no column '{_shown(unknown[0])}', which is named by {what}; {_known(names, given)}"
            )
    if target in given.drop and task != "density":
        raise TableError(f"{path}: the target '{_shown(target or '')}' is left out by --drop; take it out there")
    seen = [_Seen(n in given.drop, n in given.levels) for n in names]
    rows, again = 0, [False] * len(first)
    for rows, record in enumerate(records if header else chain([first], records), start=1):
        for k, value in enumerate(record):
            seen[k].take(rows, value)
            again[k] = again[k] or value == first[k]
    if header and all(again):
        raise TableError(
            f"{path} has no header line, or has it twice: the values of its first line are there again in rows below; "
            f"drop the second, or {_NAMES}"
        )
    if rows == 0:
        raise TableError(f"{path} has no rows; give rows below the header line")
    used = [k for k, n in enumerate(names) if n not in given.drop]
    if unnamed := [k for k in used if not first[k] and header]:
        k = unnamed[0]
        raise TableError(f"{path}: column {k + 1} has no name; give it one, or leave it out with --drop c{k + 1}")
    decimal = _decimal(path, [(names[k], seen[k]) for k in used])
    texts = [n for k, n in enumerate(names) if k in used and seen[k].texts and n != target and n not in given.levels]
    made = partial(_column, path, task=task, given=given, header=header, rows=rows, texts=texts)
    pairs = zip(names, seen, strict=True)
    columns = [Column(n, LEFT_OUT) if n in given.drop else made(n, s, n == target) for n, s in pairs]
    layout = Layout(tuple(columns), header, separator, decimal, encoding)
    coded = Counter(layout.inputs(target))
    if not coded:
        raise TableError(f"{path} has no column besides the target '{_shown(target or '')}'; give at least one input")
    if task == "classification" and target and len(layout.column(target).levels) < 2:
        raise TableError(f"{path}: the target '{_shown(target)}' has one class; give two or more")
    if twice := [n for n, count in coded.items() if count > 1]:
        raise TableError(f"{path}: a column and a level both become '{_shown(twice[0])}'; rename the column")
    return layout, rows


def last_column(path: Path, given: Given) -> str:
    """The name of the last column. Raises TableError."""
    return _names(path, _opened(path)[2], given)[-1]


def read(path: Path, layout: Layout) -> dict[str, np.ndarray]:
    """Name of each column that is not left out -> (n,) float64: its numbers, or the indices of its levels.

    Columns are found by the header line, or by their place if there is none. Raises TableError for a missing column, or
    a value that the layout does not allow.
    """
    text, _ = _decoded(path, layout.encoding)
    records = _records(path, text, layout.separator)
    wanted = [c for c in layout.columns if c.kind != LEFT_OUT]
    stated = () if layout.header else tuple(c.name for c in layout.columns)
    first = next(records, [])
    place = {name: k for k, name in enumerate(_names(path, first, Given(columns=stated)))}
    if absent := [c.name for c in wanted if c.name not in place]:
        raise TableError(f"{path} has no column '{_shown(absent[0])}'; its columns are {_some([*place])}")
    used = [(place[c.name], c, _converter(c, layout.decimal), array("d")) for c in wanted]
    for row, record in enumerate(records if layout.header else chain([first], records), start=1):
        for k, column, convert, values in used:
            try:
                values.append(convert(record[k]))
            except (KeyError, ValueError):
                what = f"none of its {len(column.levels)} levels" if column.levels else f"no {column.kind}"
                raise TableError(
                    f"{_at(path, row, column.name)}: the value is {what}; correct it, or drop the row"
                ) from None
    return {c.name: np.array(values) for _, c, _, values in used}


def table(path: Path, layout: Layout, target: str | None) -> Table:
    """The inputs as numbers (levels as 0 and 1), and the target, zeros without one. Raises TableError."""
    values = read(path, layout)
    parts, n = [], len(next(iter(values.values())))
    for column in layout.columns:
        if column.name == target or not column.coded:
            continue
        got = values[column.name][:, None]
        parts.append(got == np.arange(1, len(column.levels)) if column.kind == LEVELS else got)
    x = np.ascontiguousarray(np.hstack(parts), dtype=np.float64)
    return Table(x, np.zeros(n) if target is None else values[target], layout.inputs(target))


def check_levels(path: Path, given: Any) -> dict[str, tuple[str, ...]]:
    """Levels by column, as stated in a file: lists of words or numbers. Raises TableError, which names the file."""
    if not isinstance(given, dict):
        raise TableError(f"{path}: give lines `column: [level, level]`")
    found = {}
    for name, levels in given.items():
        if not isinstance(levels, list) or not levels:
            raise TableError(f"{path}: '{_shown(name)}' has {levels!r}; give a list of levels")
        for level in levels:
            if isinstance(level, bool) or not isinstance(level, str | int | float):
                raise TableError(f"{path}: '{_shown(name)}' has the level {level!r}; write it as a word in quotes")
        words = tuple(str(level).strip() for level in levels)
        if twice := [w for w, count in Counter(words).items() if count > 1]:
            raise TableError(f"{path}: '{_shown(name)}' has the level '{_shown(twice[0])}' twice; give each once")
        if {OTHER, ABSENT} & set(words):
            raise TableError(f"{path}: '{_shown(name)}' names {OTHER} or {ABSENT}, which it has anyway; leave them out")
        found[name] = words
    return found


# ------------------------------------------------------------------------------------------------------- the file

_NAMES = "give --columns with all names, separated by commas, or --no-header, which names them c1, c2, ..."


def _decoded(path: Path, encoding: str = "") -> tuple[str, str]:
    """The text, and the name of its encoding: that of a byte-order mark, UTF-8, or Windows-1252."""
    if not path.is_file():
        raise TableError(f"no file {path}; name a CSV file")
    try:
        content = path.read_bytes()
    except OSError as e:
        raise TableError(f"{path} cannot be read ({e.strerror}); name a file that you may read") from None
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise TableError(f"{path} is a workbook or an archive, no text; save the sheet as CSV")
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = [name for mark, name in marks.items() if content.startswith(mark)]
    for name in [encoding] if encoding else marked or ["utf-8", "windows-1252"]:
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise TableError(f"{path} has zero bytes, so it is no text; save it as CSV in UTF-8")
        return text, name
    raise TableError(f"{path} is neither UTF-8 nor Windows-1252; save it as UTF-8")


def _opened(path: Path) -> tuple[str, str, list[str], Iterator[list[str]]]:
    """The encoding, the separator, the fields of the first line, and those of the others. Raises TableError."""
    text, encoding = _decoded(path)
    separator = _separator(text)
    records = _records(path, text, separator)
    first = next(records, None)
    if first is None:
        raise TableError(f"{path} is empty; give a CSV file with a header line and rows")
    return encoding, separator, first, records


def _fields(text: str, separator: str) -> Iterator[list[str]]:
    """The fields of each line that is not empty. Raises csv.Error for a quote that is not closed."""
    if separator == " ":
        yield from (line.split() for line in text.splitlines() if line.strip())
        return
    made = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    yield from ([value.strip() for value in record] for record in made if record)


def _records(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """The fields of each line. Raises TableError for a line with fewer or more fields than the first."""
    width, line = 0, 0
    try:
        for line, record in enumerate(_fields(text, separator), start=1):
            width = width or len(record)
            if len(record) != width:
                raise TableError(
                    f"{path}: line {line} (empty ones not counted) has {len(record)} fields, the first has {width}, "
                    f"separated by {_SEPARATORS[separator]}; correct it, with quotes around a text that has one"
                )
            yield record
    except csv.Error as e:
        raise TableError(
            f"{path}: line {line + 1} (empty ones not counted) cannot be read ({e}); close or double its quotes"
        ) from None


def _separator(text: str) -> str:
    """The separator by which the first lines have the same number of fields; if none does, the most regular one."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1] or sample
    best, most = ",", 0
    for separator in _SEPARATORS:
        if separator == " " and any(s in sample for s in _SEPARATORS if s != " "):
            continue
        widths: list[int] = []
        try:
            for record in _fields(sample, separator):
                widths.append(len(record))
                if len(widths) == _SAMPLE_LINES:
                    break
        except csv.Error:
            pass
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        if width > 1 and count == len(widths):
            return separator
        if width > 1 and count > most:
            best, most = separator, count
    return best


def _names(path: Path, first: Sequence[str], given: Given) -> list[str]:
    """Names of the columns. Raises TableError if the first line is no header and should be one."""
    if given.columns or given.no_header:
        names = [*given.columns] or [f"c{k + 1}" for k in range(len(first))]
        if len(names) != len(first):
            raise TableError(f"{path} has {len(first)} columns, and --columns names {len(names)}; name each")
        if not all(names):
            raise TableError(f"--columns has no name for column {names.index('') + 1} of {path}; name each")
    else:
        for k, value in enumerate(first, start=1):
            if _NUMBER.fullmatch(value) or _DATE.fullmatch(value) or (value and value.lower() in MISSING):
                raise TableError(f"{path} has no header line: field {k} of its first line is a value; {_NAMES}")
        names = [value or f"c{k + 1}" for k, value in enumerate(first)]
    if twice := [n for n, count in Counter(names).items() if count > 1]:
        places = [k for k, n in enumerate(names, start=1) if n == twice[0]]
        raise TableError(
            f"{path}: columns {places[0]} and {places[1]} have the same name; rename one, or, if the first line is a "
            f"row, {_NAMES}"
        )
    return names


# ------------------------------------------------------------------------------------------------------- a column


@dataclass
class _Seen:
    """The sorts of values in a column, with the first row of each sort.

    ``left_out``: the column is not examined. ``coded``: by stated levels, so none of its values is a number.
    """

    left_out: bool
    coded: bool
    numbers: int = 0
    whole: bool = True
    texts: int = 0
    dates: int = 0
    missing: int = 0
    values: set[str] = field(default_factory=set)
    #: first row with a text, with a missing value, and with a number with decimal point or comma. 0 for none.
    text: int = 0
    absent: int = 0
    point: int = 0
    comma: int = 0
    #: whether it has a comma that cannot be a separator of thousands.
    clear: bool = False

    def take(self, row: int, value: str) -> None:
        if self.left_out:
            return
        if not self.coded and _NUMBER.fullmatch(value):
            self.numbers += 1
            if not _WHOLE.fullmatch(value):
                self.whole = False
                if "," in value:
                    self.comma = self.comma or row
                    self.clear = self.clear or not _THOUSANDS.fullmatch(value)
                elif "." in value:
                    self.point = self.point or row
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


def _decimal(path: Path, columns: Sequence[tuple[str, _Seen]]) -> str:
    """The decimal sign of all columns. Raises TableError if there are two, or commas that may separate thousands."""
    commas = [(name, s.comma) for name, s in columns if s.comma]
    points = [(name, s.point) for name, s in columns if s.point]
    if not commas:
        return "."
    name, row = commas[0]
    if points:
        other, at = points[0]
        raise TableError(
            f"{_at(path, row, name)}: the number has a comma, and row {at} of column '{_shown(other)}' a point; write "
            "all numbers with one decimal sign, and none for thousands"
        )
    if not any(s.clear for _, s in columns):
        raise TableError(
            f"{_at(path, row, name)}: the comma of the number may be a decimal sign or one of thousands; write such "
            "numbers with a decimal point, or without a sign for thousands"
        )
    return ","


def _column(
    path: Path, name: str, seen: _Seen, is_target: bool, *, task: str, given: Given, header: bool, rows: int,
    texts: Sequence[str],
) -> Column:  # fmt: skip
    """The column and its kind. ``texts``: inputs with texts. Raises TableError, which says how to treat the column."""
    drop = f"leave it out with --drop {name}" if name.isprintable() and " " not in name else "leave it out with --drop"
    if is_target and task != "density":
        drop = "drop the row"
        if seen.missing and not (name in given.levels and task == "regression"):
            raise TableError(f"{_at(path, seen.absent, name)}: the target is missing; drop such rows ({seen.missing})")
    classes = is_target and task == "classification"
    if name in given.levels:
        levels = given.levels[name]
        if is_target and not classes:
            raise TableError(f"{path}: the target '{_shown(name)}' of a regression has levels; leave them out")
        return Column(name, LEVELS, levels if classes else (*levels, OTHER, ABSENT), "stated")
    if not seen.numbers and not seen.texts:
        raise TableError(f"{path}: column '{_shown(name)}' is empty; {drop}")
    if seen.numbers and seen.texts:
        first = seen.text == 1 and not header
        hint = "; if the first line is a header, leave out --no-header and --columns" if first else ""
        raise TableError(
            f"{_at(path, seen.text, name)}: the value is no number, as other rows have; correct it, or list the levels "
            f"of the column with --levels{hint}"
        )
    if classes:
        return _classes(path, name, seen, given)
    if seen.numbers:
        if seen.missing:
            raise TableError(
                f"{_at(path, seen.absent, name)}: the number is missing, in {seen.missing} of {rows} rows; fill or "
                f"drop those rows, or {drop}"
            )
        return Column(name, WHOLE if seen.whole else NUMBER)
    where = _at(path, seen.text, name)
    if 2 * seen.dates > seen.texts:
        raise TableError(
            f"{where}: the value is a date or a time; write parts of it that matter, such as month or hour, as "
            f"columns of their own, and {drop}"
        )
    if is_target:
        raise TableError(
            f"{where}: the target is text, and a regression is of numbers; name another target, or --task "
            "classification"
        )
    if not seen.missing and any({v.lower() for v in seen.values} <= set(pair) for pair in _YES_AND_NO):
        return Column(name, BOOLEAN)
    if not given.rows_are_public:
        also = f". Text is in {len(texts)} columns: {', '.join(map(_shown, texts))}" if len(texts) > 1 else ""
        raise TableError(
            f"{where}: the value is text; list the column's levels, which have to be public, with --levels FILE, or "
            f"{drop}{also}"
        )
    if len(seen.values) > MOST_LEVELS:
        raise TableError(
            f"{where}: the column has more than {MOST_LEVELS} different texts; {drop}, or list the levels that matter "
            "with --levels FILE"
        )
    levels = (*sorted(seen.values), *([ABSENT] if seen.missing else []))
    if len(levels) == 1:
        raise TableError(f"{path}: column '{_shown(name)}' is constant; {drop}")
    return Column(name, LEVELS, levels, "taken from the rows")


def _classes(path: Path, name: str, seen: _Seen, given: Given) -> Column:
    """The target of a classification whose classes are not stated."""
    key = _key(seen.values)
    found = {key(v): v for v in sorted(seen.values, reverse=True)}
    if len(seen.values) > MOST_LEVELS:
        raise TableError(f"{path}: the target '{_shown(name)}' has more than {MOST_LEVELS} values, so it is no class")
    counted = seen.numbers and sorted(found) == list(range(len(found)))
    if not (given.rows_are_public or counted):
        raise TableError(
            f"{path}: the classes of the target '{_shown(name)}' are not 0, 1, ...; state them with --levels FILE, or "
            "code them so"
        )
    return Column(name, LEVELS, tuple(found[k] for k in sorted(found)), "taken from the rows")


def _key(levels: Sequence[str] | set[str]) -> Callable[[str], Any]:
    """The key by which two levels are equal: as numbers if all are numbers, so that 01 equals 1, else as texts."""
    if all(_NUMBER.fullmatch(level) for level in levels):
        return lambda value: float(value.replace(",", ".")) if _NUMBER.fullmatch(value) else value
    return str


def _converter(column: Column, decimal: str) -> Callable[[str], float]:
    """A function text -> number. It raises KeyError or ValueError for a text without one."""
    if column.kind == BOOLEAN:
        truth = {word: float(k == 0) for pair in _YES_AND_NO for k, word in enumerate(pair)}
        return lambda value: truth[value.lower()]
    if column.kind == LEVELS:
        key = _key([level for level in column.levels if level not in (OTHER, ABSENT)])
        place = {level if level in (OTHER, ABSENT) else key(level): float(k) for k, level in enumerate(column.levels)}

        def coded(value: str) -> float:
            found = place.get(key(value))
            if found is None:
                found = place[ABSENT if value.lower() in MISSING and ABSENT in place else OTHER]
            return found

        return coded

    def number(value: str) -> float:
        if not _NUMBER.fullmatch(value) or (decimal == "." and "," in value):
            raise ValueError(value)
        found = float(value.replace(",", "."))
        if not math.isfinite(found):
            raise ValueError(value)
        return found

    return number


def _at(path: Path, row: int, name: str) -> str:
    return f"{path}, row {row}, column '{_shown(name)}'"


def _shown(value: str) -> str:
    """A value for a message: one short line."""
    value = " ".join(str(value).split())
    return value if len(value) <= 60 else f"{value[:57]}..."


def _known(names: Sequence[str], given: Given) -> str:
    """The names of the columns for a message, unless they are a first line that may be a private row."""
    if given.rows_are_public or given.columns or given.no_header:
        return f"the columns are {_some(names)}"
    return f"its first line does not name it; if that line is a row, {_NAMES}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(_shown, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
