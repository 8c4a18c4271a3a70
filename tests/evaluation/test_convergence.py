"""Diagnostics of chains see what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation import convergence


def test_chains_that_stand_apart_are_refused():
    draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    assert convergence.told_of(draws)["diagnostics"]["rhat_max"] < 1.01
    draws[0, :, 1] += 1.0
    with pytest.raises(ValueError, match="the chains have not converged"):
        convergence.told_of(draws)


def test_chains_of_unequal_spread_and_slow_chains_are_seen():
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((4, 500, 1)) * np.array([1.0, 1.0, 1.0, 3.0])[:, None, None]
    assert convergence.diagnostics(spread)["rhat"][0] > 1.05
    slow = np.empty((4, 500, 1))
    slow[:, 0] = rng.standard_normal((4, 1))
    for t in range(1, 500):
        slow[:, t] = 0.9 * slow[:, t - 1] + np.sqrt(1 - 0.81) * rng.standard_normal((4, 1))
    found = convergence.diagnostics(slow)
    # of an autoregression with 0.9: 2000 (1 - 0.9) / (1 + 0.9) = 105
    assert 60 < found["ess_bulk"][0] < 180
    free = convergence.diagnostics(rng.standard_normal((4, 500, 1)))
    assert free["ess_bulk"][0] > 1500


def test_the_error_of_a_mean_is_that_of_its_effective_draws():
    """Independent draws: sd / sqrt(2000) within 15 %. Over 20 seeds the largest difference was 8 %."""
    draws = np.random.default_rng(0).standard_normal((4, 500, 1))
    assert convergence.diagnostics(draws)["mcse"][0] == pytest.approx(1 / np.sqrt(2000), rel=0.15)
