"""A task refuses what no method could use, and protects what it holds."""

import numpy as np
import pytest

from models.linear_regression import LinearRegression
from models.task import Task


def make(x, y=None) -> Task:
    return Task("toy", LinearRegression(), np.asarray(x), None if y is None else np.asarray(y))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named_by_its_row(bad):
    x = np.zeros((4, 2))
    x[2, 1] = bad
    with pytest.raises(ValueError, match="toy: x has a NaN or an infinity in row 2"):
        make(x, np.zeros(4))
    with pytest.raises(ValueError, match="toy: y has a NaN or an infinity in row 1"):
        make(np.zeros((3, 2)), [0.0, bad, 0.0])


def test_shapes_that_do_not_agree_are_refused():
    with pytest.raises(ValueError, match="one row per record"):
        make(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="x has 3 rows"):
        make(np.zeros((3, 1)), np.zeros(4))


def test_rows_are_copied_and_read_only():
    x, y = np.zeros((3, 1)), np.zeros(3)
    task = make(x, y)
    x[0, 0], y[0] = 7.0, 7.0
    assert task.x[0, 0] == 0.0
    assert task.y[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        task.x[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        task.y[0] = 1.0


def test_the_number_of_rows_is_public_unless_told_otherwise():
    assert make(np.zeros((3, 1)), np.zeros(3)).public.n == 3
