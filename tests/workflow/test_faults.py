"""What a machine does to a run is no result: every fault of `docs/faults.md` that a cell meets, made to happen.

A fault happens once; the job stops with one error, or leaves a row, and the next call ends as if nothing had been.
"""

import json
import os
import subprocess
import sys

import pytest
from project import HANGS, copy_project, drop_toy, environment, only_experiment, place_data

HEAD = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 20}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""

#: the command line of `workflow.cell` for the one cell of the experiment.
CELL = """
import sys
from workflow.cell import main
from workflow.experiments import cells
config = "papers/toy/experiments/toy_experiment.yaml"
name = cells(config, "full")[0].id
here = ["--config", config, "--scale", "full", "--cell", name, "--data", "results/data/wine.npz", "--results"]
if __name__ == "__main__":  # the worker is spawned
    sys.argv[1:] = here + sys.argv[1:]
    main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("faults"))
    drop_toy(project)
    only_experiment(project, HEAD + "arms: [{method: toy, protocols: [literature]}]\n")
    place_data(project, "wine")
    return project


def ask(project, *, once="", results="results", more="", options=()):
    """Run the one cell of an experiment in which something goes wrong at the first fit."""
    for marker in ("killed", "no memory", "no space", "lost mount", "hungry"):
        if marker != once:
            (project / marker).unlink(missing_ok=True)
    arm = f"{{method: toy, protocols: [literature], label: '{once}', settings: {{once: '{once}'}}}}"
    (project / "papers/toy/experiments/toy_experiment.yaml").write_text(f"{HEAD}{more}arms: [{arm}]\n")
    command = [sys.executable, "-c", CELL, str(results), *options]
    done = subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True, timeout=HANGS)
    (path,) = list((project / results / "fits").glob(f"*-toy-{once.replace(' ', '_')}*.json")) or [None]
    return done, None if path is None else json.loads(path.read_text())["splits"]


def stopped_with_one_error(done, words):
    assert done.returncode == 1
    assert "Traceback" not in done.stderr.rpartition("error: ")[2]
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    for word in (words, "run the same command again"):
        assert word in last


@pytest.mark.parametrize(
    ("once", "words"),
    [
        ("killed", "ended by SIGKILL"),
        pytest.param("no memory", "free some memory", marks=pytest.mark.nightly),
        ("no space", "free some space"),
        pytest.param("lost mount", "mount the folder again", marks=pytest.mark.nightly),
    ],
)
def test_the_job_stops_and_the_next_call_goes_on(project, once, words):
    done, splits = ask(project, once=once)
    stopped_with_one_error(done, words)
    assert splits is None  # no row
    done, splits = ask(project, once=once)
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in splits] == ["ok"] * 20


@pytest.mark.nightly
def test_a_fit_that_takes_more_memory_than_its_cell_may(project):
    done, splits = ask(project, once="hungry", more="mem_mb: 700\n")
    stopped_with_one_error(done, "more than the 700 MB of its cell; raise mem_mb")
    assert splits is None
    done, splits = ask(project, once="hungry", more="mem_mb: 700\n")
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in splits] == ["ok"] * 20


@pytest.mark.nightly
def test_a_full_disk_in_the_middle(project, tmp_path):
    """A disk of its own that holds about half of the splits; making room is all that is to be done."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk; tests/workflow/test_machine.py stubs the write instead")
    try:
        done, splits = ask(project, results=disk / "results")
        stopped_with_one_error(done, "free some space")
        assert splits is None
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        done, splits = ask(project, results=disk / "results")
        assert done.returncode == 0, done.stderr
        assert "resumes: " in done.stderr
        assert [r["status"] for r in splits] == ["ok"] * 20
        _, elsewhere = ask(project, results="elsewhere")
        same = ("split", "seed", "status", "posterior_kind", "ledger")
        assert [{k: r[k] for k in same} for r in splits] == [{k: r[k] for k in same} for r in elsewhere]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.nightly
def test_a_fit_that_ends_its_own_process_is_a_row_and_tried_again_when_asked(project):
    (project / "exits").unlink(missing_ok=True)
    done, splits = ask(project, once="exits")
    assert done.returncode == 0, done.stderr
    assert [r["status"] for r in splits] == ["failed"] + ["ok"] * 19
    assert "ended with code 3" in splits[0]["reason"]
    done, splits = ask(project, once="exits")
    assert [r["status"] for r in splits] == ["failed"] + ["ok"] * 19  # it was not asked to try again
    done, splits = ask(project, once="exits", options=["--retry", "failed", "--attempt", "1"])
    assert [r["status"] for r in splits] == ["ok"] * 20
    assert "resumes: 19 of 20" in done.stderr


def test_a_fit_that_hung_is_tried_again_by_itself(project):
    """The limit of the first call is one that slow fits reach too; that of the second none does."""
    (project / "hangs").unlink(missing_ok=True)
    done, splits = ask(project, once="hangs", more="timeout_s: 6\n")
    assert done.returncode == 0, done.stderr
    assert splits[0]["status"] == "timeout"
    assert "no answer within 6 s; raise timeout_s" in splits[0]["reason"]
    kept = sum(r["status"] == "ok" for r in splits)
    (project / "hangs").touch()  # on a busy machine the limit may have come before the fit
    done, splits = ask(project, once="hangs")
    assert [r["status"] for r in splits] == ["ok"] * 20
    assert (f"resumes: {kept} of 20" in done.stderr) is (kept > 0)
