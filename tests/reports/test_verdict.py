import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from reports.verdict import AGREE, DIFFER, classify, judge, judge_batch, judge_resampled, unit_of, width

TRIALS = 200_000
#: false-alarm rate of each bound below; 240 bounds, so the whole test has 2.4e-5.
LEVEL = 1e-7


def simulate(rng, n_published, n, digit_over_sd, how, shift=0.0):
    """TRIALS papers and reruns of the same program, standard deviation 1, judged by the rule."""
    true = rng.uniform(-3, 3, TRIALS)
    paper = true + rng.normal(size=TRIALS) / math.sqrt(n_published)
    ours = true + shift + rng.normal(size=TRIALS) / math.sqrt(n)
    s = np.sqrt(rng.chisquare(n - 1, TRIALS) / (n - 1))
    if digit_over_sd:
        paper = how(paper / digit_over_sd) * digit_over_sd
    return classify(ours, s, n, paper, digit_over_sd, n_published, higher_is_better=False)


@pytest.mark.parametrize("how", [np.round, np.trunc], ids=["rounded", "truncated"])
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("n_published", [1, 5, 10, 20])
def test_false_alarm_rates(n_published, n, how):
    rng = np.random.default_rng([n_published, n, how is np.trunc])
    for digit in (0, 0.25, 1, 5, 10):
        words = simulate(rng, n_published, n, digit, how)
        not_reproduced = int((words != "reproduced").sum())
        alarms = int(np.isin(words, ["better", "worse"]).sum())
        assert not_reproduced <= binom.isf(LEVEL, TRIALS, AGREE)
        assert alarms <= binom.isf(LEVEL, TRIALS, DIFFER)
        if digit == 0:  # all digits printed: the 5 % are exact, not only an upper bound
            assert not_reproduced >= binom.ppf(LEVEL, TRIALS, AGREE)


def test_family_rate_is_one_percent():
    assert pytest.approx(0.01) == DIFFER * 290


@pytest.mark.parametrize(("shift", "word"), [(4.0, "worse"), (-4.0, "better")])
def test_power_at_a_large_shift(shift, word):
    # Expected width at 1 %/290 with n = 20, n_published = 10: about 5.4 * 0.39 = 2.1; a shift of 4 stands far outside.
    words = simulate(np.random.default_rng(5), 10, 20, 0.25, np.trunc, shift)
    assert (words == word).mean() > 0.99
    assert not np.isin(words, [{"worse": "better", "better": "worse"}[word]]).any()


def test_width_by_hand():
    assert float(width(AGREE, 0.3, 10, 5)) == pytest.approx(2.2621571628 * 0.3 * math.sqrt(0.1 + 0.2), rel=1e-9)
    assert float(width(DIFFER, 1.0, 20, 20)) == pytest.approx(student.isf(0.005 / 290, 19) * math.sqrt(0.1), rel=1e-12)
    assert math.isnan(float(width(AGREE, 0.3, 1, 5)))


def test_direction_follows_the_metric():
    assert judge(1.0, 0.01, 20, "2.000", 10, "rmse").verdict == "better"
    assert judge(1.0, 0.01, 20, "2.000", 10, "test_log_likelihood").verdict == "worse"
    assert judge(-1.0, 0.01, 20, "-2.000", 10, "test_log_likelihood").verdict == "better"


def test_digits_are_data():
    # 0.0025 printed as 0.002 (truncated) is reproduced; printed as 0.0020 it is not.
    assert judge(0.00251, 1e-5, 20, "0.002", 10, "rmse").verdict == "reproduced"
    assert judge(0.00251, 1e-5, 20, "0.0020", 10, "rmse").verdict == "worse"
    # A table of three digits that dropped a trailing zero keeps its three digits.
    assert judge(0.067, 1e-5, 20, "0.06", 10, "rmse").verdict == "reproduced"
    assert judge(0.067, 1e-5, 20, "0.06", 10, "rmse", digits=3).verdict == "worse"


def test_the_three_bands_and_what_is_beside_them():
    s, n, n_pub = 0.1, 20, 10
    agree, differ = float(width(AGREE, s, n, n_pub)), float(width(DIFFER, s, n, n_pub))
    for gap, word in ((agree * 0.99, "reproduced"), (agree * 1.01, "inconclusive"), (differ * 1.01, "worse")):
        v = judge(2.0 + 0.001 + gap, s, n, "2.000", n_pub, "rmse")
        assert v.verdict == word
        assert v.high - v.low == pytest.approx(2 * agree, rel=1e-9)
        assert v.detectable == pytest.approx(differ + 0.001, rel=1e-12)
        assert (v.difference >= v.detectable) == (word == "worse")


def test_one_run_of_ours_says_nothing():
    v = judge(2.0, math.nan, 1, "2.000", 10, "rmse")
    assert v.verdict == "inconclusive"
    assert math.isnan(v.low)
    assert "one run" in v.reason


def test_runs_that_never_vary():
    assert (
        judge(2.001, 0.0, 5, "2.000", 1, "rmse").verdict == "reproduced"
    )  # exactly one unit, in binary arithmetic too
    assert judge(0.3, 0.0, 5, "0.2", 1, "rmse").verdict == "reproduced"
    v = judge(2.0011, 0.0, 5, "2.000", 1, "rmse")
    assert (v.verdict, v.low, v.high) == ("worse", v.difference, v.difference)


def test_five_seeds_of_ours_against_one_printed_run():
    w = float(width(AGREE, 0.05, 5, 1))
    assert w == pytest.approx(2.7764451052 * 0.05 * math.sqrt(0.2 + 1), rel=1e-9)
    assert judge(8.863 + w, 0.05, 5, "8.862", 1, "rmse").verdict == "reproduced"


