"""The real workflow on made-up data: kill and resume, and one tiny run from end to end with a toy adapter."""

import csv
import os
import signal
import subprocess
import sys
import time

from project import copy_project, drop_toy, environment, only_experiment, place_data, snakemake

SLOW = """
experiment: toy_experiment
title: toy
rule: bnn_regression
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
        return [
            {k: v for k, v in r.items() if k not in ("seconds", "compile_seconds", "peak_mb")}
            for r in csv.DictReader(f)
        ]


def slow_project(tmp_path, name):
    project = copy_project(tmp_path / name)
    drop_toy(project)
    only_experiment(project, SLOW)
    place_data(project, "wine")
    return project


def lines_in_partial(project):
    return sum(len(p.read_text().splitlines()) - 1 for p in (project / "results" / "partial").glob("*.jsonl"))


def wait_for(condition, seconds=90):
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


def test_tiny_run_end_to_end_and_a_toy_adapter_is_one_more_column(tmp_path):
    project = copy_project(tmp_path)
    drop_toy(project)
    place_data(project, "wine")
    done = snakemake(project, "--cores", "2", "--config", "scale=tiny")
    assert done.returncode == 0, done.stderr[-4000:]
    table = (project / "results/tables/bnn_regression_all_methods.md").read_text()
    assert "Toy" in table
    assert "tiny" in table  # a reader must see that these are not the paper's numbers
    page = (project / "results/report/index.html").read_text()
    assert "Toy" in page
    with open(project / "results/scores/dpsep_uci/wine.csv", newline="") as f:
        scores = list(csv.DictReader(f))
    by_method = {r["method"]: r["status"] for r in scores}
    assert by_method["toy"] == "ok"
    assert set(by_method.values()) <= {"ok", "failed", "timeout", "diverged", "not_supported", "no_data"}
    bad = {m: r["reason"] for r in scores for m in [r["method"]] if r["status"] != "ok"}
    assert not bad
