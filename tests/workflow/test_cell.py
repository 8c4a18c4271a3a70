"""The cell runner: statuses, resume, torn lines; in-process and through its command line."""

import dataclasses
import json
import re
import subprocess
import sys

import pandas as pd
import pytest
from project import HANGS, copy_project, drop_toy, environment, only_experiment, place_data

import datasets
from datasets.files import write_bytes
from workflow import committed
from workflow.cell import reference_rows, run
from workflow.experiments import cells
from workflow.papers import experiments as files
from workflow.score import COLUMNS, rows_of
from workflow.store import sealed

EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 3}}
arms:
  - {method: toy, label: good, protocols: [literature]}
  - {method: toy, label: fails, protocols: [literature], settings: {fail: true}}
  - {method: toy, label: nan, protocols: [literature], settings: {nan: true}}
  - {method: toy, label: grid, protocols: [literature], budget_grid: {orders: [1, 2], epsilons: [0.5, 1]}}
  - method: toy
    label: tight
    protocols: [literature]
    settings: {spend: 1.0}
    budget: {mode: enforce}
    budget_grid: {orders: [2], epsilons: [0.5, 2]}
scales: {full: {}, quick: {splits: 2}, tiny: {splits: 1}}
answers: []
"""

#: apart from the others: a limit that a fit which hangs soon reaches is one that any fit may reach on a busy machine.
HANGS_AT_ONCE = (
    EXPERIMENT.partition("arms:")[0].replace("toy_experiment", "toy_hangs")
    + """
timeout_s: 1
arms:
  - {method: toy, label: hangs, protocols: [literature], settings: {hang: true}, splits: 1}
