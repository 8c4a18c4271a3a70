"""Ranges of any scale and offset: sensitivities, cost, false alarms, empty rows, and the forecast. 40 CPU seconds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom

from privacy import ranges
from privacy.budget import BudgetSpec, Ranges
from privacy.ledger import Mechanism, Relation, Sampling

any_number = st.floats(allow_nan=True, allow_infinity=True, width=64)
rows = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=any_number)
EDGES = [np.array([-1.0, 0.0, 2.0]), np.ldexp(1.0, np.arange(-1074, 1024)), np.array([5.0])]
WEIGHTS = np.array([1.0, 0.5, 3.0])


def budget(seed=0):
    return BudgetSpec().open(np.random.default_rng(seed))


@settings(deadline=None, max_examples=200)
@given(rows)
def test_one_row_moves_the_counts_by_no_more_than_their_sensitivity(values):
    change = ranges.interval_counts(values.T, EDGES, WEIGHTS) - ranges.interval_counts(values[:-1].T, EDGES, WEIGHTS)
    there = WEIGHTS[~np.isnan(values[-1])]
    assert np.linalg.norm(change) == pytest.approx(np.linalg.norm(there), rel=1e-14)


@settings(deadline=None, max_examples=200)
@given(rows)
def test_one_row_moves_the_sums_by_no_more_than_their_sensitivity(values):
    low, high = np.array([-1.0, -ranges._MOST, 5.0]), np.array([1.0, ranges._MOST, 9.0])
    change = ranges.moment_sums(values, low, high, WEIGHTS) - ranges.moment_sums(values[:-1], low, high, WEIGHTS)
    # rounding of a sum of at most 6 numbers of size 3
    assert np.linalg.norm(change) <= math.sqrt(1.25 * (WEIGHTS**2).sum() + 0.25) * (1 + 1e-14)


def test_the_sensitivity_of_the_sums_is_reached():
    sums = ranges.moment_sums(np.ones((1, 3)), -np.ones(3), np.ones(3), WEIGHTS)
    assert np.linalg.norm(sums) == pytest.approx(math.sqrt(1.25 * (WEIGHTS**2).sum() + 0.25), rel=1e-15)


def test_an_empty_row_adds_nothing_to_any_release():
    empty = np.full((1, 3), np.nan)
    assert not ranges.interval_counts(empty.T, EDGES, WEIGHTS).any()
    assert not ranges.moment_sums(empty, -np.ones(3), np.ones(3), WEIGHTS).any()


def test_moments_of_a_table_with_many_empty_rows_are_those_of_the_others():
    """A third of the rows is empty. The public n would pull the mean to 0.33 and the variance to 1/3 of the range."""
    values = np.concatenate([np.full((2000, 2), 0.5) + 0.01 * np.arange(2), np.full((1000, 2), np.nan)])
    values[:2000] += 0.05 * np.random.default_rng(0).standard_normal((2000, 2))
    for table in (values, values[:2000]):  # empty rows as NaN, or left out
        low, high = ranges.private_columns(table, 3000, budget(), 1e-3)
        np.testing.assert_allclose((low + high) / 2, [0.5, 0.51], atol=0.01)
        np.testing.assert_allclose((high - low) / 6, 0.05, rtol=0.1)


@pytest.mark.parametrize("needed", [(), (2,), (0, 1, 2, 3)])
def test_all_releases_cost_what_one_release_costs(needed):
    rng = np.random.default_rng(0)
    wide = rng.normal(0, [1, 1e3, 1e-9, 1e200], (3000, 4))
    offset = wide + np.array([0, 0, 1, 0])
    for values, count in ((wide, 3), (offset, 4)):
        b = budget()
        ranges.private_columns(values, 3000, b, 7.0, needed)
        assert [e.proof for e in b.ledger] == ["privacy.ranges.interval_counts"] * (count - 1) + [
            "privacy.ranges.moment_sums"
        ]
        assert all(e.mechanism is Mechanism.GAUSSIAN and e.sampling is Sampling.FULL_BATCH for e in b.ledger)
        assert all(e.relation is Relation.ADD_REMOVE for e in b.ledger)
        assert sum(e.noise_multiplier**-2 for e in b.ledger) == pytest.approx(7.0**-2, rel=1e-12)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(-1000, 1000), st.floats(0.5, 1.0), st.sampled_from([-1.0, 1.0]), st.integers(-8, 16),
    st.sampled_from(["normal", "uniform", "exponential"]), st.integers(0, 10**6),
)  # fmt: skip
def test_any_scale_and_offset_is_found(exponent, mantissa, sign, offset, shape, seed):
    """At little noise the interval covers ``COVERAGE`` of the rows, and is at most 40 times as wide as the middle 90 %.

    The noise of a count is below 0.2 rows, and that of the counts of all cells together below 10 of 2,000 rows.
    The mean is 0 (offset below 0), or 2^offset times the scale. Columns of scales up to 2^1000.
    """
    rng = np.random.default_rng(seed)
    scale = sign * math.ldexp(mantissa, min(exponent, 1000 - max(offset, 0)))
    rows = getattr(rng, shape)(size=2000) + (0.0 if offset < 0 else 2.0**offset)
    low, high = ranges.private_columns((scale * rows)[:, None], 2000, budget(seed), 0.05)
    inner = np.quantile(rows, [0.05, 0.95])
    assert np.mean((scale * rows >= low[0]) & (scale * rows <= high[0])) >= ranges.COVERAGE - 0.02
    # a scale below 2^LEAST_SCALE is taken for that
    assert high[0] - low[0] <= max(40 * abs(scale) * (inner[1] - inner[0]), 2.0 ** (ranges.LEAST_SCALE + 2))


@pytest.mark.parametrize("constant", [0.0, 5e-324, -5e-324, 1.0, -3.3e7, 1.7e308, -1.7e308])
def test_a_constant_column_gets_an_interval_that_holds_it(constant):
    for seed in range(5):
        low, high = ranges.private_columns(np.full((3000, 1), constant), 3000, budget(seed), 5.0)
        assert low[0] < high[0]
        assert np.isfinite([low[0], high[0], 1 / (high[0] / 2 - low[0] / 2)]).all()
        assert low[0] <= constant <= high[0]


def test_extreme_rows_do_no_harm():
    values = np.random.default_rng(0).normal(5, 1, (2000, 2))
    values[:3] = [[np.inf, -np.inf], [1.7e308, -1.7e308], [5e-324, -0.0]]
    low, high = ranges.private_columns(values, 2000, budget(), 5.0)
    assert (np.abs(np.concatenate([low, high])) < 64).all()


def test_noise_alone_locates_a_column_as_rarely_as_stated():
    """Columns of noise only. The test fails wrongly with probability 1e-4 at most, by the binomial distribution."""
    bins, columns = 2 * len(ranges._block_edges()) + 1, 2000
    noise = np.random.default_rng(3).standard_normal((columns, bins))
    for rate in (ranges.FALSE_COLUMN, ranges.FALSE_TARGET):
        found = sum(ranges._blocks(c, 1.0, 10**9, rate) is not None for c in noise)
        assert found <= binom.ppf(1 - 1e-4, columns, rate)


def test_a_hidden_column_is_left_out_and_a_hidden_target_stops_the_fit():
    rng = np.random.default_rng(0)
    half_empty = np.where(rng.random(1000) < 0.5, 2.0 ** rng.uniform(-900, 900, 1000), np.nan)
    values = np.column_stack([half_empty, rng.normal(0, 1, 1000)])
    b = budget()
    low, high = ranges.private_columns(values, 1000, b, 20.0, [1])
    assert (low[0], high[0]) == (-np.inf, np.inf)
    assert np.isfinite([low[1], high[1]]).all()
    b = budget()
    with pytest.raises(ranges.HiddenRange, match="state ranges"):
        ranges.private_columns(values, 1000, b, 20.0, [0])
    assert len(b.ledger) == 1
    b = budget()
    low, high = ranges.private_columns(values[:, :1], 1000, b, 20.0)  # left out, though there is no other
    assert np.isinf([low, high]).all()
    assert len(b.ledger) == 1


def test_what_is_named_hidden_is_a_function_of_releases():
    """Two neighbouring tables with the same noisy counts of blocks, because the noise hides their difference."""
    values = np.random.default_rng(0).normal(0, 1, (200, 5))
    values[:, 1] = 2.0 ** np.random.default_rng(1).uniform(-900, 900, 200)

    class Same(np.random.Generator):
        """A generator whose noise hides the difference of two tables."""

        def __init__(self, shift):
            super().__init__(np.random.PCG64(1))
            self.shift = shift

        def normal(self, loc=0.0, scale=1.0, size=None):
            noise, shift = super().normal(loc, scale, size), self.shift
            self.shift = 0.0
            return noise - shift

    edges = [ranges._signed(ranges._block_edges())] * 5
    change = ranges.interval_counts(values.T, edges, np.ones(5)) - ranges.interval_counts(
        values[:-1].T, edges, np.ones(5)
    )
    one = ranges.private_columns(values, 200, BudgetSpec().open(Same(change)), 3.0)
    other = ranges.private_columns(values[:-1], 200, BudgetSpec().open(Same(0.0)), 3.0)
    assert np.isinf(one.low).tolist() == np.isinf(other.low).tolist() == [False, True, False, False, False]


def test_the_assumed_share_is_that_of_the_least_favourable_normal_distribution():
    """Of a block of both signs, or of two blocks by its noise, whichever is clearer. Scales over one block."""

    def part(a, b):
        return math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))

    found = []
    for scale in 2.0 ** np.linspace(0, ranges.BLOCK, 400):
        ends = scale * 2.0 ** (ranges.BLOCK * np.arange(-6, 6))
        one = max(part(a, b) for a, b in pairwise(ends))
        two = max(part(a, b) for a, b in zip(ends, ends[2:], strict=False)) / math.sqrt(2)
        found.append(max(one, two))
    assert min(found) == pytest.approx(ranges.FULLEST, abs=0.005)


@pytest.mark.parametrize("inputs", [1, 10, 40])
def test_the_forecast_is_the_share_of_hidden_columns(inputs):
    """Rows of one scale, half of each sign: two bins hold all. By 99.9 % binomial intervals over columns."""
    n, multiplier, fits = 400, 14.0, 30
    values = np.random.default_rng(0).choice([-1.5, 1.5], (n, inputs + 1))
    hidden = lost = 0
    for seed in range(fits):
        try:
            low, _ = ranges.private_columns(values, n, budget(seed), multiplier, [inputs])
            hidden += int(np.isinf(low).sum())
        except ranges.HiddenRange:
            lost += 1
    told = ranges.hiding(n, inputs, multiplier, share=1.0)
    # a false window may still show a column that the forecast counts as hidden
    assert binom.cdf(hidden, (fits - lost) * inputs, told.column[1] * (1 - 2 * ranges.FALSE_COLUMN)) > 5e-4
    assert binom.sf(hidden - 1, (fits - lost) * inputs, told.column[1]) > 5e-4
    assert binom.sf(lost - 1, fits, told.target[1]) > 5e-4


def test_the_forecast_says_how_many_rows_would_do():
    few = ranges.hiding(700, 10, 12.0)
    assert few.expected == tuple(10 * p for p in few.column)
    assert few.column[0] < few.column[1]
    assert f"{few.expected[0]:.1f} to {few.expected[1]:.1f} of the 10 inputs" in few.words
    assert f"About {few.rows:,} rows would do." in few.words
    assert "the fit is lost" not in few.words
    enough = ranges.hiding(few.rows, 10, 12.0)
    assert max(enough.column[1], enough.target[1]) <= ranges.RARE
    assert enough.words == ""
    assert not few.hopeless
    lost = ranges.hiding(40, 10, 12.0)
    assert lost.hopeless
    assert "the fit is lost" in lost.words
    assert ranges.hiding(442, 10, 12.0, target=False).target == (0.0, 0.0)
    with pytest.raises(ValueError, match="share"):
        ranges.hiding(442, 10, 12.0, share=2.0)


def test_the_noise_of_a_target_does_not_grow_with_the_inputs():
    for inputs in (2, 10, 100):
        weights = ranges.column_weights(inputs + 1, [inputs])
        assert np.linalg.norm(weights) / weights[-1] <= math.sqrt(3) * (1 + 1e-12)
        assert np.linalg.norm(weights) / weights[0] <= math.sqrt(1.5 * inputs) * (1 + 1e-12)
    assert ranges.column_weights(4, range(4)).tolist() == [1] * 4


def test_the_committed_experiments_keep_their_histogram():
    assert BudgetSpec().ranges is Ranges.MILLIONTHS
    assert BudgetSpec(ranges="all doubles").ranges is Ranges.ALL
    with pytest.raises(ValueError, match="is not a valid Ranges"):
        BudgetSpec(ranges="all")
