"""The table of theorem 4.1 beside the truth."""

import math

import numpy as np
import pytest

from papers.vinaroz2023dpsep.kl_tables import SMALL_RHO, monte_carlo_table, slopes_table


def test_monte_carlo_table_on_a_small_grid():
    rows = monte_carlo_table(np.random.default_rng(0), sizes=(300, 3000), dimensions=(2, 4), sigmas=(1.0,), draws=100)
    assert len(rows) == 2 * 2 * 2 * 2
    always = (
        "expected_kl", "standard_error", "expected_kl_floor", "positive_share", "bound_2023_probability", "h_min",
        "corrected_bound", "expected_kl_event", "sigma2",
    )  # fmt: skip
    for row in rows:
        assert all(math.isfinite(row[k]) for k in always)
        assert row["sigma2"] == 2 * row["clip"] * row["sigma"] / row["n"]
        assert row["holds_2023"] in {"yes", "no", "undecided", "meaningless"}
        assert (row["holds_2023"] == "meaningless") == (row["h_min"] <= 0)
        assert row["bound_2023_probability"] == pytest.approx(0.99)
        assert row["holds_corrected"] == "yes"
        assert row["pointwise_violations"] == 0
        if row["rho_reading"] == "lambda_min":
            assert row["expected_kl"] <= row["corrected_shift_bound"]
        else:
            assert row["rho"] == SMALL_RHO
    slopes = slopes_table(rows, from_n=300)
    assert len(slopes) == 2 * 2 * 2
