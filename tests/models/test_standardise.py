"""Scaling and back."""

import numpy as np
import pytest

from models.standardise import Standardiser


def test_scaled_training_rows_have_mean_0_and_deviation_1():
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 3, (200, 3)), rng.normal(-2, 0.1, 200)
    s = Standardiser.from_moments(x, y)
    np.testing.assert_allclose(s.x(x).mean(axis=0), 0, atol=1e-12)  # 200 rounding errors of size 1e-16 at most
    np.testing.assert_allclose(s.x(x).std(axis=0), 1, rtol=1e-12)
    assert s.y(y).std() == pytest.approx(1, rel=1e-12)


def test_a_constant_column_and_a_constant_target_keep_their_scale():
    x = np.column_stack([np.full(8, 4.0), np.arange(8.0)])
    s = Standardiser.from_moments(x, np.full(8, 2.0))
    assert s.x_scale[0] == 1.0
    assert s.y_scale == 1.0
    np.testing.assert_array_equal(s.x(x)[:, 0], 0.0)


def test_no_row_is_refused():
    with pytest.raises(ValueError, match="row"):
        Standardiser.from_moments(np.empty((0, 2)), np.empty(0))


def test_round_trip():
    s = Standardiser.from_moments(np.arange(6.0).reshape(3, 2), np.arange(3.0))
    again = Standardiser.load(s.parameters())
    for key, value in s.parameters().items():
        np.testing.assert_array_equal(again.parameters()[key], value)
