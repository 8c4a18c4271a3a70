import math

import numpy as np
import pytest
from scipy.stats import binom

from common_tasks.advice.scale import mean, position
from evaluation.paired import THESE_ROWS, Difference


def as_splits(values):
    return {str(k): float(v) for k, v in enumerate(values)}


def test_the_ends_are_zero_and_one_and_sign_does_not_matter():
    rng = np.random.default_rng(0)
    zero, one = as_splits(rng.normal(5, 0.1, 10)), as_splits(rng.normal(2, 0.1, 10))
    for a, at in ((zero, 0.0), (one, 1.0)):
        d = position(a, zero, one)
        assert (d.difference, d.low, d.high) == (pytest.approx(at), pytest.approx(at), pytest.approx(at))
    turned = [{k: -v for k, v in s.items()} for s in (zero, one)]
    a = as_splits(rng.normal(3, 0.1, 10))
    assert position({k: -v for k, v in a.items()}, *turned).difference == pytest.approx(
        position(a, zero, one).difference
    )


def test_only_common_splits_count():
    a = {"0": 1.0, "1": 3.0, "9": 99.0}
    d = position(a, {"0": 0.0, "1": 0.0, "9": 0.0}, {"0": 4.0, "1": 4.0, "8": 4.0})
    assert (d.difference, d.n) == (0.5, 2)
    assert position(a, {"5": 1.0}, {"0": 1.0}) is None
    assert position(a, a, a) is None
    assert math.isnan(position({"0": 1.0}, {"0": 0.0}, {"0": 2.0}).low)


def test_the_interval_covers_the_ratio_of_means():
    """2,000 trials of 20 independent splits, noisy ends: misses within the 1e-6 quantiles of Binomial(2000, .05) above,
    to first order; the linearisation is good where the ends are many standard errors apart."""
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(2000):
        zero, one, a = (as_splits(rng.normal(m, 1, 20)) for m in (0.0, 20.0, 12.0))
        d = position(a, zero, one, ratio=THESE_ROWS)
        misses += not d.low <= 0.6 <= d.high
    assert misses <= binom.isf(1e-6, 2000, 0.05)


def test_half_widths_of_a_mean_add_by_squares():
    d = mean([Difference(1.0, 0.4, 1.6, 10, True), Difference(3.0, 2.2, 3.8, 5, True)])
    assert (d.difference, d.n) == (2.0, 5)
    assert d.high - d.difference == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at least one"):
        mean([])
