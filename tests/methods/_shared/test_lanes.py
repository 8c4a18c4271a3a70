"""Functions of eight lanes, against NumPy and SciPy."""

import numpy as np
import pytest
from numba import njit
from scipy.special import expit

from methods._shared import lanes


@njit
def _apply_exp(x, out):
    for i in range(0, len(x), 8):
        lanes.store(out, i, lanes.exp(lanes.load(x, i)))


@njit
def _apply_sigmoid(x, out):
    for i in range(0, len(x), 8):
        lanes.store(out, i, lanes.sigmoid(lanes.load(x, i)))


@njit
def _first(x, count, out):
    lanes.store(out, 0, lanes.load_first(x, 0, count))


def test_exponential():
    """4e-16: two units in the last place."""
    x = np.linspace(-700, 700, 80_000)
    out = np.empty_like(x)
    _apply_exp(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=4.5e-16)


def test_sigmoid():
    x = np.linspace(-700, 700, 80_000)
    out = np.empty_like(x)
    _apply_sigmoid(x, out)
    np.testing.assert_allclose(out, expit(x), rtol=1e-15)


def test_sigmoid_of_numbers_that_overflow():
    x = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, 701.0, -701.0])
    out = np.empty_like(x)
    _apply_sigmoid(x, out)
    np.testing.assert_allclose(out, expit(x), atol=1e-300)


@pytest.mark.parametrize("count", range(9))
def test_a_partial_load_has_zeros_beyond_its_count(count):
    x, out = np.arange(1.0, 9.0), np.empty(8)
    _first(x, count, out)
    np.testing.assert_array_equal(out, np.where(np.arange(8) < count, x, 0.0))
