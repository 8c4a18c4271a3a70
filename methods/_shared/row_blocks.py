"""Computation in blocks of rows, so that arrays computed from the rows stay small for any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: rows of a block. No data set of the common tasks has more, so their sums equal those without blocks exactly.
ROWS = 100_000
#: rows of a block if there are many passes: arrays computed from them stay in the processor's cache.
CACHED = 8_000


def total(term: Callable[..., Any], *arrays: np.ndarray, batch: np.ndarray | None = None, rows: int = ROWS) -> Any:
    """``term(*arrays)`` computed block by block, for a ``term`` that is a sum over rows.

    ``arrays`` have n rows each. ``batch`` holds the row numbers to sum over, all if None. With at most ``rows`` rows
    the result is ``term(*arrays)``; with more it differs from that by rounding. Raises the errors of ``term``.
    """

    def block(start: int) -> Any:
        if batch is None:
            return term(*(a[start : start + rows] for a in arrays))
        # three times as fast as an index in brackets
        return term(*(a.take(batch[start : start + rows], axis=0) for a in arrays))

    return sum(map(block, range(rows, len(arrays[0] if batch is None else batch), rows)), block(0))


def gram(z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """sum of weight_n z_n z_n', (d, d), for rows z (n, d) and weights (n,) of at least 0."""

    def part(z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        root = z * np.sqrt(weight)[:, None]
        return root.T @ root

    return total(part, z, weight)


def numbers(number: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rows: int = ROWS) -> np.ndarray:
    """``number(x)``, (n,), computed block by block, for a function that treats every row of x (n, d) separately."""
    return np.concatenate([number(x[start : start + rows]) for start in range(0, max(len(x), 1), rows)])