@given(
    st.floats(-10, 10),
    st.floats(0, 5),
    st.integers(2, 60),
    st.integers(-10_000, 10_000),
    st.sampled_from([1, 5, 10, 20]),
)
def test_mirror_symmetry_and_closed_vocabulary(mean, std, n, thousandths, n_published):
    a = judge(mean, std, n, f"{thousandths / 1000:.3f}", n_published, "rmse")
    b = judge(-mean, std, n, f"{-thousandths / 1000:.3f}", n_published, "test_log_likelihood")
    assert a.verdict == b.verdict
    assert a.verdict in ("reproduced", "inconclusive", "better", "worse")
    assert a.low <= a.difference <= a.high


@pytest.mark.parametrize(("text", "unit"), [("0.002", 1e-3), ("-2.890", 1e-3), ("57", 1.0), ("0.0025", 1e-4)])
def test_unit_of_the_last_digit(text, unit):
    assert unit_of(text) == pytest.approx(unit, rel=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="no direction"):
        judge(1.0, 0.1, 5, "1.0", 5, "surprise")
    with pytest.raises(ValueError, match="plain decimal digits"):
        judge(1.0, 0.1, 5, "1e-3", 5, "rmse")
    with pytest.raises(ValueError, match="finite mean"):
        judge(math.nan, 0.1, 5, "1.0", 5, "rmse")
    with pytest.raises(ValueError, match="standard deviation"):
        judge(1.0, math.nan, 5, "1.0", 5, "rmse")


def skewed(rng, n):
    """Log-normal scores that span orders of magnitude."""
    return np.exp(2.0 * rng.standard_normal(n))


def test_resampling_keeps_its_rate_on_skewed_scores():
    """Papers of 5 runs from the law of our 200: not reproduced in about 5 %, never outside all resampled means often.

    300 papers; the bounds are the 1e-7 quantiles of Binomial(300, p) at p = .10 (200 runs estimate the tails with
    error, so twice the nominal 5 % is allowed) and p = .01.
    """
    rng = np.random.default_rng(3)
    words = []
    for _ in range(300):
        ours, paper = skewed(rng, 200), skewed(rng, 5).mean()
        words.append(judge_resampled(ours, f"{paper:.4f}", 5, "rmse").verdict)
    words = np.array(words)
    assert (words != "reproduced").sum() <= binom.isf(1e-7, 300, 0.10)
    assert np.isin(words, ["better", "worse"]).sum() <= binom.isf(1e-7, 300, 0.01)


def test_resampling_sees_what_no_run_could_print():
    ours = skewed(np.random.default_rng(4), 200)
    assert judge_resampled(ours, "5000.0000", 5, "rmse").verdict == "better"
    assert judge_resampled(ours + 10.0, "0.5000", 5, "rmse").verdict == "worse"
    assert judge_resampled(-ours - 10.0, "-0.5000", 5, "test_log_likelihood").verdict == "worse"
    v = judge_resampled(ours, "3.0000", 5, "rmse")
    assert v.verdict == "reproduced"
    assert v.low < 0 < v.high
    assert v.difference == pytest.approx(ours.mean() - 3)


def test_resampling_does_not_depend_on_the_order_of_runs():
    ours = skewed(np.random.default_rng(5), 50)
    assert judge_resampled(ours, "3.00", 5, "rmse") == judge_resampled(ours[::-1], "3.00", 5, "rmse")


def test_resampling_refuses_what_it_cannot_judge():
    with pytest.raises(ValueError, match="no direction"):
        judge_resampled([1.0], "1.0", 5, "speed")
    with pytest.raises(ValueError, match="finite"):
        judge_resampled([1.0, math.nan], "1.0", 5, "rmse")
    assert math.isnan(judge_resampled([1.0], "2.0", 5, "rmse").low)


def test_a_batch_is_judged_by_the_spread_of_two_batches():
    """Both batches N(0.3, 0.01^2): 20,000 pairs, "not reproduced" 5 % of the time (bounds: false alarm 1e-7 each)."""
    rng, n = np.random.default_rng(3), 20_000
    words = [
        judge_batch(a, 0.01, f"{b:.9f}", "tarp_coverage_rmse").verdict for a, b in 0.3 + 0.01 * rng.normal(size=(n, 2))
    ]
    missed = sum(w != "reproduced" for w in words)
    assert binom.ppf(LEVEL, n, AGREE) <= missed <= binom.isf(LEVEL, n, AGREE)
    assert sum(w in ("better", "worse") for w in words) <= binom.isf(LEVEL, n, DIFFER)


def test_a_batch_by_hand():
    found = judge_batch(0.05, 0.01, "0.023", "tarp_coverage_rmse", 3)
    assert found.verdict == "reproduced"  # 0.027 - 0.001 < 1.96 * 0.01 * sqrt 2 = 0.0277
    assert found.high - found.difference == pytest.approx(1.959964 * 0.01 * math.sqrt(2), rel=1e-6)
    assert judge_batch(0.06, 0.01, "0.023", "tarp_coverage_rmse", 3).verdict == "inconclusive"
    assert judge_batch(0.2, 0.01, "0.023", "tarp_coverage_rmse", 3).verdict == "worse"
    assert judge_batch(0.2, 0.01, "0.5", "tarp_coverage_rmse", 3).verdict == "better"
    assert judge_batch(0.5, 0.0, "0.5", "tarp_coverage_rmse", 3).verdict == "reproduced"
    with pytest.raises(ValueError, match="finite"):
        judge_batch(0.5, math.nan, "0.5", "tarp_coverage_rmse")
    with pytest.raises(ValueError, match="direction"):
        judge_batch(0.5, 0.1, "0.5", "tarp_fraction")
