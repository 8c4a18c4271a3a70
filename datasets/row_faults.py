"""Faults of the rows of a file by its schema, as counts by column and kind. No value of a row is in them.

These counts follow from the rows. If the rows are private, only their owner may see the counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from datasets import records
from datasets.records import MISSING
from datasets.schema import LEFT_OUT, NUMBER, Column, Schema, codec, shown

_BY_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_BY_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")


def of(path: Path, schema: Schema) -> list[str]:
    """One sentence per fault: of the file, then of each column. Raises TableError like ``records.read``."""
    used = [(k, c) for k, c in enumerate(schema.columns) if c.kind != LEFT_OUT]
    value_of = {k: records.field_value(c, schema) for k, c in used}
    bad: dict[int, Counter[str]] = {k: Counter() for k, _ in used}
    first = {k: 0 for k, _ in used}
    thousands = {k: True for k, c in used if c.kind == NUMBER}
    lines, quotes, broken, row = 0, 0, [], 0
    separator = schema.separator.encode()
    for row, line in enumerate(_lines(path, schema), start=1):
        if row > schema.n:
            continue
        lines += 1
        quotes += line.count(b'"') % 2
        record = records.fields(line, separator, len(schema.columns))
        if record is None:
            broken.append(row)
            continue
        for k, column in used:
            _, unfit = value_of[k](record[k])
            if unfit:
                bad[k][_why(record[k], column, schema)] += 1
                first[k] = first[k] or row
            elif k in thousands:
                thousands[k] = thousands[k] and _THOUSANDS.fullmatch(record[k].decode("latin-1").strip()) is not None
    out = []
    if row != schema.n:
        out.append(f"the file has {row} rows, the schema {schema.n}; missing ones are empty rows, others are ignored")
    if broken:
        out.append(
            f"{len(broken)} of {lines} lines ({len(broken) / lines:.2%}) are blank, too long, have an open quote or "
            f"not {len(schema.columns)} fields: first row {broken[0]}"
        )
    if quotes:
        out.append(f"{quotes} of {lines} lines ({quotes / lines:.2%}) have an odd number of quotes")
    for k, column in used:
        if count := bad[k].total():
            kinds = ", ".join(f"{number} {kind}" for kind, number in bad[k].most_common())
            out.append(
                f"column '{shown(column.name)}': {count} of {lines} fields ({count / lines:.2%}) do not fit: {kinds}; "
                f"first row {first[k]}"
            )
        elif thousands.get(k) and lines > len(broken):
            out.append(f"column '{shown(column.name)}': each number may have a sign of thousands, as in 1.234")
    return out


def _lines(path: Path, schema: Schema) -> Iterator[bytes]:
    with records.opened(path) as file:
        records.check_header(path, records.header(file, schema), schema)
        for line in file:
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def _why(field: bytes, column: Column, schema: Schema) -> str:
    """The kind of a field that does not fit, in words."""
    try:
        text = field.decode(codec(schema.encoding)).strip()
    except UnicodeDecodeError:
        return f"not in {schema.encoding}"
    if text.lower() in MISSING:
        return "missing"
    if column.kind != NUMBER:
        if text.lower() in (level.lower() for level in column.levels):
            return "differ from a level in upper and lower case only"
        return "not listed as a level" if column.levels else "neither true nor false"
    if (_BY_COMMA if schema.decimal == "." else _BY_POINT).fullmatch(text):
        return f"with a {'comma' if schema.decimal == '.' else 'point'}, which is not the decimal sign"
    return "no number"
