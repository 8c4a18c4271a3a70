"""Private standardisation: sensitivities, cost in the ledger, and that it is worth its cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.standardise import Standardiser
from models.task import PublicKnowledge
from privacy import scaling
from privacy.accountants import epsilon_of, gdp_mu
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

ENFORCED = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
any_number = st.floats(allow_nan=True, allow_infinity=True, width=64)
rows = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=any_number)


def budget(seed=0, spec=None):
    return (spec or BudgetSpec()).open(np.random.default_rng(seed))


@settings(deadline=None, max_examples=200)
@given(rows)
def test_one_row_moves_the_range_histogram_by_its_sensitivity(values):
    change = scaling.range_counts(values) - scaling.range_counts(values[:-1])
    assert np.linalg.norm(change) == pytest.approx(np.sqrt(3), rel=1e-15)


@settings(deadline=None, max_examples=200)
@given(rows)
def test_one_row_moves_the_moment_sums_by_no_more_than_their_sensitivity(values):
    low, high = np.array([-1.0, 0.0, 5.0]), np.array([1.0, 1e-3, 9.0])
    with np.errstate(over="ignore"):
        change = scaling.moment_sums(values, low, high) - scaling.moment_sums(values[:-1], low, high)
    assert np.isfinite(change).all()
    # rounding of a sum of at most 6 numbers of size 1
    assert np.linalg.norm(change) <= np.sqrt(1.25 * 3) * (1 + 1e-14)


def test_the_moment_sensitivity_is_reached():
    """A looser bound would waste budget; this one is attained where every column stands at an end of its range."""
    low, high = -np.ones(4), np.ones(4)
    sums = scaling.moment_sums(np.ones((1, 4)), low, high)
    assert np.linalg.norm(sums) == pytest.approx(np.sqrt(1.25 * 4), rel=1e-15)


def some_rows(n, seed=3):
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(0, 1, n), rng.uniform(450, 1000, n), rng.exponential(2.0, n)])
    return x, 5.6 + 0.8 * rng.standard_normal(n)


def test_documented_ranges_cost_one_event_and_missing_ones_two():
    x, y = some_rows(500)
    known = PublicKnowledge(500, ((-4, 4), (400, 1000), (0, 20)), (0, 10), "the law that draws these rows")
    for public, count in ((known, 1), (PublicKnowledge(500, known.x_bounds), 2), (PublicKnowledge(500), 2)):
        b = budget()
        scaling.private_scaling(x, y, public, b, 7.0)
        assert len(b.ledger) == count
        assert all(e.relation is Relation.ADD_REMOVE and e.sampling is Sampling.FULL_BATCH for e in b.ledger)
        assert all(e.mechanism is Mechanism.GAUSSIAN and e.proof.startswith("privacy.scaling.") for e in b.ledger)
        # the promise: the whole costs what one release with noise multiplier 7 costs
        assert sum(e.noise_multiplier**-2 for e in b.ledger) == pytest.approx(7.0**-2, rel=1e-12)
    sensitivities = sorted(e.sensitivity for e in b.ledger)  # of the last: 4 columns, all bought
    assert sensitivities == pytest.approx([2.0, np.sqrt(5.0)])


@pytest.mark.parametrize("bought", [False, True])
def test_it_approaches_the_moments_of_the_data(bought):
    """At n = 20,000 and the noise of a tenth of (1, 1e-5): mean to 0.1 and standard deviation to 25 %.

    Loose on purpose: ends of a bought range are powers of two, and a clipped tail shortens the standard deviation.
    """
    x, y = some_rows(20_000)
    known = ((-4.0, 4.0), (400.0, 1000.0), (0.0, 20.0))
    public = PublicKnowledge(20_000) if bought else PublicKnowledge(20_000, known, (0.0, 10.0))
    multiplier = scaling.scaling_noise_multiplier(1.0, 1e-5, 0.1)
    found, true = Standardiser(*scaling.private_scaling(x, y, public, budget(1), multiplier)), None
    true = Standardiser.from_moments(x, y)
    ratio = np.append(found.x_scale / true.x_scale, found.y_scale / true.y_scale)
    shift = np.append((found.x_shift - true.x_shift) / true.x_scale, (found.y_shift - true.y_shift) / true.y_scale)
    assert (np.abs(np.log(ratio)) < np.log(1.25)).all(), ratio
    assert (np.abs(shift) < 0.1).all(), shift


def test_without_noise_documented_ranges_give_the_exact_moments():
    x, y = some_rows(400)
    public = PublicKnowledge(400, ((-10, 10), (400, 1000), (0, 100)), (0, 10))
    found = scaling.private_scaling(x, y, public, budget(), 1e-9)
    true = Standardiser.from_moments(x, y)
    # noise of 1e-9 x sensitivity, over 400 rows and a range of up to 600
    np.testing.assert_allclose(found.x_shift, true.x_shift, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.x_scale[:2], true.x_scale[:2], rtol=1e-6)
    assert found.y_scale == pytest.approx(true.y_scale, rel=1e-6)


def test_no_column_gets_a_scale_that_is_not_positive_and_finite():
    constant = np.column_stack([np.full(300, 288.0), np.zeros(300), np.full(300, -0.998), np.full(300, 1e30)])
    for seed in range(5):
        for multiplier in (1e-3, 1.0, 1e4):
            found = scaling.private_scaling(constant, np.zeros(300), PublicKnowledge(300), budget(seed), multiplier)
            everything = np.array([*found.x_scale, found.y_scale, *found.x_shift, found.y_shift])
            assert np.isfinite(everything).all()
            assert (found.x_scale > 0).all()
            assert found.y_scale > 0


def test_a_column_of_one_sign_gets_a_range_on_that_side():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.uniform(450, 1000, 5000), -rng.uniform(450, 1000, 5000), rng.uniform(-1, 1, 5000)])
    ranges = scaling.private_ranges(values, 5000, budget(), 5.0)
    assert ranges[0] == (256.0, 1024.0)
    assert ranges[1] == (-1024.0, -256.0)
    assert ranges[2] == (-1.0, 1.0)


def test_an_input_hidden_by_the_noise_becomes_a_constant_and_a_target_keeps_a_scale():
    """100 rows under noise of more than 100: the widest range for the input, a finite one for the target."""
    values = np.ones((100, 2))
    (low, high), (_, top) = scaling.private_ranges(values, 100, budget(), 100.0, target=True)
    assert (low, high) == (-(2.0**20), 2.0**20)
    assert 0 < top <= 2.0**21


def test_a_lone_bin_far_away_must_be_certain_and_one_nearby_need_not():
    """Thresholds 10 and 20: bins 5 to 7 hold the values, 9 is near, 10 and 30 are not."""
    counts = np.zeros(41)
    counts[[5, 6, 7, 9, 10, 30]] = 50, 90, 25, 12, 12, 15
    assert scaling.occupied_bins(counts, 10, 20).tolist() == [5, 6, 7, 9]
    counts[30] = 21  # certain by itself, so that what is near it counts too
    counts[32] = 11
    assert scaling.occupied_bins(counts, 10, 20).tolist() == [5, 6, 7, 9, 30, 32]


def test_where_no_bin_is_certain_the_largest_stands_for_them_and_none_is_hidden():
    """So a column that shows at the low threshold shows still."""
    counts = np.zeros(41)
    counts[[4, 6, 20]] = 12, 15, 11
    assert scaling.occupied_bins(counts, 10, 20).tolist() == [4, 6]
    assert scaling.occupied_bins(counts, 16, 20).tolist() == []


@settings(deadline=None, max_examples=200)
@given(arrays(np.float64, 41, elements=st.floats(-30, 30)))
def test_far_bins_are_left_out_and_nothing_else(counts):
    all_, found = np.flatnonzero(counts > 10), scaling.occupied_bins(counts, 10, 20)
    assert set(found) <= set(all_)
    assert set(np.flatnonzero(counts > 20)) <= set(found)
    assert bool(len(all_)) == bool(len(found))
    assert scaling.occupied_bins(counts, 10, 10).tolist() == all_.tolist()  # one threshold: the rule of before


def test_the_ends_of_the_range_are_not_the_ends_of_the_data():
    """Replacing the largest value by any larger one of its bin changes nothing."""
    x, _ = some_rows(300)
    other = x.copy()
    other[np.argmax(x[:, 1]), 1] = 1023.9
    one = scaling.private_ranges(x, 300, budget(5), 3.0)
    assert scaling.private_ranges(other, 300, budget(5), 3.0) == one


@pytest.mark.parametrize(
    ("bounds", "y_bounds", "named"),
    [
        (((0, 1),), None, "2 input columns"),
        (((0, 1), (2, 2)), None, r"x_bounds\[1\]"),
        (((0, 1), (0, np.inf)), None, r"x_bounds\[1\]"),
        ((), (3, 1), "y_bounds"),
    ],
)
def test_bad_ranges_are_refused_by_name(bounds, y_bounds, named):
    with pytest.raises(ValueError, match=named):
        scaling.private_scaling(np.zeros((5, 2)), np.zeros(5), PublicKnowledge(5, bounds, y_bounds), budget(), 1.0)


def test_the_share_is_a_share_of_the_squared_mu():
    multiplier = scaling.scaling_noise_multiplier(1.0, 1e-5, 0.08)
    assert (1 / multiplier) ** 2 == pytest.approx(0.08 * gdp_mu(1.0, 1e-5) ** 2, rel=1e-12)
    with pytest.raises(ValueError, match="share"):
        scaling.scaling_noise_multiplier(1.0, 1e-5, 0.0)


def planned(sampling=Sampling.FULL_BATCH, rate=1.0, steps=1):
    return Event("training", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, 1.0, sampling, rate, steps)


@pytest.mark.parametrize(
    "event", [planned(), planned(steps=120), planned(Sampling.POISSON, 0.1, 50)], ids=["one", "steps", "poisson"]
)
def test_what_is_left_fits_and_is_not_wasted(event):
    spent = Ledger([Event("scaling", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 3.0, 39.0)])
    multiplier = scaling.remaining_noise_multiplier(spent, event, 1.0, 1e-5)

    def cost(m):
        from dataclasses import replace

        return epsilon_of(Ledger([*spent, replace(event, noise_scale=m)]), 1e-5).epsilon

    assert cost(multiplier) <= 1.0
    assert cost(multiplier * 0.995) > 1.0  # the search stops within 0.1 %; the accountant's grid is finer than 0.4 %


def test_nothing_left_is_said_clearly():
    spent = Ledger([Event("scaling", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, 1.0)])
    for epsilon in (1.0, epsilon_of(spent, 1e-5).epsilon):  # also where the budget is spent to the last digit
        with pytest.raises(ValueError, match="smaller share"):
            scaling.remaining_noise_multiplier(spent, planned(), epsilon, 1e-5)


def test_an_enforced_budget_refuses_what_it_cannot_pay():
    x, y = some_rows(100)
    with pytest.raises(BudgetExceeded, match="epsilon"):
        scaling.private_scaling(x, y, PublicKnowledge(100), budget(spec=ENFORCED), 1.0)
