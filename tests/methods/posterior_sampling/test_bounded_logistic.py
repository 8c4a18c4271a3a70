"""The price of one draw under add/remove, against brute force on a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from methods.posterior_sampling import _bounded_logistic as draws
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Ledger, Relation

THETA = np.linspace(-12.0, 12.0, 24001)


def law(rows, power, precision, radius=math.inf):
    """Log-probabilities on the grid of the tempered posterior of one parameter."""
    log_p = -power * np.logaddexp(0, -np.outer(rows, THETA)).sum(axis=0) - 0.5 * precision * THETA**2
    log_p = np.where(np.abs(THETA) <= radius, log_p, -np.inf)
    top = log_p.max()
    return log_p - top - math.log(np.exp(log_p - top).sum())


def divergence(p, q, order):
    inside = np.isfinite(p)
    exponent = order * p[inside] + (1 - order) * q[inside]
    top = exponent.max()
    return (top + math.log(np.exp(exponent - top).sum())) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
@pytest.mark.parametrize("power", [0.3, 1.0])
def test_no_neighbours_on_a_grid_exceed_the_renyi_bound(order, power):
    """All data sets of up to two rows out of five, each with and without one more row; both directions."""
    c, precision = 1.0, 0.7
    values = (-1.0, -0.4, 0.0, 0.6, 1.0)
    bound = draws.renyi_bound(order, power, precision, c)
    worst = 0.0
    for base in [(), *[(a,) for a in values], *[(a, b) for a in values for b in values]]:
        for extra in values:
            p, q = law(np.array(base), power, precision), law(np.array([*base, extra]), power, precision)
            worst = max(worst, divergence(p, q, order), divergence(q, p, order))
    assert worst <= bound
    assert worst > bound / 30  # the bound says something: it is within a factor of 30 here


@pytest.mark.parametrize("power", [0.2, 1.0])
def test_no_neighbours_on_a_grid_exceed_the_pure_bound(power):
    radius, worst = 3.0, 0.0
    for base in ((), (1.0,), (-1.0, -1.0), (0.3, -0.8)):
        for extra in (-1.0, 0.5, 1.0):
            p, q = law(np.array(base), power, 0.5, radius), law(np.array([*base, extra]), power, 0.5, radius)
            inside = np.isfinite(p)
            worst = max(worst, float(np.abs(p[inside] - q[inside]).max()))
    assert worst <= draws.pure_bound(power, 1.0, radius)
    assert worst > draws.pure_bound(power, 1.0, radius) / 4


def test_the_curve_is_a_quarter_of_the_one_for_an_exchanged_row():
    from methods.posterior_sampling._logistic.guarantee import renyi_bound

    assert draws.renyi_bound(3.0, 0.4, 2.0, 1.5) == pytest.approx(renyi_bound(3.0, 0.4, 2.0, 1.5) / 4, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_calibration_uses_the_budget_up(epsilon):
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5).open(np.random.default_rng(0))
    event = draws.draw_event(draws.largest(lambda v: draws.draw_event(v, 1.0, 3.0), budget, "d"), 1.0, 3.0)
    found = epsilon_of(Ledger([event]), 1e-5).epsilon
    assert 0.99 * epsilon < found <= epsilon
    assert event.relation is Relation.ADD_REMOVE


def test_a_stated_noise_multiplier_is_read_as_the_gaussian_with_that_curve():
    budget = BudgetSpec(noise_multiplier=5.0).open(np.random.default_rng(0))
    power = draws.largest(lambda v: draws.draw_event(v, 2.0, 3.0), budget, "d")
    assert power == pytest.approx(math.sqrt(2.0) / (5.0 * 3.0), rel=2e-4)
    with pytest.raises(ValueError, match="states no"):
        draws.largest(lambda v: draws.draw_event(v, 2.0, 3.0), BudgetSpec().open(np.random.default_rng(0)), "d")


def test_an_enforced_epsilon_is_asked_for_where_there_is_one():
    """A Renyi limit alone has no delta to convert at; it is held when the event is charged."""
    event, rng = draws.draw_event(1.0, 1.0, 3.0), np.random.default_rng(0)
    with pytest.raises(BudgetExceeded, match=r"toy: .*needs epsilon = .* at delta = 1e-05"):
        draws.afford(event, BudgetSpec(epsilon=1e-3, delta=1e-5, mode="enforce").open(rng), "toy")
    limited = BudgetSpec(renyi=(2.0, 1e-3), mode="enforce").open(rng)
    draws.afford(event, limited, "toy")
    with pytest.raises(BudgetExceeded, match="at Renyi order 2"):
        limited.spend(event)