scales: {full: {}, quick: {splits: 2}, tiny: {splits: 1}}
answers: []
"""
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("cell"))
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    (project / "papers/toy/experiments/toy_hangs.yaml").write_text(HANGS_AT_ONCE)
    place_data(project, "wine")
    return project


def run_cell(project, label):
    code = (
        "import sys; from workflow.experiments import cells; from workflow.cell import run; from pathlib import Path\n"
        "files = ['papers/toy/experiments/toy_experiment.yaml', 'papers/toy/experiments/toy_hangs.yaml']\n"
        "c = [c for f in files for c in cells(f, 'full') if c.setting == sys.argv[1]][0]\n"
        "run([c], 'results/data/wine.npz', Path('results')); print(c.id)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, label],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((project / f"results/fits/{done.stdout.strip()}.json").read_text()), done


@pytest.fixture(scope="module")
def whole(project):
    """The record of a run without a fault."""
    return run_cell(project, "good")[0]


@pytest.mark.parametrize(
    ("label", "status", "words"),
    [
        ("fails", "failed", "asked to fail"),
        ("hangs", "timeout", "timeout_s"),
        ("nan", "diverged", "NaN or infinity in the posterior"),
    ],
)
def test_each_end_of_a_fit_is_a_row_with_its_reason(project, label, status, words):
    record, _ = run_cell(project, label)
    assert {r["status"] for r in record["splits"]} == {status}
    assert all(words in r["reason"] for r in record["splits"])
    assert len(record["splits"]) == record["n_splits"]


def test_an_interrupted_cell_goes_on_where_it_was_with_the_same_numbers(project, whole):
    assert {(r["status"], r["reason"]) for r in whole["splits"]} == {("ok", "")}
    assert len(whole["splits"]) == whole["n_splits"]
    partial = project / "results" / "partial" / f"{whole['cell']}.jsonl"
    keep = partial.with_suffix("")
    keep.mkdir()
    head = {"group": [{k: whole[k] for k in ("cell", "code_hash", "data_hash")}]}
    import numpy as np

    with np.load(project / f"results/fits/{whole['cell']}.npz") as z:
        first = {n.split("/")[1]: z[n] for n in z.files if n.startswith("0/")}
        everything = {n: z[n] for n in z.files}
    np.savez(keep / f"{whole['cell']}.0.npz", **first)
    marked = {**whole["splits"][0], "seconds": 123.0}  # shows below that this row was kept, not made again
    lines = [json.dumps(sealed(value)) for value in (head, {"cell": whole["cell"], "row": marked})]
    partial.write_text("\n".join(lines) + '\n{"cell": 1, "torn')
    again, done = run_cell(project, "good")
    assert "resumes: 1 of 3" in done.stderr
    assert again["splits"][0]["seconds"] == 123.0
    assert [r["split"] for r in again["splits"]] == [0, 1, 2]
    with np.load(project / f"results/fits/{whole['cell']}.npz") as z:
        assert set(z.files) == set(everything)
        assert all((z[n] == everything[n]).all() for n in z.files)
    assert not partial.exists()


def test_rows_of_other_code_are_dropped(project, whole):
    partial = project / "results" / "partial" / f"{whole['cell']}.jsonl"
    head = {"group": [{"cell": whole["cell"], "code_hash": "of yesterday", "data_hash": whole["data_hash"]}]}
    row = {"cell": whole["cell"], "row": {**whole["splits"][0], "seconds": 123.0}}
    partial.write_text("".join(json.dumps(sealed(value)) + "\n" for value in (head, row)))
    again, _ = run_cell(project, "good")
    assert all(r["seconds"] != 123.0 for r in again["splits"])


@pytest.mark.parametrize("method", ["predict_mean", "adassp"])
def test_a_cell_restored_from_the_reference_is_what_its_run_wrote(tmp_path, method):
    """All columns, the seed too, although the reference does not hold it."""
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == method]
    place_data(tmp_path, "wine")
    data = datasets.load(tmp_path / "results/data/wine.npz")

    def scored(results, **options):
        run([cell], str(tmp_path / "results/data/wine.npz"), results, **options)
        return [{k: str(v) for k, v in row.items()} for row in rows_of(cell, results / "fits", data)]

    def commit(rows, **changes):
        path = committed.path_of(tmp_path / "reference", cell.experiment)
        write_bytes(path, committed.encoded(pd.DataFrame(rows).assign(**changes)))

    rows = scored(tmp_path / "first")
    assert all(len(r["seed"]) == 4 * 8 + 3 for r in rows)
    assert all(float(r["cpu_seconds"]) > 0 for r in rows)
    commit(rows)
    reference, entry = tmp_path / "reference", (cell.experiment, cell.method)
    assert reference_rows(cell, data.data_hash, reference) == []  # they are of no whole run
    committed.write_runs({entry: committed.run_of(entry, {"commit": "abc"})}, reference)
    assert reference_rows(cell, data.data_hash, reference) == [{**r, "commit": "abc"} for r in rows]
    again = scored(tmp_path / "second", reuse=tmp_path / "reference")
    record = json.loads((tmp_path / f"second/fits/{cell.id}.json").read_text())
    assert record["splits"] == []  # restored, not fitted
    assert {r["commit"] for r in record["reused"]} == {"abc"}
    assert again == rows
    assert set(again[0]) == set(COLUMNS)
    # A cell without data has no split and so no seed.
    commit(rows, split="", seed="")
    assert {r["seed"] for r in reference_rows(cell, data.data_hash, reference)} == {""}
    # Another text of the code is no other number: it is for the gate to say that they have changed.
    commit(rows, code_hash="of yesterday")
    assert len(reference_rows(cell, data.data_hash, reference)) == len(rows)
    assert reference_rows(cell, "other data", reference) == []
    assert reference_rows(cell, data.data_hash, tmp_path / "nowhere") == []


@pytest.mark.nightly
def test_more_splits_cost_the_new_ones_only(tmp_path):
    """A committed cell with fewer splits is restored and goes on; the whole is what one run would have written."""
    (fewer, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "adassp"]
    more = dataclasses.replace(fewer, splits=fewer.splits + 2)
    place_data(tmp_path, "wine")
    path = tmp_path / "results/data/wine.npz"
    data = datasets.load(path)

    def scored(cell, results, **options):
        run([cell], str(path), results, **options)
        rows = rows_of(cell, results / "fits", data)
        return [{k: str(v) for k, v in r.items() if "seconds" not in k and k != "peak_mb"} for r in rows]

    run([fewer], str(path), tmp_path / "fewer")
    old = [{k: str(v) for k, v in r.items()} for r in rows_of(fewer, tmp_path / "fewer/fits", data)]
    reference = tmp_path / "reference"
    write_bytes(committed.path_of(reference, fewer.experiment), committed.encoded(pd.DataFrame(old)))
    entry = (fewer.experiment, fewer.method)
    committed.write_runs({entry: committed.run_of(entry, {"commit": "abc"})}, reference)
    again = scored(more, tmp_path / "more", reuse=reference)
    fitted = json.loads((tmp_path / f"more/fits/{more.id}.json").read_text())["splits"]
    assert [r["split"] for r in fitted] == [fewer.splits, fewer.splits + 1]
    assert again == scored(more, tmp_path / "whole")
    # Another setting is another cell, whatever its splits.
    other = dataclasses.replace(more, settings=(("squared_clip", 2.0),))
    assert reference_rows(other, data.data_hash, reference) == []


def test_a_split_without_a_row_stops_the_job_and_no_cell_is_written(tmp_path, monkeypatch):
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "adassp"]
    place_data(tmp_path, "wine")
    monkeypatch.setattr("workflow.cell.fit_missing", lambda *_: None)  # as if a request had lost it
    with pytest.raises(RuntimeError, match=f"^{re.escape(cell.id)}: no row of split 0; run the same command again"):
        run([cell], str(tmp_path / "results/data/wine.npz"), tmp_path)
    assert not (tmp_path / "fits").exists()


@pytest.mark.nightly
def test_chunks_of_a_job_leave_what_one_job_leaves(tmp_path, monkeypatch):
    """Ranges of splits are fitted by themselves; the job takes their rows over and fits nothing."""
    (one, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "adassp"]
    one = dataclasses.replace(one, splits=5)
    place_data(tmp_path, "wine")
    path = tmp_path / "results/data/wine.npz"
    data = datasets.load(path)

    def rows(results):
        found = rows_of(one, results / "fits", data)
        return [{k: v for k, v in r.items() if "seconds" not in k and k != "peak_mb"} for r in found]

    run([one], str(path), tmp_path / "whole")
    cell, results = dataclasses.replace(one, chunks=2), tmp_path / "chunks"
    assert cell.id == one.id
    run([cell], str(path), results, chunk=1)
    assert [len(run([cell], str(path), results, chunk=k)) for k in (2, 3)] == [3, 0]
    assert not (results / "fits").exists()
    with monkeypatch.context() as nothing_to_fit:
        nothing_to_fit.setattr("workflow.cell.fit_missing", lambda *_: pytest.fail("a split was fitted again"))
        assert len(run([cell], str(path), results)) == 5
        assert run([cell], str(path), results, keep=True) == []
    assert rows(results) == rows(tmp_path / "whole")
    assert not list((results / "partial").glob("*.jsonl"))
    # One chunk only: the job fits the rest.
    run([cell], str(path), tmp_path / "half", chunk=2)
    run([cell], str(path), tmp_path / "half")
    assert rows(tmp_path / "half") == rows(tmp_path / "whole")


@pytest.mark.parametrize(
    "other",
    [
        {"code_hash": "of yesterday"},
        *(pytest.param(o, marks=pytest.mark.nightly) for o in ({"data_hash": "other"}, {"noise": "secret"}, {})),
    ],
    ids=["code", "data", "noise", "lost split or half a file"],
)
def test_a_job_keeps_what_is_of_this_code_and_these_data_only(tmp_path, other):
    (cell, *_) = [c for c in cells(files()["dpsep_uci"], "tiny") if c.method == "adassp"]
    place_data(tmp_path, "wine")
    path = tmp_path / "results/data/wine.npz"
    fit = tmp_path / f"fits/{cell.id}.json"
    run([cell], str(path), tmp_path)
    assert run([cell], str(path), tmp_path, keep=True) == []
    whole = fit.read_text()
    record = {k: v for k, v in json.loads(whole).items() if k != "sha256"}
    lost = [{**record["splits"][0], "status": "timeout", "reason": "slow"}, *record["splits"][1:]]
    fit.write_text(json.dumps(sealed(record | (other or {"splits": lost}))))
    assert len(run([cell], str(path), tmp_path, keep=True)) == cell.splits
    if not other:
        assert len(run([cell], str(path), tmp_path)) == cell.splits  # without ``keep`` it is fitted again
        fit.write_text(whole[:100])
        assert len(run([cell], str(path), tmp_path, keep=True)) == cell.splits


def test_unknown_cell_is_one_clear_error(project):
    command = [sys.executable, "-m", "workflow.cell", "--config", "papers/toy/experiments/toy_experiment.yaml"]
    command += ["--scale", "full", "--cell", "nope", "--data", "results/data/wine.npz"]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True)
    assert done.returncode != 0
    assert "no cell and no family 'nope'" in done.stderr
    assert "Traceback" not in done.stderr


def run_family(project, name):
    command = [sys.executable, "-m", "workflow.cell", "--config", "papers/toy/experiments/toy_experiment.yaml"]
    command += ["--scale", "full", "--cell", name, "--data", "results/data/wine.npz"]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    label = name.rpartition("_")[2]
    found = [json.loads(p.read_text()) for p in (project / "results/fits").glob("*.json")]
    return {r["setting"]: r for r in found if r["setting"].startswith(f"{label};")}, done


@pytest.mark.nightly
def test_a_family_leaves_every_cell_as_if_it_had_run_alone(project):
    records, done = run_family(project, "toy_experiment-wine-literature-toy_grid")
    settings = {f"grid;order={a};epsilon={e}" for a in (1, 2) for e in (0.5, 1)}
    assert set(records) == settings
    assert "split 3 of 3: 4 ok" in done.stderr
    alone, _ = run_cell(project, "grid;order=2;epsilon=0.5")
    together = records["grid;order=2;epsilon=0.5"]
    assert alone["budget"] == together["budget"] == {"renyi": [2.0, 0.5]}
    assert [r["seed"] for r in alone["splits"]] == [r["seed"] for r in together["splits"]]
    assert all(r["status"] == "ok" for record in records.values() for r in record["splits"])


def test_a_cell_of_a_family_that_fails_takes_no_other_with_it(project):
    records, _ = run_family(project, "toy_experiment-wine-literature-toy_tight")
    assert {r["status"] for r in records["tight;order=2;epsilon=2"]["splits"]} == {"ok"}
    refused = records["tight;order=2;epsilon=0.5"]["splits"]
    assert {r["status"] for r in refused} == {"failed"}
    assert all("the budget is 0.5" in r["reason"] for r in refused)


@pytest.mark.nightly
def test_an_interrupted_family_goes_on_with_the_split_that_is_not_whole(project):
    name = "toy_experiment-wine-literature-toy_grid"
    records, _ = run_family(project, name)
    partial = project / "results" / "partial" / f"{name}.jsonl"
    keep = partial.with_suffix("")
    keep.mkdir()
    import numpy as np

    # the order of the cells in the file's head is that of the config
    order = [f"grid;order={a};epsilon={e}" for a in (1, 2) for e in (0.5, 1)]
    head = {"group": [{k: records[s][k] for k in ("cell", "code_hash", "data_hash")} for s in order]}
    lines = [json.dumps(sealed(head))]
    for s in order[:-1]:  # split 0 of all cells but the last: not whole, so made again
        record = records[s]
        with np.load(project / f"results/fits/{record['cell']}.npz") as z:
            np.savez(keep / f"{record['cell']}.0.npz", **{n.split("/")[1]: z[n] for n in z.files if n[:2] == "0/"})
        lines.append(json.dumps(sealed({"cell": record["cell"], "row": {**record["splits"][0], "seconds": 123.0}})))
    partial.write_text("\n".join(lines) + "\n")
    again, done = run_family(project, name)
    assert "resumes: 0 of 3" in done.stderr
    assert all(r["seconds"] != 123.0 for record in again.values() for r in record["splits"])
    assert not partial.exists()
