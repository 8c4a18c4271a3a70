"""Papers are found by their folders, cheaply, and say what they hold."""

import subprocess
import sys

import pytest

from datasets.files import ROOT
from reports import ceiling
from workflow import committed, extra, papers
from workflow.experiments import load
from workflow.imports import direct_imports, reached

PAPERS = papers.papers()


def test_the_papers_that_are_committed_are_found():
    folders = {p.parent.name for p in (ROOT / "papers").glob("*/__init__.py")}
    assert {p.key for p in PAPERS} == folders | {"common_tasks"}
    assert {p.parent.name for p in (ROOT / "papers").glob("*/published.csv")} <= folders
    assert PAPERS[-1].key == "common_tasks"


def test_a_paper_has_experiments_or_a_program():
    assert {p.key for p in papers.of_experiments()} | set(papers.programs()) == {p.key for p in PAPERS}
    for paper in PAPERS:
        assert bool(paper.experiments) != bool(paper.program), paper.key


def test_listing_papers_and_their_experiments_imports_nothing_heavy():
    code = (
        "import sys; from workflow import papers; papers.experiments(); [p.extra for p in papers.papers()]; "
        "print(sorted(m for m in ('numpy', 'pandas', 'scipy', 'torch', 'jax', 'numba') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.key)
def test_what_a_paper_names_is_there(paper):
    for name in (paper.tables, paper.figures, paper.page, paper.derived, *(e.make for e in paper.extra)):
        assert not name or callable(papers.resolve(name)), name
    if own := paper.program:
        assert all(callable(papers.resolve(n)) for n in (own.rows, own.tables, own.figures, own.runs))
        assert papers.resolve(own.titles)
    for e in paper.extra:
        assert not e.experiment or e.experiment in paper.experiments
        assert e.experiment or not e.fits, "whose fits?"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.key)
def test_its_experiments_name_the_tables_that_it_makes(paper):
    made = [t for e in paper.extra for t in e.tables]
    assert len(set(made)) == len(made)
    configs = [load(path) for path in paper.experiments.values()]
    named = [t for c in configs for k in ("extra", "extra_full") for t in c.get(k, [])]
    assert sorted(named) == sorted(made)


def test_no_two_papers_have_a_table_or_an_experiment_of_the_same_name():
    homes = papers.of_experiments()  # tables of a program are found in the folder of its paper alone
    names = [p.relative_to(home.reference) for home in homes for p in home.reference.rglob("*.csv*")]
    names = [name for name in names if name.name not in (committed.RUNS, ceiling.NAME)]  # every paper has its own
    assert len(set(names)) == len(names)
    assert len(papers.experiments()) == sum(len(p.experiments) for p in PAPERS)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda p: p.key)
def test_no_paper_reaches_another_and_nothing_below_reaches_a_paper(paper):
    """So a folder can be removed without an edit."""
    root = ".".join(paper.home.relative_to(ROOT).parts)
    for path in paper.home.rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        others = {m for m in direct_imports(module) if m.split(".")[0] in ("papers", "common_tasks")}
        assert all(m == "papers" or m == root or m.startswith(f"{root}.") for m in others), (module, others)
    assert not {m for m in reached("reports.build", "workflow.extra", "workflow.gates") if m.startswith(root)}


def test_a_paper_under_another_name_is_refused(monkeypatch):
    class Module:
        PAPER = papers.Paper(key="other", title="")

    monkeypatch.setattr(papers.importlib, "import_module", lambda name: Module)
    with pytest.raises(ValueError, match="name it like the folder"):
        papers.papers.__wrapped__()


def test_a_folder_without_a_record_is_refused(monkeypatch):
    monkeypatch.setattr(papers.importlib, "import_module", lambda name: subprocess)
    with pytest.raises(ValueError, match="sets no PAPER"):
        papers.papers.__wrapped__()


def test_unknown_keys_and_tables_are_named():
    first = next(p for p in PAPERS if p.extra)
    table = first.extra[0].tables[-1]
    with pytest.raises(ValueError, match=f"no paper 'nobody2030'; there are .*{first.key}"):
        extra.about("nobody2030", "x.csv")
    with pytest.raises(ValueError, match=rf"no table 'x.csv'; it has .*{table}"):
        extra.about(first.key, "x.csv")
    assert extra.about(first.key, table) == (first, first.extra[0])


def test_a_maker_that_gives_other_tables_than_it_named_is_refused(tmp_path, monkeypatch):
    asked = extra.Request(papers.Extra(("a.csv", "b.csv"), "m:f"), "full", tmp_path, tmp_path)
    for given in ({"a.csv": ""}, {"a.csv": "", "b.csv": "", "c.csv": ""}):
        monkeypatch.setattr(papers, "resolve", lambda name, given=given: lambda request: given)
        with pytest.raises(ValueError, match="its paper names"):
            extra.write(asked)
    assert not list(tmp_path.iterdir())


def test_text_of_a_table():
    assert extra.text_of(("a", "b"), [{"a": 1 / 3, "b": 7}, {"a": "x", "b": True}], 4) == "a,b\n0.3333,7\nx,True\n"


def test_a_table_is_found_wherever_it_stands(tmp_path):
    first = next(p for p in PAPERS if p.extra)
    table, experiment = first.extra[0].tables[0], next(iter(first.experiments))
    assert papers.find(table).parent == papers.place(experiment) == papers.paper_of(experiment).reference
    assert papers.find("verdicts.csv").parent == papers.REFERENCE
    assert papers.find("no_such.csv") is None
    assert papers.find(table, tmp_path) is None  # another reference is one folder
    assert papers.place(experiment, tmp_path) == tmp_path
