"""Arguments of ./bench, and what it says before it starts."""

import subprocess
import sys

import pandas as pd
import pytest

from workflow import launch, plan
from workflow.launch import scaled, status


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ([], ["--cores", "all", "--config", "scale=full"]),
        (["-n"], ["--cores", "all", "-n", "--config", "scale=full"]),
        (["--config", "reuse=reference"], ["--cores", "all", "--config", "scale=full", "reuse=reference"]),
        (["--cores", "8"], ["--cores", "8", "--config", "scale=full"]),
        (["-c", "8"], ["--cores", "8", "--config", "scale=full"]),
    ],
)
def test_a_scale_keeps_the_users_own_arguments(monkeypatch, rest, expected):
    monkeypatch.delenv("DPBAYES_CORES", raising=False)
    assert scaled("full", rest) == expected


def test_cores_from_the_environment(monkeypatch):
    monkeypatch.setenv("DPBAYES_CORES", "3")
    assert scaled("quick", [])[:2] == ["--cores", "3"]


@pytest.mark.parametrize("scale", ["full", *(pytest.param(s, marks=pytest.mark.nightly) for s in ("quick", "tiny"))])
def test_the_plan_says_cells_time_and_download(scale):
    text = plan.describe(scale, 5)
    assert f"scale {scale}" in text
    for word in ("cells", "MB to download", "CPU seconds of", "The longest takes", "index.html"):
        assert word in text
    for cores in ("1 core", "2 cores", "5 cores", "8 cores", "32 cores"):
        assert f" min on {cores}," in text
    own = plan.program_seconds(scale)
    assert f"{len(own)} jobs of 5 papers with their own code" in text


def test_a_missing_download_is_counted(tmp_path):
    assert plan.download_mb({"year"}, tmp_path) > 200
    assert plan.download_mb({"synthetic_year"}, tmp_path) == 0


@pytest.mark.nightly
def test_readings_of_one_run_cost_one_run(monkeypatch):
    """Five readings of the run at epsilon 0.1 on Adult, 20 runs of 9 s, and an overhead: not five times that."""
    key = ("nadpvi_adult", "adult_complete", "na_dpvi", "epsilon=0.1")
    three = ("dpvi", "dpvi_last_iterate", "na_dpvi")
    with_run = plan.estimate("full").seconds
    monkeypatch.setattr(
        plan,
        "reference_seconds",
        lambda: dict.fromkeys([(*key[:2], m, key[3]) for m in three], (9.0, False)),
    )
    by_clock = plan.estimate("full")
    monkeypatch.setattr(plan, "reference_seconds", lambda: {key: (9.0, False)})
    assert plan.estimate("full").seconds == pytest.approx(by_clock.seconds)
    monkeypatch.setattr(plan, "reference_seconds", dict)
    nothing = plan.estimate("full")
    assert by_clock.seconds - nothing.seconds == pytest.approx(20 * 9.0)
    assert (by_clock.by_clock, nothing.by_clock) == (3, 0)
    assert nothing.unknown - by_clock.unknown == 3
    assert with_run > nothing.seconds
    # In CPU seconds each counts its share: they add up.
    monkeypatch.setattr(
        plan, "reference_seconds", lambda: dict.fromkeys([(*key[:2], m, key[3]) for m in three], (3.0, True))
    )
    assert plan.estimate("full") == by_clock._replace(by_clock=0, jobs=pytest.approx(by_clock.jobs))


def test_a_forecast_goes_by_cpu_seconds_where_there_are_any(monkeypatch):
    like = {"experiment": "e", "dataset": "d", "method": "m", "metric": "rmse"}
    rows = [
        {"cell": "a", "setting": "x", "split": "0", "seconds": "5", "cpu_seconds": ""},
        {"cell": "a", "setting": "x", "split": "1", "seconds": "7", "cpu_seconds": "2"},
        {"cell": "a", "setting": "x", "split": "1", "seconds": "7", "cpu_seconds": "2"},
        {"cell": "b", "setting": "y", "split": "0", "seconds": "5", "cpu_seconds": ""},
        {"cell": "b", "setting": "y", "split": "1", "seconds": "", "cpu_seconds": ""},
    ]
    monkeypatch.setattr(plan.committed, "experiments", lambda folder: ["e"])
    monkeypatch.setattr(plan.committed, "read", lambda *_: pd.DataFrame([like | r for r in rows]))
    assert plan.reference_seconds() == {("e", "d", "m", "x"): (2.0, True), ("e", "d", "m", "y"): (5.0, False)}


def test_shorter_training_costs_its_share():
    assert plan.shorter({"epochs": 4}, {"epochs": 40}) == 0.1
    assert plan.shorter({"steps": 500}, {"steps": 10_000}) == 0.05
    assert plan.shorter({}, {}) == 1.0


@pytest.mark.parametrize(
    ("code", "text", "expected", "words"),
    [
        (0, "", 0, ""),
        (1, "a.py cannot be imported\n", 1, ""),
        (0, "a.py cannot be imported\n", 3, "left out: a.py cannot be imported"),
        (0, None, 1, "a file of a method has ended the plan; nothing was run"),
    ],
)
def test_the_exit_status_says_what_was_left_out(tmp_path, capsys, code, text, expected, words):
    if text is not None:
        (tmp_path / "note").write_text(text)
    assert status(code, tmp_path / "note") == expected
    assert words in capsys.readouterr().err


#: the part of a plan that imports the files of methods, here those from outside only.
PLAN = """
import os
from pathlib import Path
from methods import contract
from workflow.store import importing
contract._ours, contract.on_import = list, importing
Path(os.environ["DPBAYES_LEFT_OUT"]).write_text("".join(f"{why}\\n" for why in contract.broken()))
"""


def planned(tmp_path, monkeypatch, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    with monkeypatch.context() as patch:
        for variable in ("LEFT_OUT", "IMPORTING", "ENDED"):
            patch.setenv(f"DPBAYES_{variable}", "")
        patch.setenv("DPBAYES_METHODS", ":".join(str(tmp_path / f"{name}.py") for name in files))
        patch.setattr(launch, "run", lambda command, lock: subprocess.call(command))
        return launch.planned([sys.executable, "-c", PLAN], 0, tmp_path)


def test_a_file_that_ends_the_plan_is_left_out_by_name(tmp_path, monkeypatch, capfd):
    """It has ended the plan without a word: `os._exit`, a crash or `os.exec` raise nothing."""
    assert planned(tmp_path, monkeypatch, raises="1 / 0", ends="import os; os._exit(0)") == launch.LEFT_OUT
    told = capfd.readouterr().err
    for words in ("ends.py cannot be imported: it ends the process that does", "raises.py cannot be imported: Zero"):
        assert f"left out: {tmp_path}/{words}" in told


def test_a_plan_that_was_killed_names_the_file_and_is_not_made_again(tmp_path, monkeypatch, capfd):
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert planned(tmp_path, monkeypatch, killed=killed) == -9
    assert f"the plan ended while {tmp_path}/killed.py was imported" in capfd.readouterr().err
