"""Rows of a CSV file by a public schema: each line maps alone to numbers.

A record is one line of bytes that ends with LF or CR LF. Nothing in one line decides how another is read: lines are
split before anything is parsed, an open quote ends with its line, and bytes are decoded per field.

A field that does not fit becomes the default of its column. An empty row is a line that is blank, has another number of
fields, an open quote or more than ``MOST_BYTES``, or a row whose target does not fit. There are exactly ``schema.n``
rows: lines beyond are ignored, and missing ones are empty rows.

Running time and memory depend on the rows. Numbers are rounded correctly, as by ``float``.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from datasets.schema import (
    ABSENT,
    BOOLEAN,
    EMPTY,
    LEVELS,
    NUMBER,
    Column,
    Problems,
    Schema,
    TableError,
    codec,
    some,
)  # fmt: skip

#: texts of a missing value, in any case, in addition to an empty field.
MISSING = frozenset(
    {"", "?", ".", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "#null!", "#div/0!", "missing"}
)
#: a longer line is an empty row.
MOST_BYTES = 2**20
#: bytes that are read at once. It changes no result.
BLOCK = 2**21
_YES, _NO = frozenset({"true", "yes", "t", "y", "1"}), frozenset({"false", "no", "f", "n", "0"})
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANK = b" \t"
#: classes of bytes, and which of them may follow each in a plain number. A text is refused at its first byte.
_DIGIT, _SIGN, _POINT, _EXPONENT, _SEPARATOR, _END, _TEXT, _ODD = (1 << k for k in range(8))
_FOLLOWS = {
    _DIGIT: _DIGIT | _POINT | _EXPONENT | _SEPARATOR | _END, _SIGN: _DIGIT, _POINT: _DIGIT, _EXPONENT: _DIGIT | _SIGN,
    _SEPARATOR: _DIGIT | _SIGN, _END: _DIGIT | _SIGN, _TEXT: 255 - _ODD, _ODD: 0,
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Rows by a schema, n of them.

    Parameters
    ----------
    x : float64 (n, d), the coded inputs in original units, of the columns ``schema.coded``. 0 in an empty row.
    y : float64 (n,), the target in original units or the number of its class. 0 in an empty row, and for density.
    empty : bool (n,), rows that have weight 0 in every sum.
    replaced : bool (n, k), whether the field did not fit its column. The last column is ``empty`` if there is a target.
    columns : the k names, those of the inputs of the file, then the target.
    """

    x: np.ndarray
    y: np.ndarray
    empty: np.ndarray
    replaced: np.ndarray
    columns: tuple[str, ...]


def read(path: Path, schema: Schema) -> Rows:
    """The rows of a file. Raises TableError only for what the schema and the header line decide."""
    with opened(path) as file:
        check_header(path, header(file, schema), schema)
        made = _Made(schema)
        start = 0
        while start < schema.n and (block := file.read(BLOCK)):
            block += b"" if block.endswith(b"\n") else file.readline()
            block += b"" if block.endswith(b"\n") else b"\n"
            start = made.take(block.replace(b"\r\n", b"\n") if b"\r\n" in block else block, start)
    return made.rows()


