import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, mannwhitneyu, poisson
from scipy.stats import t as student

from evaluation import coverage
from reports import published, verdicts
from reports.config import in_scope
from reports.config import load as load_config
from reports.reference import FOLDER
from reports.verdict import (
    AGREE,
    ANY_FALSE,
    FAMILY,
    SINGLE,
    VERDICTS,
    Printed,
    equivalent,
    judge,
    judge_batch,
    light_tails,
    mann_whitney,
    margin,
    most_beyond,
    p_rank,
    p_t,
    printed,
    tame,
    unit_of,
    word,
)
from reports.verdicts import BATCH, answers_of, ours_of, paper_of
from workflow import committed
from workflow.papers import experiments

DIFFER = ANY_FALSE / FAMILY
#: false-alarm rate of each bound of the simulations of normal laws; 240 bounds, so the whole test has 2.4e-5.
LEVEL = 1e-7


def p_of(runs, paper: Printed, metric: str) -> np.ndarray:
    """The rule's two-sided p of t or ranks, for many reruns (trials, n) and papers at once.

    Where neither is asked (no spread, not tame) it is that of ranks: resampling cannot reach 1 % / 290.
    """
    above, below = p_rank(runs, paper, metric)
    by_rank = np.minimum(1.0, 2 * np.minimum(above, below))
    by_t = p_t(runs.mean(axis=1), runs.std(axis=1, ddof=1), runs.shape[1], paper)
    return np.where(tame(runs, paper, metric), by_t, by_rank)


def as_printed(how, values, digit):
    return how(values / digit) * digit if digit else values


def check_normal_laws(n_published, n, how, trials):
    """Papers and reruns of one program, standard deviation 1: p <= 5 % and p <= 1 %/290 at most as often as that."""
    rng = np.random.default_rng([n_published, n, how is np.trunc])
    for digit in (0, 0.25, 1, 5, 10):
        true = rng.uniform(-3, 3, (trials, 1))
        theirs, ours = (true + rng.normal(size=(trials, k)) for k in (n_published, n))
        spread = np.full(trials, np.nan)
        if n_published > 1:
            spread = as_printed(how, theirs.std(axis=1, ddof=1), digit) + digit
        paper = Printed(as_printed(how, theirs.mean(axis=1), digit), digit, spread, n_published)
        p = p_of(ours, paper, "test_log_likelihood")
        assert (p <= AGREE).sum() <= binom.isf(LEVEL, trials, AGREE)
        assert (p <= DIFFER).sum() <= binom.isf(LEVEL, trials, DIFFER)


@pytest.mark.parametrize("how", [np.round, np.trunc], ids=["rounded", "truncated"])
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("n_published", [1, 5, 10, 20])
def test_false_alarm_rates_of_normal_laws(n_published, n, how):
    check_normal_laws(n_published, n, how, 4000)


@pytest.mark.slow
@pytest.mark.parametrize("how", [np.round, np.trunc], ids=["rounded", "truncated"])
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("n_published", [1, 5, 10, 20])
def test_false_alarm_rates_of_normal_laws_at_length(n_published, n, how):
    check_normal_laws(n_published, n, how, 100_000)


def committed_cells():
    """(reading, our scores or data sets' fractions, published row, metric) of every headline cell with a score.

    Copied cells are left out. Fractions are those of the data sets of a coverage error.
    """
    numbers = published.load()
    out = []
    for name in committed.experiments(FOLDER):
        config = load_config(experiments()[name])
        if not config["answers"]:
            continue
        scores = committed.read(FOLDER, name)
        scores = scores[scores["status"] == "ok"]
        runs = {
            key: group.to_numpy(dtype=np.float64)
            for key, group in scores.groupby(["dataset", "protocol", "method", "setting", "metric"])["value"]
        }
        for (source, table), group in numbers.groupby(["source", "table"], sort=False):
            if not in_scope(config, source, table, set(group["dataset"])):
                continue
            for cell in group[group["same_as"] == ""].to_dict("records"):
                for answer in answers_of(config, cell, numbers):
                    dataset, metric = ours_of(cell, answer)
                    key = (dataset, answer["protocol"], answer["method"], answer["label"])
                    found = runs.get((*key, BATCH[metric][1] if metric in BATCH else metric))
                    if answer["headline"] and found is not None and len(found) >= 2:
                        out.append((answer["reading"], found, cell, metric))
    return out


