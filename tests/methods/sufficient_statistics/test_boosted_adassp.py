"""BoostedAdaSSP: sensitivity, its limits without noise and with clipped residuals, and its budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from methods import contract
from methods._shared import adassp
from methods.sufficient_statistics import boosted_adassp
from models import kind
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec

KIND = "bounded_linear_regression"
METHOD = contract.get("boosted_adassp", KIND)
WEIGHTS = np.array([1.0, -2.0, 0.5])
any_number = st.floats(allow_nan=True, allow_infinity=True, width=64)


def some_rows(n=500, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    u = np.column_stack([rng.uniform(-1, 1, (n, 2)), np.ones(n)])
    return u, u @ WEIGHTS + noise * rng.standard_normal(n)


def weights_of(rows, rounds: int, clip: float, multiplier: float = 1e-9) -> np.ndarray:
    """At a noise multiplier that is next to nothing."""
    budget = BudgetSpec(noise_multiplier=multiplier).open(np.random.default_rng(1))
    gram = adassp.Moments(rows.inputs.T @ rows.inputs, 0.0)
    chosen = METHOD.Settings(rounds=rounds, residual_clip=clip)
    return boosted_adassp.boosted(rows, gram, 2.0, chosen, multiplier, budget, 1e-9)[0]


@settings(deadline=None, max_examples=200)
@given(arrays(np.float64, (4, 3), elements=any_number), arrays(np.float64, 4, elements=any_number))
def test_one_row_moves_each_release_by_no_more_than_its_sensitivity(u, y):
    """NaN, infinities and numbers whose squares overflow included."""
    with np.errstate(over="ignore"):
        whole = boosted_adassp.shortened(u, y, 1.5)
    less = boosted_adassp.Rows(whole.inputs[:-1], whole.target[:-1])
    assert np.linalg.norm(whole.inputs, axis=1).max() <= 1.5 * (1 + 1e-12)  # rounding of a norm
    change = boosted_adassp.residual_sum(whole, WEIGHTS, 0.2) - boosted_adassp.residual_sum(less, WEIGHTS, 0.2)
    assert np.linalg.norm(change) <= 1.5 * 0.2 * (1 + 1e-9)  # rounding of sums of 4 numbers
    squares = np.square(boosted_adassp.residuals(whole, WEIGHTS, 0.2))
    assert squares.max() <= 0.2**2


def test_the_sensitivity_is_reached():
    row = boosted_adassp.shortened(np.array([[30.0, -7.0, 100.0]]), np.array([5.0]), 1.5)
    found = boosted_adassp.residual_sum(row, np.zeros(3), 0.01)
    assert np.linalg.norm(found) == pytest.approx(1.5 * 0.01, rel=1e-12)


def test_one_round_without_noise_and_clipping_is_least_squares():
    """Oracle: ``numpy.linalg.lstsq``; further rounds stay there."""
    u, y = some_rows()
    exact = np.linalg.lstsq(u, y, rcond=None)[0]
    for rounds in (1, 20):
        assert weights_of(boosted_adassp.Rows(u, y), rounds, 10.0) == pytest.approx(exact, abs=1e-6)


def test_rounds_work_off_what_clipping_held_back():
    """With residuals cut at a tenth of the target's spread one round is far from least squares, a hundred are not."""
    u, y = some_rows()
    exact = np.linalg.lstsq(u, y, rcond=None)[0]
    one, many = (np.linalg.norm(weights_of(boosted_adassp.Rows(u, y), k, 0.15) - exact) for k in (1, 100))
    assert one > 1.5 > 0.05 > many


def test_a_row_that_is_shortened_keeps_its_equation():
    u, y = some_rows(noise=0.0)
    rows = boosted_adassp.shortened(u, y, 0.5)
    assert np.linalg.norm(rows.inputs, axis=1).max() <= 0.5 * (1 + 1e-12)
    assert rows.target == pytest.approx(rows.inputs @ WEIGHTS, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_it_spends_its_budget_in_its_rounds_and_two_more(epsilon):
    task = next(iter(kind.kind(KIND).tiny.values()))(200, 1)
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5).open(np.random.default_rng(0))
    fit = METHOD.fit(task, METHOD.Settings(), budget, np.random.default_rng(0))
    assert sum(event.steps for event in fit.ledger) == METHOD.Settings().rounds + 2
    assert 0.995 * epsilon <= epsilon_of(fit.ledger, 1e-5).epsilon <= epsilon


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"rounds": 1.5}, {"residual_clip": 0.0}, {"margin": math.inf}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        METHOD.Settings(**wrong)
