"""The table of claims."""

import pandas as pd

from reports import claims
from reports.claims import Better, Needs
from reports.site.paper_page import claim_parts
from reports.site.words import SIGNS
from reports.verdicts import FINDING_COLUMNS
from tests.reports.claims.made_up import run, shift


def test_a_claim_with_a_proof_is_by_proof_as_long_as_its_check_agrees(config, scores):
    text = Better("dp_sep", "dp_vi", tables=("3",), quantifier="all")
    assert run(config, scores, text, proof="algebra")["verdict"] == "by proof"
    wrong = scores[scores["method"] != "dp_sep_authors"].copy()
    shift(wrong, "dp_sep", "wine", 5.0)
    assert run(config, wrong, text, proof="algebra")["verdict"] == "does not hold"
    assert run(config, scores, Needs("other"), proof="algebra")["verdict"] == "not testable here"


def test_findings_attach_by_claim(config, scores):
    index = pd.DataFrame([["f", "t", "*", "claim:x", "*", "*"], ["g", "t", "*", "dp_sep", "*", "*"]])
    index.columns = FINDING_COLUMNS
    assert run(config, scores, Needs("other"), findings=index)["finding"] == "f"


def test_proofs_stand_apart_and_distinct_claims_are_counted():
    rows = [("a", "holds", ""), ("b", "holds", "a"), ("c", "not told apart", ""), ("d", "by proof", "")]
    measured, proved = claim_parts(pd.DataFrame(rows, columns=["id", "verdict", "same_as"]))
    assert list(measured[1]["id"]) == ["a", "b", "c"]
    assert measured[2] == {"holds": 1, "not told apart": 1}
    assert list(proved[1]["id"]) == ["d"]
    assert proved[2] == {"by proof": 1}


def test_every_verdict_has_a_sign():
    assert set(claims.VERDICTS) <= set(SIGNS)
