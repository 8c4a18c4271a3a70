"""The budget of all fits of one table: in one process, in a file, and after a crash."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from dpbayes_bench import accountant
from dpbayes_bench.accountant import Accountant, BudgetFileError, BudgetSpent

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_adds_up_over_accountants(tmp_path):
    first = Accountant.start(2.5, 1e-5, tmp_path / "b.json")
    first.charge(1, 1e-6, "adassp")
    second = Accountant(2.5, 1e-5, file=tmp_path / "b.json")
    second.charge(1, 1e-6)
    assert first.spent == second.spent == Accountant(file=tmp_path / "b.json").spent == (2.0, 2e-6)
    with pytest.raises(BudgetSpent, match=r"epsilon = 3 at delta = 3e-06; the accountant has 2\.5"):
        first.charge(1, 1e-6)
    assert first.spent == (2.0, 2e-6)
    assert [f["what"] for f in json.loads((tmp_path / "b.json").read_text())["fits"]] == ["adassp", "fit"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.json.lock", "b.json"]


def test_a_budget_is_not_started_twice(tmp_path):
    Accountant.start(1, 1e-5, tmp_path / "b.json").charge(1, 1e-6)
    with pytest.raises(BudgetFileError, match="never start a table's budget anew"):
        Accountant.start(1, 1e-5, tmp_path / "b.json")
    with pytest.raises(BudgetFileError, match="of a budget of epsilon = 1 at delta = 1e-05, not of 2"):
        Accountant(2, 1e-5, file=tmp_path / "b.json")


def test_a_missing_file_is_not_a_new_budget(tmp_path):
    with pytest.raises(BudgetFileError, match="if its table was never fitted"):
        Accountant(1, 1e-5, file=tmp_path / "b.json")
    held = Accountant.start(1, 1e-5, tmp_path / "b.json")
    (tmp_path / "b.json").unlink()
    with pytest.raises(BudgetFileError, match="no budget file"):
        held.charge(0.1, 1e-6)
    with pytest.raises(BudgetFileError, match="no folder"):
        Accountant.start(1, 1e-5, tmp_path / "nowhere" / "b.json")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "{}", '{"epsilon": 1, "delta": 1e-5}', '{"epsilon": "1", "delta": 1e-5, "fits": []}',
        '{"epsilon": 1, "delta": 1e-5, "fits": [{"epsilon": -1, "delta": 0, "what": ""}]}',
        '{"epsilon": 1, "delta": 1e-5, "fits": [{"epsilon": NaN, "delta": 0, "what": ""}]}',
        '{"epsilon": 1, "delta": 1e-5, "fits": [3]}', "\udcff",
    ],
)  # fmt: skip
def test_a_damaged_file_is_one_clear_error(tmp_path, text):
    held = Accountant.start(1, 1e-5, tmp_path / "b.json")
    (tmp_path / "b.json").write_text(text, encoding="utf-8", errors="surrogateescape")
    for use in (lambda: Accountant(file=tmp_path / "b.json"), lambda: held.charge(0.1, 1e-6), lambda: held.spent):
        with pytest.raises(BudgetFileError, match=r"damaged .*; restore it from a copy"):
            use()
    assert (tmp_path / "b.json").read_bytes() == text.encode("utf-8", "surrogateescape")


def test_two_processes_cannot_both_spend(tmp_path):
    """Four processes charge a tenth until they are refused; the file then holds the budget exactly."""
    Accountant.start(2, 1e-3, tmp_path / "b.json")
    code = (  # the module alone, which needs the standard library only
        "import sys; from accountant import *\n"
        "a, done = Accountant(file=sys.argv[1]), 0\n"
        "try:\n    while True:\n        a.charge(.1, 1e-6); done += 1\nexcept BudgetSpent:\n    print(done)"
    )
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path / "b.json"],
            cwd=ROOT / "dpbayes_bench",
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert sum(int(job.communicate()[0]) for job in jobs) == 20
    assert Accountant(file=tmp_path / "b.json").spent[0] == pytest.approx(2)


def test_a_crash_leaves_the_file_whole(tmp_path, monkeypatch):
    """Before the replacement nothing is charged, after it all; no third file stays."""
    held = Accountant.start(1, 1e-5, tmp_path / "b.json")

    def killed(*names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(accountant.os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            held.charge(0.5, 1e-6)
    assert held.spent == (0, 0)
    replace = os.replace

    def killed_afterwards(*names: str) -> None:
        replace(*names)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(accountant.os, "replace", killed_afterwards)
        with pytest.raises(KeyboardInterrupt):
            held.charge(0.5, 1e-6)
    assert held.spent == (0.5, 1e-6)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.json.lock", "b.json"]


def test_a_pickled_accountant_without_a_file_refuses_and_with_one_counts_on(tmp_path):
    held = Accountant(1, 1e-5)
    held.charge(0.5, 1e-6)
    again = pickle.loads(pickle.dumps(held))
    with pytest.raises(BudgetSpent, match="n_jobs=1"):
        again.charge(0.1, 1e-6)
    held.charge(0.5, 1e-6)
    in_file = Accountant.start(1, 1e-5, tmp_path / "b.json")
    pickle.loads(pickle.dumps(in_file)).charge(0.5, 1e-6)
    assert in_file.spent == (0.5, 1e-6)
    assert copy.copy(in_file) is copy.deepcopy(in_file) is in_file


@pytest.mark.parametrize("cost", [(math.nan, 0.0), (0.0, math.nan), (-1.0, 0.0)])
def test_a_cost_is_two_numbers(cost, tmp_path):
    for held in (Accountant(1, 1e-5), Accountant.start(1, 1e-5, tmp_path / "b.json")):
        with pytest.raises(ValueError, match="give two numbers of at least 0"):
            held.charge(*cost)
        with pytest.raises(BudgetSpent):
            held.charge(math.inf, 0.0)
        assert held.spent == (0, 0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        ("1", 1e-6, "epsilon = '1' is not a number"),
        (True, 1e-6, "True"),
        (1, None, "delta = None"),
        (1, 1.0, "delta = 1"),
    ],
)
def test_a_budget_is_two_numbers(epsilon, delta, said):
    with pytest.raises(ValueError, match=said):
        Accountant(epsilon, delta)
