"""Random thirds for testing, as a pure function of the number of rows and the index. Indices are int64.

The sizes are those of Geumlek, Song & Chaudhuri 2017, with n / 3 test rows, rounded up: 1,393 of 4,177, 16,281 of
48,842, and 3,994 of 11,982. The paper's permutations are not known, nor whether each of its 50 repetitions drew a new
one. Here each index is a split of its own.
"""

from __future__ import annotations

import numpy as np

OVERLAP = 1 / 2


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of split ``index`` (0, 1, ...) of a table of n rows, both in increasing order.

    The first ceil(n / 3) rows of the permutation that ``RandomState(index)`` draws test, the rest train. The split
    depends only on n and the index. Test sets of two indices overlap. Raises ValueError for n < 2 or a negative index.
    """
    if n < 2:
        raise ValueError(f"{protocol} of '{name}': {n} rows; give at least 2")
    if index < 0:
        raise ValueError(f"{protocol} of '{name}': index = {index}; splits count from 0")
    order = np.random.RandomState(index).permutation(n).astype(np.int64)
    test = -(-n // 3)
    return np.sort(order[test:]), np.sort(order[:test])
