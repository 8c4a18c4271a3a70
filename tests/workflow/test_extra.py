"""Tables that are no scores: rows of an interrupted run are kept, and one rule makes the tables of all papers."""

from __future__ import annotations

import re

import pytest
from project import copy_project, only_experiment, place_data, snakemake

from workflow import extra
from workflow.papers import Extra


def test_rows_of_an_interrupted_run_are_kept(tmp_path):
    out, made = tmp_path / "t.csv", []

    def make(k):
        def row():
            made.append(k)
            if k == 1 and made.count(1) == 1:
                raise KeyboardInterrupt
            return {"seconds": float(k)}

        return row

    makers = [make(0), make(1)]
    with pytest.raises(KeyboardInterrupt):
        extra.kept(out, {"code": "a"}, makers)
    assert extra.kept(out, {"code": "a"}, makers) == [{"seconds": 0.0}, {"seconds": 1.0}]
    assert made == [0, 1, 1]
    extra.kept(out, {"code": "b"}, makers)  # other code: all anew
    assert made == [0, 1, 1, 0, 1]


@pytest.mark.parametrize(("folder", "sealed"), [("extra", True), ("elsewhere", False)])
def test_a_table_has_a_checksum_below_the_results_only(tmp_path, monkeypatch, folder, sealed):
    monkeypatch.setattr(extra.papers, "resolve", lambda name: lambda request: {"t.csv": "a\n1\n"})
    extra.write(extra.Request(Extra(("t.csv",), "a:b"), "full", tmp_path, tmp_path / folder))
    assert (tmp_path / folder / "t.csv").read_text() == "a\n1\n"
    assert (tmp_path / folder / "t.csv.sha256").is_file() is sealed


EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 2}}
arms:
  - {method: predict_mean, protocols: [literature]}
scales: {full: {}, tiny: {}}
answers: []
extra: [pair.csv, twin.csv, alone.csv]
"""
PAPER = """
from workflow.papers import Extra, Paper

PAPER = Paper(
    key="toy",
    title="Toy",
    extra=(
        Extra(("pair.csv", "twin.csv"), "papers.toy.made:pairs", "toy_experiment", ("wine",)),
        Extra(("alone.csv",), "papers.toy.made:alone", "toy_experiment", ("wine",), ("predict_mean",)),
    ),
)
"""
CODE = """
def pairs(request):
    with open(request.results / "calls", "a") as f:
        f.write("pairs\\n")
    return {"pair.csv": f"rows\\n{len(request.data().x)}\\n", "twin.csv": "x\\n"}


def alone(request):
    return {"alone.csv": "fits\\n" + "".join(f"{p.suffix}\\n" for p in request.fits.iterdir())}
"""


@pytest.mark.nightly
def test_one_rule_makes_the_tables_and_a_lost_one_is_made_again(tmp_path):
    project = copy_project(tmp_path)
    only_experiment(project, EXPERIMENT)
    home, results = project / "papers/toy", project / "results"
    (home / "__init__.py").write_text(PAPER, encoding="utf-8")
    (home / "made.py").write_text(CODE, encoding="utf-8")
    place_data(project, "wine")

    def planned(*targets):
        told = snakemake(project, "--cores", "1", "-n", *targets)
        assert told.returncode == 0, told.stderr
        counts = dict(re.findall(r"^(\w+) +(\d+)$", told.stdout.partition("Reasons:")[0], re.MULTILINE))
        return {rule: int(n) for rule, n in counts.items() if rule in ("fit", "extra", "table")}

    def run(*targets):
        done = snakemake(project, "--cores", "1", *targets)
        assert done.returncode == 0, done.stderr

    assert planned("toy") == {"fit": 1, "extra": 2}
    twin, pair, alone = (f"results/extra/{t}.csv" for t in ("twin", "pair", "alone"))
    run(twin)  # it asks for one, and both that one call makes are there
    assert (project / pair).read_text() == "rows\n120\n"
    run(pair, alone)
    assert sorted((project / alone).read_text().split()) == [".json", ".npz", "fits"]
    assert planned(twin, pair, alone, "toy") == {}
    (project / pair).unlink()
    run(pair)
    assert (project / pair).is_file()
    assert (results / "calls").read_text().split() == ["pairs"] * 2
    assert planned("toy") == {}
    (home / "made.py").write_text(CODE + "\n# edited\n", encoding="utf-8")
    assert planned("toy") == {"extra": 2}
