import re

import pandas as pd
import pytest

import reports.findings
from datasets.files import write_bytes
from evaluation.summary import COLUMNS
from reports import front_matter, readme
from reports.findings import Finding, FindingError, about, read_committed, render, sources, title_of
from reports.queries import Tables
from reports.verdicts import read_findings
from workflow import committed

QUERY = "a: {table: scores/x.csv, where: {dataset: naval}, take: value, format: .4f}"


@pytest.fixture
def tables(tmp_path):
    told = dict.fromkeys(COLUMNS, "") | {"experiment": "x", "status": "ok", "dataset": "naval", "value": "0.0025"}
    write_bytes(committed.path_of(tmp_path, "x"), committed.encoded(pd.DataFrame([told | {"epsilon": "0.9"}])))
    (tmp_path / "y.csv").write_text("a,b\n,1.50\n", encoding="utf-8")
    return Tables(read_committed(tmp_path))


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


def test_render_names_the_file(tmp_path, tables):
    folder = tmp_path / "findings"
    folder.mkdir()
    (folder / "a.md").write_text(f"---\nnumbers:\n  {QUERY}\n---\n# Title\n\nRMSE {{{{ a }}}}.\n", encoding="utf-8")
    (finding,) = render(folder, tables)
    assert (finding.id, finding.title, title_of(folder / "a.md")) == ("a", "Title", "Title")
    assert "\n\nRMSE 0.0025.\n" in finding.text
    (folder / "b.md").write_text(
        f"---\nnumbers:\n  {QUERY.replace('naval', 'wine')}\n---\n{{{{ a }}}}", encoding="utf-8"
    )
    with pytest.raises(FindingError, match=r"^b\.md: number 'a': scores/x\.csv where dataset=wine .*: no row answers"):
        render(folder, tables)


def test_the_finding_that_the_guide_shows_can_be_rendered():
    told = (readme.ROOT / "docs/how-to/write-a-finding.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(---\nqueries:.*?)```", told, re.DOTALL)[1]
    text = front_matter.render(shown, Tables(read_committed()))
    assert re.search(
        r"Over 20 splits SEP has a test RMSE of 0\.6\d\d on Wine:\n\n\| Method \| Wine \| Power \|\n", text
    )


def test_committed_findings_and_their_index_agree():
    """Every number of every committed finding is read here from the committed reference, and stands in its text."""
    findings = render()
    texts = {p: (readme.ROOT / p).read_text(encoding="utf-8") for p in readme.committed_texts()}
    assert texts == readme.rendered(findings), f"run `{readme.COMMAND}` and commit what it writes"
    assert {f.id for f in findings} == {p.stem for p in sources()}
    assert set(read_findings()["finding"]) <= {f.id for f in findings}


def test_the_index_has_the_titles_of_the_findings():
    titles = {f.stem: title_of(f) for f in sources()}
    index = read_findings()
    assert dict(zip(index["finding"], index["title"], strict=True)).items() <= titles.items()


def test_no_finding_types_how_many_splits_the_uci_and_common_tasks_have():
    """Their number is a query: it changes with the config."""
    for path in sources():
        if path.stem.startswith(
            ("common-", "dp-sep", "dp-vi", "clipping", "algorithm", "honest", "split-", "reproduced")
        ):
            text = re.sub(r"\{\{.*?\}\}", "", front_matter.split(path.read_text(encoding="utf-8"))[1])
            assert not re.search(r"\b(?:10|20|21|ten|twenty) (?:random )?splits", text), path.name


def test_a_report_shows_the_findings_of_its_own_sources():
    found = [Finding(i, i, "") for i in ("a", "b", "c")]
    index = pd.DataFrame(
        [("a", "one2020x", "*"), ("b", "*", "wine|power"), ("b", "*", "year"), ("c", "two2021y", "*")],
        columns=["finding", "source", "dataset"],
    )
    assert [f.id for f in about(found, index, {"one2020x"}, {"abalone"})] == ["a"]
    assert [f.id for f in about(found, index, {"two2021y"}, {"power"})] == ["b", "c"]
    assert about(found, index, {"three"}, {"abalone"}) == []
