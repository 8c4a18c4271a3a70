"""Claims on theorem 4.1 follow from the tables, not from the text."""

import numpy as np
import pytest

from papers.vinaroz2023dpsep import PAPER, kl_claims, kl_tables
from workflow.extra import Request, write

FOLDER = PAPER.reference


@pytest.fixture(scope="module")
def claims():
    rows = kl_tables.monte_carlo_table(np.random.default_rng(0), sizes=(1000, 3000, 10000), dimensions=(2, 4), draws=60)
    found = kl_claims.claims_table(rows, kl_tables.slopes_table(rows), np.random.default_rng(1))
    return {(r["claim"], r["reading"]): r for r in found}


def test_a_divergence_that_falls_faster_than_one_over_n_does_not_refute_it(claims):
    """Second order in the noise: N^-2 and faster. By definition 4.2 it does not fall at all."""
    assert claims["scales_1_over_n", "corrected"]["holds"] == "yes"
    assert claims["scales_1_over_n", "authors"]["holds"] == "yes"
    assert "from -3." in claims["scales_1_over_n", "corrected"]["figure"]
    assert claims["scales_1_over_n", "printed"]["holds"] == "no"
    assert claims["scales_1_over_n", "printed"]["figure"].endswith("(slope at most -0.75) in 0")
    assert claims["v1_scales_1_over_n", "corrected"]["holds"] == "yes"
    assert claims["v1_scales_1_over_n", "printed"]["holds"] == "no"  # without the event some draws have no divergence
    assert "has no value in" in claims["v1_scales_1_over_n", "printed"]["figure"]


def test_gap_closes_only_without_the_constant_shift(claims):
    assert claims["gap_closes", "printed"]["holds"] == "no"
    assert claims["gap_closes", "authors"]["holds"] == claims["gap_closes", "corrected"]["holds"] == "yes"


def test_printed_divergence_of_clipping_is_wrong(claims):
    assert claims["clipped_kl", "printed"]["holds"] == "no"


def test_the_premise_of_2021_is_judged_by_the_draws():
    """No verdict is typed in: it is "no" because a draw breaks the premise, and nothing is said where none does."""
    rows = [{"positive_share_2021": s} for s in (1.0, 0.98)]
    row = kl_claims._premise(rows)
    assert (row["holds"], row["reading"]) == ("no", "printed")
    assert "98% to 100% of the draws, in all of them in 1 of 2 settings" in row["figure"]
    assert kl_claims._premise(rows[:1])["holds"] == "unclear"


def test_words_follow_the_numbers():
    slopes = [{"s": -1.05}, {"s": -0.9}, {"s": float("nan")}]
    assert kl_claims._slope("c", "printed", slopes, "s", "w", -0.75, "falls")["holds"] == "yes"
    assert kl_claims._slope("c", "printed", [*slopes, {"s": -2.0}], "s", "w", -0.75, "falls")["holds"] == "yes"
    row = kl_claims._slope("c", "printed", [*slopes, {"s": -0.5}], "s", "w", -0.75, "falls")
    assert row["holds"] == "no"
    assert row["figure"].endswith(
        "over 3 settings of d, sigma and growth of the precision; it falls (slope at most -0.75) in 2"
    )
    assert kl_claims._slope("c", "printed", slopes[2:], "s", "w", -0.75, "falls")["holds"] == "unclear"
    assert kl_claims._bound("c", "printed", [{"h": "yes"}, {"h": "meaningless"}], "h", "w")["holds"] == "yes"
    assert kl_claims._bound("c", "printed", [{"h": "yes"}, {"h": "no"}], "h", "w")["holds"] == "no"
    assert kl_claims._bound("c", "printed", [{"h": "meaningless"}], "h", "w")["holds"] == "unclear"


def test_all_tables_are_written(tmp_path, monkeypatch):
    small = kl_tables.monte_carlo_table
    monkeypatch.setattr(kl_tables, "monte_carlo_table", lambda rng: small(rng, (1000, 3000), (2,), draws=20))
    monkeypatch.setattr(kl_claims, "proof_steps_table", lambda rng: [{"case": "a"}])
    write(Request(PAPER.extra[0], "full", tmp_path, tmp_path / "new"))
    names = {p.name for p in (tmp_path / "new").glob("*.csv")}
    assert names == {"kl_bound.csv", "kl_bound_slopes.csv", "kl_bound_steps.csv", "kl_bound_claims.csv"}


def test_the_claims_can_be_made_again_from_the_tables(tmp_path, monkeypatch):
    """And the committed ones are what the committed tables give."""
    monkeypatch.setattr(kl_tables, "monte_carlo_table", None)
    for name in ("kl_bound.csv", "kl_bound_slopes.csv"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    write(Request(PAPER.extra[0], "full", tmp_path, tmp_path, from_tables=True))
    assert (tmp_path / "kl_bound_claims.csv").read_text() == (FOLDER / "kl_bound_claims.csv").read_text()


def test_a_divergence_with_a_value_in_every_draw_is_left_to_its_slope():
    rows = [{"n": n, "growth": "fixed", "positive_share_2021": 1.0} for n in (100, 1000)]
    assert kl_claims._no_value(rows)["holds"] == "unclear"
    rows[0]["positive_share_2021"] = 0.5  # at a smaller N: a claim of a limit is not refuted by it
    assert kl_claims._no_value(rows)["holds"] == "unclear"
    rows[1]["positive_share_2021"] = 0.5
    assert kl_claims._no_value(rows)["holds"] == "no"
