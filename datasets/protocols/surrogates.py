"""Synthetic tables of one size one after the other. Each is a block of rows to fit, then ``TEST`` new rows to test.

The rows of a block have one distribution. The data set states the number of blocks (``n_splits``). No two blocks share
a row.
"""

from __future__ import annotations

import numpy as np

import datasets

#: number of test rows in a block. They are synthetic and cost no privacy, so there are many.
TEST = 2000


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of block ``index``. Raises ValueError if the table has no such block."""
    blocks = datasets.get(name).n_splits
    block = n // blocks
    if n % blocks or block <= TEST or not 0 <= index < blocks:
        raise ValueError(f"{protocol} of '{name}': block {index} of a table of {n} rows; it states {blocks} blocks")
    rows = np.arange(index * block, (index + 1) * block, dtype=np.int64)
    return rows[:-TEST], rows[-TEST:]
