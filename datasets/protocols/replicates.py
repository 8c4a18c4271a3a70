"""Replicates of a simulation study: independent data sets one after the other in one table.

Each replicate is a block of TRAIN rows to fit and TEST new rows of the same distribution to score.
"""

from __future__ import annotations

import numpy as np

TRAIN, TEST = 1000, 1000
OVERLAP = 0.0  # the data sets are independent


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of replicate ``index``. Raises ValueError if the table has no such replicate."""
    block = TRAIN + TEST
    if n % block or not 0 <= index < n // block:
        raise ValueError(f"{protocol} of '{name}': replicate {index} of a table of {n} rows, {block} a replicate")
    rows = np.arange(index * block, (index + 1) * block, dtype=np.int64)
    return rows[:TRAIN], rows[TRAIN:]
