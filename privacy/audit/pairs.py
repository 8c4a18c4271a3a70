"""Hard pairs of neighbouring data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from privacy.ledger import Relation

ROWS: dict[str, Callable[[np.ndarray, float], tuple[np.ndarray, float]]] = {
    "as it is": lambda x, y: (x, y),
    "outlier x 1e6": lambda x, y: (x * 1e6 + 1e6, y),
    "negated": lambda x, y: (-x, -y),
    "zeros": lambda x, y: (np.zeros_like(x), 0.0),
    "extreme target": lambda x, y: (x, 1e6),
    "extreme negative target": lambda x, y: (x, -1e6),
}


def with_row(task, i: int, x: np.ndarray, y: float | None):
    """The task with row ``i`` replaced and ``public`` unchanged."""
    rows = np.array(task.x)
    rows[i] = x
    if task.y is None:
        return replace(task, x=rows)
    targets = np.array(task.y)
    targets[i] = y
    return replace(task, x=rows, y=targets)


def with_last_row(task, x: np.ndarray, y: float | None):
    """The task with its last row replaced and ``public`` unchanged."""
    return with_row(task, -1, x, y)


def first_rows(task, n: int):
    """The first ``n`` rows of the task, with ``public`` unchanged."""
    return replace(task, x=task.x[:n], y=None if task.y is None else task.y[:n])


def neighbours(task, relation: Relation) -> Iterator[tuple[str, Any, Any]]:
    """(name, D, D') of a fixed list of hard pairs that differ in the last row. ``public`` is the same in both.

    Under ADD_REMOVE, D has the altered row and D' lacks it. Under REPLACE_ONE, D has the row as it is and D' has the
    altered one. The last pairs have one row. Under ADD_REMOVE they have two rows and one, because a task needs a row.
    """
    few = 2 if relation is Relation.ADD_REMOVE else 1
    alone = replace(first_rows(task, few), public=replace(task.public, n=few))
    for base, tag in ((task, ""), (alone, " (n = 1)")):
        x, y = np.array(base.x[-1]), None if base.y is None else float(base.y[-1])
        altered = {name: with_last_row(base, *f(x, 0.0 if y is None else y)) for name, f in ROWS.items()}
        altered["duplicate"] = with_last_row(base, base.x[0], None if y is None else float(base.y[0]))
        if relation is Relation.REPLACE_ONE:
            altered.pop("as it is")
        for name, d in altered.items():
            if tag and name not in ("as it is", "outlier x 1e6"):
                continue
            if relation is Relation.ADD_REMOVE:
                yield name + tag, d, first_rows(d, d.n - 1)
            else:
                yield name + tag, base, d


def neighbour_pairs(task, relation: Relation):
    """A Hypothesis strategy of (D, D'): the last row has any numbers up to 1e9, and is then removed or replaced."""
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    # float32 keeps squares of the drawn numbers finite; another test covers overflow inside a model
    number = st.floats(-1e9, 1e9, allow_nan=False, width=32)
    width = task.x.shape[1]
    row = hnp.arrays(np.float64, (width,), elements=number)

    def pair(x, y, other_x, other_y):
        d = with_last_row(task, x, y)
        if relation is Relation.ADD_REMOVE:
            return d, first_rows(d, d.n - 1)
        return d, with_last_row(d, other_x, other_y)

    return st.builds(pair, row, number, row, number)


def with_altered_row(task, i: int, name: str = "negated"):
    """The task with row ``i`` altered as in ``ROWS``."""
    return with_row(task, i, *ROWS[name](np.array(task.x[i]), 0.0 if task.y is None else float(task.y[i])))
