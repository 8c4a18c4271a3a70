"""What was drawn once comes back as it was, and only for what it was drawn of."""

from types import SimpleNamespace

import pytest

from reports import reference
from reports.blocks import Block, Table, entry
from reports.contents import Advice, AdviceSection
from reports.figure import Figure
from reports.site import prepared


@pytest.fixture
def content(tmp_path):
    for name in ("tables/t.csv", "figures/f.svg"):
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    rows = [("r", [entry("1 ± 2", verdict="worse")]), ("g", [])]
    table = Table("t", "T", "", [Block("", "x", ["a"], rows, ids=["i", ""])])
    advice = Advice([AdviceSection("s", "S", sentences=["so"], tables=[table])], notes=("n",))
    part = SimpleNamespace(
        key="p", tables=[table], methods=[], privacy=[], datasets=[], figures=[Figure("f", "F", "c")]
    )
    return SimpleNamespace(parts=[part], privacy=[table], advice=advice, files=tmp_path / "made")


def test_tables_figures_and_advice_come_back(content, tmp_path):
    path, work = tmp_path / "site.zip", tmp_path / "work"
    work.mkdir()
    prepared.save(content, path, "d")
    found = prepared.load(path, work, "d")
    assert (work / "tables/t.csv").read_text() == "tables/t.csv"
    assert (work / "figures/f.svg").read_text() == "figures/f.svg"
    assert found.parts["p"]["figures"] == [Figure("f", "F", "c")]
    assert prepared.encode(found.privacy) == prepared.encode(content.privacy)
    assert found.privacy[0].blocks[0].rows[0][1][0].verdict == "worse"
    section = found.advice.sections[0]
    assert section.tables[0] == found.privacy[0]
    assert section.sentences == ("so",)
    before = path.read_bytes()
    prepared.save(content, path, "d")
    assert path.read_bytes() == before


def test_what_was_drawn_of_another_reference_is_not_taken(content, tmp_path):
    path = tmp_path / "site.zip"
    assert prepared.load(path, tmp_path, "d") is None
    prepared.save(content, path, "d")
    assert prepared.load(path, tmp_path, "e") is None


def test_the_digest_is_of_numbers_and_not_of_of_which_run_they_are(tmp_path):
    told, numbers = ("runs.csv", "short_runs.csv", "site.zip"), ("claims.csv", "scores/e.csv.gz")
    for name in (*told, *numbers):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a\n")
    for name in (*told, *numbers):
        before = prepared.digest(tmp_path)
        (tmp_path / name).write_text("b\n")
        assert (prepared.digest(tmp_path) == before) is (name in told), name


def test_the_committed_drawings_are_of_the_committed_numbers(tmp_path):
    """Else every report draws them anew, for two minutes."""
    assert prepared.load(reference.FOLDER / "site.zip", tmp_path, prepared.digest()) is not None, (
        "reports/reference/site.zip is of other numbers; `python -m reports.site --prepare` makes it anew"
    )
