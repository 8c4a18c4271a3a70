"""From what each reading says to one verdict, and which reading counts."""

import itertools

import pandas as pd
import pytest

from reports import claims, reference
from reports.claims import Better, evaluate
from reports.claims.judging import decide
from reports.claims.record import ABOVE, HOLDS, INFINITE, REFUTED, UNDECIDED, UNTESTED, VERDICTS, WITHIN
from reports.ledger import ANSWER, TOTAL
from tests.reports.claims.made_up import NO_FINDINGS, claim

STATES = (HOLDS, REFUTED, UNDECIDED, UNTESTED)
COSTS = (WITHIN, ABOVE, INFINITE)
READINGS = ("printed", "authors", "corrected")


def every_case():
    for states in itertools.product(STATES, repeat=3):
        for costs in itertools.product(COSTS, repeat=3):
            yield dict(zip(READINGS, states, strict=True)), dict(zip(READINGS, costs, strict=True))


def test_there_is_no_or_over_readings():
    """Of all 1,728 cases: what holds holds in every reading of the paper with noise, and in one within its claim."""
    said = set()
    for states, costs in every_case():
        word = decide(states, costs)
        said.add(word)
        tested = {r: s for r, s in states.items() if s != UNTESTED}
        paper = {r: s for r, s in tested.items() if r != "corrected"}
        noisy = {r: s for r, s in paper.items() if costs[r] != INFINITE}
        if word == "holds":
            assert noisy
            assert set(noisy.values()) == {HOLDS}
            assert any(s == HOLDS and costs[r] == WITHIN for r, s in tested.items())
        if word == "does not hold":
            assert paper
            assert HOLDS not in paper.values()
            assert set((noisy or paper).values()) == {REFUTED}
        if word == "holds only without noise":
            assert HOLDS not in noisy.values()
            assert any(s == HOLDS and costs[r] == INFINITE for r, s in paper.items())
        if word == "holds only beyond the claimed epsilon":
            assert not any(s == HOLDS and costs[r] == WITHIN for r, s in tested.items())
    assert said == set(VERDICTS) - {"by proof"}


def test_a_repair_gives_the_paper_no_credit():
    for printed, authors in itertools.product((REFUTED, UNDECIDED, UNTESTED), repeat=2):
        word = decide({"printed": printed, "authors": authors, "corrected": HOLDS}, {})
        assert not word.startswith(("holds", "by proof"))
    assert decide({"printed": REFUTED, "corrected": HOLDS}, {}) == "does not hold; holds if repaired"
    assert decide({"printed": REFUTED, "corrected": HOLDS}, {"corrected": ABOVE}) == "does not hold"


def ledger(scores, method, claimed, epsilon):
    """One total a cell of the method."""
    cells = scores.loc[scores["method"] == method, "cell"].unique()
    row = {"event": TOTAL, "epsilon_claimed": str(claimed), "epsilon": str(epsilon), "reason": ANSWER}
    return pd.DataFrame([{"cell": cell, **row} for cell in cells])


@pytest.mark.parametrize(
    ("printed", "authors", "word", "told"),
    [
        (1.0, 1.0, "holds", ""),
        (14.0, 13.0, "holds only beyond the claimed epsilon", "epsilon up to 14 for a claimed 1 by the ledger"),
        (1.0, "inf", "holds", "epsilon is infinite by the ledger"),
        ("inf", "inf", "holds only without noise", "epsilon is infinite by the ledger"),
        ("", "", "holds only beyond the claimed epsilon", "the ledger has no epsilon"),
    ],
)
def test_which_reading_is_private_is_what_its_ledger_says(config, scores, printed, authors, word, told):
    scores = scores[scores["method"] != "dp_sep_corrected"]
    costs = pd.concat([ledger(scores, "dp_sep", 1.0, printed), ledger(scores, "dp_sep_authors", 1.0, authors)])
    one = claim(Better("dp_sep", "dp_vi", tables=("3",), quantifier="all"))
    (row,) = evaluate(config, scores, [one], findings=NO_FINDINGS, ledger=costs).to_dict("records")
    assert row["verdict"] == word
    assert told in row["figure"]


def committed():
    frame = pd.read_csv(reference.FOLDER / "claims.csv", dtype=str, keep_default_na=False)
    return frame.set_index("id")


def test_a_claim_about_a_private_method_holds_in_a_private_reading():
    """The sentences on DP-SEP that only the code without noise bears out say so, in both versions of the paper."""
    verdict = committed()["verdict"]
    names = ("dp_sep_comparable_to_sep", "tradeoff_not_poor_large_data", "dp_sep_better_on_kin8nm")
    for name in (*names, *(f"v1_{n}" for n in names), "dp_sep_better_than_dp_vi", "dp_sep_often_better_than_sep"):
        assert verdict[name] == "holds only without noise", name
    assert verdict["mog_higher_uncertainty"] == "holds as printed, not in the authors' code"
    assert verdict["mog_tradeoff_poor"] == "holds only beyond the claimed epsilon"


def test_a_claim_that_needs_a_repair_says_which():
    told = {c.id: c for c in claims.load()}
    repaired = {i for i, v in committed()["verdict"].items() if v == "does not hold; holds if repaired"}
    assert {"bbb_classical_sigma", "bbb_sensitivity", "bbb_rho_update", "kl_bound_holds"} <= repaired
    assert {"v1_kl_bound_holds", "v1_kl_scales", "rdp_corollary_2"} <= repaired
    assert all(told[i].repair for i in repaired)


def test_clusters_are_not_well_separated_by_a_margin():
    row = committed().loc["mog_not_separated"]
    assert row["margin"] == "larger by more than 10 % of the error"
    corrected = next(part for part in row["figure"].split(" | ") if part.startswith("corrected"))
    assert "1 significantly against" in corrected  # .004 more wrong rows of .054 is no bad separation
    assert row["verdict"] == "holds only beyond the claimed epsilon"


def test_a_figure_about_named_tables_is_judged_on_these_rows():
    """Plain intervals, on Adult as well as on the figures of three tables."""
    row = committed().loc["rdp_glm_beats_ops"]
    assert row["verdict"] == "holds"
    assert "324 of 324 comparisons in favour by mean, 324 significantly" in row["figure"]


def test_an_unbiased_update_has_a_margin():
    row = committed().loc["bbb_mu_update"]
    assert row["verdict"] == "holds"
    assert "margin 0.1" in row["figure"]


def test_the_margin_of_equal_errors_is_that_of_runs():
    row = committed().loc["nadpvi_matches_bs_families"]
    assert row["margin"] == "25 % of the value"
    assert "gamma_exponential" in row["figure"].partition("significantly against")[2]


def test_a_sentence_about_another_paper_is_not_judged():
    row = committed().loc["sep_uncertainty_close_to_ep"]
    assert row["verdict"] == "not testable here"


def test_claims_stated_and_read_off_are_counted_apart():
    frame = pd.DataFrame(
        [("a", "words", ""), ("b", "words", "a"), ("c", "read off table 1", ""), ("d", "more words", "")],
        columns=["id", "quote", "same_as"],
    )
    assert claims.counted(frame) == "3 claims: 2 of its text, 1 read off its tables and figures"
    assert claims.counted(frame.iloc[2:3]) == "1 claim: 1 read off its tables and figures"
    assert claims.counted(frame.iloc[:0]) == "0 claims"
