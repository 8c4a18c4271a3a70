"""The noisy count of replaced fields: its sensitivity, its cost, and how often it reports what is not there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from privacy import replaced
from privacy.accountants import epsilon_of, gdp_mu
from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Relation

COLUMNS = ("age", "dose", "ill")
K, N, FITS = len(COLUMNS), 5000, 4000
#: probability that a statistical test here fails although the code is right.
ALPHA = 1e-6
BUDGETS = [(1.0, 1e-6), (0.5, 0.0)]


def released(counts: np.ndarray, epsilon: float, delta: float, fits: int = FITS, seed: int = 0):
    """Counted of ``fits`` releases of the same true counts (K,)."""
    marks = np.arange(N)[:, None] < counts
    rng = np.random.default_rng(seed)
    spec = BudgetSpec(epsilon=epsilon, delta=delta, mode="enforce")
    return [replaced.release(marks, COLUMNS, N, spec.open(rng), Relation.ADD_REMOVE) for _ in range(fits)]


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 8))
def test_one_row_moves_the_counts_by_at_most_the_sensitivity(data, k):
    row = st.lists(st.booleans(), min_size=k, max_size=k)
    rows = np.array(data.draw(st.lists(row, min_size=1, max_size=5)), dtype=bool)
    other = rows.copy()
    other[0] = data.draw(row)
    for neighbour in (other, rows[1:]):
        move = replaced.counts(rows) - replaced.counts(neighbour)
        assert np.linalg.norm(move) <= math.sqrt(k) + 1e-12
        assert np.abs(move).sum() <= k


def test_the_bound_is_attained_by_a_replacement():
    before, after = replaced.counts(np.zeros((2, K), bool)), replaced.counts(np.array([[1] * K, [0] * K], bool))
    assert np.linalg.norm(after - before) == pytest.approx(math.sqrt(K))


def test_it_costs_a_hundredth_of_the_budget():
    spec = BudgetSpec(epsilon=1.0, delta=1e-6, mode="enforce")
    budget = spec.open(np.random.default_rng(0))
    replaced.release(np.zeros((N, K), bool), COLUMNS, N, budget, Relation.ADD_REMOVE)
    (event,) = budget.ledger
    assert event.noise_multiplier**-2 / gdp_mu(1.0, 1e-6) ** 2 == pytest.approx(0.01, rel=1e-9)
    assert (event.sensitivity, event.proof) == (math.sqrt(K), "privacy.replaced.counts")
    pure = BudgetSpec(epsilon=0.5, delta=0.0, mode="enforce").open(np.random.default_rng(0))
    replaced.release(np.zeros((N, K), bool), COLUMNS, N, pure, Relation.REPLACE_ONE)
    assert epsilon_of(pure.ledger, 0.0).epsilon == pytest.approx(0.005)
    assert next(iter(pure.ledger)).sensitivity == K
    for _ in range(99):
        replaced.release(np.zeros((N, K), bool), COLUMNS, N, pure, Relation.REPLACE_ONE)
    with pytest.raises(BudgetExceeded):
        replaced.release(np.zeros((N, K), bool), COLUMNS, N, pure, Relation.REPLACE_ONE)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_all_intervals_hold_at_once_at_their_level(epsilon, delta):
    """Two-sided binomial test of the joint coverage of 4,000 releases; it fails by chance once in a million."""
    truth = np.array([100, 700, 0])
    inside = sum(bool((abs(c.noisy - truth) <= c.half_width).all()) for c in released(truth, epsilon, delta))
    low, high = binom.ppf([ALPHA / 2, 1 - ALPHA / 2], FITS, replaced.LEVEL)
    assert low <= inside <= high


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_table_at_the_limit_is_seldom_reported_and_one_at_the_visible_share_often(epsilon, delta):
    """With every column at 5 % at most (1 - LEVEL) of the fits may report; one-sided tests, once in a million each."""
    limit = np.full(K, int(replaced.REPORTED * N))
    alarms = sum(len(c.sentences) > 1 for c in released(limit, epsilon, delta))
    assert alarms <= binom.isf(ALPHA, FITS, 1 - replaced.LEVEL)
    visible = replaced.visible_share(K, N, epsilon, delta)
    if visible < 1:
        truth = np.array([0, math.ceil(visible * N), 0])
        seen = sum("fields of dose" in c.sentences[-1] for c in released(truth, epsilon, delta, seed=1))
        assert seen >= binom.ppf(ALPHA, FITS, replaced.POWER)


def test_what_it_sees_is_said_from_public_numbers():
    made = released(np.zeros(K), 1.0, 1e-6, 1)[0]
    assert made.visible == replaced.visible_share(K, N, 1.0, 1e-6)
    shares = {n: replaced.visible_share(K, n, 1.0, 1e-6) for n in (300, 1000, 5000)}
    words = {
        "sees nothing": 300,
        "sees too little: it reports a column only if 39 %": 1000,
        "which 11.7 % or more": 5000,
    }
    for said, n in words.items():
        assert said in replaced.Counted(COLUMNS, np.zeros(K), n, 0.0, shares[n]).sentences[0]


def test_each_column_that_is_reported_is_named_once():
    made = replaced.Counted(COLUMNS, np.array([900.0, 100.0, 600.0]), 1000, 100.0, 0.1)
    assert made.sentences[1:] == [
        "Check the format of the table: at least 80 % of the fields of age were replaced, and 50 % of the rows are "
        "empty."
    ]
    assert made.lower.tolist() == [0.8, 0.0, 0.5]
    # the lower end has to be above 5 %
    assert len(replaced.Counted(COLUMNS, np.array([150.0, 0.0, 0.0]), 1000, 100.0, 0.1).sentences) == 1
