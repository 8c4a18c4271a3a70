import math

import numpy as np
import pytest
from scipy.stats import binom

from evaluation.ranking import Rank, average_ranks, better_by, rank_sets


def as_splits(values):
    return {str(k): float(v) for k, v in enumerate(values)}


def equal_methods(rng, count, n=10, ratio=1 / 9):
    """Scores of ``count`` methods of equal mean whose paired differences have the correlation that the ratio stands
    for: each method has a part common to all splits, of variance ratio / (1 + ratio)."""
    rho = ratio / (1 + ratio)
    common = rng.normal(size=(count, 1)) * math.sqrt(rho)
    values = common + rng.normal(size=(count, n)) * math.sqrt(1 - rho)
    return {f"m{k}": as_splits(row) for k, row in enumerate(values)}


def test_a_clear_winner_has_rank_one_and_nothing_else():
    rng = np.random.default_rng(0)
    scores = equal_methods(rng, 5)
    scores["winner"] = as_splits(rng.normal(-50, 1, 10))
    ranks = rank_sets(scores, higher_is_better=False)
    assert ranks["winner"] == Rank(1.0, 1, 1, 6)
    assert all(r.low == 2 for m, r in ranks.items() if m != "winner")
    assert rank_sets(scores, higher_is_better=True)["winner"] == Rank(6.0, 6, 6, 6)


def test_rank_lies_in_its_set_and_ranks_sum_up():
    rng = np.random.default_rng(1)
    for _ in range(20):
        scores = {f"m{k}": as_splits(rng.normal(k / 2, 1, 5)) for k in range(6)}
        scores["m2"].pop("3")
        ranks = rank_sets(scores, higher_is_better=True)
        assert all(r.low <= r.rank <= r.high for r in ranks.values())
        assert sum(r.rank for r in ranks.values()) == pytest.approx(6 * 7 / 2)


def test_false_separations_of_equal_methods():
    """Six equal methods: the set of a given one leaves out its rank (any of 1 to 6 is right, so the set must be whole)
    in at most 5 % of the trials. 1,500 trials, bound the 1e-6 quantile of the binomial: the false-alarm rate of this
    test. The pairs' intervals are exact here, so the rate is near its bound / (what Bonferroni wastes): not zero.
    """
    rng = np.random.default_rng(2)
    trials = 1500
    wrong = sum(
        (r := rank_sets(equal_methods(rng, 6), higher_is_better=True)["m0"]).low > 1 or r.high < 6
        for _ in range(trials)
    )
    assert 0 < wrong <= binom.isf(1e-6, trials, 0.05)


def test_two_equal_methods_are_separated_at_the_plain_level():
    """With two methods there is one interval and no correction: the rate is 5 %, within its 1e-6 quantiles."""
    rng = np.random.default_rng(3)
    trials = 3000
    wrong = sum(rank_sets(equal_methods(rng, 2), True)["m0"].high < 2 for _ in range(trials))
    low, high = binom.ppf(1e-6, trials, 0.025), binom.isf(1e-6, trials, 0.025)
    assert low <= wrong <= high  # separated below it: one of the two sides


def test_failed_methods_come_last_together():
    scores = {"a": as_splits([1.0, 2.0]), "x": {}, "y": {}}
    ranks = rank_sets(scores, higher_is_better=True)
    assert ranks["a"] == Rank(1.0, 1, 1, 3)
    assert ranks["x"] == ranks["y"] == Rank(2.5, 2, 3, 3)


def test_one_split_or_no_common_split_separates_nothing():
    one = rank_sets({"a": {"0": 0.0}, "b": {"0": 9.0}}, higher_is_better=True)
    assert one == {"a": Rank(2.0, 1, 2, 2), "b": Rank(1.0, 1, 2, 2)}
    none = rank_sets({"a": {"0": 0.0}, "b": {"1": 9.0}}, higher_is_better=True)
    assert none == {"a": Rank(1.5, 1, 2, 2), "b": Rank(1.5, 1, 2, 2)}
    assert rank_sets({"a": {"0": 0.0}}, higher_is_better=True) == {"a": Rank(1.0, 1, 1, 1)}


def test_better_by_is_positive_for_the_better_one():
    a, b = as_splits([1.0, 1.2, 1.1]), as_splits([2.0, 2.1, 2.2])
    d = better_by(a, b, higher_is_better=False)
    assert d.difference == pytest.approx(1.0)
    assert better_by(a, b, higher_is_better=True).difference == pytest.approx(-1.0)
    assert better_by(a, {"9": 1.0}, higher_is_better=True) is None


def test_average_over_data_sets():
    rng = np.random.default_rng(4)
    first = {
        "a": as_splits(rng.normal(0, 1, 10)),
        "b": as_splits(rng.normal(100, 1, 10)),
        "only": as_splits([1.0] * 10),
    }
    second = {"a": as_splits(rng.normal(100, 1, 10)), "b": as_splits(rng.normal(0, 1, 10))}
    ranks = average_ranks([first, second], higher_is_better=True)
    assert ranks == {"a": Rank(1.5, 1.5, 1.5, 2), "b": Rank(1.5, 1.5, 1.5, 2)}
    # one data set: the same as its ranks; the level is not divided
    assert average_ranks([second], True) == rank_sets(second, True)
    with pytest.raises(ValueError, match="at least one data set"):
        average_ranks([], True)


def test_average_divides_the_level_by_the_data_sets():
    """A gap that separates at 5 % but not at 5 % / 3."""
    gap = as_splits(0.67 + np.array([-1.0, 1.0] * 5) * 0.6)
    pair = {"a": gap, "b": as_splits(np.zeros(10))}
    assert rank_sets(pair, True)["a"].high == 1
    assert average_ranks([pair] * 3, True)["a"].high == 2
