"""Ten folds as a function of the number of rows: the cross-validation of Wang (2018). Indices are int64.

The generator is the one of Matlab before 2008, the multiplicative congruential one of Park and Miller. It follows the
seed that the paper's preparation scripts set:

    z_k = 16807 z_{k-1} mod (2^31 - 1),  z_0 = ``STATE``

The first n numbers order the rows. For tables that are used unshuffled, these numbers are drawn but not used. The next
n numbers assign the fold labels 2, 3, ..., 10, 1, 2, ... to the positions. ``STATE`` was found by a search for the
published test masks.
"""

from __future__ import annotations

import numpy as np

FOLDS = 10
STATE = 111_181_825
_MULTIPLIER, _MODULUS = 16_807, 2**31 - 1
#: tables whose positions are the rows of the file: three unshuffled ones, and gas, whose copy is already shuffled by
#: this rule.
IN_FILE_ORDER = frozenset({"concrete", "concreteslump", "gas", "parkinsons"})


def stream(count: int) -> np.ndarray:
    """The first ``count`` numbers z_1, z_2, ... of the generator, int64."""
    out = np.empty(count, dtype=np.int64)
    state = STATE
    for i in range(count):
        state = state * _MULTIPLIER % _MODULUS
        out[i] = state
    return out


def order_and_folds(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows (n,) and the fold 1..10 of each position of that order (n,)."""
    numbers = stream(2 * n)
    order, dealt = np.argsort(numbers[:n]), np.argsort(numbers[n:])
    return order, (1 + np.arange(1, n + 1) % FOLDS)[dealt]


def folds(name: str, n: int) -> np.ndarray:
    """Fold 1..10 of each row (n,), with rows in the order of the raw file."""
    order, of_position = order_and_folds(n)
    if name in IN_FILE_ORDER:
        return of_position
    out = np.empty(n, dtype=np.int64)
    out[order] = of_position
    return out


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of fold ``index`` + 1. Raises ValueError below 10 rows or for an index outside 0..9."""
    if n < FOLDS or not 0 <= index < FOLDS:
        raise ValueError(f"{protocol} of '{name}': fold {index} of a table of {n} rows; there are {FOLDS}, from 0")
    of_row = folds(name, n)
    return np.flatnonzero(of_row != index + 1), np.flatnonzero(of_row == index + 1)
