"""The games as a program: a fault of known size is refuted where the game has power, and a true epsilon is not."""

from __future__ import annotations

import pytest

from audit import distinguishing
from audit.cases import DELTA, cases, drawn
from privacy.accountants import gdp_epsilon


def test_every_family_is_played_by_an_audited_adapter():
    assert set(distinguishing.GAMES.values()) <= {*cases(), *drawn()}
    assert len(distinguishing.GAMES) * (1 - distinguishing.CONFIDENCE) == pytest.approx(0.01)


def test_a_game_gives_a_row_whose_bound_is_below_its_ledger():
    """A false alarm has probability 1 - CONFIDENCE = .0011, and the seeds are fixed."""
    row = distinguishing.play("sufficient statistics, Laplace noise", runs=200)
    assert set(row) == set(distinguishing.COLUMNS)
    assert 0 <= row["lower"] <= row["epsilon"] == pytest.approx(4.0, rel=1e-3)
    assert row["weak_lower"] >= 0


def test_a_draw_has_no_noise_to_weaken():
    row = distinguishing.play("posterior draw", runs=100)
    assert "weak_lower" not in row
    assert row["lower"] <= row["epsilon"]


def test_power_grows_with_runs_and_is_that_of_the_fault():
    epsilon = gdp_epsilon(1.0, DELTA)
    few, many = distinguishing.powers(epsilon, 100, 50)[1], distinguishing.powers(epsilon, 4000, 50)[1]
    assert few < many
    assert many > 0.95
