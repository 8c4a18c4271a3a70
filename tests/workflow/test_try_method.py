"""./bench try: which tests run, what is said of those that fail, and the row beside the others'."""

import os
import subprocess
import sys

import pytest

from datasets.files import ROOT
from workflow import cli, try_method


def test_an_unknown_method_names_the_nearest(capsys):
    assert cli.main(["try", "rigde"]) == 2
    assert "the nearest is 'ridge'" in capsys.readouterr().err


def test_failures_are_a_line_each_with_the_line_to_mend(monkeypatch, tmp_path, capsys):
    """Tests as pytest runs them: an error in a method's file, and one whose message names such a line."""
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods/mine.py").write_text('def fit():\n    raise ValueError("no")\n')
    (tmp_path / "test_it.py").write_text(
        "import sys\nsys.path.insert(0, 'methods')\nimport mine\n\n\ndef test_fit():\n    mine.fit()\n\n\n"
        "def test_conduct():\n    assert not ['methods.mine.mine:12 uses np.random.seed']\n\n\n"
        "def test_well():\n    pass\n"
    )
    monkeypatch.setattr(try_method, "CHECKS", {"conduct": "test_it.py"})
    monkeypatch.setattr(try_method, "ROOT", tmp_path)
    first, second = try_method.run_checks("mine", False)
    assert first == "test_fit: ValueError: no  <- methods/mine.py:2"
    assert second.startswith("test_conduct: ")
    assert second.endswith("<- methods.mine.mine:12")
    assert "2 failed, 1 passed" in capsys.readouterr().out
    assert [(r["check"], r["case"], r["passed"]) for r in try_method.checked("mine", False)] == [
        ("conduct", "test_fit", False), ("conduct", "test_conduct", False), ("conduct", "test_well", True),
    ]  # fmt: skip


def test_tests_that_do_not_run_are_no_pass(monkeypatch, tmp_path):
    monkeypatch.setattr(try_method, "CHECKS", {"conduct": "test_gone.py"})
    monkeypatch.setattr(try_method, "ROOT", tmp_path)
    for ask in (try_method.run_checks, try_method.checked):
        with pytest.raises(RuntimeError, match=r"did not run: ERROR: file or directory not found: test_gone\.py"):
            ask("mine", False)


def test_tests_that_are_ended_from_outside_name_the_method_file(monkeypatch, capsys):
    monkeypatch.setattr(try_method.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], -9, "", ""))
    assert cli.main(["try", "ridge"]) == 1
    assert "ridge.py were ended by SIGKILL (killed, or out of memory)" in capsys.readouterr().err


def test_only_the_tests_of_the_method_are_collected():
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--collect-only"]
    made = subprocess.run(
        [*command, *try_method.CHECKS.values()],
        cwd=ROOT, env=os.environ | {"DPBAYES_TESTED_METHOD": "ep"}, capture_output=True, text=True,
    )  # fmt: skip
    found = [line.partition("::")[2] for line in made.stdout.splitlines() if "::" in line]
    named = [f for f in found if "[" in f]
    of_one = {"adapter_keeps_the_contract", "fit_keeps_the_contract", "adapter_keeps_the_rules_of_its_layer"}
    assert of_one <= {f.partition("[")[0].partition("_")[2].partition("_")[2] for f in named}
    words = {f.partition("[")[2].rstrip("]") for f in named}
    assert all(w.split("-")[0].rpartition("/")[2] in ("ep", "methods.ep.ep") for w in words), sorted(words)[:9]
    assert not [f for f in found if "dp_sep" in f]


def test_its_scores_stand_beside_committed_ones_of_the_same_split():
    cell = try_method.cheapest("adassp")
    assert cell.experiment.startswith("common")
    assert dict(cell.budget)["epsilon"] == 1.0
    rows = try_method.others(cell)["rmse"]
    assert {m for m, *_ in rows} >= {"predict_mean", "exact_posterior"}
    assert "adassp" not in {m for m, *_ in rows}
    found = [
        {"metric": "rmse", "value": "0.5", "epsilon": "0.99", "status": "ok", "reason": ""},
        {"metric": "coverage_50", "value": "0.4", "epsilon": "0.99", "status": "ok", "reason": ""},
    ]
    lines = try_method.comparison(cell, found).splitlines()
    assert lines[0].split() == ["method", "setting", "epsilon", "rmse", *lines[0].split()[4:]]
    assert lines[1].split()[:4] == [">", "adassp", "epsilon=1", "0.99"]
    assert not [line for line in lines if "epsilon=8" in line]


def test_a_fit_that_fails_says_why():
    cell = try_method.cheapest("adassp")
    row = {"metric": "", "value": "", "status": "timeout", "reason": "no answer within 30 s"}
    assert try_method.comparison(cell, [row]) == "timeout: no answer within 30 s"


def test_a_test_of_a_method_that_never_ends_fails_by_its_cpu_time(tmp_path):
    """The limits are those of tests/conftest.py."""
    home = tmp_path / "methods"
    home.mkdir()
    (home / "test_loop.py").write_text(
        "def test_loop():\n    while True:\n        pass\n\n\ndef test_next():\n    pass\n"
    )
    plugins = ["-p", "no:cacheprovider", "-p", "tests.conftest"]
    made = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", *plugins, "--rootdir", tmp_path, home],
        cwd=tmp_path, env=os.environ | {"DPBAYES_TEST_CPU_SECONDS": "0.5", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "TimeoutError: no end within 0.5 CPU seconds" in made.stdout, made.stdout + made.stderr
    assert "1 failed, 1 passed" in made.stdout