def false_ones(law, cell, metric, draws, rng) -> int:
    """How many of ``draws`` papers, drawn from ``law`` with the cell's N and digits, a rerun of it calls different."""
    paper, n, k = paper_of(cell), len(law), cell["n_published"]
    unit, kind = paper.unit, cell["std_kind"]
    how = rng.choice([np.round, np.trunc])
    if metric in BATCH:
        below = (law[:, None] < 1.0 - coverage.LEVELS).astype(np.float64)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=2 * draws) / n
        errors = np.sqrt(np.mean((weights @ below - (1.0 - coverage.LEVELS)) ** 2, axis=1))
        theirs, ours = as_printed(how, errors[:draws], unit), errors[draws:]
        words = [judge_batch(a, errors.std(), Printed(b, unit, math.nan, 1), metric).verdict
                 for a, b in zip(ours, theirs, strict=True)]  # fmt: skip
        return sum(w in ("better", "worse") for w in words)
    theirs, ours = rng.choice(law, (draws, k)), rng.choice(law, (draws, n))
    spread = np.full(draws, np.nan)
    if cell["std"] and kind in ("sd", "se"):
        root, digit = (math.sqrt(k) if kind == "se" else 1.0), unit_of(cell["std"])
        # Authors divide by N - 1 or by N and do not say which: either.
        sd = theirs.std(axis=1, ddof=int(rng.integers(2)))
        spread = (as_printed(how, sd / root, digit) + digit) * root
    shown = Printed(as_printed(how, theirs.mean(axis=1), unit), unit, spread, k)
    return int((p_of(ours, shown, metric) <= DIFFER).sum())


def check_committed_laws(draws):
    """Papers and reruns drawn, with replacement, from the runs of every published cell, with its own N, n and digits.

    In each reading the expected number of false better and worse over all its cells is at most ANY_FALSE. The test
    fails above the 1e-6 point of the Poisson law with mean .01 * draws: a false-alarm rate of 3e-6 (three readings).
    """
    rng = np.random.default_rng(2)
    found, cells = dict.fromkeys(("printed", "authors", "corrected"), 0), committed_cells()
    assert len(cells) > 360
    for reading, law, cell, metric in cells:
        found[reading] += false_ones(law, cell, metric, draws, rng)
    assert max(found.values()) <= poisson.isf(1e-6, ANY_FALSE * draws), found


def test_false_verdicts_on_the_laws_of_the_committed_scores():
    """At the bound the Monte Carlo standard error is sqrt(.01 / 200) = .007, and more than 12 found in a reading fail.

    An expected number of .1 a reading fails with probability .96; that of the first rule was 1.9 over all.
    """
    check_committed_laws(200)


@pytest.mark.slow
def test_false_verdicts_on_the_laws_of_the_committed_scores_at_length():
    """At the bound the Monte Carlo standard error is .0016; an expected number of .02 fails with probability .76."""
    check_committed_laws(4000)


def test_no_number_beyond_all_our_runs_is_reproduced():
    """A published number beyond 20 or more runs by more than a unit and the margin: never ``reproduced``."""
    frame = verdicts_of_the_reference()
    beyond = 0
    for reading, runs, cell, metric in committed_cells():
        if metric in BATCH or len(runs) < 20:
            continue
        unit, delta, m = unit_of(cell["mean"], cell["digits"]), float(margin(metric, float(cell["mean"]))), cell["mean"]
        low, high = runs.min() - unit, runs.max() + unit
        if metric in ("rmse", "test_log_likelihood", "calibration_rmse"):
            low, high = low - delta, high + delta
        else:
            low, high = (low / math.exp(delta), high * math.exp(delta)) if low > 0 else (low, high * math.exp(delta))
        if low <= float(m) <= high:
            continue
        beyond += 1
        key = tuple(cell[k] for k in published.KEY)
        assert frame[(*key, reading)] != "reproduced", key
    assert beyond > 30


def verdicts_of_the_reference():
    import pandas as pd

    frame = pd.read_csv(FOLDER / "verdicts.csv", dtype=str, keep_default_na=False)
    frame = frame[frame["headline"] == "yes"]
    return {(*r[:-1],): r[-1] for r in frame[[*published.KEY, "reading", "verdict"]].itertuples(index=False)}


