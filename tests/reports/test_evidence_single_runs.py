"""Evidence of single runs, of chains run by run, and of streams: bounds and rates of false alarms."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu, norm

from reports import verdict
from reports.evidence import (
    AGREE,
    Printed,
    Runs,
    chance_above,
    chance_of_chains,
    chances,
    chernoff,
    run_by_run,
    streams,
)
from reports.verdict import ANY_FALSE

LEVEL = ANY_FALSE / 48


def single_runs(theirs, unit=1e-9) -> Printed:
    return Printed(float(np.mean(theirs)), unit, math.nan, len(theirs), tuple(theirs))


LAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "shares of 20 rows": lambda rng, n: rng.binomial(20, 0.3, n) / 20,
}


# ----- runs of a sampler, by the chance that one of ours is above one of theirs


@pytest.mark.parametrize("law", LAWS)
def test_the_rates_of_chances(law):
    """4,000 pairs of samples of one law: p <= 5 %, and intervals without the true chance of 1/2.

    p is at most as often below as Binomial(4000, .05), with a false-alarm rate of 1e-6. The interval rests on normal
    limits: 10 runs have up to 7.5 % of misses, of which this law has at most 9 %.
    """
    rng = np.random.default_rng(1)
    p, w, half = chance_above(LAWS[law](rng, (4_000, 20)), LAWS[law](rng, (4_000, 10)))
    assert (p <= AGREE).sum() <= binom.isf(1e-6, 4_000, AGREE)
    assert (np.abs(w - 0.5) > half).mean() < 0.09


def test_chances_have_the_p_of_scipy():
    rng = np.random.default_rng(2)
    for top in (4, 1_000_000):
        ours, theirs = rng.integers(0, top, 20).astype(float), rng.integers(0, top, 30).astype(float)
        found = chances(single_runs(theirs), ours, "sampler_output", LEVEL)
        assert found.p == pytest.approx(mannwhitneyu(ours, theirs, method="asymptotic").pvalue, rel=1e-9)
    same = chances(single_runs(np.ones(5)), np.ones(4), "sampler_output", LEVEL)
    assert (same.p, same.bound) == (1.0, 0.0)
    with pytest.raises(ValueError, match="no published run"):
        chances(Printed(1.0, 0.1, math.nan, 5), [1.0], "sampler_output", LEVEL)


def test_words_of_chances():
    rng = np.random.default_rng(3)
    theirs, ours = rng.standard_normal(100), rng.standard_normal(100)

    def said(shift, ours=ours):
        return verdict.judge(Runs(single_runs(theirs), ours + shift, "sampler_output", chances), family=2018).verdict

    assert [said(0.0), said(0.0, ours[:10]), said(2.0), said(-2.0)] == [
        "reproduced",
        "compatible",
        "differs",
        "differs",
    ]


def test_chains_run_by_run():
    """4,000 sets of 50 perfect copies, whose errors are known up to a factor: p <= 5 % at most as often as
    Binomial(4000, .05) with a false-alarm rate of 1e-6. The signed-rank test is approximated by a normal distribution.
    """
    rng = np.random.default_rng(4)
    for factor in (1.0, 1.5):
        p, w, half = chance_of_chains(factor * rng.standard_normal((4_000, 50)))
        assert (p <= AGREE).sum() <= binom.isf(1e-6, 4_000, AGREE)
        assert (np.abs(w - 0.5) > half).mean() < 0.08
    exact, errors = rng.standard_normal(50), np.full(50, 0.1)
    z = rng.permutation(norm.ppf((np.arange(50) + 0.5) / 50))

    def said(shift):
        evidence = partial(run_by_run, errors=errors)
        theirs = single_runs(exact + 0.1 * z + shift)
        return verdict.judge(Runs(theirs, exact, "sampler_output", evidence), family=2018).verdict

    assert [said(0.0), said(0.3)] == ["reproduced", "differs"]


# ----- a number of a few streams


def test_chernoff_bounds_the_exact_tail():
    """Every sum of one of three values of each of six rows, counted: 729 equally likely ones."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        steps = rng.standard_normal((6, 3)) ** 3
        steps -= steps.mean(axis=1, keepdims=True)
        sums = np.array([sum(c) for c in itertools.product(*steps)])
        for at in rng.uniform(0.01, 1.1, 5) * sums.max():
            assert chernoff(steps, at) >= np.mean(sums >= at) - 1e-12
        assert chernoff(steps, sums.max()) == pytest.approx(3.0**-6, rel=1e-3)
        assert chernoff(steps, sums.max() * 1.001) == 0.0


def test_chernoff_is_that_of_a_normal_law_where_a_sum_is_normal():
    """exp(-z^2 / 2) for a sum of 2,000 signs at z = 3, from above the tail."""
    steps = np.tile([-1.0, 1.0], (2_000, 1))
    assert chernoff(steps, 3 * math.sqrt(2_000)) == pytest.approx(math.exp(-4.5), rel=0.02)
    assert chernoff(steps, 3 * math.sqrt(2_000)) > norm.sf(3)


def test_the_rate_of_false_words_of_streams():
    """1,000 numbers, each of 50 folds with one of three streams, heavy tails among the folds, rounded to six digits.

    p <= 5 % at most as often as Binomial(1000, .05) (1e-6); Chernoff's bound makes 1.3 % of it.
    """
    rng = np.random.default_rng(6)
    values = 0.8 + 0.01 * rng.standard_t(3, (50, 3))
    chosen = rng.integers(3, size=(1_000, 50))
    theirs = np.round(values[np.arange(50), chosen].mean(axis=1), 6)
    centre, steps = values.mean(), (values - values.mean(axis=1, keepdims=True)) / 50
    p = []
    for gap in np.maximum(0, np.abs(theirs - centre) - 1e-6) * np.sign(theirs - centre):
        p.append(min(1.0, 2 * chernoff(steps * np.sign(gap), abs(gap))) if gap else 1.0)
    assert np.sum(np.array(p) <= AGREE) <= binom.isf(1e-6, 1_000, AGREE)
    assert min(p) > LEVEL
    for m, expected in zip(theirs[:50], p, strict=False):
        found = streams(Printed(m, 1e-6, math.nan, 1), values, "rmse", LEVEL)
        assert found.p == pytest.approx(expected, rel=1e-6)
        assert (found.low - 1e-6 <= 0 <= found.high + 1e-6) == (found.p > AGREE)


def test_words_of_streams():
    rng = np.random.default_rng(7)
    values = 0.8 + 0.01 * rng.standard_normal((50, 3))

    def said(number, v=values, metric="rmse"):
        return verdict.judge(Runs(Printed(number, 1e-6, math.nan, 1), v, metric, streams), family=48)

    centre = values.mean()
    assert said(centre).verdict == said(centre, metric="fnorm").verdict == "reproduced"
    assert said(values.min(axis=1).mean() - 1e-5).p == 0
    assert said(values.min(axis=1).mean() - 1e-5).verdict == "worse"
    assert said(values.max(axis=1).mean() + 1e-5).verdict == "better"
    assert said(0.8, 0.8 + 0.5 * rng.standard_normal((50, 3))).verdict == "compatible"
    with pytest.raises(ValueError, match="one row per part"):
        streams(Printed(0.8, 1e-6, math.nan, 1), [0.8, 0.9], "rmse", LEVEL)
