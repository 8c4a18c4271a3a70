"""Files of a paper's own program, and that such a paper is one folder."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import time

import pandas as pd
import pytest
from project import ROOT, copy_project, environment, snakemake

from papers.chen2025dppf import run as chen
from workflow import papers, program, store
from workflow.compare import DIFFERS, compare_program
from workflow.program import chunk_of, main, partial_of, read_scores, score_rows, write


def test_the_same_table_is_the_same_file(tmp_path):
    frame = pd.DataFrame({"x": [1 / 3, 2.0]})
    for folder in ("a", "b"):
        write(tmp_path / folder / "t.csv.gz", frame)
    first = (tmp_path / "a/t.csv.gz").read_bytes()
    assert first == (tmp_path / "b/t.csv.gz").read_bytes()
    assert gzip.decompress(first) == b"x\n0.333333333\n2\n"
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["t.csv.gz"]
    write(tmp_path / "a" / "t.csv.gz", frame, seal=True)
    assert (tmp_path / "a" / "t.csv.gz").read_bytes() == first
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["t.csv.gz", "t.csv.gz.sha256"]


def test_a_folder_without_scores_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run the paper's program first"):
        read_scores(tmp_path)


@pytest.mark.parametrize("key", sorted(papers.programs()))
def test_the_small_tables_of_a_paper_have_functions(key):
    _, own = papers.programs()[key]
    assert list(papers.resolve(own.check)) == list(own.checks)


@pytest.mark.parametrize("key", sorted(papers.programs()))
def test_committed_score_files_are_those_of_the_program(key):
    """Some may lack: a method that takes hours is committed when it was run."""
    paper, own = papers.programs()[key]
    files = {path.name.removesuffix(".csv.gz") for path in paper.reference.glob("scores/*")}
    assert files
    assert files <= set(own.scores)
    assert {f"{name}.csv" for name in own.checks} <= {path.name for path in paper.reference.iterdir()}


def test_an_unknown_name_is_refused(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["wang2018", "scores", "power", "--out", str(tmp_path / "x.csv.gz")])
    assert "wang2018 has no scores 'power'; there are 3droad, " in capsys.readouterr().err


def test_a_row_has_the_cpu_seconds_since_the_one_before():
    def rows():
        for name, seconds in (("short", 0.02), ("long", 0.2)):
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass
            yield {"name": name}

    short, long = program.timed(rows())
    assert (short["name"], long["name"]) == ("short", "long")
    assert 0.02 <= float(short["cpu_seconds"]) < 0.2 <= float(long["cpu_seconds"])


def test_the_cpu_seconds_of_a_row_are_not_compared(tmp_path):
    file = "non_dp.csv.gz"
    rows = pd.read_csv(ROOT / "papers/jalko2017dpvi/reference/scores" / file, dtype=str, keep_default_na=False)
    rows["cpu_seconds"] = "1"
    for mean, differing in ((rows["mean"], set()), ("0", {"mean"})):
        write(tmp_path / file, rows.assign(mean=mean), seal=False)
        found = compare_program("jalko2017dpvi", tmp_path)
        assert {n.metric for n in found if n.verdict == DIFFERS and n.cell.startswith(file)} - {"file"} == differing


def numbers(rows):
    return [{column: value for column, value in row.items() if column != "cpu_seconds"} for row in rows]


#: the cheapest score file of a program that has chunks
FILE = "chen2025dppf", "pf_ls_01"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Its rows at scale tiny, as the program itself yields them."""
    made = list(program.timed(chen.rows(FILE[1], "tiny", None, "")))
    path = tmp_path_factory.mktemp("whole") / "rows.csv.gz"
    write(path, pd.DataFrame(made), float_format=None)
    return numbers(pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"))


@pytest.fixture
def in_chunks(monkeypatch):
    chunks = papers.programs()[FILE[0]][1].chunks
    monkeypatch.setitem(chunks, FILE[1], 3)


def test_ranges_of_cells_give_the_rows_of_one_run(in_chunks, whole, tmp_path):
    """In any order, and the call without a range makes the range that is missing. Seeds are those of the cells."""
    for chunk in (3, 1):
        words = ["--scale", "tiny", "--chunk", str(chunk), "--results", str(tmp_path), "--out", str(tmp_path / "done")]
        assert main([FILE[0], "scores", FILE[1], *words]) == 0
        listed = (tmp_path / "done").read_text().splitlines()
        stored = store.read_partial(
            partial_of(tmp_path, *FILE, chunk), program.head_of(*FILE, "tiny") | {"chunk": [chunk, 3]}
        )
        assert len(listed) == len(set(listed)) < len(stored) < len(whole)
    out = tmp_path / f"{FILE[1]}.csv.gz"
    main([FILE[0], "scores", FILE[1], "--scale", "tiny", "--results", str(tmp_path), "--out", str(out)])
    assert numbers(pd.read_csv(out, dtype=str, keep_default_na=False).to_dict("records")) == whole
    assert not list((tmp_path / "partial").glob("*.jsonl"))


@pytest.mark.parametrize("end", [b"", b'{"torn'])
def test_a_killed_run_makes_only_the_rows_that_are_missing(whole, tmp_path, monkeypatch, end):
    made = []

    def rows(name, scale, mirror, raw, wanted=None):
        for row in chen.rows(name, scale, mirror, raw, wanted):
            if len(made) == 13:  # inside a cell
                raise KeyboardInterrupt
            made.append(row)
            yield row

    with monkeypatch.context() as patch:
        patch.setattr(papers, "resolve", lambda named: rows)
        with pytest.raises(KeyboardInterrupt):
            score_rows(*FILE, "tiny", None, tmp_path)
    with open(partial_of(tmp_path, *FILE, 1), "ab") as f:
        f.write(end)
    yielded = []
    monkeypatch.setattr(papers, "resolve", lambda named: lambda *w: (yielded.append(r) or r for r in chen.rows(*w)))
    assert numbers(score_rows(*FILE, "tiny", None, tmp_path)) == whole
    assert len(yielded) == len(whole) - 13
    # rows of other code are not used
    monkeypatch.setattr(program, "code_hash", lambda *_: "other")
    yielded.clear()
    assert numbers(score_rows(*FILE, "tiny", None, tmp_path)) == whole
    assert len(yielded) == len(whole)


def test_a_cell_without_data_is_tried_again(tmp_path, monkeypatch):
    status = "no_data"

    def rows(name, scale, mirror, raw, wanted=None):
        row = {"dataset": name, "method": "m", "reading": "authors", "epsilon": "1", "metric": "mse"}
        if wanted is None or wanted(row):
            yield row | {"status": status, "mean": 1.5}

    monkeypatch.setattr(papers, "resolve", lambda named: rows)
    assert [r["status"] for r in score_rows("wang2018", "servo", "tiny", None, tmp_path)] == ["no_data"]
    status = "ok"
    (row,) = score_rows("wang2018", "servo", "tiny", None, tmp_path)
    assert (row["status"], row["mean"]) == ("ok", "1.5")


@pytest.mark.parametrize(("cells", "count"), [(1, 1), (5, 5), (9, 4), (3, 5)])
def test_ranges_are_all_cells_once_and_in_order(cells, count):
    names = [f"c{k}" for k in range(cells) for _ in range(2)]
    parts = [chunk_of(names, k, count) for k in range(1, count + 1)]
    assert [c for part in parts for c in part] == [f"c{k}" for k in range(cells)]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("key", sorted(papers.programs()))
def test_committed_rows_of_a_cell_are_neighbours(key):
    """Otherwise ranges of cells, one after the other, would have the rows in another order."""
    paper, own = papers.programs()[key]
    assert set(own.chunks) <= set(own.scores)
    for name in own.chunks:
        rows = pd.read_csv(paper.reference / "scores" / f"{name}.csv.gz", dtype=str, keep_default_na=False)
        cells = [program.own_cell(row, key) for row in rows.to_dict("records")]
        blocks = [cell for k, cell in enumerate(cells) if k == 0 or cells[k - 1] != cell]
        assert len(blocks) == len(set(blocks)) >= own.chunks[name]


def test_a_committed_small_table_is_restored(tmp_path):
    committed = papers.programs()["jalko2017dpvi"][0].reference / "delta.csv"
    out = tmp_path / "delta.csv"
    assert main(["jalko2017dpvi", "checks", "delta", "--reuse", "--out", str(out)]) == 0
    assert out.read_bytes() == committed.read_bytes()
    assert store.unbroken(out)


@pytest.mark.nightly
def test_committed_scores_of_a_program_are_reused(tmp_path):
    """Its tables are made from them, and no score file or small table is."""
    project = copy_project(tmp_path)
    plan = ("--cores", "1", "-n", "jalko2017dpvi")
    rules = {}
    for reuse in ("none", "reference"):
        done = snakemake(project, *plan, "--config", f"reuse={reuse}")
        rules[reuse] = {word for line in done.stdout.splitlines() for word in line.split()[:1] if "program_" in word}
    assert rules["none"] >= {"program_scores", "program_check", "program_tables"}
    assert rules["reference"] == {"program_tables"}
    done = snakemake(project, "--cores", "1", "jalko2017dpvi", "--config", "reuse=reference")
    assert done.returncode == 0, done.stderr[-3000:]
    made = (project / "results/jalko2017dpvi/tables/verdicts.csv.gz").read_bytes()
    assert made == (project / "papers/jalko2017dpvi/reference/verdicts.csv.gz").read_bytes()


def test_streams_of_two_cells_differ():
    assert program.stream("a", "b").random() == program.stream("a", "b").random()
    assert program.stream("a", "b").random() != program.stream("a", "c").random()


# ----- a toy paper with a program of its own

INIT = """
from workflow.papers import Paper, Program

PAPER = Paper(
    key="toy2030",
    title="Toy 2030",
    sources={"toy2030": "Toy 2030"},
    family=2,
    program=Program(
        __name__, scores=("first", "second"), checks=("sizes",), samples={"toy2030-1-first-*": 0.1},
        measures={"{metric}": "mean"}, judged="The numbers are means of five runs",
    ),
)
"""
CODE = """
from pathlib import Path

import numpy as np
import pandas as pd

from papers.toy2030 import PAPER
from reports.evidence import Runs, printed
from reports.verdict import judge
from workflow import program

TITLES = {"toy": "The toy"}
KEY = ["source", "table", "dataset", "method", "setting", "metric"]


def rows(name, scale, mirror, raw, wanted=None):
    values = 0.1 + 0.001 * program.stream("toy2030", name).standard_normal(20)
    yield {"table": "1", "dataset": name, "method": "toy", "reading": "authors", "setting": "epsilon=1",
           "metric": "test_error", "scale": scale, "status": "ok", "reason": "", "delta": "1e-5",
           "ledger_epsilon": "1", "ledger": "", "mean": values.mean(), "std": values.std(ddof=1),
           "runs": " ".join(map(str, values))}


def judged(cell, row):
    values = np.array(row["runs"].split(), dtype=float)
    paper = printed(cell["mean"], int(cell["n_runs"]), cell["std"], "sd")
    found = judge(Runs(paper, values, cell["metric"]), family=PAPER.family)
    return {k: cell[k] for k in KEY} | {
        "reading": "authors", "protocol": "toy", "our_method": "toy2030/toy", "headline": "yes",
        "published_mean": cell["mean"], "mean": values.mean(), "p": found.p, "p_kind": found.p_kind,
        "verdict": found.verdict, "reason": found.reason,
    }


def tables(scores, checks):
    ours = {r["dataset"]: r for r in scores.to_dict("records")}
    cells = program.published(Path(__file__).parent).to_dict("records")
    verdicts = pd.DataFrame([judged(c, ours[c["dataset"]]) for c in cells])
    return {"verdicts.csv.gz": verdicts, "total.csv": pd.read_csv(checks / "sizes.csv")[["n"]].sum().to_frame("n")}


def figures(reference, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "toy.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return []


def runs(reference):
    return {}


CHECKS = {"sizes": lambda mirror: pd.DataFrame({"dataset": ["first", "second"], "n": [20, 20]})}
"""
#: module of the paper -> what it takes from its ``code``.
MODULES = {
    "run": "rows", "checks": "CHECKS", "tables": "tables as build, TITLES as METHODS", "figures": "figures as build",
    "verdicts": "runs",
}  # fmt: skip
PUBLISHED = """source,table,dataset,method,setting,metric,mean,std,n_runs
toy2030,1,first,toy,epsilon=1,test_error,0.100,0.001,5
toy2030,1,second,toy,epsilon=1,test_error,0.200,0.001,5
"""
FINDING = """---
title: "The second number differs"
summary: The second toy number is not the published one.
---
The toy: {{ rows("verdicts", dataset="second") | one("verdict") }}
"""
KNOWN = """
from reports import findings, papers as shown, published
from workflow import launch, papers, recompute

print([p.key for p in papers.papers()], sorted(papers.experiments()), sorted(launch.targets()))
print(sorted({u.experiment for u in recompute.own_units()}), sorted(published.SOURCE_TITLES), len(published.load()))
print([f.name for f in findings.folders()], [(p.key, p.findings[0].title, len(p.verdicts)) for p in shown.load()])
"""


@pytest.mark.nightly
def test_a_paper_with_a_program_is_a_folder_that_comes_and_goes(tmp_path):
    """Its folder is added, run, made reference and removed; no other file of the project changes."""
    project = copy_project(tmp_path)

    def told(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=project, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def files():
        kept = [
            p for p in project.rglob("*") if p.is_file() and p.suffix in (".py", ".smk", ".csv", ".yaml", ".md", ".gz")
        ]
        inside = (project / "papers" / "toy2030", project / "results", project / ".snakemake")
        return {p: p.read_bytes() for p in kept if not any(p.is_relative_to(folder) for folder in inside)}

    before, known = files(), told("-c", KNOWN)
    home = project / "papers" / "toy2030"
    (home / "findings" / "source").mkdir(parents=True)
    (home / "__init__.py").write_text(INIT)
    (home / "code.py").write_text(CODE)
    for module, names in MODULES.items():
        (home / f"{module}.py").write_text(f"from papers.toy2030.code import {names}\n")
    (home / "published.csv").write_text(PUBLISHED)
    (home / "findings" / "source" / "toy2030-first.md").write_text(FINDING)
    done = snakemake(project, "--cores", "2", "toy2030")
    assert done.returncode == 0, done.stderr[-3000:]
    assert (project / "results/toy2030/figures/toy.svg").is_file()
    assert not (home / "reference").exists()
    told("-m", "reports.papers", "toy2030", "--results", "results")
    found = pd.read_csv(home / "reference" / "verdicts.csv.gz")
    assert found["verdict"].tolist() == ["reproduced", "better"]
    assert (home / "reference" / "total.csv").read_text() == "n\n40\n"
    assert (home / "findings" / "toy2030-first.md").read_text().endswith("The toy: better\n")
    listed = told("-c", KNOWN)
    assert "('toy2030', 'The second number differs', 2)" in listed
    # a paper, a target, a program to recompute, a source, and on the page
    assert listed.count("'toy2030'") == 5
    shutil.rmtree(home)
    assert told("-c", KNOWN) == known
    assert files() == before
