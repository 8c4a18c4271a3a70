"""The claims of the papers are found by scanning, what is wrong in a file is told with its claim, and their table."""

import pandas as pd
import pytest

from reports import claims
from reports.claims import Better, NotTestable
from reports.config import ReportError
from reports.site.paper_page import claim_parts, counted
from reports.site.words import SIGNS
from reports.verdicts import FINDING_COLUMNS
from tests.reports.claims.made_up import run, shift

HEAD = "from reports.claims import Better, Claim, NotTestable\n\n"
WORDS = 'experiment="e", place="p", quote="q", statement="t"'


def one(name, test='NotTestable(why="x")', more=""):
    """Source text of one claim, over several lines."""
    fields = f"id={name!r},\n        source='s',\n        {WORDS},\n        test={test},{more}"
    return f"    Claim(\n        {fields}\n    ),\n"


def load(home, **papers):
    """The claims of papers with these claims: key -> text of them."""
    for key, text in papers.items():
        (home / key).mkdir()
        (home / key / "claims.py").write_text(f"{HEAD}CLAIMS = (\n{text})\n")
    return claims.load(home)


def test_a_claim_with_a_proof_is_by_proof_as_long_as_its_check_agrees(config, scores):
    text = Better("dp_sep", "dp_vi", tables=("3",), quantifier="all")
    assert run(config, scores, text, proof="algebra")["verdict"] == "by proof"
    wrong = scores[scores["method"] != "dp_sep_authors"].copy()
    shift(wrong, "dp_sep", "wine", 5.0)
    assert run(config, wrong, text, proof="algebra")["verdict"] == "does not hold"
    assert run(config, scores, NotTestable(why="not run"), proof="algebra")["verdict"] == "not testable here"


def test_findings_attach_by_claim(config, scores):
    index = pd.DataFrame([["f", "t", "*", "claim:x", "*", "*"], ["g", "t", "*", "dp_sep", "*", "*"]])
    index.columns = FINDING_COLUMNS
    assert run(config, scores, NotTestable(why="not run"), findings=index)["finding"] == "f"


def test_claims_of_the_text_and_those_read_off_are_counted_apart_and_once():
    rows = [("a", "holds", "", "q"), ("b", "holds", "a", "q"), ("c", "undecided", "", "read off table 1"),
            ("d", "by proof", "", "q")]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["id", "verdict", "same_as", "quote"])
    (stated, text), (read, shown) = claim_parts(frame)
    assert (stated, read) == ("Stated in the text", "Read off tables and figures")
    assert list(text["id"]) == ["a", "b", "d"]
    assert counted(text) == {"holds": 1, "by proof": 1}
    assert counted(shown) == {"undecided": 1}
    assert len(claim_parts(frame[frame["id"] != "c"])) == 1


def test_every_verdict_has_a_sign():
    assert set(claims.VERDICTS) <= set(SIGNS)


def test_claims_are_found_by_folder(tmp_path):
    found = load(tmp_path, b=one("second"), a=one("first") + one("last"))
    assert [c.id for c in found] == ["first", "last", "second"]


def test_the_claims_of_a_paper_that_judges_its_own_are_left_to_it(tmp_path):
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "claims.py").write_text("CLAIMS = (object(),)\n")
    assert [c.id for c in load(tmp_path, a=one("first"))] == ["first"]


def test_a_wrong_keyword_names_file_and_claim(tmp_path):
    with pytest.raises(TypeError, match=r"b.claims\.py: claim 'second': .*unexpected keyword argument 'table'"):
        load(tmp_path, b=one("first") + one("second", 'Better("a", "b", table=("3",))') + one("third"))


def test_a_wrong_value_names_file_and_claim(tmp_path):
    with pytest.raises(ReportError, match=r"claim 'first': quantifier='some'"):
        load(tmp_path, b=one("first", 'Better("a", "b", tables=("3",), quantifier="some")') + one("second"))


def test_a_file_without_claims_is_refused(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "claims.py").write_text("CLAIM = ()\n")
    with pytest.raises(ReportError, match="has no CLAIMS"):
        claims.load(tmp_path)


@pytest.mark.parametrize(
    ("papers", "words"),
    [
        ({"a": one("x") + one("x")}, "two claims with the id 'x'"),
        ({"a": one("x"), "b": one("x")}, "two claims with the id 'x'"),
        ({"a": one("x", more='same_as="y",')}, "'x' is the same as 'y', which is no claim of its own there"),
        (
            {"a": one("x") + one("y", more='same_as="x",') + one("z", more='same_as="y",')},
            "claim 'z' is the same as 'y'",
        ),
        ({"a": one("x"), "b": one("y", more='same_as="x",')}, "'y' is the same as 'x', which is no claim of its own"),
    ],
)
def test_claims_that_do_not_fit_are_refused(tmp_path, papers, words):
    with pytest.raises(ReportError, match=words):
        load(tmp_path, **papers)
