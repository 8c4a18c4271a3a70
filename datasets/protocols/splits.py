"""Training and test rows of the literature's protocols, as functions of the number of rows. Indices are int64.

``literature``
    Hernandez-Lobato & Adams (2015) and later papers: independent random permutations from one legacy random stream
    per data set. They are not cross-validation folds, because test sets overlap.
``authors``
    The authors' code of Vinaroz & Park (2023): scikit-learn's ``train_test_split`` with seeds 1, 2, ...
``published_tail``
    YearPredictionMSD: the split that its page prescribes, the first 463,715 rows to train and the last 51,630 to test.
    So no artist is in both. The other two protocols use the same split for that data set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

Split = tuple[np.ndarray, np.ndarray]

PROTOCOLS = ("literature", "authors", "published_tail")
YEAR_TRAIN, YEAR_TEST = 463_715, 51_630
_ONE_PUBLISHED_SPLIT = frozenset({"year", "synthetic_year"})


def literature(n: int, count: int) -> list[Split]:
    """The first ``count`` splits of the literature for a table of n rows, in the order drawn.

    Each data set has one ``RandomState(1)``. Split i takes the stream's next ``choice(n, n, replace=False)``. Its first
    round(0.9 n) rows (half away from zero) train, and the rest test. Raises ValueError for n < 2 or count < 1.
    """
    _check(n, count >= 1, f"count = {count}; ask for at least 1 split")
    stream = np.random.RandomState(1)  # the published splits are defined by this legacy stream
    n_train = (18 * n + 10) // 20  # floor(0.9 n + 1/2) in whole numbers: no rounding error of 0.9
    splits = []
    for _ in range(count):
        order = stream.choice(n, n, replace=False).astype(np.int64)
        splits.append((order[:n_train], order[n_train:]))
    return splits


def authors(n: int, seed: int, authors_order: np.ndarray | None = None) -> Split:
    """``train_test_split(train_size=.9, test_size=.1, random_state=seed)`` of the row numbers, in the order drawn.

    Train rows are floor(0.9 n), test rows ceil(0.1 n). With ``authors_order`` (n,), the drawn numbers count rows in
    that order, and the result has rows of the table. Raises ValueError for n < 2, seed < 1 or an order of another
    length.
    """
    _check(n, seed >= 1, f"seed = {seed}; the runs use seeds 1, 2, ...")
    from sklearn.model_selection import train_test_split

    if authors_order is None or len(authors_order) == 0:
        rows = np.arange(n, dtype=np.int64)
    elif len(authors_order) == n:
        rows = np.asarray(authors_order, dtype=np.int64)
    else:
        raise ValueError(f"authors: authors_order has {len(authors_order)} rows, the table {n}; give one per row")
    train, test = train_test_split(rows, train_size=0.9, test_size=0.1, random_state=seed)
    return train, test


def published_tail(n: int) -> Split:
    """The first 463,715 rows to train, the last 51,630 to test. Raises ValueError unless n is their sum."""
    if n != YEAR_TRAIN + YEAR_TEST:
        raise ValueError(f"published_tail: n = {n}; this split is of the {YEAR_TRAIN + YEAR_TEST} rows of 'year' only")
    return np.arange(YEAR_TRAIN, dtype=np.int64), np.arange(YEAR_TRAIN, n, dtype=np.int64)


def split(name: str, protocol: str, n: int, index: int, authors_order: np.ndarray | None = None) -> Split:
    """Train and test rows of split ``index`` (0, 1, ...) of data set ``name`` with n rows under ``protocol``.

    Under ``authors`` the seed is index + 1. The data set 'year' has one split, the same at every index and under every
    protocol. Raises ValueError for an unknown protocol (and lists the known ones) or a negative index.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"unknown protocol '{protocol}'; there are {', '.join(PROTOCOLS)}")
    if index < 0:
        raise ValueError(f"split of '{name}': index = {index}; splits count from 0")
    if name in _ONE_PUBLISHED_SPLIT or protocol == "published_tail":
        return published_tail(n)
    if protocol == "literature":
        return literature(n, index + 1)[index]
    return authors(n, index + 1, authors_order)


def fingerprint(splits: Iterable[Split]) -> str:
    """sha256 over each split's train, then test indices as little-endian int64 (hexadecimal)."""
    digest = hashlib.sha256()
    for train, test in splits:
        digest.update(np.ascontiguousarray(train, dtype="<i8").tobytes())
        digest.update(np.ascontiguousarray(test, dtype="<i8").tobytes())
    return digest.hexdigest()


def _check(n: int, good: bool, message: str) -> None:
    if n < 2:
        raise ValueError(f"a split needs at least 2 rows; the table has {n}")
    if not good:
        raise ValueError(message)
