"""Texts whose numbers are read from tables when they are rendered: Jinja2 over pandas frames.

    {% set rmse = rows("scores/x.csv", metric="rmse", method="sep") %}
    On Wine the error is {{ rmse | where(dataset="wine") | mean("value") | to(".3f") }}.

``rows(table, column=word, ...)`` is a data frame of the rows with this word in that column, or with any word of a list.
All columns are text. The filters are :data:`FILTERS`. A Python function in the folder of the text computes what takes
more than a line (:mod:`reports.findings`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cache, partial

import jinja2
import numpy as np
import pandas as pd

from evaluation.summary import mean_std

#: the type of a reader: name -> table with text columns. It raises FileNotFoundError if there is none.
Read = Callable[[str], pd.DataFrame]


class FrameError(ValueError):
    """A number cannot be read from its table, or a template is not valid."""


class Frames:
    """Tables by name. Each is read once, and each compared column is factorised once."""

    def __init__(self, read: Read):
        self._read = read
        self._frames: dict[str, pd.DataFrame] = {}
        self._codes: dict[tuple[str, str], tuple[np.ndarray, dict[str, int]]] = {}

    def rows(self, table: str, /, **where: str | list[str]) -> pd.DataFrame:
        """The rows of a table whose columns have these words. Raises :class:`FrameError`."""
        if table not in self._frames:
            try:
                self._frames[table] = self._read(table)
            except FileNotFoundError as e:
                raise FrameError(f"no table '{table}' ({e})") from None
        frame = self._frames[table]
        mask = np.ones(len(frame), dtype=bool)
        for column, words in where.items():
            if (table, column) not in self._codes:  # comparing integers is faster, because tables have 10^5 rows
                codes, known = pd.factorize(_column(frame, column, table))
                self._codes[table, column] = codes, {w: i for i, w in enumerate(known)}
            codes, known = self._codes[table, column]
            mask &= np.isin(codes, [known[w] for w in _words(words) if w in known])
        return _asked(frame[mask], table, where)


def where(frame: pd.DataFrame, /, **where: str | list[str]) -> pd.DataFrame:
    """The rows whose columns have these words."""
    mask = np.ones(len(frame), dtype=bool)
    for column, words in where.items():
        mask &= _column(frame, column).isin(_words(words)).to_numpy()
    return _asked(frame[mask], _name(frame), where)


def below(frame: pd.DataFrame, column: str, limit: float) -> pd.DataFrame:
    """The rows with a number below a limit."""
    numbers = pd.to_numeric(_column(frame, column), errors="coerce").to_numpy()
    return _asked(frame[numbers < limit], _name(frame), {column: f"below {limit}"})


def one(frame: pd.DataFrame, column: str) -> str:
    """The text of a column in the only row."""
    values = _column(frame, column).tolist()
    if len(values) != 1:
        raise FrameError(f"{_name(frame)}: {len(values)} rows have a {column}; one must")
    return values[0]


def listed(frame: pd.DataFrame, column: str, empty: str | None = None) -> str:
    """The distinct words of a column as "a, b and c". If there is no row: ``empty`` if given, otherwise an error."""
    words = list(dict.fromkeys(_column(frame, column)))
    if not words and empty is None:
        raise FrameError(f"{_name(frame)}: no row to list the {column} of; write a sentence for that, or give `empty`")
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else (words or [empty])[0]


def numbers(frame: pd.DataFrame, column: str) -> list[float]:
    """The numbers of a column, of which there must be at least one."""
    values = _column(frame, column).tolist()
    if not values:
        raise FrameError(f"{_name(frame)}: no row has a {column}")
    try:
        values_read = [float(v) for v in values]
    except ValueError as e:
        raise FrameError(f"{_name(frame)}: {column}: {e}; add a condition such as status='ok'") from None
    if any(map(math.isnan, values_read)):
        raise FrameError(f"{_name(frame)}: a {column} is missing")
    return values_read


def interval(frame: pd.DataFrame, form: str = "+.3g") -> str:
    """``difference`` [``low``, ``high``] of the only row."""
    return "{} [{}, {}]".format(*(to(one(frame, c), form) for c in ("difference", "low", "high")))


def to(value: str | float, form: str) -> str:
    """A number, or its text, in a Python format."""
    try:
        return format(float(value), form)
    except ValueError as e:
        raise FrameError(f"to('{form}'): {e}") from None


def bound(value: str | float, up: bool, digits: int = 3) -> str:
    """A bound as text: rounded up for an upper bound and down for a lower one, to three digits."""
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(repr(number))
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR)):.{digits}g}"


#: name -> filter of templates for a frame or a number.
FILTERS: dict[str, Callable] = {
    "where": where,
    "below": below,
    "one": one,
    "listed": listed,
    "mean": lambda frame, column: mean_std(numbers(frame, column))[0],
    "sd": lambda frame, column: mean_std(numbers(frame, column))[1],
    "median": lambda frame, column: float(np.median(numbers(frame, column))),
    "least": lambda frame, column: min(numbers(frame, column)),
    "most": lambda frame, column: max(numbers(frame, column)),
    "total": lambda frame, column: sum(numbers(frame, column)),
    "interval": interval,
    "to": to,
    "at_least": partial(bound, up=False),
    "at_most": partial(bound, up=True),
    "records": lambda frame: frame.to_dict("records"),
}


def render(template: str, frames: Frames, **names: object) -> str:
    """Render a template. ``names`` are further names that it may use. Raises :class:`FrameError`."""
    try:
        return _environment().from_string(template).render(rows=frames.rows, **names)
    except jinja2.TemplateSyntaxError as e:
        raise FrameError(f"line {e.lineno} of the text: {e.message}") from None
    except (jinja2.UndefinedError, TypeError) as e:
        raise FrameError(str(e)) from None


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    made.filters |= FILTERS
    return made


def _words(words: str | list[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _column(frame: pd.DataFrame, column: str, name: str = "") -> pd.Series:
    if column not in frame.columns:
        raise FrameError(f"{name or _name(frame)}: no column '{column}'; columns are {', '.join(frame.columns)}")
    return frame[column]


def _asked(frame: pd.DataFrame, name: str, where: dict[str, object]) -> pd.DataFrame:
    """The frame with the conditions of its selection, for error messages."""
    frame.attrs["asked"] = ", ".join([name, *(f"{c}={w}" for c, w in where.items())])
    return frame


def _name(frame: pd.DataFrame) -> str:
    return frame.attrs.get("asked", "a table")