class _Made:
    """The rows of a file while it is read, block by block."""

    def __init__(self, schema: Schema):
        self.schema = schema
        self.used = [(k, c) for k, c in enumerate(schema.columns) if c in schema.inputs or c.name == schema.target]
        self.value_of = {k: field_value(c, schema) for k, c in self.used}
        n, names = schema.n, [c.name for _, c in self.used]
        #: numbers of the fields: of a column of levels the place of the level
        self.values = np.zeros((len(names), n))
        self.unfit = np.zeros((len(names), n), dtype=bool)
        self.empty = np.ones(n, dtype=bool)
        classes = [_TEXT] * 256
        for text, what in (
            (bytes([*range(32), 127, ord('"')]), _ODD), (b"0123456789", _DIGIT), (b"+-", _SIGN), (b"eE", _EXPONENT),
            (b"\n", _END), (schema.decimal.encode(), _POINT), (schema.separator.encode(), _SEPARATOR),
        ):  # fmt: skip
            for byte in text:
                classes[byte] = what
        #: byte -> its class, and -> the classes that may follow it
        self.classes, self.next = bytes(classes), bytes(_FOLLOWS[c] for c in classes)
        self.is_number = np.array([c.kind == NUMBER and (k, c) in self.used for k, c in enumerate(schema.columns)])

    def take(self, block: bytes, start: int) -> int:
        """Read whole lines, of which the first is the row ``start``. Returns the row after the last."""
        plain = self._plain(block)
        whole, stop = start + len(plain) <= self.schema.n, min(start + len(plain), self.schema.n)
        if whole and plain.all() and self._fast(block, plain, start):
            return stop
        plain = plain[: stop - start]
        lines = block.split(b"\n")[: stop - start]
        some = b"\n".join(line for line, ok in zip(lines, plain, strict=True) if ok)
        if not (plain.any() and self._fast(some, plain, start)):
            plain = np.zeros(len(lines), dtype=bool)
        separator, width = self.schema.separator.encode(), len(self.schema.columns)
        for i in np.flatnonzero(~plain):
            record = fields(lines[i], separator, width)
            self.empty[start + i] = record is None
            for j, (k, _) in enumerate(self.used if record else ()):
                self.values[j, start + i], self.unfit[j, start + i] = self.value_of[k](record[k])
        return stop

    def _plain(self, block: bytes) -> np.ndarray:
        """Whether pandas reads each line of a block as :func:`fields` and :func:`field_value` do.

        Such a line has no quote, no control character and the right number of fields, and its numbers begin and end
        with digits. What is left to fail, such as two decimal points, pandas refuses.
        """
        what = np.frombuffer(block.translate(self.classes), np.uint8)
        stops = np.flatnonzero((what & (_SEPARATOR | _END)) != 0)
        last = np.flatnonzero(what[stops] == _END)
        first = np.concatenate([[0], last[:-1] + 1])
        width = len(self.schema.columns)
        if self.schema.separator in (" ", self.schema.decimal) or width == 1:
            return np.zeros(len(last), dtype=bool)
        plain = (last - first + 1 == width) & (np.diff(stops[last], prepend=-1) <= MOST_BYTES)
        # the byte in front of the block ends a line
        follows = np.frombuffer((b"\n" + block[:-1]).translate(self.next), np.uint8)
        bad = (follows & what) == 0
        if not bad.any():
            return plain
        plain[np.searchsorted(stops[last], np.flatnonzero(what == _ODD))] = False
        # per field, whether one of its bytes may not be where it is, if the field is a number
        wrong = np.logical_or.reduceat(bad, np.concatenate([[0], stops[:-1] + 1]))
        found = np.flatnonzero(plain)
        fields = wrong[first[found][:, None] + np.flatnonzero(self.is_number)]
        plain[found[fields.any(axis=1)]] = False
        return plain

    def _fast(self, block: bytes, plain: np.ndarray, start: int) -> bool:
        """Read a block of the plain lines by pandas. Returns whether it could."""
        import pandas as pd  # heavy, and this module is imported by every list of data sets

        kinds = {k: np.float64 if c.kind == NUMBER else object for k, c in self.used}
        try:
            frame = pd.read_csv(
                io.BytesIO(block), header=None, names=range(len(self.schema.columns)), usecols=[*kinds],
                dtype=kinds, sep=self.schema.separator, decimal=self.schema.decimal, quoting=csv.QUOTE_NONE,
                na_filter=False, skip_blank_lines=False, encoding="latin-1", low_memory=False,
            )  # fmt: skip
        except ValueError:
            return False
        at = start + np.flatnonzero(plain)
        for j, (k, column) in enumerate(self.used):
            if column.kind == NUMBER:
                found = frame[k].to_numpy()
                self.values[j, at] = found
                for i in np.flatnonzero(~np.isfinite(found)):
                    self.values[j, at[i]], self.unfit[j, at[i]] = self.value_of[k](b"inf")
            else:
                codes, texts = pd.factorize(frame[k])
                values, unfit = np.array([self.value_of[k](text.encode("latin-1")) for text in texts], float).T
                self.values[j, at], self.unfit[j, at] = values[codes], unfit[codes] != 0
        self.empty[at] = False
        return True

    def rows(self) -> Rows:
        schema, empty = self.schema, self.empty
        for j, (_, column) in enumerate(self.used):
            if column.default == EMPTY or column.name == schema.target:
                empty = empty | self.unfit[j]
        x, y = np.zeros((schema.n, len(schema.coded))), np.zeros(schema.n)
        replaced, names, at = [], [], 0
        for j, (_, column) in enumerate(self.used):
            if column.name == schema.target:
                y[:] = self.values[j]
                continue
            if column.kind == LEVELS:
                level = self.values[j].astype(np.int64)
                coded = np.flatnonzero(level)
                x[coded, at + level[coded] - 1] = 1.0
            else:
                x[:, at] = self.values[j]
            at += len(column.coded)
            replaced.append(self.unfit[j])
            names.append(column.name)
        x[empty], y[empty] = 0.0, 0.0
        if schema.target is not None:
            replaced.append(empty)
            names.append(schema.target)
        return Rows(x, y, empty, np.column_stack(replaced), tuple(names))


