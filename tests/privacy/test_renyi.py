"""Renyi budgets: the cost of a ledger at one order, and enforcement."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accountants import renyi_curve
from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling
from privacy.renyi import RenyiBudget, divergence, open_budget, order_and_epsilon

ORDERS = (1.0, 1.5, 2.0, 7.0, 100.0)


def gaussian(multiplier, rate=1.0, steps=1):
    sampling = Sampling.FULL_BATCH if rate == 1.0 else Sampling.POISSON
    return Event("sum", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 2.0, 2.0 * multiplier, sampling, rate, steps)


def written(curve, steps=1, relation=Relation.ADD_REMOVE):
    return Event("draw", Mechanism.WRITTEN_BOUND, relation, 1.0, 0.0, steps=steps, renyi_curve=tuple(curve))


def opened(**spec):
    return open_budget(BudgetSpec(**spec), np.random.default_rng(0))


@pytest.mark.parametrize("order", ORDERS)
def test_gaussian_and_written_releases_together(order):
    """Mironov 2017, corollary 3: order / (2 sigma^2) a release; the curve of the other event is that of sigma = 5."""
    draws = written([(a, a / 50.0) for a in ORDERS], steps=3)
    assert divergence(Ledger([draws]), order) == pytest.approx(3 * order / 50, rel=1e-12)
    both = divergence(Ledger([draws, gaussian(2.0, steps=4)]), order)
    assert both == pytest.approx(3 * order / 50 + 4 * order / 8, rel=1e-12)


def test_the_next_order_of_a_curve_answers_and_beyond_it_nothing_does():
    ledger = Ledger([written([(2.0, 0.1), (4.0, 0.3)])])
    assert divergence(ledger, 3.0) == 0.3
    assert divergence(ledger, 1.0) == 0.1
    assert divergence(ledger, 5.0) == math.inf


def test_sampled_releases_have_the_librarys_curve():
    sampled = gaussian(1.3, 0.05, 40)
    known = renyi_curve(sampled, [2, 8])["dp_accounting"]
    assert divergence(Ledger([sampled]), 2) == pytest.approx(known[0], rel=1e-12)
    assert divergence(Ledger([sampled]), 8) == pytest.approx(known[1], rel=1e-12)
    assert 0 < divergence(Ledger([sampled]), 1) < known[0]


def test_an_empty_ledger_a_bare_release_a_relation_that_does_not_fit_and_a_wrong_order():
    bare = Event("all", Mechanism.NO_NOISE, Relation.ADD_REMOVE, math.inf, 0.0)
    assert divergence(Ledger(), 2) == 0.0
    assert divergence(Ledger([bare]), 2) == math.inf
    replaced = written([(2.0, 0.1)], relation=Relation.REPLACE_ONE)
    assert divergence(Ledger([replaced, gaussian(1.0)]), 2) == pytest.approx(0.1 + 4.0)  # its distance doubled
    assert divergence(Ledger([replaced, written([(2.0, 0.1)])]), 2) == math.inf  # a bound cannot be converted
    for order in (0.9, math.inf, math.nan):
        with pytest.raises(ValueError, match="at least 1"):
            divergence(Ledger(), order)


def test_a_budget_is_held_at_its_order_over_all_events():
    budget = opened(renyi=(2.0, 1.0), mode="enforce")
    assert isinstance(budget, RenyiBudget)
    budget.spend(written([(2.0, 0.6)], relation=Relation.REPLACE_ONE))
    # a Gaussian release costs order / (2 sigma^2) = 0.4 here: it just fits, and nothing fits after it
    budget.gaussian("sum", sensitivity=1.0, noise_multiplier=2.5**0.5, relation=Relation.REPLACE_ONE, proof="by hand")
    with pytest.raises(BudgetExceeded, match="Renyi order 2; the budget is 1"):
        budget.spend(written([(2.0, 1e-6)], relation=Relation.REPLACE_ONE))
    assert len(budget.ledger) == 2


def test_an_order_that_the_bound_does_not_cover_is_refused_and_record_writes_all():
    with pytest.raises(BudgetExceeded, match="epsilon = inf"):
        opened(renyi=(3.0, 1.0), mode="enforce").spend(written([(2.0, 0.1)]))
    recorded = opened(renyi=(3.0, 1.0))
    recorded.spend(written([(2.0, 50.0)]))
    assert len(recorded.ledger) == 1


def test_both_budgets_hold_where_both_are_given():
    spec = {"epsilon": 0.01, "delta": 1e-5, "renyi": (2.0, 1.0), "mode": "enforce"}
    with pytest.raises(BudgetExceeded, match="at delta"):
        opened(**spec).spend(written([(2.0, 0.5)]))
    with pytest.raises(BudgetExceeded, match="at Renyi order"):
        opened(**spec | {"epsilon": 1e9}).spend(written([(2.0, 1.5)]))


def test_a_budget_without_an_order_is_the_ordinary_one():
    assert type(opened(epsilon=1.0, delta=1e-5, mode="enforce")).__name__ == "Budget"
    with pytest.raises(ValueError, match="toy: the budget states no Renyi order"):
        order_and_epsilon(opened(epsilon=1.0), "toy")
    assert order_and_epsilon(opened(renyi=[2, 1]), "toy") == (2.0, 1.0)


@pytest.mark.parametrize("renyi", [(0.5, 1.0), (math.nan, 1.0), (math.inf, 1.0), (2.0, 0.0), (2.0, math.inf)])
def test_a_renyi_budget_out_of_range_is_refused(renyi):
    with pytest.raises(ValueError, match="Renyi"):
        opened(renyi=renyi)
