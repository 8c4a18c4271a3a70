"""Blocks of rows, so that arrays computed from the rows stay small, however many rows there are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: rows of a block; more than any data set of the common tasks has, so that their sums are the plain ones to the digit.
ROWS = 100_000


def total(term: Callable[..., np.ndarray], *arrays: np.ndarray, rows: int = ROWS) -> np.ndarray:
    """``term(*arrays)`` of a ``term`` that is a sum over rows, made block by block.

    ``arrays``: each with n rows. Raises what ``term`` raises. With at most ``rows`` rows it is ``term(*arrays)``; with
    more it differs from that by rounding.
    """
    found = term(*(a[:rows] for a in arrays))
    for start in range(rows, len(arrays[0]), rows):
        found = found + term(*(a[start : start + rows] for a in arrays))
    return found


def numbers(number: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rows: int = ROWS) -> np.ndarray:
    """``number(x)``, (n,), of a function that takes every row of x (n, d) for itself, made block by block."""
    return np.concatenate([number(x[start : start + rows]) for start in range(0, max(len(x), 1), rows)])


def each(image: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rows: int = ROWS) -> np.ndarray:
    """``image(x)`` of a function that takes every row of x (n, d) for itself, to a row as long, made block by block."""
    out = np.empty_like(x)
    for start in range(0, len(x), rows):
        out[start : start + rows] = image(x[start : start + rows])
    return out
