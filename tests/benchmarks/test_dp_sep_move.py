"""The benchmark of the largest step: a long one blows up, the schedule's does not."""

import pytest

from benchmarks import dp_sep_move as bench


@pytest.mark.parametrize("seed", [0, 1])
def test_a_long_step_blows_up_and_the_schedule_does_not(seed):
    """Predicting the mean has an error of 1. No chance is left: rows and noise are drawn from the seed."""
    assert bench.rmse("collinear", 2000, 10, None, seed) < 1 < bench.rmse("collinear", 2000, 10, 0.2, seed)
