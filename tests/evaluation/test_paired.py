import math

import numpy as np
import pytest
from scipy.stats import binom, ttest_rel

from evaluation.paired import better_by, median_paired, paired, unpaired


def as_splits(values):
    return {str(k): float(v) for k, v in enumerate(values)}


def test_ratio_zero_is_the_plain_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), rng.normal(0.3, 1, 12)
    low, high = ttest_rel(a, b).confidence_interval(0.95)
    d = paired(as_splits(a), as_splits(b), ratio=0)
    assert (d.low, d.high) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))


def test_correction_widens_by_its_formula():
    rng = np.random.default_rng(1)
    a, b = as_splits(rng.normal(size=20)), as_splits(rng.normal(size=20))
    plain, corrected = paired(a, b, ratio=0), paired(a, b)
    factor = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert factor == pytest.approx(math.sqrt((1 / 20 + 1 / 9) / (1 / 20)), rel=1e-12)


def test_only_common_splits_count():
    d = paired({"0": 1.0, "1": 2.0, "7": 99.0}, {"0": 0.0, "1": 1.5, "8": -99.0})
    assert (d.difference, d.n) == (0.75, 2)
    assert math.isnan(paired({"0": 1.0}, {"0": 0.0}).low)
    assert not paired({"0": 1.0}, {"0": 0.0}).significant
    with pytest.raises(ValueError, match="share no split"):
        paired({"0": 1.0}, {"1": 1.0})
    with pytest.raises(ValueError, match="no score"):
        unpaired({}, {"1": 1.0})


def test_false_alarms_under_correlated_splits():
    """Scores of overlapping splits: common part of variance rho between any two. Nadeau & Bengio's ratio is exact
    where the correlation is rho = ratio / (1 + ratio); both the corrected test's rate and the plain test's excess show.

    4,000 trials; bounds are the 1e-6 quantiles of the binomial, so a false alarm of this test has that rate.
    """
    rng = np.random.default_rng(2)
    trials, n, ratio = 4000, 10, 1 / 9
    rho = ratio / (1 + ratio)
    common = rng.normal(size=(trials, 1)) * math.sqrt(rho)
    a = common + rng.normal(size=(trials, n)) * math.sqrt(1 - rho)
    zero = as_splits(np.zeros(n))
    corrected = sum(paired(as_splits(row), zero).significant for row in a)
    plain = sum(paired(as_splits(row), zero, ratio=0).significant for row in a)
    assert binom.ppf(1e-6, trials, 0.05) <= corrected <= binom.isf(1e-6, trials, 0.05)
    assert plain > binom.isf(1e-6, trials, 0.05)


def test_unpaired_is_welch_without_the_correction():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(3)
    a, b = rng.normal(size=10), rng.normal(1, 3, 20)
    low, high = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    d = unpaired(as_splits(a), as_splits(b), ratio=0)
    assert (d.low, d.high) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))


def test_median_interval_is_the_sign_tests():
    d = median_paired(as_splits(range(1, 11)), as_splits([0] * 10))
    # P(Binomial(10, 1/2) <= 1) = .0107 <= .025 < P(... <= 2) = .0547: the second smallest and second largest
    assert (d.difference, d.low, d.high, d.n) == (5.5, 2.0, 9.0, 10)
    assert d.significant
    assert math.isnan(median_paired({"0": 1.0}, {"0": 0.0}).low)
    with pytest.raises(ValueError, match="share no data set"):
        median_paired({"0": 1.0}, {"1": 0.0})


def test_median_interval_covers_on_heavy_tails():
    """Cauchy differences, 2000 trials of n = 25 at 95 %: misses at most the 1e-7 quantile of Binomial(2000, .05)."""
    rng = np.random.default_rng(8)
    misses = 0
    for row in rng.standard_cauchy((2000, 25)):
        d = median_paired(as_splits(row), as_splits(np.zeros(25)))
        misses += not d.low <= 0 <= d.high
    assert misses <= binom.isf(1e-7, 2000, 0.05)


def test_better_by_is_positive_for_the_better_one():
    a, b = as_splits([1.0, 1.2, 1.1]), as_splits([2.0, 2.1, 2.2])
    d = better_by(a, b, higher_is_better=False)
    assert d.difference == pytest.approx(1.0)
    assert better_by(a, b, higher_is_better=True).difference == pytest.approx(-1.0)
    assert better_by(a, {"9": 1.0}, higher_is_better=True) is None
