"""./bench try: which tests run, what is said of those that fail, and the row beside the others'."""

import os
import subprocess
import sys

from datasets.files import ROOT
from workflow import cli, try_method


def test_an_unknown_method_names_the_nearest(capsys):
    assert cli.main(["try", "rigde"]) == 2
    assert "the nearest is 'ridge'" in capsys.readouterr().err


def test_failures_are_a_line_each_with_the_line_to_mend():
    output = """
=================================== FAILURES ===================================
______________ test_the_same_rng_gives_the_same_fit[mine-bnn_regression] ______________
tests/methods/test_conformance.py:300: in test_the_same_rng
    fitted(name, kind)
methods/mine/mine.py:41: in fit
    raise ValueError("no")
E   ValueError: no
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
_ test_conduct[methods.mine.mine] _
tests/test_architecture.py:9: in test_conduct
    assert not faults
E   AssertionError: methods.mine.mine:12 uses global random state: np.random.seed
=========================== short test summary info ============================
FAILED tests/x.py::test_a
"""
    first, second = try_method.faults(output)
    assert (
        first == "test_the_same_rng_gives_the_same_fit[mine-bnn_regression]: ValueError: no  <- methods/mine/mine.py:41"
    )
    assert second.endswith("np.random.seed  <- methods.mine.mine:12")


def test_output_without_a_failed_test_is_told_as_it_is():
    assert try_method.faults("ERROR: file not found: x\n") == ["the tests did not run: ERROR: file not found: x"]


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
