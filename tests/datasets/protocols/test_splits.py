"""Splits against their published fingerprints; no data needed, they depend on the number of rows alone."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import datasets
from datasets.protocols import splits

# sha256 over train, then test indices (little-endian int64) of the literature's standard splits.
LITERATURE = {
    "naval": (11934, 20, 10741, "c85d2a484c787dc1b58edda317810c238c6a03a6683ca31017565d1ed7f10978"),
    "kin8nm": (8192, 20, 7373, "cc438ee541ed1c010a7a8ae6d5719ab0411d397421b7ee9c23262bbc44706eec"),
    "power": (9568, 20, 8611, "86afc4ab79af4eccfc740e8b1ac3557b96b2fb7cbfcaa62e10fe0fe3e9fb6522"),
    "wine": (1599, 20, 1439, "2321a34fc862e7f7c721e5732d84278e97b93432d6ae2c61f9cde20dbacd5819"),
    "protein": (45730, 5, 41157, "0abd139c01ad348d698d0db1eef0a6bbbe716b16a545026ee6c64cf9dc823f84"),
}
# Train and test sizes of the DP-SEP authors' program.
AUTHORS = {
    "naval": (11934, 10740, 1194),
    "kin8nm": (8192, 7372, 820),
    "power": (9568, 8611, 957),
    "wine": (1599, 1439, 160),
    "protein": (45730, 41157, 4573),
}


@pytest.mark.parametrize("name", LITERATURE)
def test_literature_fingerprint(name):
    n, count, n_train, expected = LITERATURE[name]
    found = splits.literature(n, count)
    assert datasets.get(name).n_rows == n
    assert datasets.get(name).n_splits == count
    assert {len(train) for train, _ in found} == {n_train}
    assert splits.fingerprint(found) == expected


def test_fingerprint_sees_the_order_of_rows():
    train, test = splits.literature(50, 1)[0]
    assert splits.fingerprint([(train, test)]) != splits.fingerprint([(train[::-1], test)])
    by_hand = hashlib.sha256(train.astype("<i8").tobytes() + test.astype("<i8").tobytes()).hexdigest()
    assert splits.fingerprint([(train, test)]) == by_hand


@pytest.mark.parametrize("name", AUTHORS)
def test_authors_sizes(name):
    n, n_train, n_test = AUTHORS[name]
    train, test = splits.authors(n, 1)
    assert (len(train), len(test)) == (n_train, n_test)


def test_authors_is_scikit_learns_split_of_the_rows():
    # The law of train_test_split written out: one permutation, test rows first (scikit-learn's ShuffleSplit).
    for seed in (1, 2, 7):
        order = np.random.RandomState(seed).permutation(1599)
        train, test = splits.authors(1599, seed)
        np.testing.assert_array_equal(test, order[:160])
        np.testing.assert_array_equal(train, order[160:])


def test_authors_order_maps_the_drawn_rows():
    order = np.random.default_rng(3).permutation(100)
    plain, mapped = splits.authors(100, 4), splits.authors(100, 4, order)
    for drawn, rows in zip(plain, mapped, strict=True):
        np.testing.assert_array_equal(rows, order[drawn])
    np.testing.assert_array_equal(splits.authors(100, 4, np.empty(0, int))[0], plain[0])
    with pytest.raises(ValueError, match="99 rows, the table 100"):
        splits.authors(100, 4, order[:99])


@given(st.integers(2, 300), st.integers(0, 4), st.sampled_from(["literature", "authors"]))
def test_train_and_test_part_the_rows(n, index, protocol):
    train, test = splits.split("some", protocol, n, index)
    assert sorted([*train, *test]) == list(range(n))
    assert train.dtype == test.dtype == np.int64
    again = splits.split("some", protocol, n, index)
    np.testing.assert_array_equal(train, again[0])


@given(st.integers(2, 10_000))
def test_literature_rounds_half_away_from_zero(n):
    train, _ = splits.literature(n, 1)[0]
    tenths = 9 * n  # 0.9 n in tenths, exact
    assert len(train) == tenths // 10 + (1 if tenths % 10 >= 5 else 0)


def test_split_i_does_not_depend_on_how_many_are_asked_for():
    many = splits.literature(97, 6)
    for i in range(6):
        np.testing.assert_array_equal(splits.split("x", "literature", 97, i)[0], many[i][0])


def test_entry_uses_seed_index_plus_one():
    np.testing.assert_array_equal(splits.split("wine", "authors", 1599, 2)[0], splits.authors(1599, 3)[0])


@pytest.mark.parametrize("protocol", splits.PROTOCOLS)
def test_year_has_one_split(protocol):
    n = datasets.get("year").n_rows
    for index in (0, 3):
        train, test = splits.split("year", protocol, n, index)
        assert (train[0], train[-1], test[0], test[-1]) == (0, 463_714, 463_715, n - 1)
        assert (len(train), len(test)) == (463_715, 51_630)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"unknown protocol 'kfold'.*literature, authors, published_tail"):
        splits.split("wine", "kfold", 1599, 0)
    with pytest.raises(ValueError, match="index = -1"):
        splits.split("wine", "literature", 1599, -1)
    with pytest.raises(ValueError, match="n = 1000"):
        splits.split("year", "literature", 1000, 0)
    with pytest.raises(ValueError, match="published_tail: n = 1599"):
        splits.split("wine", "published_tail", 1599, 0)
    with pytest.raises(ValueError, match="at least 2 rows"):
        splits.literature(1, 1)
    with pytest.raises(ValueError, match="count = 0"):
        splits.literature(10, 0)
    with pytest.raises(ValueError, match="seed = 0"):
        splits.authors(10, 0)
