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


@pytest.mark.parametrize("where", [(0, 3, 1), (slice(None), slice(None), 1)], ids=["one draw", "all draws"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0])
def test_draws_that_are_not_finite_or_never_move_are_refused(where, value):
    """An R-hat of NaN is not above its limit. One infinite draw has an R-hat of 1.001, because ranks are compared."""
    draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    draws[where] = value
    if np.isfinite(value) and where == (0, 3, 1):
        assert convergence.told_of(draws)["diagnostics"]["rhat_max"] < 1.01
        return
    with pytest.raises(ValueError, match="coordinate 1 are not finite or never move"):
        convergence.told_of(draws)


@pytest.mark.parametrize("name", ["rhat", "ess_bulk", "ess_tail"])
def test_a_diagnostic_without_a_value_is_no_convergence(name, monkeypatch):
    whole = convergence.diagnostics
    monkeypatch.setattr(convergence, "diagnostics", lambda draws: whole(draws) | {name: np.array([np.nan, 1.0])})
    with pytest.raises(ValueError, match="the chains have not converged"):
        convergence.told_of(np.random.default_rng(0).standard_normal((4, 500, 2)))
