"""The split with which a data set was published. Indices are int64.

Every index has the same training and test rows. A further index is a further run with its own seeds, not a new split.
"""

from __future__ import annotations

import numpy as np

OVERLAP = 0.0
#: data set -> number of leading rows that train. The rest are test rows.
TRAIN = {"mnist_digits": 60_000}


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows, the same at every ``index`` (0, 1, ...).

    Raises ValueError for a data set without an official split, a table without test rows or a negative index.
    """
    if name not in TRAIN:
        raise ValueError(f"{protocol}: no official split of '{name}' is known; known: {', '.join(TRAIN)}")
    if n <= TRAIN[name]:
        raise ValueError(f"{protocol} of '{name}': {n} rows; the first {TRAIN[name]} train, so give more")
    if index < 0:
        raise ValueError(f"{protocol} of '{name}': index = {index}; runs count from 0")
    rows = np.arange(n, dtype=np.int64)
    return rows[: TRAIN[name]], rows[TRAIN[name] :]
