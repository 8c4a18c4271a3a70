"""Rows of a fold, centred and normalised as in the authors' code, and the sums that a fit reads.

A fold is a permutation of the 1,000 rows. The first 100 are test rows. The next 800 are the private pool, of which a
setting uses the first n. The ten after them are public. Each of the three parts is centred by its own column means. Its
rows are then divided by their norms, and its target is centred by its own mean. So 500 private rows are centred by a
private mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import datasets
from datasets.base import Table
from datasets.fetch import build, fetch
from papers.honkela2018robust import streams

FOLDS = 50
ROWS, INPUTS = 1000, 10
TEST, POOL, PUBLIC = 100, 800, 10


def load(mirror: str | None, raw: str | Path = "results/raw") -> Table:
    """The simulated table. Raises DataError."""
    known = datasets.get("honkela2018")
    return build(known, fetch(known, mirror, raw))[0]


def normalised(x: np.ndarray) -> np.ndarray:
    """Columns minus their means, then rows divided by their norms. An empty table (0, d) is unchanged."""
    if not len(x):
        return x
    x = x - x.mean(axis=0)
    return x / np.sqrt(np.sum(x**2, axis=1, keepdims=True))


def centred(y: np.ndarray) -> np.ndarray:
    return y - y.mean() if len(y) else y


@dataclass(frozen=True)
class Moments:
    """The sums that a fit reads: X'X (d, d), X'y (d,) and y'y, and the number of rows."""

    gram: np.ndarray
    cross: np.ndarray
    square: float
    n: int

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Moments:
        return cls(x.T @ x, x.T @ y, float(y @ y), len(y))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.gram + other.gram, self.cross + other.cross, self.square + other.square, self.n + other.n)

    @property
    def d(self) -> int:
        return len(self.cross)


@dataclass(frozen=True)
class Fold:
    """Rows of a fold in the table's units: inputs (m, d) and targets (m,) of test, private pool and public rows."""

    index: int
    x_test: np.ndarray
    y_test: np.ndarray
    x_pool: np.ndarray
    y_pool: np.ndarray
    x_public: np.ndarray
    y_public: np.ndarray

    def generator(self) -> np.random.RandomState:
        """The legacy generator of the fold, after the permutation."""
        rng = streams.fold_generator(self.index)
        rng.permutation(ROWS)
        return rng

    def private(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The first n private rows, centred and normalised as in the authors' code."""
        return normalised(self.x_pool[:n]), centred(self.y_pool[:n])

    @cached_property
    def public(self) -> tuple[np.ndarray, np.ndarray]:
        return normalised(self.x_public), centred(self.y_public)

    @cached_property
    def test(self) -> np.ndarray:
        """Inputs of the test rows, centred and normalised as in the authors' code."""
        return normalised(self.x_test)


def fold(table: Table, index: int) -> Fold:
    order = streams.fold_generator(index).permutation(len(table.y))
    parts = np.split(order, np.cumsum([TEST, POOL, PUBLIC]))[:3]
    return Fold(index, *(a[rows] for rows in parts for a in (table.x, table.y)))


def folds(table: Table) -> list[Fold]:
    return [fold(table, index) for index in range(FOLDS)]


def clipped(x: np.ndarray, bound: float) -> np.ndarray:
    return np.clip(x, -bound, bound)


def spearman(prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rank correlation (...,) of each row of ``prediction`` (..., m) with ``y`` (m,). Neither may have ties."""
    m = len(y)
    ranks = np.argsort(np.argsort(y))
    order = np.argsort(prediction, axis=-1)
    product = ranks[order] @ np.arange(m)
    # sum of squared differences of ranks
    squares = m * (m - 1) * (2 * m - 1) // 3 - 2 * product
    return 1 - 6 * squares / (m * (m * m - 1))
