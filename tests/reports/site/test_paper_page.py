"""The pages of a paper: fact sheet first, tables apart, and what its authors get."""

from pathlib import Path

import pandas as pd
import pytest

from reports import build, claims
from reports.blocks import Block, Table, entry
from reports.findings import Finding
from reports.site import paper_page
from reports.site.content import Content, Part
from reports.site.document import Document
from tests.reports.site.conftest import verdicts

CLAIM = dict.fromkeys(claims.COLUMNS, "") | {"source": "someone", "place": "section 2", "margin": "none"}
CLAIMS = [
    CLAIM | {"id": "a", "quote": "it is best", "statement": "better on all", "verdict": "does not hold",
             "figure": "printed: 1 of 2 in favour (x; y), 1 against (on the table of naval propulsion); "
                       "95 % intervals: 1 [0, 2]; 3 [2, 4]"},
    CLAIM | {"id": "b", "quote": "read off table 1", "statement": "lower", "verdict": "holds", "figure": "printed: 1"},
]  # fmt: skip


def part(**given) -> Part:
    rows = verdicts()
    rows.loc[rows["dataset"] == "a", "verdict"] = "worse"
    found = [Finding("f", "It fails", "", "It fails on a.")]
    whole = {"verdicts": rows, "claims": pd.DataFrame(CLAIMS), "findings": found}
    return Part("someone", "Someone 2018", {"someone": "Someone 2018"}, "./bench someone", **whole | given)


def pages(of: Part) -> dict[str, str]:
    content = Content("t", "quick", "a trial", "made up", Path("none"), [of], [], [], None, pd.DataFrame(),
                      pd.DataFrame(), {"commit": "0123456789abcdef"})  # fmt: skip
    return {d.path: d.text() for d in paper_page.papers(of, content, {"f": "It fails"}, cells=True)}


def test_the_page_begins_with_its_sentence_and_has_facts_then_verdicts_then_claims():
    text = pages(part())["papers/someone"]
    assert text.startswith(
        "# Someone 2018\n\nThis page compares 2 published numbers and 2 claims of the paper with our runs."
    )
    places = [text.index(words) for words in ("card-list", "## Verdicts by reading", "## Claims", "## Findings")]
    assert places == sorted(places)
    assert text.index("### Stated in the text") < text.index("### Read off tables and figures")
    assert "2 claims: 1 of its text, 1 read off its tables and figures" in text
    assert "<dd>no</dd>" in text  # were the authors asked


def test_the_authors_see_what_was_found_where_and_how_to_rerun_it():
    text = pages(part())["papers/someone/authors"]
    assert "It was not sent to them, and they were not asked." in text
    assert '<th scope="row">results</th><td>Ssp</td><td>as printed</td><td>2</td><td>1</td>' in text
    assert '1 of 2 claims have another verdict than "holds".' in text
    assert "better on all" in text
    assert 'role="alert">a trial</p>' in text  # the scale of a run that is no evidence
    assert "lower" not in text  # the claim that holds
    assert 'findings/f.html">It fails</a>' in text
    assert (
        "`./bench someone` computes all of it. The last run behind the committed numbers was at commit `0123456789ab`."
        in text
    )
    assert "`papers/someone/answer.md`" in text


def test_nothing_refuted_is_said():
    assert "Our runs refute no published number" in pages(part(verdicts=verdicts()))["papers/someone/authors"]


def test_an_answer_is_shown_as_it_is_and_runs_nothing(tmp_path):
    (tmp_path / "someone").mkdir()
    assert build.answer_of("someone", tmp_path) == ""
    (tmp_path / "someone/answer.md").write_text("We disagree.\n\n```{include} /etc/passwd\n```\n")
    made = pages(part(answer=build.answer_of("someone", tmp_path)))
    text = made["papers/someone/authors"]
    assert "We disagree." in text
    assert "```text" in text
    assert "{include}" not in text
    assert "not sent" not in text
    assert "yes, and they answered" in made["papers/someone"]


def test_numbers_of_a_claim_are_cut_at_semicolons_outside_of_brackets():
    text = pages(part())["papers/someone/claims"]
    assert "<summary>As printed: 1 of 2 in favour (x; y), 1 against</summary>" in text
    assert '<span class="aside">3 [2, 4]</span>' in text


def table(name: str, rows: int) -> Table:
    return Table(
        name, name.upper(), "", [Block("", "x", ["y"], [(f"row {i}", [entry("0" * 50)]) for i in range(rows)])]
    )


@pytest.mark.parametrize(
    ("rows", "paths"), [((3, 3), ["p"]), ((900, 900), ["p"]), ((1500, 1500), ["p", "p-2"]), ((3, 9000), ["p"])]
)
def test_a_page_of_tables_is_cut_and_a_large_table_left_to_its_files(rows, paths):
    found = list(
        paper_page.table_pages(Document("p", "P"), [table(f"t{i}", n) for i, n in enumerate(rows)], open=False)
    )
    assert [d.path for d in found] == paths
    text = "".join(d.text() for d in found)
    assert max(len(d.text()) for d in found) < 300_000
    assert all(f'href="tables/t{i}.csv"' in text for i in range(2))
    assert ("This table has 9,000 rows" in text) == (9000 in rows)
    assert ("row 8999" not in text) or 9000 not in rows
