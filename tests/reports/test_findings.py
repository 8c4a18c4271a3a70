import io
import re

import pandas as pd
import pytest

from evaluation.summary import COLUMNS
from reports import readme
from reports.findings import HERE, Finding, FindingError, Values, about, fill, render, to_html
from reports.verdicts import read_findings
from workflow import committed
from workflow.files import write_bytes

CSV = """method,dataset,setting,metric,status,value,split,epsilon
sep,wine,,rmse,ok,0.5,9,0.9
sep,wine,,rmse,ok,0.7,10,0.9
sep,naval,,rmse,ok,0.0025,0,inf
sep,kin8nm,clipped and noised,rmse,ok,3.5,0,0.9
ep,naval,clip=1,rmse,diverged,,,
"""


@pytest.fixture
def values(tmp_path):
    told = pd.read_csv(io.StringIO(CSV), dtype=str, keep_default_na=False)
    scores = told.assign(experiment="x", **dict.fromkeys(set(COLUMNS) - {*told, "experiment"}, ""))
    write_bytes(committed.path_of(tmp_path, "x"), committed.encoded(scores))
    return Values(tmp_path)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("scores/x.csv where dataset=naval and method=sep | value | .4f", "0.0025"),
        ("scores/x.csv where dataset=wine | mean(value) | .2f", "0.60"),
        ("scores/x.csv where dataset=wine and setting= | sd(value) | .4f", "0.1414"),
        ("scores/x.csv where dataset=wine | max(value) | .1f", "0.7"),
        ("scores/x.csv where status=diverged | count(value) | d", "1"),
        ("scores/x.csv where status=timeout | count(value) | d", "0"),
        ("scores/x.csv where setting=clip=1 | status | s", "diverged"),
        ("scores/x.csv where dataset=wine | max(epsilon) | .1f", "0.9"),  # stands with the cells
        ("scores/x.csv where dataset=wine and split<10 | mean(value) | .1f", "0.5"),
        ("scores/x.csv where metric=rmse | list(dataset) | s", "wine, naval and kin8nm"),
        ("scores/x.csv where dataset=wine | list(dataset) | s", "wine"),
        ("scores/x.csv where dataset=power | list(dataset) | s", "none"),
        ("scores/x.csv where setting=clipped and noised and split=0 | value | .1f", "3.5"),
    ],
)
def test_values(values, reference, text):
    assert values.get(reference) == text
    assert fill(f"a [[value: {reference}]] b", values) == f"a {text} b"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("scores/x.csv where dataset=wine | value | .1f", "2 rows answer"),
        ("scores/x.csv where dataset=power | value | .1f", "no row answers"),
        ("scores/x.csv where dataset=power | mean(value) | .1f", "no row answers"),
        ("scores/x.csv where dataset=naval | mean(value) | .1f", "is not a number"),
        ("scores/x.csv where data=wine | value | .1f", "condition 'data=wine'"),
        ("scores/x.csv where dataset=wine | price | .1f", "no column 'price'"),
        ("scores/x.csv where dataset=wine | mode(value) | .1f", "write a column"),
        ("scores/y.csv | value | .1f", "no file"),
        ("../secret.csv | value | .1f", "no file"),
        ("scores/x.csv | value", "write file where"),
    ],
)
def test_missing_or_ambiguous_is_an_error(values, reference, words):
    with pytest.raises(FindingError, match=words):
        values.get(reference)


def test_a_misspelt_reference_is_not_printed_as_it_is(values):
    with pytest.raises(FindingError, match="no reference"):
        fill("[[valu: scores/x.csv | value | d]]", values)


def test_render_names_the_file(tmp_path, values):
    folder = tmp_path / "findings"
    folder.mkdir()
    (folder / "a.md").write_text(
        "# Title\n\nRMSE [[value: scores/x.csv where dataset=naval and method=sep | value | .4f]].\n"
    )
    (finding,) = render(folder, tmp_path)
    assert (finding.id, finding.title) == ("a", "Title")
    assert "<p>RMSE 0.0025.</p>" in finding.html
    (folder / "b.md").write_text("[[value: scores/x.csv | value | .4f]]")
    with pytest.raises(FindingError, match=r"^b\.md: "):
        render(folder, tmp_path)


def test_committed_findings_and_their_index_agree():
    """Every number of every committed finding is read here from the committed reference, and stands in its text."""
    findings = render()
    texts = {p.name: p.read_text(encoding="utf-8") for p in readme.RENDERED.glob("*.md")}
    assert texts == readme.rendered(findings), f"run `{readme.COMMAND}` and commit what it writes"
    assert {f.id for f in findings} == {p.stem for p in HERE.glob("*.md")}
    assert set(read_findings()["finding"]) <= {f.id for f in findings}


def test_the_index_has_the_titles_of_the_findings():
    titles = {f.stem: f.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") for f in HERE.glob("*.md")}
    index = read_findings()
    assert dict(zip(index["finding"], index["title"], strict=True)).items() <= titles.items()


def test_no_finding_types_how_many_splits_the_uci_and_common_tasks_have():
    """Their number is a query: it changes with the config."""
    for path in HERE.glob("*.md"):
        if path.stem.startswith(
            ("common-", "dp-sep", "dp-vi", "clipping", "algorithm", "honest", "split-", "reproduced")
        ):
            text = re.sub(r"\[\[.*?\]\]", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
            assert not re.search(r"\b(?:10|20|21|ten|twenty) (?:random )?splits", text), path.name


def test_markdown():
    text = "# A <b>\n\nOne **two** `x < y`\nthree\n\n- a\n- b\n  c\n\n"
    text += "| h | k |\n|---|---|\n| 1 | 2 |\n\n```\nrun\n\nit | now\n```\n\nend"
    page = to_html(text)
    assert "<h3>A &lt;b&gt;</h3>" in page
    assert "<p>One <strong>two</strong> <code>x &lt; y</code> three</p>" in page
    assert "<ul><li>a</li><li>b c</li></ul>" in page
    assert "<th>h</th><th>k</th>" in page
    assert "<tr><td>1</td><td>2</td></tr>" in page
    assert "<pre>run\n\nit | now</pre>" in page
    assert page.endswith("<p>end</p>")


def test_a_report_shows_the_findings_of_its_own_sources():
    found = [Finding(i, i, "") for i in ("a", "b", "c")]
    index = pd.DataFrame(
        [("a", "one2020x", "*"), ("b", "*", "wine|power"), ("b", "*", "year"), ("c", "two2021y", "*")],
        columns=["finding", "source", "dataset"],
    )
    assert [f.id for f in about(found, index, {"one2020x"}, {"abalone"})] == ["a"]
    assert [f.id for f in about(found, index, {"two2021y"}, {"power"})] == ["b", "c"]
    assert about(found, index, {"three"}, {"abalone"}) == []
