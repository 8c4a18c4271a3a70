"""The real workflow on made-up data: kill and resume, and one tiny run from end to end with a toy adapter."""

import csv
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pandas as pd
import pytest
from project import (
    HANGS,
    ROOT,
    add_experiment,
    copy_project,
    drop_toy,
    environment,
    only_experiment,
    place_data,
    snakemake,
)

import datasets
from datasets.files import write_bytes, write_csv, write_text
from reports import scoreboard
from workflow import committed, papers, published
from workflow.experiments import cells, experiment_files, load
from workflow.papers import REFERENCE

SLOW = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 6}}
arms:
  - {method: toy, label: a, protocols: [literature], settings: {sleep_s: 0.7}}
  - {method: toy, label: b, protocols: [literature], settings: {sleep_s: 0.7}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""
TARGET = "results/scores/toy_experiment/wine.csv"


def rows(project):
    with open(project / TARGET, newline="") as f:
        return [{k: v for k, v in r.items() if "seconds" not in k and k != "peak_mb"} for r in csv.DictReader(f)]


def slow_project(tmp_path, name):
    project = copy_project(tmp_path / name)
    drop_toy(project)
    only_experiment(project, SLOW)
    place_data(project, "wine")
    return project


def lines_in_partial(project):
    return sum(len(p.read_text().splitlines()) - 1 for p in (project / "results" / "partial").glob("*.jsonl"))


def wait_for(condition, seconds=HANGS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("the run did not get far enough to be killed")


def processes_of(project, word):
    """Process ids whose working directory is the project and whose command line holds ``word``."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(project):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if word.encode() in f.read():
                        found.append(int(pid))
        except OSError:
            continue
    return found


def distinct_numbers(paper):
    """The published numbers of a paper in its files, without copies and timings: keys -> row."""
    if importlib.util.find_spec(f"papers.{paper.key}.published"):  # some stand in further files
        rows = importlib.import_module(f"papers.{paper.key}.published").numbers().to_dict("records")
    elif (paper.home / published.ANNOTATIONS).is_file():
        rows = [row for row in published.read(paper.home) if not row["same_as"]]
    else:
        rows = published.table(paper.home / published.NUMBERS)
    return {tuple(row[c] for c in published.KEY): row for row in rows}


def test_the_default_target_covers_every_published_number(tmp_path):
    """Each number has a row in a table of verdicts that it makes, from fits that it makes."""
    done = snakemake(ROOT, "--cores", "1", "--nolock", "--summary", "--config", f"results={tmp_path / 'nothing'}")
    assert done.returncode == 0, done.stderr[-3000:]
    made = {line.split("\t")[0].removeprefix(f"{tmp_path / 'nothing'}/") for line in done.stdout.splitlines()}
    known = [p for p in papers.papers() if (p.home / published.NUMBERS).is_file()]
    covered = {}
    for paper in known:
        numbers = distinct_numbers(paper)
        if paper.program:
            files = {f"{paper.key}/scores/{name}.csv.gz" for name in paper.program.scores}
            whole = {f"{paper.key}/tables/verdicts.csv.gz", *files} <= made
            covered |= numbers if whole else {}
            continue
        assert "verdicts.csv" in made
        for path in paper.experiments.values():
            config = load(path)
            if not any(name.startswith(f"scores/{config['experiment']}/") for name in made):
                continue
            for key, row in numbers.items():
                if published.answers(config, row):
                    covered[key] = row
    everything = {key: row for paper in known for key, row in distinct_numbers(paper).items()}
    assert covered.keys() == everything.keys()
    # the number that README states
    assert len(covered) == len(scoreboard.rows().drop_duplicates(published.KEY))


@pytest.mark.nightly
def test_kill_9_of_snakemake_and_of_a_cell_then_the_same_command(tmp_path):
    reference = slow_project(tmp_path, "whole")
    done = snakemake(reference, "--cores", "2", TARGET)
    assert done.returncode == 0, done.stderr
    expected = rows(reference)
    assert len(expected) == 2 * 6 * 2  # two cells, six splits, two metrics

    project = slow_project(tmp_path, "killed")
    command = [sys.executable, "-m", "workflow.launch", "--cores", "2", TARGET]
    run = subprocess.Popen(
        command, cwd=project, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: lines_in_partial(project) >= 2)
    # First the whole tree above the cells: the launcher and Snakemake; the cells live on as orphans.
    for pid in [run.pid, *processes_of(project, "snakemake")]:
        os.kill(pid, signal.SIGKILL)
    run.wait()
    # A killed process holds its lock until the system has ended it, which takes a moment on a busy machine.
    wait_for(lambda: not processes_of(project, "snakemake"))
    # Then one orphaned cell (and by that its worker) in mid-flight.
    cells = processes_of(project, "workflow.cell")
    assert cells, "no cell was in flight"
    os.kill(cells[0], signal.SIGKILL)
    kept = lines_in_partial(project)
    assert kept >= 2

    done = snakemake(project, "--cores", "2", TARGET)
    assert done.returncode == 0, done.stderr
    assert rows(project) == expected  # same numbers, nothing lost, nothing twice
    assert not list((project / "results" / "partial").glob("*.jsonl"))


@pytest.mark.nightly
def test_sigterm_ends_all_jobs_and_the_same_command_goes_on(tmp_path):
    project = slow_project(tmp_path, "ended")
    command = [sys.executable, "-m", "workflow.launch", "--cores", "2", TARGET]
    run = subprocess.Popen(command, cwd=project, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: lines_in_partial(project) >= 2)
    run.terminate()  # the launcher alone, as a service manager or `kill` does
    _, said = run.communicate(timeout=HANGS)
    assert run.returncode == 128 + signal.SIGTERM
    assert b"the same command goes on" in said
    assert not processes_of(project, "")  # neither Snakemake nor a cell nor its worker
    kept = lines_in_partial(project)
    assert 2 <= kept < 12
    done = snakemake(project, "--cores", "2", TARGET)
    assert done.returncode == 0, done.stderr
    assert {r["status"] for r in rows(project)} == {"ok"}
    assert len(rows(project)) == 2 * 6 * 2


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    project = slow_project(tmp_path, "busy")
    command = [sys.executable, "-m", "workflow.launch", "--cores", "1", TARGET]
    run = subprocess.Popen(
        command, cwd=project, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: bool(processes_of(project, "snakemake")))
        second = snakemake(project, "--cores", "1", TARGET)
        assert second.returncode == 1
        assert "another ./bench is running" in second.stderr
    finally:
        for pid in processes_of(project, ""):
            os.kill(pid, signal.SIGKILL)
        run.wait()


def test_a_stale_lock_and_a_bad_config_give_the_configs_error(tmp_path):
    """Snakemake cannot clear its lock where it cannot read the config: its words, and no traceback of ours."""
    project = slow_project(tmp_path, "stale")
    lock = project / ".snakemake" / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True)
    with open(project / "config" / "config.yaml", "a") as f:
        f.write("colour: red\n")
    lock.write_text("")
    run = snakemake(project, "--cores", "1", TARGET)
    assert run.returncode != 0
    assert "clearing the lock of a killed run" in run.stderr
    assert "unknown key 'colour'" in run.stderr
    assert "launch.py" not in run.stderr


@pytest.mark.nightly
def test_a_table_does_not_depend_on_its_mirror_and_no_data_becomes_real(tmp_path):
    project = slow_project(tmp_path, "mirrors")
    target = "results/data/year.npz"
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (second / "year").mkdir(parents=True)
    # No network: a proxy that nobody runs refuses at once.
    away = {v: "http://127.0.0.1:9" for v in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}

    def run(mirror, *arguments):
        done = snakemake(project, "--cores", "1", *arguments, target, DPBAYES_MIRROR=str(mirror), **away)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run(first)
    assert datasets.load(project / target).status == "no_data"
    assert "Nothing to be done" in run(first, "-n")
    (second / "year" / "YearPredictionMSD.txt").write_text("2001,1\n")
    run(second)  # the file has appeared: tried again, and refused for its checksum
    assert "YearPredictionMSD.txt" in datasets.load(project / target).reason
    assert "Nothing to be done" in run(second, "-n")
    place_data(project, "year", d=90)
    for mirror in (first, second):  # a table that is there stays, wherever the mirror is
        assert "Nothing to be done" in run(mirror, "-n")


@pytest.mark.nightly
def test_chunks_run_as_jobs_of_their_own_and_leave_the_same_rows(tmp_path):
    project = copy_project(tmp_path)
    drop_toy(project)
    place_data(project, "wine")
    whole = SLOW.replace("0.7", "0.0")
    only_experiment(project, whole)
    assert snakemake(project, "--cores", "1", TARGET).returncode == 0
    expected = rows(project)
    for name in ("fits", "done", "partial", "scores"):
        shutil.rmtree(project / "results" / name)
    add_experiment(project, "toy_experiment", whole.replace("scales:", "chunks: {toy: 2}\nscales:"))
    done = snakemake(project, "--cores", "2", TARGET)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^(fit\w*) +(\d+)$", done.stderr, re.MULTILINE)) == {("fit", "1"), ("fit_chunk", "2")}
    assert rows(project) == expected
    assert "Nothing to be done" in snakemake(project, "--cores", "1", TARGET, "-n").stdout


@pytest.mark.nightly
def test_what_is_committed_whole_is_restored_without_a_job(tmp_path):
    """After one method more, ``reuse=reference`` plans the fits of that method; the rows are those of a whole run."""
    project = copy_project(tmp_path)
    drop_toy(project)
    place_data(project, "wine")
    whole = SLOW.replace("splits: 6", "splits: 2").replace("0.7", "0.0")
    only_experiment(project, whole)
    assert snakemake(project, "--cores", "1", TARGET).returncode == 0
    home = project / "papers/toy/reference"
    committed_scores = committed.encoded(pd.read_csv(project / TARGET, dtype=str, keep_default_na=False))
    write_bytes(home / "scores/toy_experiment.csv.gz", committed_scores)
    write_text(home / "runs.csv", ",".join(committed.RUN_COLUMNS) + "\ntoy_experiment,toy,abc,,\n")

    more = whole.replace("scales:", "  - {method: predict_mean, protocols: [literature]}\nscales:")
    add_experiment(project, "toy_experiment", more)
    assert snakemake(project, "--cores", "1", TARGET).returncode == 0
    expected = rows(project)
    shutil.rmtree(project / "results/fits")
    shutil.rmtree(project / "results/done")
    (project / TARGET).unlink()
    reuse = ("--config", "reuse=reference")
    planned = snakemake(project, "--cores", "1", TARGET, *reuse, "-n").stdout
    assert re.findall(r"^(fit|draws|score) +(\d+)$", planned, re.MULTILINE)[:2] == [("fit", "1"), ("score", "1")]
    done = snakemake(project, "--cores", "1", TARGET, *reuse)
    assert done.returncode == 0, done.stderr
    assert rows(project) == expected
    records = [json.loads(p.read_text()) for p in (project / "results/fits").glob("*.json")]
    assert {(r["method"], bool(r["reused"])) for r in records} == {("toy", True), ("predict_mean", False)}
    assert "Nothing to be done" in snakemake(project, "--cores", "1", TARGET, *reuse, "-n").stdout

    # A method that is named is fitted, and so is a cell whose data are not those that are committed.
    done = snakemake(project, "--cores", "1", TARGET, *reuse, "refit=toy")
    assert ("fit", "1") in re.findall(r"^(fit) +(\d+)$", done.stderr, re.MULTILINE)
    records = [json.loads(p.read_text()) for p in (project / "results/fits").glob("*.json")]
    assert not any(r["reused"] for r in records)
    assert rows(project) == expected
    place_data(project, "wine", n=90)
    assert snakemake(project, "--cores", "1", TARGET, *reuse).returncode == 0
    records = [json.loads(p.read_text()) for p in (project / "results/fits").glob("*.json")]
    assert not any(r["reused"] for r in records)
    assert [r["seed"] for r in rows(project)] == [r["seed"] for r in expected]
    assert [r["value"] for r in rows(project)] != [r["value"] for r in expected]


def tiny_run(project):
    """The whole workflow at the tiny scale, with a toy adapter; rows of its scores, by experiment.

    Of the data wine alone is placed; others may be out of reach.
    """
    drop_toy(project)
    place_data(project, "wine")
    # An earlier full run left scores: of a data set, and of a whole experiment, that have no cell at this scale.
    for experiment in ("dpsep_uci", "dpsep_ablation"):
        scores = committed.read(REFERENCE, experiment)
        old = scores[scores["dataset"] == "naval"]
        assert len(old)
        write_csv(project / "results/scores" / experiment / "naval.csv", old)
    # the report: papers with their own code take minutes even at this scale, and have tests of their own
    done = snakemake(project, "--cores", "2", "results/report/index.html", "--config", "scale=tiny")
    failed = done.stderr.find("Error in rule")  # what failed stands long before the end: other jobs go on
    assert done.returncode == 0, done.stderr[failed - 2000 if failed > 0 else -4000 :][:8000]
    assert (project / "results/report/index.html").is_file()
    assert "Toy" in (project / "results/report/methods/toy.html").read_text()
    found = {}
    for path in (project / "results/scores").glob("*/*.csv"):
        if path.stem != "naval":
            with open(path, newline="") as f:
                found.setdefault(path.parent.name, []).extend(csv.DictReader(f))
    assert {r["scale"] for scores in found.values() for r in scores} == {"tiny"}
    assert not [(r["method"], r["reason"]) for r in found["dpsep_uci"] if r["status"] != "ok"]
    return found


@pytest.mark.nightly
def test_tiny_run_end_to_end_and_a_toy_adapter_is_one_more_column(tmp_path):
    """One paper; all of them are the slow test below."""
    project = copy_project(tmp_path)
    for path in (project / "papers").glob("*/__init__.py"):
        if path.parent.name != "vinaroz2023dpsep":
            shutil.rmtree(path.parent)
    shutil.rmtree(project / "common_tasks")
    scores = tiny_run(project)
    assert {"dpsep_uci", "dpsep_mixture"} <= set(scores)
    assert "toy" in {r["method"] for r in scores["dpsep_uci"]}
    table = (project / "results/tables/dpsep_uci_all_methods.md").read_text()
    assert "Toy" in table
    assert "tiny" in table  # a reader must see that these are not the paper's numbers
    command = [sys.executable, "-m", "snakemake", "--config", "scale=tiny", "--report", "all.zip"]
    told = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=HANGS)
    assert told.returncode == 0, told.stderr[-4000:]
    assert (project / "all.zip").stat().st_size < 3e6
    with zipfile.ZipFile(project / "all.zip") as archive:
        shown = archive.read("all/report.html").decode()
    for name in ("verdicts.csv", "claims.csv", "dpsep_uci_all_methods.csv", "vinaroz2023dpsep_table3.csv", ".svg"):
        assert name in shown


@pytest.mark.slow
def test_a_tiny_run_of_everything(tmp_path):
    """Every experiment that has a cell at this scale, by the same command; .ci/run runs this in a step of its own."""
    scores = tiny_run(copy_project(tmp_path))
    expected = {c.experiment for path in experiment_files() for c in cells(path, "tiny")}
    assert len(expected) > 10
    assert set(scores) == expected
