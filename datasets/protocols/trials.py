"""Independent series of Bernoulli trials one after the other in one table: the simulated data of Geumlek et al. 2017.

Each replicate is a block of TRAIN trials to fit and TEST new ones of the same distribution to score (section 5.1: 100
each). The paper's 10,000 repetitions are in ``rdp_figure2_heldout.csv``. These replicates run through the common
interface.
"""

from __future__ import annotations

import numpy as np

from datasets.base import DataSet, Table

TRAIN, TEST, REPLICATES = 100, 100, 50


def split(
    name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Train and test rows of replicate ``index``. Raises ValueError if the table has no such replicate."""
    block = TRAIN + TEST
    if n % block or not 0 <= index < n // block:
        raise ValueError(f"{protocol} of '{name}': replicate {index} of a table of {n} rows, {block} a replicate")
    rows = np.arange(index * block, (index + 1) * block, dtype=np.int64)
    return rows[:TRAIN], rows[TRAIN:]


def series(rng: np.random.Generator, rho: float) -> Table:
    """REPLICATES blocks of trials that are 1 with probability ``rho``. The target is empty (all 0)."""
    x = (rng.random((REPLICATES * (TRAIN + TEST), 1)) < rho).astype(np.float64)
    return Table(x, np.zeros(len(x)), ("trial",))


def bernoulli(name: str, rho: float, words: str, fingerprint: str) -> DataSet:
    """The data set of trials with probability ``rho`` (``words`` in its title)."""
    return DataSet(
        name=name,
        title=f"Bernoulli trials, rho = {words}",
        n_rows=REPLICATES * (TRAIN + TEST),
        n_inputs=1,
        columns=("trial",),
        target="none",
        unit="",
        licence="made by this project",
        doi="",
        generate=lambda rng: series(rng, rho),
        x_bounds=((0.0, 1.0),),
        bounds_citation="a Bernoulli trial is 0 or 1",
        n_splits=REPLICATES,
        table_sha256=fingerprint,
        kind="simulated",
        task="density",
    )
