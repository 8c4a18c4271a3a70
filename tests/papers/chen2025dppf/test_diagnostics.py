"""Diagnostics on chains whose answers are known."""

import numpy as np
import pytest

from papers.chen2025dppf import diagnostics


def autoregression(phi, chains, length, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((chains, length))
    for t in range(1, length):
        x[:, t] = phi * x[:, t - 1] + (1 - phi**2) ** 0.5 * x[:, t]
    return x


def test_effective_draws_of_an_autoregression():
    """n (1 - phi) / (1 + phi) in 16,000 draws; the estimates vary by some 6 %."""
    x = autoregression(0.8, 4, 4000, 0)
    expected = x.size * 0.2 / 1.8
    assert sum(diagnostics.coda_ess(c) for c in x) == pytest.approx(expected, rel=0.25)
    assert diagnostics.mean_error(x) == pytest.approx(expected**-0.5, rel=0.15)
    assert diagnostics.coda_ess(np.ones(10)) == 0.0
