"""Gaussian differential privacy in closed form."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacy.accountants import (
    epsilon_of,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
)
from privacy.ledger import Mechanism
from tests.privacy.accountants.ledgers import DELTA, event, ledger


def test_gdp_constants():
    """mu of (1, 1e-5), and the analytic Gaussian multiplier 3.730631634944469 (documented to its own tolerance)."""
    assert gdp_mu(1.0, DELTA) == pytest.approx(0.26805, abs=6e-6)
    assert 1 / gdp_mu(1.0, DELTA) == pytest.approx(3.730631634944469, rel=1e-9)
    assert gdp_epsilon(0.26805, DELTA) == pytest.approx(1.0, abs=1e-4)


@given(st.floats(1e-3, 20.0), st.floats(1e-10, 0.4))
@settings(max_examples=60, deadline=None)
def test_gdp_epsilon_is_the_smallest(mu, delta):
    """delta at the epsilon returned is small enough, and a little less epsilon is not."""
    epsilon = gdp_epsilon(mu, delta)
    assert gdp_delta(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert gdp_delta(mu, epsilon * (1 - 1e-6)) > delta
        # twice through a root of relative width 1e-13, magnified by the flatness of delta at small epsilon
        assert gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-6)


def test_gdp_delta_by_integration():
    mu, epsilon = 1.3, 0.7
    cut = epsilon / mu + mu / 2  # the loss mu x - mu^2/2 exceeds epsilon beyond it
    value, _ = quad(lambda x: norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x), cut, mu + 12, epsabs=1e-13)
    assert gdp_delta(mu, epsilon) == pytest.approx(value, rel=1e-8)


def test_pure_laplace():
    """Ten releases of epsilon 1/2: pure composition gives 5, and the others may only be smaller."""
    cost = epsilon_of(ledger(event(2.0, 1.0, 10, mechanism=Mechanism.LAPLACE)), DELTA)
    assert cost.all["pure"] == pytest.approx(5.0)
    assert cost.epsilon <= 5.0
    sampled = epsilon_of(ledger(event(2.0, 0.1, 10, mechanism=Mechanism.LAPLACE)), DELTA)
    assert sampled.all["pure"] == pytest.approx(10 * math.log1p(0.1 * math.expm1(0.5)))
    assert sampled.epsilon < cost.epsilon