def test_as_many_beyond_a_distance_as_cantelli_allows_and_no_more():
    """K bounds the count for every sample and is attained by k runs at one value and N - k at another."""
    rng = np.random.default_rng(4)
    for n in (1, 2, 5, 10, 20):
        for law in (rng.normal(size=(500, n)), rng.standard_cauchy((500, n)), rng.random((500, n)) < 0.2):
            x = law.astype(np.float64)
            distance = rng.uniform(0.01, 2, 500)
            count = (x >= (x.mean(axis=1) + distance)[:, None]).sum(axis=1)
            assert (count <= most_beyond(distance, x.var(axis=1), n)).all()
        for k in range(1, n):
            x = np.r_[np.full(k, float(n - k)), np.full(n - k, -float(k))]
            assert most_beyond(x.max() * (1 - 1e-9), x.var(), n) == k
            assert most_beyond(x.max() * (1 + 1e-9), x.var(), n) == k - 1
            assert most_beyond(x.max(), x.var(), n) == k  # exactly there: counted, whatever rounding does
    assert most_beyond(0.0, 1.0, 7) == 7
    assert most_beyond(1.0, math.nan, 7) == 6  # not all exceed their mean
    assert most_beyond(1.0, math.nan, 1) == 0


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 2), (2, 4), (5, 3)])
def test_the_mann_whitney_null_by_counting_all_orders(n, k):
    counts = np.zeros(n * k + 1)
    for places in itertools.combinations(range(n + k), k):
        ours = sorted(set(range(n + k)) - set(places))
        counts[sum(t > o for t in places for o in ours)] += 1
    assert mann_whitney(n, k) == pytest.approx(np.cumsum(counts) / counts.sum(), rel=1e-12)


def test_full_separation():
    assert mann_whitney(20, 5)[0] == pytest.approx(1 / math.comb(25, 5), rel=1e-12)
    assert 2 * mann_whitney(20, 5)[0] > DIFFER > 2 * mann_whitney(21, 5)[0]
    assert mann_whitney(200, 5)[-1] == pytest.approx(1)


