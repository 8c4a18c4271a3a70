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
from tests.privacy.accountants.ledgers import BOTH, DELTA, event, ledger


def true_delta(q: float, sigma: float, steps: int, epsilon: float, direction: str) -> float:
    """delta(epsilon) of the composed Poisson-subsampled Gaussian by Fourier inversion of the privacy loss.

    From the definition: delta = P(S > epsilon) - e^epsilon Q(S > epsilon) with S the sum of the losses; tails by
    Gil-Pelaez. The characteristic function's distance from 1 is summed directly, so powers of 1e7 lose no digits.
    """
    x = np.linspace(-11 * sigma, 1 + 11 * sigma, 3001)
    w = np.full(len(x), x[1] - x[0])
    base = norm.pdf(x, scale=sigma)
    ratio = np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2)))
    p, other, loss = (
        (base * np.exp(ratio), base, ratio) if direction == "remove" else (base, base * np.exp(ratio), -ratio)
    )
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


@given(st.floats(0.6, 10.0), st.floats(1e-3, 0.5), st.integers(1, 2000), st.sampled_from([1e-8, 1e-5, 1e-3]))
@settings(max_examples=10, deadline=None)
def test_pld_is_never_above_renyi(multiplier, rate, steps, delta):
    found = epsilon_of(ledger(event(multiplier, rate, steps)), delta, only=(*BOTH, "gdp")).all
    # The pessimistic grid may cost up to a grid step, 1e-3, plus 1 % where the loss itself is tiny.
    assert found["dp_accounting_pld"] <= min(found["dp_accounting_rdp"], found["autodp_rdp"]) * 1.01 + 1e-3
    assert found["dp_accounting_pld"] <= found["gdp"] * 1.01 + 1e-3  # amplification only helps
