"""Claims on theorem 4.1 follow from the tables, not from the text."""

import numpy as np
import pytest

from evaluation import kl_bound, kl_claims


@pytest.fixture(scope="module")
def claims():
    rows = kl_bound.monte_carlo_table(np.random.default_rng(0), sizes=(1000, 3000, 10000), dimensions=(2, 4), draws=60)
    found = kl_claims.claims_table(rows, kl_bound.slopes_table(rows), np.random.default_rng(1))
    return {(r["claim"], r["reading"]): r for r in found}


def test_second_order_is_not_one_over_n(claims):
    assert claims["scales_1_over_n", "corrected"]["holds"] == "no"
    assert "from -3." in claims["scales_1_over_n", "corrected"]["figure"]


def test_gap_closes_only_without_the_constant_shift(claims):
    assert claims["gap_closes", "printed"]["holds"] == "no"
    assert claims["gap_closes", "released"]["holds"] == claims["gap_closes", "corrected"]["holds"] == "yes"


def test_printed_divergence_of_clipping_is_wrong(claims):
    assert claims["clipped_kl", "printed"]["holds"] == "no"


def test_words_follow_the_numbers():
    slopes = [{"s": -1.05}, {"s": -0.9}, {"s": float("nan")}]
    assert kl_claims._slope("c", "printed", slopes, "s", "w", lambda s: abs(s + 1) <= 0.25)["holds"] == "yes"
    assert (
        kl_claims._slope("c", "printed", [*slopes, {"s": -2.0}], "s", "w", lambda s: abs(s + 1) < 0.25)["holds"] == "no"
    )
    assert kl_claims._bound("c", "printed", [{"h": "yes"}, {"h": "meaningless"}], "h", "w")["holds"] == "yes"
    assert kl_claims._bound("c", "printed", [{"h": "yes"}, {"h": "no"}], "h", "w")["holds"] == "no"
    assert kl_claims._bound("c", "printed", [{"h": "meaningless"}], "h", "w")["holds"] == "unclear"


def test_all_tables_are_written(tmp_path, monkeypatch):
    small = kl_bound.monte_carlo_table
    monkeypatch.setattr(kl_bound, "monte_carlo_table", lambda rng: small(rng, (1000, 3000), (2,), draws=20))
    monkeypatch.setattr(kl_bound, "proof_steps_table", lambda rng: [{"case": "a"}])
    kl_claims.main([str(tmp_path / "new" / "kl_bound.csv")])
    names = {p.name for p in (tmp_path / "new").iterdir()}
    assert names == {"kl_bound.csv", "kl_bound_slopes.csv", "kl_bound_steps.csv", "kl_bound_claims.csv"}
