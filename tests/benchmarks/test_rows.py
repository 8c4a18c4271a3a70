"""The benchmark of many rows: what a fit takes, and a reason wherever one took none."""

import subprocess
import sys

import pandas as pd
import pytest

from benchmarks import rows
from datasets.files import ROOT


@pytest.mark.nightly
def test_a_fit_is_measured_beside_scikit_learn(tmp_path):
    out = tmp_path / "folder/rows.csv"
    rows.main(
        [str(out), "--rows", "300", "--columns", "3", "--limit", "3600", "--methods", "adassp", "output_perturbation"]
    )
    found = pd.read_csv(out).set_index(["task", "method"])
    assert set(found.index) == {
        ("regression", "scikit-learn"),
        ("regression", "adassp"),
        ("classification", "scikit-learn"),
        ("classification", "output_perturbation"),
    }
    assert (found["status"] == "ok").all()
    assert (found["seconds"] > 0).all()
    assert (found.xs("scikit-learn", level="method")["ratio"] == 1).all()
    ratio = found["seconds"]["regression", "adassp"] / found["seconds"]["regression", "scikit-learn"]
    assert found["ratio"]["regression", "adassp"] == pytest.approx(ratio, rel=0.02)  # three digits are written
    assert found["copies"].isna().all()  # of so small a table nothing is said


TWO_COPIES = """
import numpy as np
from benchmarks import rows

def fit(task, x, y):
    np.ones(30_000_000)  # 240 MB, given back before the fit
    return lambda: (x + 1.0, x + 2.0)

class Pipe:
    def send(self, found):
        print(found["status"], found["copies"])

rows.other_fit = fit
rows.one("regression", rows.BASE, 400_000, 10, 60.0, Pipe())
"""


@pytest.mark.nightly
def test_what_holds_two_copies_is_seen_to_hold_two():
    """In a process of its own, as every fit of the benchmark, that has held more before."""
    told = subprocess.run([sys.executable, "-c", TWO_COPIES], cwd=ROOT, capture_output=True, text=True, check=True)
    status, copies = told.stdout.split()
    assert status == "ok"
    assert 1.7 < float(copies) < 2.1  # 10 of the table's 11 columns, twice


def test_what_cannot_be_fitted_has_its_reason():
    found = rows.measured("regression", "posterior_sampling_direct", 50, 2, 3600.0)
    assert found["status"] == "not supported"
    assert len(found["reason"].split()) > 3


@pytest.mark.nightly
def test_a_fit_that_takes_too_long_is_given_up():
    found = rows.measured("classification", rows.BASE, 100_000, 50, 0.01)
    assert (found["status"], found["reason"]) == ("given up", "after 0.01 CPU s")


@pytest.fixture
def asked(monkeypatch):
    """What was fitted, in place of fits: scikit-learn is done, others are given up."""
    found = []

    def measured(task, name, n, d, limit):
        found.append((task, name, n))
        told = {"status": "given up", "reason": rows.given_up(limit)}
        told = {"status": "ok", "seconds": 1.0} if name == rows.BASE else told
        return dict.fromkeys(rows.COLUMNS, "") | {"task": task, "rows": n, "columns": d, "method": name} | told

    monkeypatch.setattr(rows, "measured", measured)
    return found


def test_a_method_that_was_given_up_is_not_tried_on_more_rows(asked, tmp_path):
    rows.table([100, 10], [2], ["adassp"], 1.0, tmp_path / "rows.csv")
    assert [n for task, name, n in asked if (task, name) == ("regression", "adassp")] == [10]
    assert [n for task, name, n in asked if (task, name) == ("regression", rows.BASE)] == [10, 100]


def test_a_second_call_repeats_only_what_has_another_limit(asked, tmp_path):
    out = tmp_path / "rows.csv"
    first = rows.table([10], [2], ["adassp"], 1.0, out)
    asked.clear()
    assert rows.table([10], [2], ["adassp"], 1.0, out).equals(first)
    assert not asked
    rows.table([10], [2], ["adassp"], 2.0, out)
    assert asked == [("regression", "adassp", 10)]


@pytest.mark.parametrize("columns", ["10", "100"])
def test_the_page_shows_the_committed_table(columns):
    found = pd.read_csv(ROOT / "benchmarks/reference/rows.csv", dtype=str, keep_default_na=False)
    assert found.columns.tolist() == rows.COLUMNS
    mine = found[found["columns"] == columns].set_index(["task", "method"])
    page = (ROOT / "docs/how-to/change-numbers.md").read_text(encoding="utf-8")
    page = page.partition(f"With {columns} columns:")[2].partition("\n\nWith")[0]
    lines = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:3] == "| `"]
    assert len(lines) > 15
    for method, *cells in lines:
        told = [
            mine.at[(task, method), name] if (task, method) in mine.index else ""
            for task in rows.KINDS
            for name in ("seconds", "ratio")
        ]
        assert cells == told
