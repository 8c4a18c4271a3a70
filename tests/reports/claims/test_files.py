"""The claims of the papers are found by scanning, and what is wrong in a file is told with its claim."""

import pytest

from reports.claims import files
from reports.config import ReportError

HEAD = "from reports.claims import Better, Claim, Needs\n\n"
WORDS = 'experiment="e", place="p", quote="q", statement="t"'


def one(name, test='Needs("x")', more=""):
    """Source text of one claim, over several lines."""
    fields = f"id={name!r},\n        source='s',\n        {WORDS},\n        test={test},{more}"
    return f"    Claim(\n        {fields}\n    ),\n"


def load(home, **papers):
    """The claims of papers with these claims: key -> text of them."""
    for key, text in papers.items():
        (home / key).mkdir()
        (home / key / "claims.py").write_text(f"{HEAD}CLAIMS = (\n{text})\n")
    return files.load(home)


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
        files.load(tmp_path)


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
