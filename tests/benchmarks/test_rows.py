"""The benchmark of many rows: what a fit takes, and a reason wherever one took none."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import rows


class Pipe:
    def send(self, found):
        self.found = found


def test_a_fit_is_measured_beside_scikit_learn(tmp_path):
    out = tmp_path / "folder/rows.csv"
    rows.main([str(out), "--rows", "300", "--columns", "3", "--methods", "adassp", "output_perturbation"])
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


def test_what_holds_a_copy_is_seen_to_hold_one(monkeypatch):
    """A fit that makes two copies of its table, in a process that has held more before."""

    def fit(task, name, x, y):
        np.ones(30_000_000)  # 240 MB, given back
        return lambda: (x + 1.0, x + 2.0)

    monkeypatch.setattr(rows, "other_fit", fit)
    pipe = Pipe()
    rows.one("regression", rows.BASE, 400_000, 10, pipe)
    assert pipe.found["status"] == "ok"
    assert 1.5 < pipe.found["copies"] < 2.3  # 20 of 21 columns' worth, twice, and what the allocator rounds


def test_what_cannot_be_fitted_has_its_reason():
    found = rows.measured("regression", "posterior_sampling_direct", 50, 2, 60.0)
    assert found["status"] == "not supported"
    assert len(found["reason"].split()) > 3


def test_a_fit_that_takes_too_long_is_given_up():
    found = rows.measured("regression", "adassp", 50, 2, 0.01)
    assert (found["status"], found["reason"]) == ("given up", "after 0.01 s")


def test_a_method_that_was_given_up_is_not_tried_on_more_rows(monkeypatch):
    asked = []

    def measured(task, name, n, d, limit):
        asked.append((task, name, n))
        status = {"status": "ok", "seconds": 1.0} if name == rows.BASE else {"status": "given up"}
        return dict.fromkeys(rows.COLUMNS, "") | {"task": task, "rows": n, "columns": d, "method": name} | status

    monkeypatch.setattr(rows, "measured", measured)
    rows.table([100, 10], [2], ["adassp"], 1.0)
    assert [n for task, name, n in asked if (task, name) == ("regression", "adassp")] == [10]
    assert [n for task, name, n in asked if (task, name) == ("regression", rows.BASE)] == [10, 100]
