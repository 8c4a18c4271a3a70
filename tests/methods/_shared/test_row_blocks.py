"""Sums over blocks of rows are the plain sums: to the digit in one block, to rounding in several."""

import numpy as np
import pytest

from methods._shared import adassp, row_blocks
from methods._shared.conjugate_linear.release import clipped_site_sum
from methods.em.dp_em_corrected import clipped, joint_moments


def rows(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def gram(x, y):
    return np.concatenate([(x.T @ x).ravel(), x.T @ y])


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 20, 21])
def test_a_sum_in_blocks_is_the_sum(n):
    x, y = rows(n), rows(n, seed=1)[:, 0]
    np.testing.assert_allclose(row_blocks.total(gram, x, y, rows=7), gram(x, y), rtol=1e-12, atol=1e-12)
    batch = np.flatnonzero(np.arange(n) % 3)
    found = row_blocks.total(gram, x, y, batch=batch, rows=7)
    np.testing.assert_allclose(found, gram(x[batch], y[batch]), rtol=1e-12, atol=1e-12)


def test_one_block_is_the_plain_sum_to_the_digit():
    x, y = rows(50), rows(50, seed=1)[:, 0]
    assert np.array_equal(row_blocks.total(gram, x, y), gram(x, y))
    assert np.array_equal(row_blocks.total(gram, x, y, rows=50), gram(x, y))


@pytest.mark.parametrize("n", [0, 1, 7, 20])
def test_each_row_is_taken_once_and_in_order(n):
    x = 3 * rows(n)
    assert np.array_equal(row_blocks.numbers(lambda b: np.abs(b).max(axis=1), x, rows=7), np.abs(x).max(axis=1))


def test_no_block_is_longer_than_asked_for_and_none_is_empty():
    seen = []
    row_blocks.total(lambda b: seen.append(len(b)) or b.sum(axis=0), rows(20), rows=7)
    assert seen == [7, 7, 6]


def test_releases_of_many_rows_are_those_of_their_parts(monkeypatch):
    """What is released of more rows than a block has, by the functions that are released."""
    x, y = rows(30), rows(30, seed=1)[:, 0]
    g = np.full((30, 2), 0.5)
    released = (
        lambda: adassp.second_moments(x, 1.5),
        lambda: adassp.second_moments(x, 1.5, np.diag([1.0, 2.0, 0.5])),
        lambda: clipped_site_sum(x, y, 4.0),
        lambda: row_blocks.gram(x, np.square(y)),
        lambda: row_blocks.total(joint_moments, clipped(x, 1.0), g),
    )
    plain = [one() for one in released]
    monkeypatch.setattr(row_blocks.total, "__kwdefaults__", {"batch": None, "rows": 7})
    for one, whole in zip(released, plain, strict=True):
        np.testing.assert_allclose(one(), whole, rtol=1e-12, atol=1e-12)
