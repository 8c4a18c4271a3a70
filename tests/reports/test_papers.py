"""Papers with a program of their own: tables and findings from their scores, and what they give to the page."""

import gzip

import pandas as pd
import pytest

from reports import papers
from workflow.papers import Paper, Program, programs
from workflow.program import read_scores, write

VERDICTS = """source,dataset,reading,verdict
x,a,authors,reproduced
x,b,authors,worse
x,c,authors,no_data
x,a,printed,compatible
"""


def table_of_sums(scores, folder):
    return {"sums.csv": pd.DataFrame({"sum": [scores["value"].astype(float).sum()]})}


class Someone(Paper):
    """A paper in a folder of the test."""

    folder = None

    @property
    def home(self):
        return self.folder


@pytest.fixture
def someone(tmp_path, monkeypatch):
    """A paper with a program, known to ``reports.papers`` alone, whose scores are below ``tmp_path``/made."""
    own = tmp_path / "someone"
    (own / "reference").mkdir(parents=True)
    (own / "findings/source").mkdir(parents=True)
    program = Program("papers.someone", scores=("wine",), checks=("small",), samples={}, measures={}, judged="so")
    paper = Someone("someone", "Someone", {"x": "Someone"}, family=4, program=program)
    monkeypatch.setattr(Someone, "folder", own)
    monkeypatch.setattr(papers, "programs", lambda: {"someone": (paper, paper.program)})
    monkeypatch.setattr(papers, "resolve", lambda name: table_of_sums)
    write(tmp_path / "made" / "wine.csv.gz", pd.DataFrame({"scale": ["full"], "value": ["1.5"]}))
    write(tmp_path / "made" / "small.csv", pd.DataFrame({"x": [1 / 3]}))
    (own / "reference" / "verdicts.csv.gz").write_bytes(gzip.compress(VERDICTS.encode()))
    for name in ("one", "two"):
        (own / "findings" / f"{name}.md").write_text(f"# The {name}\n\ntext\n")
        (own / "findings/source" / f"{name}.md").write_text(f"---\ntitle: The {name}\nsummary: Some.\n---\ntext\n")
    return paper


def test_verdicts_and_findings(someone):
    (found,) = papers.load()
    assert found.verdicts["verdict"].tolist() == ["reproduced", "worse", "no_data", "compatible"]
    assert [(f.title, f.summary) for f in found.findings] == [("The one", "Some."), ("The two", "Some.")]
    assert found.judged == "so"


@pytest.mark.parametrize("scale", ["full", "tiny"])
def test_the_site_of_a_run_has_what_the_run_made_at_full_scale(someone, tmp_path, scale):
    run = tmp_path / "run/someone"
    write(run / "tables/verdicts.csv.gz", pd.DataFrame({"source": ["x"], "verdict": ["better"]}))
    write(run / "tables/scores/wine.csv.gz", pd.DataFrame({"scale": [scale]}))
    (run / "findings").mkdir()
    (run / "findings/two.md").write_text("# The two\n\nof the run\n")
    (found,) = papers.load(tmp_path / "run")
    if scale == "full":
        assert found.verdicts["verdict"].tolist() == ["better"]
        assert [(f.id, f.title, f.text[-11:]) for f in found.findings] == [("two", "The two", "of the run\n")]
        assert found.reference == run / "tables"
    else:
        assert len(found.verdicts) == 4
        assert found.reference == someone.reference


def test_a_folder_without_reference_gives_nothing(someone):
    (someone.reference / "verdicts.csv.gz").unlink()
    assert papers.load() == []


def test_tables_follow_from_scores_or_are_named(someone, tmp_path):
    papers.build("someone", tmp_path / "made", tmp_path / "made", someone.reference)
    assert papers.checked()["someone"].stale == []
    (someone.reference / "sums.csv").write_text("sum\n2\n")
    assert papers.checked()["someone"].stale == ["sums.csv"]


def test_only_full_scale_becomes_reference(someone, tmp_path):
    write(tmp_path / "made" / "wine.csv.gz", pd.DataFrame({"scale": ["tiny"], "value": ["1.5"]}))
    with pytest.raises(ValueError, match=r"scale \['tiny'\]; only full may become reference"):
        papers.build("someone", tmp_path / "made", tmp_path / "made", someone.reference)
    papers.build("someone", tmp_path / "made", tmp_path / "made", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere/sums.csv").read_text() == "sum\n1.5\n"


def test_tables_of_a_run_have_checksums_and_those_of_the_reference_none(someone, tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "write_findings", lambda *_: None)
    for folder, name in (("scores", "wine.csv.gz"), ("checks", "small.csv")):
        (tmp_path / "run/someone" / folder).mkdir(parents=True)
        (tmp_path / "made" / name).rename(tmp_path / "run/someone" / folder / name)
    out = tmp_path / "run/someone/tables"
    papers.main(["someone", "--results", str(tmp_path / "run"), "--out", str(out)])
    assert [p.name for p in out.glob("*.sha256")] == ["sums.csv.sha256"]
    papers.main(["someone", "--results", str(tmp_path / "run")])
    assert (someone.reference / "sums.csv").is_file()
    assert list(someone.reference.rglob("*.sha256")) == []


# ----- what is committed

OWN = sorted(programs())


@pytest.mark.parametrize("key", OWN)
def test_the_findings_are_current(key):
    paper, _ = programs()[key]
    for name, text in papers.render(key, paper.reference).items():
        assert (paper.home / "findings" / f"{name}.md").read_text(encoding="utf-8") == text, f"render {name} again"


@pytest.mark.parametrize("key", OWN)
def test_the_reference_is_of_full_scale_and_without_dates(key):
    paper, _ = programs()[key]
    assert set(read_scores(paper.reference / "scores")["scale"]) == {"full"}
    for path in paper.reference.rglob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4)
        gzip.decompress(path.read_bytes())


def test_the_committed_tables_follow_from_the_committed_scores():
    """Of the paper for which this is cheap; `python -m reports.build check` asks for all."""
    assert papers.checked("jalko2017dpvi") == {
        "jalko2017dpvi": papers.Checked([], {"jalko2017dpvi": 172}, {"jalko2017dpvi": 172})
    }


def test_verdicts_that_differ_are_counted_by_source(someone, monkeypatch):
    """One of two rows was moved: it is counted, and its table is named."""
    told = pd.DataFrame({"source": ["a", "a", "b"], "verdict": ["worse", "compatible", "worse"]})
    found = told.assign(verdict=["worse", "worse", "worse"])
    monkeypatch.setattr(papers, "build", lambda key, scores, checks, out: write(out / papers.VERDICTS, found))
    write(someone.reference / papers.VERDICTS, told)
    assert papers.checked()["someone"] == papers.Checked([papers.VERDICTS], {"a": 2, "b": 1}, {"a": 1, "b": 1})
