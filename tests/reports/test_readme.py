"""README's result, its figure and the rendered findings are those of the committed reference."""

import io
import math
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from datasets.files import csv_text
from reports import readme
from reports.config import ReportError
from reports.findings import Finding, FindingError, read_committed
from reports.front_matter import split
from reports.queries import Tables
from reports.verdicts import scoreboard

AGAIN = f"run `{readme.COMMAND}` and commit what it writes"


@pytest.fixture(scope="module")
def verdicts():
    return readme.read_verdicts()


@pytest.fixture(scope="module")
def tables():
    return Tables(read_committed())


@pytest.fixture(scope="module")
def data(verdicts):
    return readme.points(verdicts)


def test_the_result_in_the_readme_is_current(tables, verdicts):
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    assert text == readme.between(text, readme.section(tables, verdicts, readme.titles_of())), AGAIN


def test_the_figure_is_of_the_committed_verdicts(data):
    """By its data, which stand beside it: its bytes may differ between versions of the library that draws it."""
    assert (readme.ROOT / "docs" / "result.csv").read_text(encoding="utf-8") == csv_text(data), AGAIN
    svg = (readme.ROOT / "docs" / "result.svg").read_bytes()
    assert len(svg) < 200_000
    assert readme.digest(data) in "".join(ET.parse(io.BytesIO(svg)).getroot().itertext()), AGAIN


def test_the_figure_shows_what_the_scoreboard_counts(verdicts, data):
    for row in scoreboard(verdicts).to_dict("records"):
        here = data[(data["source"] == row["source"]) & (data["reading"] == row["reading"])]
        assert len(here) == row["cells"] - row["no_score"]
        assert (here["verdict"] == "reproduced").sum() == row["reproduced"]


def test_a_drawn_figure_tells_its_data(data):
    few = data.head(3)
    svg = readme.figure(few)
    assert svg == readme.figure(few)
    assert readme.digest(few) in svg.decode("utf-8")
    assert readme.digest(data) not in svg.decode("utf-8")


@pytest.mark.parametrize(
    ("ours", "published", "metric", "expected"),
    [
        (2.0, 4.0, "rmse", 0.5),
        (-1.0 - math.log(1.1), -1.0, "test_log_likelihood", 1.1),
        (-1e9, 0.0, "test_log_likelihood", math.exp(700)),
        (0.1, 0.0, "rmse", math.inf),
    ],
)
def test_ratio(ours, published, metric, expected):
    assert readme.ratio(ours, published, metric) == pytest.approx(expected, rel=1e-12)


def test_a_number_that_moved_makes_the_readme_stale(tables, verdicts):
    """The test above sees a single verdict that changes."""
    moved = verdicts.copy()
    first = moved.index[(moved["verdict"] == "worse") & (moved["headline"] == "yes")][0]
    moved.loc[first, "verdict"] = "reproduced"
    titles = readme.titles_of()
    assert readme.section(tables, moved, titles) != readme.section(tables, verdicts, titles)


def test_between_replaces_what_stands_between_the_markers():
    text = f"a\n{readme.BEGIN}\nold\n{readme.END}\nb\n"
    assert readme.between(text, "new") == f"a\n{readme.BEGIN}\nnew\n{readme.END}\nb\n"
    assert readme.between(readme.between(text, "new"), "new") == readme.between(text, "new")


@pytest.mark.parametrize("text", ["", readme.BEGIN, f"{readme.END}\n{readme.BEGIN}", 2 * f"{readme.BEGIN}{readme.END}"])
def test_missing_markers_are_an_error(text):
    with pytest.raises(ReportError, match="once, in this order"):
        readme.between(text, "new")


def test_every_link_of_the_readme_leads_somewhere():
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (readme.ROOT / link).exists()] == []


def test_the_template_types_no_result():
    """Every number of a headline is a query; what is left are names, epsilon = 1 and the rule's 1 %."""
    _, text = split((readme.ROOT / "reports/templates/readme.md").read_text(encoding="utf-8"))
    plain = re.sub(r"\{[{%].*?[%}]\}", "", text, flags=re.DOTALL)
    assert set(re.findall(r"\d+(?:\.\d+)?", plain)) <= {"1", "3"}


def test_rendered_findings_are_a_file_each_and_an_index():
    found = [Finding("theorem-4-1", "A title", "# A title\n\nText 0.5.\n\n"), Finding("other", "Other", "# Other\n")]
    texts = readme.rendered(found)
    theorem, index = "papers/vinaroz2023dpsep/findings/theorem-4-1.md", "reports/findings/README.md"
    assert set(texts) == {theorem, "reports/findings/other.md", index}
    assert texts[theorem].endswith("\n\n# A title\n\nText 0.5.\n")
    assert f"* [A title](../../{theorem})" in texts[index]
    assert texts[index].count("other.md") == 1


def test_write_brings_everything_up_to_date(tmp_path, monkeypatch):
    """In a folder of its own: twice gives the same, and a finding that is gone leaves no text behind."""
    (tmp_path / "README.md").write_text(f"x\n{readme.BEGIN}\n{readme.END}\n", encoding="utf-8")
    monkeypatch.setattr(readme, "read_verdicts", lambda: pd.DataFrame())
    monkeypatch.setattr(readme, "section", lambda tables, verdicts, titles: ", ".join(sorted(titles)))
    monkeypatch.setattr(readme, "points", lambda verdicts: pd.DataFrame({"a": [1]}))
    monkeypatch.setattr(readme, "figure", readme.digest)
    monkeypatch.setattr(readme, "write_bytes", lambda path, text: path.write_text(text, encoding="utf-8"))
    readme.write(tmp_path, [Finding("a", "A", "# A"), Finding("b", "B", "# B")])
    folder = tmp_path / "reports/findings"
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "a.md", "b.md"]
    readme.write(tmp_path, [Finding("a", "A", "# A")])
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "a.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == f"x\n{readme.BEGIN}\na\n{readme.END}\n"


def test_a_headline_without_its_rows_fails(tmp_path, verdicts):
    with pytest.raises(FindingError, match=r"^readme\.md: number '.*no table"):
        readme.section(Tables(read_committed(tmp_path)), verdicts, readme.titles_of())
