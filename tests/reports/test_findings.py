import re

import pandas as pd
import pytest

import reports.findings
from datasets.files import write_bytes
from evaluation.summary import COLUMNS
from reports import readme
from reports.findings import Finding, FindingError, about, read_committed, render, sources, split
from reports.frames import Frames
from reports.verdicts import read_findings
from workflow import committed
from workflow.papers import papers

TEXT = """---
title: A title
summary: A summary.
---
RMSE {{ rows("scores/x.csv", dataset="naval") | one("value") }}{{ more }}.
"""


@pytest.fixture
def tables(tmp_path):
    told = dict.fromkeys(COLUMNS, "") | {"experiment": "x", "status": "ok", "dataset": "naval", "value": "0.0025"}
    write_bytes(committed.path_of(tmp_path, "x"), committed.encoded(pd.DataFrame([told | {"epsilon": "0.9"}])))
    (tmp_path / "y.csv").write_text("a,b\n,1.50\n", encoding="utf-8")
    return Frames(read_committed(tmp_path))


def test_tables_of_the_reference_are_text(tmp_path, tables):
    read = read_committed(tmp_path)
    assert read("y.csv").to_dict("records") == [{"a": "", "b": "1.50"}]
    assert read("scores/x.csv").loc[0, ["value", "epsilon"]].tolist() == ["0.0025", "0.9"]


def test_scores_that_are_at_hand_are_not_read_again(tmp_path, tables):
    mine = pd.DataFrame({"value": ["1"]})
    read = read_committed(tmp_path, {"x": mine})
    assert read("scores/x.csv") is mine
    assert read("y.csv")["b"].tolist() == ["1.50"]


def test_tables_of_one_folder_by_their_bare_name(tmp_path):
    (tmp_path / "a.csv").write_text("n\n007\n", encoding="utf-8")
    assert reports.findings.read_below(tmp_path)("a")["n"].tolist() == ["007"]
    with pytest.raises(FileNotFoundError, match=r"no b\.csv"):
        reports.findings.read_below(tmp_path)("b")


@pytest.mark.parametrize("name", ["z.csv", "scores/z.csv", "../secret.csv", "scores/../../secret.csv"])
def test_a_table_that_is_not_below_the_reference(tmp_path, name):
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="no such file in the reference of any paper, nor below reference/"):
        read_committed(tmp_path / "reference")(name)


@pytest.fixture
def folder(tmp_path):
    """A folder of sources with a module beside it."""
    folder = tmp_path / "findings/source"
    folder.mkdir(parents=True)
    shared = 'def shared(rows):\n    return {"more": "", "n": len(rows("y.csv"))}\n'
    text = shared + 'def a_b(rows):\n    return {"more": "!"}\n'
    (folder.parent / "queries.py").write_text(text, encoding="utf-8")
    return folder


def test_a_text_its_heading_its_summary_and_the_functions_beside_it(folder, tables):
    (folder / "a-b.md").write_text(TEXT, encoding="utf-8")
    (folder / "c.md").write_text(TEXT.replace("{{ more }}", " of {{ n }}"), encoding="utf-8")
    one, other = render(folder, tables)
    assert (one.id, one.title, one.summary) == ("a-b", "A title", "A summary.")
    assert one.text == "# A title\n\n**Summary.** A summary.\n\nRMSE 0.0025!.\n"
    assert "RMSE 0.0025 of 1." in other.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("summary", "title_holds"), r"^a\.md: it must begin with"),
        (TEXT.replace("naval", "wine"), r"^a\.md: scores/x\.csv, dataset=wine: 0 rows have a value"),
        (TEXT.replace("more", "mode"), r"^a\.md: 'mode' is undefined"),
        (TEXT.replace("title: A title", "heading: A title"), r"^a\.md: it must begin with a line"),
        (TEXT.replace("summary", "title"), r"^a\.md: front matter: 'title' stands twice"),
        (TEXT.replace("title: A", "title: [A"), r"^a\.md: front matter: "),
        ("# A title\n", r"^a\.md: it must begin with"),
        ("---\ntitle: A\n", r"^a\.md: it must begin with"),
    ],
)
def test_errors_name_the_file(folder, tables, text, message):
    (folder / "a.md").write_text(text, encoding="utf-8")
    with pytest.raises(FindingError, match=message):
        render(folder, tables)


