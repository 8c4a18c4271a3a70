"""Correctly rounded functions: against exact rational bounds, and what they were made for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.protocols import rounded

POSITIVE = st.floats(1e-12, 1e3)


@given(POSITIVE)
def test_they_are_those_of_the_c_library_to_two_units_in_the_last_place(x):
    for here, there in (
        (rounded.log(x), math.log(x)),
        (rounded.log1p(x), math.log1p(x)),
        (rounded.expm1(-x), math.expm1(-x)),
    ):
        assert abs(here - there) <= 2 * math.ulp(there)


def test_a_logarithm_is_rounded_to_the_nearest():
    # log(1 + x) = x - x^2/2 + x^3/3 - ...: partial sums bound it from both sides
    for x in np.random.default_rng(0).uniform(1e-4, 1e-3, 300):
        exact = sum((-1) ** (k + 1) * Fraction(float(x)) ** k / k for k in range(1, 12))
        slack = Fraction(float(x)) ** 12
        here = rounded.log1p(float(x))
        assert abs(Fraction(here) - exact) <= Fraction(math.ulp(here)) / 2 + slack


@pytest.mark.parametrize("x", [1e-3, 0.7, 4.0, 30.0])
def test_inverse_softplus(x):
    assert math.log1p(math.exp(rounded.inverse_softplus(x))) == pytest.approx(x, rel=1e-12)
