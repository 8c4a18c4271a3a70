"""Every private method says what it comes to without privacy, or why it comes to nothing; what it says is tried.

At epsilon = 1e6 and on made-up rows: the log-densities of new rows, on average, lie within the band that the method
states of those by its counterpart. Deterministic: the seeds are fixed.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from methods import contract
from methods.contract import Counterpart
from models.kind import kind as kind_of
from privacy.budget import BudgetSpec, Mode

ROWS, NEW, EPSILON, DELTA = 200, 300, 1e6, 1e-5
STATED = [
    (kind, name, contract.get(name, kind).counterparts[kind])
    for kind, name in contract.pairs()
    if kind in contract.get(name, kind).counterparts
]


def fitted(kind: str, name: str, spec: BudgetSpec, settings):
    """Log-density of the new rows, (NEW,)."""
    task, new = (kind_of(kind).tiny[kind](n, seed) for n, seed in ((ROWS, 0), (NEW, 1)))
    method = contract.get(name, kind)
    method.prepare(task, settings)
    fit = method.fit(task, settings, spec.open(np.random.default_rng(1)), np.random.default_rng(2))
    return fit.posterior.predictive(new.x, np.random.default_rng(3)).log_density(new.y)


@cache
def without_privacy(kind: str, name: str) -> np.ndarray:
    method = contract.get(name, kind)
    assert method.privacy is None, f"{name} is private: it is no counterpart"
    return fitted(kind, name, BudgetSpec(), method.Settings())


def gap(kind: str, name: str, told: Counterpart, epsilon: float) -> float:
    """Mean absolute difference of the log-densities, nats a row."""
    settings = dataclasses.replace(contract.get(name, kind).Settings(), **told.settings)
    spec = BudgetSpec(epsilon=epsilon, delta=DELTA, mode=Mode.ENFORCE)
    return float(np.abs(fitted(kind, name, spec, settings) - without_privacy(kind, told.method)).mean())


def each(cases):
    return pytest.mark.parametrize(("kind", "name", "told"), cases, ids=[f"{n}-{k}" for k, n, _ in cases])


@each([c for c in STATED if c[2].method])
def test_at_a_million_it_comes_to_its_counterpart(kind, name, told):
    assert gap(kind, name, told, EPSILON) <= told.band


@each([c for c in STATED if c[2].method][:1])
def test_at_one_it_does_not(kind, name, told):
    """So few rows are not fitted at epsilon = 1: a band that holds there too would show nothing."""
    assert gap(kind, name, told, 1.0) > told.band


@each([c for c in STATED if not c[2].method])
def test_what_comes_to_nothing_says_why(kind, name, told):
    assert len(told.reason.split()) >= 5
    assert contract.get(name, kind).privacy is not None


def test_a_method_that_states_some_kinds_states_all():
    for kind, name in contract.pairs():
        method = contract.get(name, kind)
        if method.counterparts:
            assert method.privacy is not None
            assert set(method.counterparts) == set(method.models)


@pytest.mark.parametrize(
    "wrong", [{}, {"method": "nuts"}, {"band": 0.1}, {"method": "nuts", "band": 0.1, "reason": "x"}]
)
def test_a_statement_that_says_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="counterpart"):
        Counterpart(**wrong)
