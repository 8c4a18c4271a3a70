"""Cross-validation folds, as a pure function of the number of rows. Indices are int64."""

from __future__ import annotations

import numpy as np

FOLDS = 10


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of fold ``index`` of 10 for a table of n rows.

    The rows are permuted once by ``RandomState(100)``. Park et al. 2017 give their code this seed, but their folds come
    from another generator and cannot be reproduced. The test rows of fold k are the positions k, k + 10, ... Test sets
    are disjoint and cover the table. Raises ValueError for a fold outside 0..9 or for n < 10.
    """
    if not 0 <= index < FOLDS:
        raise ValueError(f"{protocol} of '{name}': fold {index}; there are folds 0 to {FOLDS - 1}")
    if n < FOLDS:
        raise ValueError(f"{protocol} of '{name}': {n} rows; give at least {FOLDS}")
    order = np.random.RandomState(100).permutation(n).astype(np.int64)
    held_out = np.arange(n) % FOLDS == index
    return np.sort(order[~held_out]), np.sort(order[held_out])
