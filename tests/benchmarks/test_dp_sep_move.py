"""The benchmark of the largest step: a long one blows up, the schedule's does not."""

from benchmarks import dp_sep_move as bench


def test_a_long_step_blows_up_and_the_schedule_does_not():
    assert bench.rmse("collinear", 2000, 10, None) < 1.2 < 2.0 < bench.rmse("collinear", 2000, 10, 0.2)
