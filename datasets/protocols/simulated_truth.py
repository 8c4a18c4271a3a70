"""Blocks of simulated data sets that contain their true parameter: rows to fit, then the parameter in the targets.

A replicate is TRAIN rows and then D rows, whose targets are the coordinates of the true parameter theta (inputs 0). The
D rows are the test rows of the replicate. No method sees them, and scoring reads theta from their targets. Every table
has REPLICATES blocks. So the size of a block, and D, follow from the number of rows of the table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from datasets.base import DataSet, Table

TRAIN, REPLICATES = 5000, 500
#: the coverage of the true parameters is computed from all replicates together.
POOLED = True


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit of replicate ``index``, and those with its theta. Raises ValueError for another table."""
    block = n // REPLICATES
    if n % REPLICATES or block <= TRAIN or not 0 <= index < REPLICATES:
        raise ValueError(
            f"{protocol} of '{name}': replicate {index} of a table of {n} rows; there are {REPLICATES} of more than "
            f"{TRAIN} rows each"
        )
    rows = np.arange(index * block, (index + 1) * block, dtype=np.int64)
    return rows[:TRAIN], rows[TRAIN:]


def table(
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray | None, np.ndarray]],
    columns: tuple[str, ...],
    rng: np.random.Generator,
) -> Table:
    """The table of REPLICATES blocks one after the other.

    ``draw``: function rng -> x (TRAIN, d), y (TRAIN,) or None, theta (D,) of one block.
    """
    xs, ys = [], []
    for _ in range(REPLICATES):
        x, y, theta = draw(rng)
        xs += [x, np.zeros((len(theta), x.shape[1]))]
        ys += [np.zeros(len(x)) if y is None else y, theta]
    return Table(np.concatenate(xs), np.concatenate(ys), columns)


def describe(
    name: str,
    title: str,
    columns: tuple[str, ...],
    dimension: int,
    generate: Callable[[np.random.Generator], Table],
    table_sha256: str,
    target: str = "",
) -> DataSet:
    """The data set of one simulated model. ``target``: its name, if the rows have a target that methods see."""
    return DataSet(
        name=name,
        title=title,
        n_rows=REPLICATES * (TRAIN + dimension),
        n_inputs=len(columns),
        columns=columns,
        target=target or "true parameter",
        unit="",
        licence="made by this project",
        doi="",
        generate=generate,
        x_bounds=(None,) * len(columns),
        n_splits=REPLICATES,
        table_sha256=table_sha256,
        kind="simulated",
        task="regression" if target else "density",
    )
