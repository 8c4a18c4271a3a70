"""Repetitions on one published split: the same rows at every index, so only the method's randomness varies."""

from __future__ import annotations

import numpy as np

OVERLAP = 0.0
#: data set -> number of leading rows that train. The rest are test rows.
TRAIN_ROWS = {"adult_complete": 30_162}


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows, the same for every ``index`` >= 0. Raises ValueError for a data set without such a split."""
    if name not in TRAIN_ROWS:
        raise ValueError(f"{protocol}: '{name}' has no published split; there are {', '.join(TRAIN_ROWS)}")
    train = TRAIN_ROWS[name]
    if index < 0 or not train < n:
        raise ValueError(f"{protocol} of '{name}': index {index} of a table of {n} rows, of which {train} train")
    return np.arange(train, dtype=np.int64), np.arange(train, n, dtype=np.int64)
