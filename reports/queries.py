"""One query against a table: which rows, what is taken of them, and how it is written.

A table is a data frame whose every column is text; it is had by name from a function (:data:`Read`), once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from evaluation.summary import mean_std

#: name -> table, every column text. Raises :class:`QueryError` or FileNotFoundError where there is none.
Read = Callable[[str], pd.DataFrame]

FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda v: mean_std(v)[0],
    "sd": lambda v: mean_std(v)[1],
    "min": min,
    "max": max,
    "median": lambda v: float(np.median(v)),
    "sum": sum,
}


class QueryError(ValueError):
    """A query that cannot be read, or that no row or several rows answer."""


@dataclass(frozen=True)
class Query:
    """``where``: column -> exact text, which may be empty. ``below``: column -> number that its number is less than.

    ``take``: a column (exactly one row must answer), ``count(column)`` of rows (may be 0), ``list(column)``, the
    distinct words joined ("none" where there is no row), or a function of :data:`FUNCTIONS` of the numbers of a column
    (at least one row, every value a number). ``format``: a Python format of the number; "" for text as it stands.
    """

    table: str
    take: str
    where: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, str] = field(default_factory=dict)
    format: str = ""

    def __str__(self) -> str:
        asked = [f"{c}={v}" for c, v in self.where.items()] + [f"{c}<{v}" for c, v in self.below.items()]
        return f"{self.table}{' where ' if asked else ''}{' and '.join(asked)} | {self.take} | {self.format}"


class Tables:
    """Answers queries; each table is read once, and each of its columns turned into codes, or numbers, once."""

    def __init__(self, read: Read):
        self._read = read
        self._frames: dict[str, pd.DataFrame] = {}
        self._codes: dict[tuple[str, str], tuple[np.ndarray, dict[str, int]]] = {}
        self._numbers: dict[tuple[str, str], np.ndarray] = {}

    def answer(self, query: Query) -> str:
        """The formatted value. Raises :class:`QueryError`, which names the query."""
        try:
            return self._answer(query)
        except ValueError as e:
            raise QueryError(f"{query}: {e}") from None

    def rows(self, table: str, /, **where: str) -> list[dict[str, str]]:
        """The rows that answer, for a text that loops over them."""
        return self._frame(table)[self._rows(Query(table, "", where))].to_dict("records")

    def value(self, table: str, column: str, form: str = "", /, **where: str) -> str:
        """The value of one row, formatted ("s": as it stands). Raises :class:`QueryError` unless one answers."""
        return self.answer(Query(table, column, where, format="" if form == "s" else form))

    def of(self, table: str, column: str, function: str, form: str, /, **where: str) -> str:
        """``function`` (of :data:`FUNCTIONS`) of a column over the rows that answer, formatted."""
        return self.answer(Query(table, f"{function}({column})", where, format=form))

    def _answer(self, query: Query) -> str:
        match = re.fullmatch(r"(\w+)\((\w+)\)|(\w+)", query.take)
        known = [*FUNCTIONS, "count", "list"]
        if not match or match[1] not in {None, *known}:
            raise QueryError(f"take a column, or one of {', '.join(known)}(column)")
        function, column = match[1], match[2] or match[3]
        values = self._column(query.table, column)[self._rows(query)].tolist()
        if function == "count":
            return format(len(values), query.format)
        if function == "list":
            return format(_joined(list(dict.fromkeys(values))), query.format)
        if not values:
            raise QueryError("no row answers")
        if function:
            if not query.format:
                raise QueryError(f"{query.take} needs a format")
            return format(FUNCTIONS[function]([_number(v) for v in values]), query.format)
        if len(values) > 1:
            raise QueryError(f"{len(values)} rows answer; add conditions, or take mean({column})")
        return format(_number(values[0]), query.format) if query.format else values[0]

    def _frame(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            try:
                self._frames[name] = self._read(name)
            except FileNotFoundError as e:
                raise QueryError(f"no table '{name}' ({e})") from None
        return self._frames[name]

    def _column(self, table: str, column: str) -> pd.Series:
        frame = self._frame(table)
        if column not in frame.columns:
            raise QueryError(f"no column '{column}'; columns are {', '.join(frame.columns)}")
        return frame[column]

    def _rows(self, query: Query) -> np.ndarray:
        """Mask of the rows that answer. Integer codes are compared, not text: tables have 10^5 rows."""
        mask = np.ones(len(self._frame(query.table)), dtype=bool)
        for column, value in query.where.items():
            if (query.table, column) not in self._codes:
                codes, words = pd.factorize(self._column(query.table, column))
                self._codes[query.table, column] = codes, {w: i for i, w in enumerate(words)}
            codes, known = self._codes[query.table, column]
            mask &= codes == known.get(value, -2)  # -1 is the code of a missing value
        for column, value in query.below.items():
            if (query.table, column) not in self._numbers:
                found = pd.to_numeric(self._column(query.table, column), errors="coerce")  # text is below no number
                self._numbers[query.table, column] = found.to_numpy(dtype=float)
            mask &= self._numbers[query.table, column] < _number(value)
        return mask


def _joined(words: list[str]) -> str:
    """ "a, b and c"; "none" without a word."""
    if len(words) < 2:
        return words[0] if words else "none"
    return ", ".join(words[:-1]) + " and " + words[-1]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise QueryError(f"'{text}' is not a number; add a condition such as status: ok") from None
    if math.isnan(value):
        raise QueryError("a value is missing")
    return value
