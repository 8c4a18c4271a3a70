"""Rows of a data frame or an array by a public schema: each row maps alone to numbers.

The declared kind of a column decides, never the type of the array: one None turns whole numbers into fractions, and one
text turns a column into objects. Each value is therefore read by itself, as :mod:`datasets.records` reads a field. A
number is read as the double nearest to it, of any type. None, NaN, NaT, ``pandas.NA`` and a masked value are a missing
field.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np

from datasets.records import Rows, _Made, field_value
from datasets.schema import NUMBER, Column, Schema, codec, some

#: from here on, a double does not hold each whole number.
_WHOLE = 2.0**53


def faults(X: Any, y: Any, schema: Schema) -> list[str]:
    """Everything that is wrong with the containers, by their shapes and the names of columns. No value is read."""
    if hasattr(X, "toarray"):
        return ["X is a sparse matrix; give X.toarray(), or a data frame"]
    named, out = [c.name for c in schema.inputs], []
    if hasattr(X, "columns"):
        names = [str(c) for c in X.columns]
        known = [c.name for c in schema.columns]
        wanted = named if y is not None or schema.target is None else [*named, schema.target]
        if twice := [n for n, count in Counter(names).items() if count > 1]:
            out.append(f"X has several columns of the name {some(twice)}; give each a name of its own")
        if missing := [n for n in wanted if n not in names]:
            out.append(f"X has no column {some(missing)}, which the schema has")
        if more := [n for n in names if n not in known]:
            out.append(f"the schema has no column {some(more)}, which X has; state its kind, or 'left out'")
    elif y is None and schema.target is not None:
        out.append("y is None; give the target, or a data frame X that has it")
    elif (shape := np.shape(_objects(X)))[1:] != (len(named),):
        out.append(f"X has the shape {shape}; give one column for each of {some(named)}, in this order")
    if y is not None and (len(shape := np.shape(_objects(y))) != 1 or shape[0] != len(X)):
        out.append(f"y has the shape {shape}; X has {len(X)} rows, so give ({len(X)},)")
    return out


def rows_of(X: Any, y: Any, schema: Schema) -> Rows:
    """The rows of X and y by the schema, ``schema.n`` of them. Call :func:`faults` before.

    Parameters
    ----------
    X : a data frame with the inputs by name, or (rows, inputs) in the order of the schema.
    y : (rows,) targets; None if X is a data frame that has them, and for density.

    Rows beyond ``schema.n`` are left out, and missing ones are empty.
    """
    made = _Made(schema)
    m, frame = min(schema.n, len(X)), hasattr(X, "columns")
    if frame:
        X = X.set_axis([str(c) for c in X.columns], axis=1)
    elif type(X) is not np.ndarray:
        X = _objects(X)
    made.empty[:m] = False
    at = 0
    for j, (_, column) in enumerate(made.used):
        if column.name == schema.target and y is not None:
            values = y
        else:
            values = X[column.name] if frame else X[:, at]
            at += 1
        values = values.iloc[:m] if hasattr(values, "iloc") else values[:m]
        made.values[j, :m], made.unfit[j, :m] = _column(values, column, schema)
    return made.rows()


def _column(values: Any, column: Column, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """The number of each value, and whether it did not fit, by this column of the schema."""
    if column.kind == NUMBER and not np.ma.isMaskedArray(values):
        kind = getattr(getattr(values, "dtype", None), "kind", "O")
        # the types of NumPy, whose numbers are read as one by one below, but at once
        if kind in "biuf" and isinstance(getattr(values, "dtype", None), np.dtype):
            found = np.array(values, dtype=np.float64)
            default, _ = value_of(column, schema)(None)
            unfit = ~np.isfinite(found)
            return np.where(unfit, default, found), unfit
    read = value_of(column, schema)
    pairs = [read(v) for v in _objects(values)]
    found = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1] != 0


def _objects(values: Any) -> np.ndarray:
    """The values as objects, each of them as it is. A masked value is None."""
    if np.ma.isMaskedArray(values):
        return np.ma.filled(values.astype(object), None)
    if hasattr(values, "to_numpy"):
        return values.to_numpy(dtype=object)
    return np.array(values, dtype=object)


def value_of(column: Column, schema: Schema) -> Callable[[Any], tuple[float, bool]]:
    """A function: one value of Python -> its number, and whether it did not fit, as ``records.field_value``.

    A number is read for levels as a text: a whole one without a point if that is a level, otherwise as Python writes
    it. A value that is neither a number, a text nor missing does not fit.
    """
    of_field, name = field_value(column, schema), codec(schema.encoding)
    never = of_field(b"\x00")  # no level and no number has such a byte
    levels = {*column.levels}

    def read(value: Any) -> tuple[float, bool]:
        if value is None or _is_missing(value):
            return of_field(b"")
        if isinstance(value, Complex | Decimal):
            number = _double(value)
            if column.kind == NUMBER:
                return never if number is None else (number, False)
            if number is None:
                return never
            if isinstance(value, bool | np.bool_):
                value = str(bool(value))
            else:
                whole = str(int(number)) if number.is_integer() and abs(number) < _WHOLE else ""
                value = repr(number) if not whole or (repr(number) in levels and whole not in levels) else whole
        if isinstance(value, str):
            try:
                value = value.encode(name)
            except UnicodeEncodeError:
                return never
        return of_field(value) if isinstance(value, bytes) else never

    return read


def _is_missing(value: Any) -> bool:
    """Whether it is pandas' NA or NaT, NaN, or NumPy's NaT."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and math.isnan(value)


def _double(value: Any) -> float | None:
    """The finite double nearest to a number, or None."""
    try:
        if not isinstance(value, Real | Decimal):
            value = value.real if value.imag == 0 else math.nan
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        return None
    return number if math.isfinite(number) else None