def test_ranks_from_moments_bound_the_ranks_of_the_runs():
    """p_rank, which knows mean and spread, is never below the exact p of the test that knows all runs."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        n, k = int(rng.integers(3, 12)), int(rng.integers(2, 8))
        ours, theirs = np.exp(2 * rng.normal(size=n)), np.exp(2 * rng.normal(size=k) + rng.normal())
        for ddof in (0, 1):
            paper = Printed(theirs.mean(), 1e-9, theirs.std(ddof=ddof) + 1e-9, k)
            above, below = p_rank(ours, paper, "rmse")
            assert above >= mannwhitneyu(ours, theirs, alternative="greater", method="exact").pvalue - 1e-12
            assert below >= mannwhitneyu(ours, theirs, alternative="less", method="exact").pvalue - 1e-12


def test_markov_refutes_what_is_printed_without_a_spread():
    """Five runs of mean .0358 that are never negative sum to .179: none of them reaches a run of ours of .6."""
    rng = np.random.default_rng(6)
    ours = 0.6 + 10 * np.exp(2 * rng.normal(size=200))
    v = judge(ours, printed("0.0358", 5), "fnorm_covariance")
    assert (v.verdict, v.p_kind) == ("worse", "rank")
    assert v.p == pytest.approx(2 / math.comb(205, 5), rel=1e-9)
    # A log-likelihood may be negative: the same numbers say nothing.
    assert judge(ours, printed("0.0358", 5), "test_log_likelihood").p > DIFFER


def skewed(rng, n):
    """Log-normal scores that span orders of magnitude."""
    return np.exp(2.0 * rng.standard_normal(n))


def test_resampling_alone_never_refutes():
    ours = skewed(np.random.default_rng(4), 200)
    v = judge(ours, printed("5000.0000", 5), "rmse")
    assert (v.verdict, v.p_kind) == ("inconclusive", "resampled")
    assert v.p == pytest.approx(2 / 41)  # one of 41 exchangeable means, two-sided
    assert v.detectable == math.inf
    v = judge(ours, printed("3.0000", 5), "rmse")
    assert v.verdict == "compatible"
    assert v.low < 0 < v.high
    assert v.difference == pytest.approx(ours.mean() - 3)
    assert judge(ours, printed("3.0000", 5), "rmse") == judge(ours[::-1], printed("3.0000", 5), "rmse")


def test_resampling_keeps_its_rate_on_skewed_scores():
    """300 papers of 5 runs from the law of our 200: p <= 5 % at most as often as Binomial(300, .10) has it (1e-7).

    200 runs estimate the tails with error, so twice the nominal rate is allowed.
    """
    rng = np.random.default_rng(3)
    p = [judge(skewed(rng, 200), printed(f"{skewed(rng, 5).mean():.4f}", 5), "rmse").p for _ in range(300)]
    assert (np.array(p) <= AGREE).sum() <= binom.isf(1e-7, 300, 0.10)


def test_a_single_published_run_never_refutes():
    """A run is no mean: n + 1 exchangeable numbers have p >= 2 / (n + 1), and t of one run trusts tails never seen."""
    ours = 4 + 0.01 * np.random.default_rng(7).normal(size=50)
    v = judge(ours, printed("9.000", 1), "rmse")
    assert (v.verdict, v.p, v.p_kind, v.detectable) == ("inconclusive", SINGLE, "t", math.inf)
    far = judge(skewed(np.random.default_rng(8), 50), printed("100000.0", 1), "rmse")
    assert far.p == pytest.approx(2 / 51)
    assert judge(ours, printed("4.000", 1), "rmse").verdict == "reproduced"


def test_wine_at_ten_by_hand():
    """Published .636 +- .0353 over 5 runs; each of ours lies beyond 20: t over decades holds it, ranks refute it."""
    rng = np.random.default_rng(9)
    paper = printed("0.636", 5, "0.0353", "sd", 3)
    for n, said in ((10, "inconclusive"), (20, "inconclusive"), (21, "worse")):
        v = judge(20 * np.exp(2 * np.abs(rng.normal(size=n))), paper, "rmse")
        assert (v.verdict, v.p_kind) == (said, "rank")
        assert v.p == pytest.approx(2 / math.comb(n + 5, 5), rel=1e-9)


def normal_runs(mean, sd, n):
    """n numbers with exactly this mean and standard deviation, tails of a normal law."""
    z = student(10**6).ppf((np.arange(n) + 0.5) / n)
    return mean + sd * z / z.std(ddof=1)


def test_words_by_hand():
    paper = printed("2.000", 10, "0.1000", "sd", 3)
    error = 0.1001 * math.sqrt(1 / 20 + 1 / 10)  # the published spread with its unit is the larger
    agree, differ = (float(student.isf(a / 2, 19)) * error for a in (AGREE, DIFFER))
    for gap, said in ((agree * 0.99, "reproduced"), (agree * 1.01, "inconclusive"), (differ * 1.01, "worse")):
        v = judge(normal_runs(2.0 + 0.001 + gap, 0.09, 20), paper, "rmse")
        assert v.verdict == said
        assert v.p_kind == "t"
        assert v.high - v.low == pytest.approx(2 * agree, rel=1e-9)
        assert v.detectable == pytest.approx(differ + 0.001, rel=1e-9)
        assert (v.p > AGREE) == (v.low - 0.001 <= 0 <= v.high + 0.001)


def test_compatible_is_what_nothing_refutes_and_nothing_shows():
    paper = printed("2.000", 5, "0.4000", "sd", 3)
    wide, narrow = normal_runs(2.0, 0.4, 20), normal_runs(2.0, 0.05, 20)
    assert judge(wide, paper, "rmse").verdict == "compatible"
    assert judge(narrow, paper, "rmse").verdict == "compatible"  # their mean is no better known than their spread
    assert judge(narrow, printed("2.000", 5, "0.0500", "sd", 3), "rmse").verdict == "reproduced"


@pytest.mark.parametrize(
    ("metric", "published_mean", "delta"),
    [("rmse", 4.0, 0.4), ("test_log_likelihood", -3.0, math.log(1.1)), ("calibration_rmse", 0.02, 0.02),
     ("tarp_coverage_rmse", 0.4, 0.1), ("fnorm", 3.0, math.log(2)), ("kl_proxy", 3.0, math.log(2))],
)  # fmt: skip
def test_margins(metric, published_mean, delta):
    assert float(margin(metric, published_mean)) == pytest.approx(delta)


def test_equivalence_is_shown_by_the_one_sided_bound():
    bound = float(student.isf(0.05, 19)) * 0.1 * math.sqrt(1 / 20 + 1 / 10)
    paper = Printed(2.0, 0.0, math.nan, 10)
    for mean, said in ((2.2 - bound * 1.001, True), (2.2 - bound * 0.999, False), (1.8 + bound * 1.001, True)):
        # .2 is 10 % of 2; the bound has to fit into what is left of it.
        assert bool(equivalent(mean if said else 2.2 - bound * 0.999, 0.1, 20, paper, "rmse")) == said
    assert not equivalent(2.0, math.nan, 1, paper, "rmse")
    norm = Printed(1.0, 0.0, math.nan, 1000)
    assert equivalent(1.99, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(2.01, 1e-6, 1000, norm, "fnorm")
    assert equivalent(0.51, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(0.49, 1e-6, 1000, norm, "fnorm")
    assert not equivalent(-0.9, 1e-6, 1000, norm, "kl_proxy")


def test_light_tails_and_tame():
    normal = normal_runs(1.0, 0.2, 20)
    assert light_tails(normal)
    assert not light_tails(np.r_[normal, 10.0])
    paper = printed("1.00", 10, "0.20", "sd")
    assert tame(normal, paper, "rmse")
    assert not tame(normal_runs(1.0, 0.3, 20), paper, "rmse")  # above a quarter of the mean
    assert tame(normal_runs(1.0, 0.3, 20), paper, "test_log_likelihood")
    assert not tame(normal, printed("1.00", 10, "0.30", "sd"), "rmse")  # theirs is
    assert tame(np.ones(5), paper, "rmse")


def test_lost_splits_are_at_best_inconclusive():
    paper = printed("2.000", 10, "0.1000", "sd", 3)
    same, lower, higher = (normal_runs(m, 0.05, 20) for m in (2.0, 1.0, 3.0))
    assert [judge(x, paper, "rmse").verdict for x in (same, lower, higher)] == ["reproduced", "better", "worse"]
    assert [judge(x, paper, "rmse", lost=3).verdict for x in (same, lower, higher)] == [
        *("inconclusive", "inconclusive", "worse")
    ]


def test_the_family_decides_what_is_refuted():
    assert pytest.approx(0.01) == DIFFER * 290
    for family, said in ((290, "worse"), (2668, "inconclusive")):
        assert word(1e-5, True, False, "rmse", family=family) == said


def test_a_standard_error_is_turned_into_a_standard_deviation():
    assert printed("0.646", 20, "0.010", "se").spread == pytest.approx((0.010 + 0.001) * math.sqrt(20))
    assert printed("0.646", 20, "0.010", "sd").spread == pytest.approx(0.011)
    assert math.isnan(printed("0.034", 1, "0.011", "redraws").spread)
    with pytest.raises(ValueError, match="std_kind"):
        printed("1.0", 5, "0.1", "range")
    with pytest.raises(ValueError, match="at least one run"):
        printed("1.0", 0)
    with pytest.raises(ValueError, match="below 0"):
        printed("1.0", 5, "-0.1", "sd")


def test_direction_follows_the_metric():
    runs = normal_runs(1.0, 0.01, 20)
    assert judge(runs, printed("2.000", 10), "rmse").verdict == "better"
    assert judge(runs, printed("2.000", 10), "test_log_likelihood").verdict == "worse"
    assert judge(-runs, printed("-2.000", 10), "test_log_likelihood").verdict == "better"


def test_digits_are_data():
    runs = normal_runs(0.00251, 1e-5, 20)
    # 0.0025 printed as 0.002 (truncated) is not refuted; printed as 0.0020 it is.
    assert judge(runs, printed("0.002", 10), "rmse").p == 1
    assert judge(runs, printed("0.0020", 10), "rmse").verdict == "worse"
    # A table of three digits that dropped a trailing zero keeps its three digits.
    runs = normal_runs(0.067, 1e-5, 20)
    assert judge(runs, printed("0.06", 10), "rmse").p == 1
    assert judge(runs, printed("0.06", 10, digits=3), "rmse").verdict == "worse"


def test_one_run_of_ours_says_nothing():
    v = judge([2.0], printed("2.000", 10), "rmse")
    assert v.verdict == "inconclusive"
    assert math.isnan(v.low)
    assert "one run" in v.reason


def test_runs_that_never_vary():
    assert judge([2.001] * 5, printed("2.000", 2), "rmse").verdict == "reproduced"  # one unit, in binary arithmetic too
    assert judge([0.3] * 5, printed("0.2", 2), "rmse").p == 1
    v = judge([2.0011] * 5, printed("2.000", 2), "rmse")
    assert (v.verdict, v.low, v.high) == ("worse", v.difference, v.difference)
    assert "do not vary" in v.reason


@given(
    st.lists(st.floats(-10, 10), min_size=2, max_size=12),
    st.integers(-10_000, 10_000),
    st.sampled_from([1, 5, 10]),
    st.sampled_from(["", "0.100", "3.000"]),
)
@example([0.0] * 9 + [1.0], 2, 5, "")  # judged by resampled means
def test_mirror_symmetry_and_closed_vocabulary(runs, thousandths, n_published, std):
    def judged(sign):
        text = f"{sign * thousandths / 1000:.3f}"
        return judge([sign * x for x in runs], printed(text, n_published, std, "sd"), "test_log_likelihood")

    a, b = judged(1), judged(-1)
    assert a.p == pytest.approx(b.p, rel=1e-9)
    assert a.verdict == {"better": "worse", "worse": "better"}.get(b.verdict, b.verdict)
    assert a.verdict in VERDICTS
    assert a.low <= a.high
    if a.p_kind == "rank" and (n_published == 1 or std):
        assert (a.p > AGREE) == (a.low <= 0 <= a.high) or min(abs(a.low), abs(a.high)) < 1e-6


@pytest.mark.parametrize(("text", "unit"), [("0.002", 1e-3), ("-2.890", 1e-3), ("57", 1.0), ("0.0025", 1e-4)])
def test_unit_of_the_last_digit(text, unit):
    assert unit_of(text) == pytest.approx(unit, rel=1e-12)


def test_bad_input_is_refused():
    paper = printed("1.0", 5)
    with pytest.raises(ValueError, match="no direction"):
        judge([1.0, 2.0], paper, "surprise")
    with pytest.raises(ValueError, match="plain decimal digits"):
        printed("1e-3", 5)
    with pytest.raises(ValueError, match="finite"):
        judge([1.0, math.nan], paper, "rmse")
    with pytest.raises(ValueError, match="at least one"):
        judge([], paper, "rmse")


def test_a_batch_is_judged_by_the_spread_of_two_batches():
    """Both batches N(0.3, 0.01^2): 20,000 pairs, p <= 5 % in 5 % of them (bounds: false alarm 1e-7 each)."""
    rng, n = np.random.default_rng(3), 20_000
    p = [
        judge_batch(a, 0.01, Printed(b, 1e-9, math.nan, 1), "tarp_coverage_rmse").p
        for a, b in 0.3 + 0.01 * rng.normal(size=(n, 2))
    ]
    missed = sum(x <= AGREE for x in p)
    assert binom.ppf(LEVEL, n, AGREE) <= missed <= binom.isf(LEVEL, n, AGREE)
    assert sum(x <= DIFFER for x in p) <= binom.isf(LEVEL, n, DIFFER)


def test_a_batch_by_hand():
    def said(value, sd, text):
        return judge_batch(value, sd, printed(text, 1, digits=3), "tarp_coverage_rmse")

    found = said(0.05, 0.01, "0.023")  # .027 - .001 < 1.96 * .01 * sqrt 2 = .0277, but .026 + .023 > .02
    assert (found.verdict, found.p_kind) == ("compatible", "normal")
    assert found.high - found.difference == pytest.approx(1.959964 * 0.01 * math.sqrt(2), rel=1e-6)
    assert said(0.025, 0.004, "0.023").verdict == "reproduced"
    assert said(0.06, 0.01, "0.023").verdict == "inconclusive"
    assert said(0.2, 0.01, "0.023").verdict == "worse"
    assert said(0.2, 0.01, "0.500").verdict == "better"
    assert said(0.5, 0.0, "0.500").verdict == "reproduced"
    assert said(0.6, 0.0, "0.500").verdict == "worse"
    with pytest.raises(ValueError, match="finite"):
        said(0.5, math.nan, "0.500")
    with pytest.raises(ValueError, match="direction"):
        judge_batch(0.5, 0.1, printed("0.5", 1), "tarp_fraction")


def test_the_mirror_of_the_rule_in_this_file_is_the_rule():
    rng = np.random.default_rng(11)
    for metric in ("rmse", "test_log_likelihood"):
        for k, std in ((1, ""), (5, "0.20"), (10, "1.50")):
            paper = printed("1.50", k, std, "sd" if std else "none")
            runs = np.exp(rng.normal(size=(40, 12)) * rng.choice([0.1, 1.0], (40, 1)))
            alone = [judge(x, paper, metric).p for x in runs]
            assert p_of(runs, paper, metric) == pytest.approx(alone, rel=1e-9)
    assert verdicts.FAMILY == FAMILY
