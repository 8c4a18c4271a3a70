"""Privacy loss distributions against an oracle written from the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from privacy.accountants import (
    epsilon_of,
)
from privacy.ledger import Relation
from tests.privacy.accountants.ledgers import BOTH, DELTA, event, ledger


def true_delta(q: float, sigma: float, steps: int, epsilon: float, direction: str) -> float:
    """delta(epsilon) of the composed Poisson-subsampled Gaussian by Fourier inversion of the privacy loss.

    ``direction``: "remove" or "add" a row that adds 1 to a batch, or "replace" it by one that adds -1.

    From the definition: delta = P(S > epsilon) - e^epsilon Q(S > epsilon) with S the sum of the losses; tails by
    Gil-Pelaez. The characteristic function's distance from 1 is summed directly, so powers of 1e7 lose no digits.
    """
    x = np.linspace(-(direction == "replace") - 11 * sigma, 1 + 11 * sigma, 3001)
    w = np.full(len(x), x[1] - x[0])
    base = norm.pdf(x, scale=sigma)
    ratio = np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2)))
    p, other, loss = (
        (base * np.exp(ratio), base, ratio) if direction == "remove" else (base, base * np.exp(ratio), -ratio)
    )
    if direction == "replace":
        against = np.log1p(q * np.expm1((-2 * x - 1) / (2 * sigma**2)))
        p, other, loss = base * np.exp(ratio), base * np.exp(against), ratio - against
    spread = math.sqrt(steps * float(w @ (p * loss**2)))
    t = np.linspace(0, 10 / spread, 1501)[1:]
    waves = np.expm1(1j * np.outer(t, loss))
    tails = []
    for density in (p, other):
        log_phi = steps * np.log1p(waves @ (w * density))
        f = np.imag(np.exp(log_phi - 1j * t * epsilon)) / t
        at_zero = steps * float(w @ (density * loss)) - epsilon
        tails.append(0.5 + t[0] * (f.sum() + at_zero / 2) / math.pi)
    return tails[0] - math.exp(epsilon) * tails[1]


@pytest.mark.parametrize(
    ("q", "sigma", "steps", "slack"),
    [
        (0.01, 1.0, 1000, 0.01),
        (1 / 10740, 1.0388, 40 * 10740, 0.01),
        (1e-3, 0.634, 100_000, 0.01),
        # 2e7 steps: only a coarse grid is free of rounding, so the bound is valid but 41 % above the truth
        (1 / 463715, 0.7204, 40 * 463715, 0.5),
    ],
)
def test_pld_bounds_the_truth_from_above_and_closely(q, sigma, steps, slack):
    epsilon = epsilon_of(ledger(event(sigma, q, steps)), DELTA, only=("dp_accounting_pld",)).epsilon
    worst = [
        max(true_delta(q, sigma, steps, e, d) for d in ("remove", "add")) for e in (epsilon, epsilon / (1 + slack))
    ]
    assert worst[0] <= DELTA * (1 + 1e-3)  # the oracle's own accuracy
    assert worst[1] > DELTA


@pytest.mark.parametrize(("q", "sigma", "steps"), [(0.01, 2.0, 1000), (0.01, 1.0, 1000), (0.3, 4.0, 20)])
def test_the_bound_for_a_replacement_is_close_too(q, sigma, steps):
    """``sigma``: noise over the norm of a contribution, which is half of the sensitivity."""
    one = event(sigma / 2, q, steps, relation=Relation.REPLACE_ONE, contribution=0.5)
    epsilon = epsilon_of(ledger(one), DELTA, only=("dp_accounting_pld",)).epsilon
    assert true_delta(q, sigma, steps, epsilon, "replace") <= DELTA * (1 + 1e-3)
    assert true_delta(q, sigma, steps, epsilon / 1.01, "replace") > DELTA


@given(st.floats(0.6, 10.0), st.floats(1e-3, 0.5), st.integers(1, 2000), st.sampled_from([1e-8, 1e-5, 1e-3]))
@settings(max_examples=10, deadline=None)
def test_pld_is_never_above_renyi(multiplier, rate, steps, delta):
    found = epsilon_of(ledger(event(multiplier, rate, steps)), delta, only=(*BOTH, "gdp")).all
    # The pessimistic grid may cost up to a grid step, 1e-3, plus 1 % where the loss itself is tiny.
    assert found["dp_accounting_pld"] <= min(found["dp_accounting_rdp"], found["autodp_rdp"]) * 1.01 + 1e-3
    assert found["dp_accounting_pld"] <= found["gdp"] * 1.01 + 1e-3  # amplification only helps
