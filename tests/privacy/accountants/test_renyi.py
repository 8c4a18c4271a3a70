"""Renyi curves against the integral and against each other; the divergence of a ledger at one order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacy.accountants import (
    renyi_curve,
    renyi_divergence,
)
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling
from tests.privacy.accountants.ledgers import event


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("order", [2, 5])
def test_renyi_curves_against_the_integral(multiplier, order):
    """Order-a Renyi divergence of (1-q) N(0) + q N(1) from N(0), by quadrature."""
    q = 0.1

    def integrand(x):
        base = norm.pdf(x, scale=multiplier)
        return base * (1 - q + q * math.exp((2 * x - 1) / (2 * multiplier**2))) ** order

    peak = order  # the largest term of the expansion sits at x = order
    value, _ = quad(
        integrand, -12 * multiplier, peak + 12 * multiplier, points=[0, peak], limit=500, epsabs=0, epsrel=1e-10
    )
    expected = math.log(value) / (order - 1)
    for name, curve in renyi_curve(event(multiplier, q), [order]).items():
        assert curve[0] == pytest.approx(expected, rel=1e-7), name


@given(
    st.floats(0.6, 20.0),
    st.floats(1e-3, 0.5),
    st.integers(1, 3000),
    st.sampled_from([Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT]),
)
@settings(max_examples=25, deadline=None)
def test_libraries_agree_on_curves_at_integer_orders(multiplier, rate, steps, sampling):
    """Poisson: both are exact. Without replacement: theorem 27 (dp-accounting) is never above theorem 9 (autodp)."""
    relation = Relation.ADD_REMOVE if sampling is Sampling.POISSON else Relation.REPLACE_ONE
    curves = renyi_curve(event(multiplier, rate, steps, sampling, relation), [2, 3, 4, 8, 16])
    assert set(curves) == {"autodp", "dp_accounting"}
    if sampling is Sampling.POISSON:
        # relative to the sum of terms that cancel against 1: absolute rounding of a logarithm near 0
        np.testing.assert_allclose(curves["autodp"], curves["dp_accounting"], rtol=1e-8, atol=1e-13 * steps)
    else:
        assert np.isfinite(curves["autodp"]).all()
        np.testing.assert_allclose(curves["autodp"][0], curves["dp_accounting"][0], rtol=1e-8, atol=1e-13 * steps)


ORDERS = (1.0, 1.5, 2.0, 7.0, 100.0)


def written(curve, steps=1, relation=Relation.ADD_REMOVE):
    return Event("draw", Mechanism.WRITTEN_BOUND, relation, 1.0, 0.0, steps=steps, renyi_curve=tuple(curve))


@pytest.mark.parametrize("order", ORDERS)
def test_gaussian_and_written_releases_together(order):
    """Mironov 2017, corollary 3: order / (2 sigma^2) a release; the curve of the other event is that of sigma = 5."""
    draws = written([(a, a / 50.0) for a in ORDERS], steps=3)
    assert renyi_divergence(Ledger([draws]), order) == pytest.approx(3 * order / 50, rel=1e-12)
    both = renyi_divergence(Ledger([draws, event(2.0, steps=4)]), order)
    assert both == pytest.approx(3 * order / 50 + 4 * order / 8, rel=1e-12)


def test_the_next_order_of_a_curve_answers_and_beyond_it_nothing_does():
    ledger = Ledger([written([(2.0, 0.1), (4.0, 0.3)])])
    assert renyi_divergence(ledger, 3.0) == 0.3
    assert renyi_divergence(ledger, 1.0) == 0.1
    assert renyi_divergence(ledger, 5.0) == math.inf


def test_sampled_releases_have_the_librarys_curve():
    sampled = event(1.3, 0.05, 40)
    known = renyi_curve(sampled, [2, 8])["dp_accounting"]
    assert renyi_divergence(Ledger([sampled]), 2) == pytest.approx(known[0], rel=1e-12)
    assert renyi_divergence(Ledger([sampled]), 8) == pytest.approx(known[1], rel=1e-12)
    assert 0 < renyi_divergence(Ledger([sampled]), 1) < known[0]


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_laplace_releases_have_the_curve_of_mironov(order):
    """Mironov 2017, proposition 6, with t = scale / sensitivity = 2; order 1 is answered by a higher one, nats."""
    t, laplace = 2.0, event(2.0, steps=3, mechanism=Mechanism.LAPLACE)
    moment = order * math.exp((order - 1) / t) + (order - 1) * math.exp(-order / t)
    by_hand = math.log(moment / (2 * order - 1)) / (order - 1)
    assert renyi_divergence(Ledger([laplace]), order) == pytest.approx(3 * by_hand, rel=1e-9)
    kullback_leibler = 1 / t + math.exp(-1 / t) - 1
    assert 3 * kullback_leibler <= renyi_divergence(Ledger([laplace]), 1) <= 3 * kullback_leibler * 1.1


def test_an_empty_ledger_a_bare_release_a_relation_that_does_not_fit_and_a_wrong_order():
    bare = Event("all", Mechanism.NO_NOISE, Relation.ADD_REMOVE, math.inf, 0.0)
    assert renyi_divergence(Ledger(), 2) == 0.0
    assert renyi_divergence(Ledger([bare]), 2) == math.inf
    replaced = written([(2.0, 0.1)], relation=Relation.REPLACE_ONE)
    assert renyi_divergence(Ledger([replaced, event(1.0)]), 2) == pytest.approx(0.1 + 4.0)  # its distance doubled
    assert renyi_divergence(Ledger([replaced, written([(2.0, 0.1)])]), 2) == math.inf  # a bound cannot be converted
    for order in (0.9, math.inf, math.nan):
        with pytest.raises(ValueError, match="at least 1"):
            renyi_divergence(Ledger(), order)
