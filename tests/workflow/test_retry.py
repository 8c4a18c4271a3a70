"""Through Snakemake: lost splits are tried again by the next call, and damaged files are made anew by it."""

import csv
import json
import os
import re

import pytest
from project import copy_project, drop_toy, only_experiment, place_data, snakemake

EXPERIMENT = """
experiment: toy_experiment
title: toy
sources: []
model: {kind: bnn_regression, hidden: 3}
datasets: [wine]
protocols: {literature: {splits: 2}}
arms:
  - {method: toy, label: good, protocols: [literature]}
  - {method: toy, label: raises, protocols: [literature], settings: {once: raises}}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""
#: apart from the other, with a limit that any of its fits may reach.
HANGS = (
    EXPERIMENT.partition("arms:")[0].replace("toy_experiment", "toy_hangs")
    + """
timeout_s: LIMIT
arms: [{method: toy, label: hangs, protocols: [literature], settings: {once: hangs}}]
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""
)
TARGETS = ["results/scores/toy_experiment/wine.csv", "results/scores/toy_hangs/wine.csv"]


def limit(project, seconds):
    (project / "papers/toy/experiments/toy_hangs.yaml").write_text(HANGS.replace("LIMIT", seconds))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = copy_project(tmp_path_factory.mktemp("retry"))
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    limit(project, "4")
    place_data(project, "wine")
    return project


def rows(project):
    found = []
    for target in TARGETS:
        with open(project / target, newline="") as f:
            found += csv.DictReader(f)
    return [{k: v for k, v in r.items() if "seconds" not in k and k != "peak_mb"} for r in found]


def statuses(project):
    return {(r["setting"], r["split"]): r["status"] for r in rows(project)}


def call(project, *arguments):
    done = snakemake(project, "--cores", "1", *TARGETS, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.nightly
def test_lost_splits_are_tried_again_and_no_more_than_that(project):
    call(project)
    found = statuses(project)
    assert found["hangs", "0"] == "timeout"
    assert found["raises", "0"] == "failed"
    limit(project, "3600")
    (project / "hangs").touch()  # on a busy machine the limit may have come before the fit
    call(project)  # what timed out is tried again by itself, what raised is not
    found = statuses(project)
    assert found["hangs", "0"] == found["hangs", "1"] == "ok"
    assert found["raises", "0"] == "failed"
    assert "Nothing to be done" in call(project, "-n")
    call(project, "--config", "retry=failed")
    assert set(statuses(project).values()) == {"ok"}
    for more in ([], ["--config", "retry=failed"]):
        assert "Nothing to be done" in call(project, "-n", *more)


@pytest.mark.nightly
def test_a_file_of_a_cell_that_is_gone_is_made_anew_and_no_other_cell(project):
    call(project)
    before = rows(project)
    (gone,) = (project / "results/fits").glob("*-good-*.npz")
    (kept,) = (project / "results/fits").glob("*-raises-*.npz")
    made = kept.stat().st_mtime_ns
    gone.unlink()
    call(project)
    assert gone.exists()
    assert kept.stat().st_mtime_ns == made
    assert rows(project) == before
    assert "Nothing to be done" in call(project, "-n")


@pytest.mark.nightly
def test_code_that_does_something_else_repeats_the_fits_and_a_comment_does_not(project):
    call(project)
    toy = project / "methods/baselines/toy.py"
    text = toy.read_text()
    for changed, fits in (
        (text + "# a comment\n", 0),
        (text.replace("0.01 * rng", "0.02 * rng"), len(TARGETS)),
        (text, 0),
    ):
        toy.write_text(changed)
        planned = re.search(r"^fit +(\d+)$", call(project, "-n"), flags=re.MULTILINE)
        assert int(planned[1] if planned else 0) == fits


@pytest.mark.nightly
def test_what_is_forced_is_fitted_again_and_a_cell_is_a_target(project):
    call(project)
    before = rows(project)
    fits = sorted((project / "results/fits").glob("*.npz"))
    made = [path.stat().st_mtime_ns for path in fits]
    call(project, "--forcerun", "fit")
    again = [path.stat().st_mtime_ns for path in fits]
    assert all(a > b for a, b in zip(again, made, strict=True))
    assert rows(project) == before
    one = fits[0].with_suffix(".json").relative_to(project)
    done = snakemake(project, "--cores", "1", str(one), "--force")
    assert done.returncode == 0, done.stderr
    assert [path.stat().st_mtime_ns > b for path, b in zip(fits, again, strict=True)] == [True, False, False]
    call(project)
    assert rows(project) == before
    assert "Nothing to be done" in call(project, "-n")


@pytest.mark.nightly
def test_damaged_files_are_named_once_and_made_anew(project):
    call(project, "--config", "retry=failed")
    before = rows(project)
    (fit,) = (project / "results/fits").glob("*-good-*.json")
    store, score = fit.with_suffix(".npz"), project / TARGETS[0]
    record = json.loads(fit.read_text())
    fit.write_text(json.dumps(record | {"splits": record["splits"][:1]}))  # too few splits
    told = call(project)
    assert f"{fit.name} is damaged; set aside" in told
    assert rows(project) == before
    then = score.stat()
    score.write_text(score.read_text().replace("5", "6", 1))
    os.utime(score, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert f"{score.name} is damaged" in call(project)
    assert rows(project) == before
    store.write_bytes(store.read_bytes()[:50] if store.exists() else b"PK")  # and what is left of it is no fit
    call(project)
    assert rows(project) == before
    table = project / "results/data/wine.npz"
    table.write_bytes(table.read_bytes()[:1000])  # is known when the run is planned
    planned = snakemake(project, "-n", "--cores", "1", *TARGETS)
    assert planned.returncode == 0, planned.stderr
    assert "fetch" in planned.stdout + planned.stderr


@pytest.mark.nightly
def test_an_unknown_word_for_retry_is_refused(project):
    done = snakemake(project, "--cores", "1", *TARGETS, "--config", "retry=all")
    assert done.returncode != 0
    assert "--config retry=all: retry is one of timeout, failed" in done.stderr


#: kills the process of the first fit, after a message.
KILLED = """\
    if not Path("tried").exists():
        Path("tried").touch()
        print("the first try was here", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.nightly
def test_the_message_of_a_try_that_failed_is_kept(tmp_path):
    """Snakemake deletes the log of a job before it tries it again, as ``retries`` of the Slurm profile asks."""
    project = copy_project(tmp_path)
    drop_toy(project)
    only_experiment(project, EXPERIMENT)
    place_data(project, "wine")
    cell = project / "workflow/cell.py"
    start = 'if __name__ == "__main__":\n'
    text = cell.read_text()
    assert text.count(start) == 1
    cell.write_text(text.replace(start, start + KILLED))
    done = snakemake(project, "--cores", "1", "--retries", "1", TARGETS[0])
    assert done.returncode == 0, done.stderr
    assert (project / "tried").exists()
    (log,) = (path for path in (project / "results/logs").glob("*.log") if "first try" in path.read_text())
    first, _, second = log.read_text().partition("the first try was here")
    assert len(re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", first, re.M)) == 1
    assert len(re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", second, re.M)) == 1