def test_committed_findings_and_their_index_agree():
    """Every number of every committed finding is read here from the committed reference, and stands in its text."""
    findings = render()
    texts = {p: (readme.ROOT / p).read_text(encoding="utf-8") for p in readme.committed_texts()}
    assert texts == readme.rendered(findings), f"run `{readme.COMMAND}` and commit what it writes"
    assert {f.id for f in findings} == {p.stem for p in sources()}
    assert set(read_findings()["finding"]) <= {f.id for f in findings}


def test_the_index_has_the_titles_of_the_findings():
    titles = {f.stem: split(f)[0]["title"] for f in sources()}
    index = read_findings()
    assert dict(zip(index["finding"], index["title"], strict=True)).items() <= titles.items()


def test_no_finding_types_how_many_splits_the_uci_and_common_tasks_have():
    """It changes with the config."""
    for path in sources():
        if path.stem.startswith(
            ("common-", "dp-sep", "dp-vi", "clipping", "algorithm", "honest", "split-", "reproduced")
        ):
            text = re.sub(r"\{\{.*?\}\}", "", split(path)[1])
            assert not re.search(r"\b(?:10|20|21|ten|twenty) (?:random )?splits", text), path.name


# ----- the form of a finding

#: all of them, also of papers with a program of their own.
FOUND = {
    path.stem: path
    for path in (*sources(), *(p for paper in papers() for p in (paper.home / "findings/source").glob("*.md")))
}
SECTIONS = ["Claim", "Evidence", "Why", "What this does not show", "How to rerun"]


@pytest.mark.parametrize("name", FOUND)
def test_a_finding_has_its_title_its_summary_its_sections_and_one_table_of_evidence(name):
    front, _ = split(FOUND[name])
    assert len(front["title"].split()) <= 18
    assert len(front["summary"].split()) <= 25
    assert front["summary"].endswith(".")
    text = (FOUND[name].parents[1] / f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    assert parts[1:11:2] == SECTIONS
    claim, evidence = parts[2].strip(), parts[4]
    assert len(re.findall(r"[.!?](?:\s|$)", claim)) <= 2, "a claim has at most two sentences"
    (table,) = re.findall(r"(?:^\|.*\n)+", evidence, flags=re.MULTILINE)
    head, _, *rows = table.strip().split("\n")
    assert len(rows) <= 8
    assert head.strip("|").count("|") < 6
    assert not re.search(r"(?:better|worse|different|significant)\w* (?:on|at|in)? ?none\b", text)


@pytest.mark.parametrize("name", FOUND)
def test_every_name_that_a_finding_sets_is_used(name):
    code = "\n".join(re.findall(r"\{\{.*?\}\}|\{%.*?%\}", split(FOUND[name])[1], flags=re.DOTALL))
    code = re.sub(r'"[^"]*"', '""', code)
    unused = [n for n in re.findall(r"\{% (?:set|macro) (\w+)", code) if len(re.findall(rf"\b{n}\b", code)) < 2]
    assert not unused


def test_there_are_findings_of_every_kind():
    assert len(FOUND) >= 48


def test_a_report_shows_the_findings_of_its_own_sources():
    found = [Finding(i, i, "") for i in ("a", "b", "c")]
    index = pd.DataFrame(
        [("a", "one2020x", "*"), ("b", "*", "wine|power"), ("b", "*", "year"), ("c", "two2021y", "*")],
        columns=["finding", "source", "dataset"],
    )
    assert [f.id for f in about(found, index, {"one2020x"}, {"abalone"})] == ["a"]
    assert [f.id for f in about(found, index, {"two2021y"}, {"power"})] == ["b", "c"]
    assert about(found, index, {"three"}, {"abalone"}) == []
