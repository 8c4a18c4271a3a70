"""Gaussian differential privacy in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_softmax
from scipy.stats import binom, norm

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


def test_an_exponential_mechanism_costs_twice_its_sensitivity_over_its_scale():
    """Brute force: no neighbouring scores have a larger ratio of probabilities, and two reach it to 1e-3."""
    rng, scale, sensitivity = np.random.default_rng(0), 2.0, 0.5

    def loss(scores, other):
        return np.max(np.abs(log_softmax(scores / scale) - log_softmax(other / scale)))

    scores = rng.normal(0.0, 3.0, (2000, 5))
    losses = [loss(s, s + sensitivity * rng.choice([-1, 1], 5)) for s in scores]
    one = epsilon_of(ledger(event(scale / sensitivity, mechanism=Mechanism.EXPONENTIAL)), 0.0)
    assert (one.epsilon, one.accountant) == (0.5, "pure")
    assert max(losses) <= one.epsilon
    worst = np.array([0.0, 20.0])
    assert loss(worst, worst + sensitivity * np.array([1, -1])) > one.epsilon - 1e-3


def test_exponential_mechanisms_compose_as_randomised_response_does():
    """Which is the worst of all with that pure epsilon: its divergence in closed form, its composition by counting."""
    epsilon, steps = 0.5, 10
    cost = epsilon_of(ledger(event(2 / epsilon, steps=steps, mechanism=Mechanism.EXPONENTIAL)), DELTA)
    assert cost.all["pure"] == pytest.approx(steps * epsilon)
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    heads = np.arange(steps + 1)
    mass, other = binom.pmf(heads, steps, p), binom.pmf(heads, steps, 1 - p)

    def delta(e):
        return np.maximum(mass - np.exp(e) * other, 0.0).sum()

    exact = brentq(lambda e: delta(e) - DELTA, 0.0, steps * epsilon) * (1 - 1e-11)  # less the root's own tolerance
    assert exact <= cost.all["dp_accounting_pld"] == pytest.approx(exact, rel=1e-3)
    assert exact <= cost.all["dp_accounting_rdp"] <= cost.all["pure"]
    assert exact <= cost.all["autodp_rdp"]
    assert isinstance(cost.all["gdp"], str)


def test_without_delta_only_pure_epsilons_count():
    laplace, normal = event(2.0, mechanism=Mechanism.LAPLACE), event(2.0)
    cost = epsilon_of(ledger(laplace, laplace), 0.0)
    assert (cost.epsilon, cost.accountant, cost.delta) == (1.0, "pure", 0.0)
    mixed = epsilon_of(ledger(laplace, normal), 0.0)
    assert mixed.epsilon == math.inf
    assert mixed.accountant.startswith("none: at delta = 0 only Laplace")