# ------------------------------------------------------------------------------------------------------ the file


def opened(path: Path) -> BinaryIO:
    """The file, to read. Raises TableError."""
    if not path.is_file():
        raise TableError(f"no file {path}; name a CSV file")
    try:
        return path.open("rb")
    except OSError as e:
        raise TableError(f"{path} cannot be read ({e.strerror}); name a file that you may read") from None


def first_line(file: BinaryIO) -> bytes:
    """The first line, without a byte-order mark. The file is then at its second line."""
    return file.readline().removeprefix(codecs.BOM_UTF8)


def header(file: BinaryIO, schema: Schema) -> list[str] | None:
    """The fields of the header line, or None if the file has none by the schema. The file is then at its first row."""
    if schema.header:
        return parsed(first_line(file), schema.encoding, schema.separator)
    if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        file.seek(0)
    return None


def parsed(line: bytes, encoding: str, separator: str) -> list[str]:
    """The fields of a public line as texts, [] if it is blank, cannot be decoded or has an open quote."""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return [field.decode(codec(encoding)) for field in fields(line, separator.encode(), None) or []]
    except UnicodeDecodeError:
        return []


def check_header(path: Path, found: list[str] | None, schema: Schema) -> None:
    """Raise :class:`Problems` unless the header line names the columns of the schema in their order."""
    names = [c.name for c in schema.columns]
    if found is None or found == names:
        return
    out = []
    if not found:
        out.append("its first line is no header: it is empty, has an open quote or another encoding than the schema")
    elif len(found) == 1 and len(names) > 1:
        out.append(f"its first line has one field, the schema {len(names)} columns; another separator, or no CSV file")
    if found and (missing := [n for n in names if n not in found]):
        out.append(f"its header line does not have {some(missing)}, which the schema has")
    # a first line without any known name may be a private row, and is not shown
    if any(n in names for n in found) and (more := [n for n in found if n not in names]):
        out.append(f"the schema does not have {some(more)}, which the header line has; state the kind, or 'left out'")
    if not out:
        out.append("the header line has the columns of the schema in another order, or one of them twice")
    raise Problems(path, out)


def fields(line: bytes, separator: bytes, width: int | None) -> list[bytes] | None:
    """The fields of one line, without quotes around them. None if it is blank, too long, or has an open quote.

    With ``width``, also None for another number of fields.
    """
    if len(line) > MOST_BYTES or not line.strip():
        return None
    if b'"' in line:
        try:
            # each byte is one character, so that no byte can be wrong here
            made = csv.reader(
                [line.decode("latin-1")], delimiter=separator.decode(), skipinitialspace=True, strict=True
            )
            found = [field.encode("latin-1") for field in next(made)]
        except csv.Error:
            return None
    else:
        found = line.split() if separator == b" " else line.split(separator)
    if width is None:
        return [field.strip(_BLANK) for field in found]
    return found if len(found) == width else None


# ------------------------------------------------------------------------------------------------------- a field


def field_value(column: Column, schema: Schema) -> Callable[[bytes], tuple[float, bool]]:
    """A function: one field -> its number, and whether it did not fit.

    The number of a level is its place. A field that does not fit has the number of the default, or 0 without one.
    """
    name = codec(schema.encoding)
    place = {level: float(k) for k, level in enumerate(column.all_levels)}
    if column.kind == LEVELS:
        default = place.get(column.default, 0.0)
        place = {level: place[level] for level in column.levels}
    elif column.kind == BOOLEAN:
        default = float(column.default == "true")
    else:
        default = float(column.default) if column.default not in ("", EMPTY) else 0.0
    absent = float(column.all_levels.index(ABSENT)) if column.missing == ABSENT else None

    def number(field: bytes) -> tuple[float, bool]:
        text = field.strip(_BLANK)
        if schema.decimal == ",":
            text = text.replace(b".", b"x").replace(b",", b".")
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        return (value, False) if math.isfinite(value) else (default, True)

    def word(field: bytes) -> tuple[float, bool]:
        try:
            text = field.strip(_BLANK).decode(name)
        except UnicodeDecodeError:
            return default, True
        if column.kind == BOOLEAN:
            known = text.lower() in _YES or text.lower() in _NO
            return (float(text.lower() in _YES), False) if known else (default, True)
        if (found := place.get(text)) is not None:
            return found, False
        if absent is not None and text.lower() in MISSING:
            return absent, False
        return default, True

    return number if column.kind == NUMBER else word
