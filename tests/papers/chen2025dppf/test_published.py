"""The published numbers, their runs, and the files of the source."""

import hashlib
import math

import numpy as np
import pandas as pd
import pytest

from papers.chen2025dppf import PAPER, published, run, verdicts
from workflow.published import KEY


def test_numbers_that_are_no_copies_and_no_timings():
    """Derived from the rows of the files by other code."""
    rows = pd.read_csv(published.HERE / "published.csv", dtype=str)
    notes = pd.read_csv(published.HERE / "annotations.csv", dtype=str, keep_default_na=False)
    both = rows.merge(notes, on=KEY, validate="one_to_one")
    own = both[(both["same_as"] == "") & ~both["metric"].str.startswith("seconds")]
    assert len(own) == len(published.numbers()) == 2025
    assert (own["dataset"] != "victoria_2021").sum() == PAPER.family == 2018


def test_means_are_those_of_the_single_runs():
    """Of all numbers with runs; counts are those of the runs that have a value."""
    rows, count = published.numbers(), 0
    for row in rows[rows["table"] != published.POOLED].to_dict("records"):
        if row["table"] == published.REAL:
            continue
        runs = published.runs_of(row["table"], row["setting"], row["metric"])
        assert runs.mean() == pytest.approx(float(row["mean"]), rel=1e-9, abs=1e-12)
        count += 1
    assert count == 2018 - 14


def test_pooled_means_are_those_of_three_numbers_of_particles():
    """Fourteen means of the heavy prior pool earlier runs with 100, 200 and 400 particles."""
    old, found = pd.read_csv(published.HERE / "history.csv"), 0
    old = old[(old["table"] == "pf_nonconj") & (old["metric"] == "beta1_mean")]
    for row in published.numbers().query("table == @published.POOLED").to_dict("records"):
        parts = [row["setting"].replace("N=100", f"N={n}") for n in (100, 200, 400)]
        three = old[old["setting"].isin(parts)]
        pooled = np.average(three["mean"], weights=three["n_runs"])
        assert len(three) == 3
        found += abs(pooled - float(row["mean"])) <= 5.1e-4
    assert found == 14


def test_what_is_not_run_has_a_reason_with_a_remedy():
    for cell in published.numbers().to_dict("records"):
        if not run.is_run(cell):
            status, reason = verdicts.absent(cell)
            assert status in ("no_data", "not_run")
            assert "remedy: " in reason


def test_settings_that_are_run_are_published():
    known = set(map(tuple, published.numbers()[["table", "setting"]].to_numpy()))
    for table, of in run.config()["run"].items():
        told = [published.fields(s) for t, s in known if t == table]
        size = "N" if table in published.FIXED else "n"
        there = {(float(f["epsilon"]), int(f[size])) for f in told}
        assert {(e, n) for e, sizes in of.items() for n in sizes} <= there


def test_releases_that_are_not_there():
    assert published.release("chen_lr", 0.1, 100).shape == (5,)
    assert published.release("chen_ls", 0.1, 100).shape == (2,)
    assert not np.array_equal(published.release("chen_lr", 1, 400), published.release("chen_lr", 1, 400, history=True))
    with pytest.raises(ValueError, match="0 releases of chen_lr at epsilon 3, n 100"):
        published.release("chen_lr", 3, 100)
    assert math.isclose(published.runs_of("pf_conj", "epsilon=2;n=500;N=100;prior=conjugate", "ess").size, 67)


def test_the_files_are_the_authors_numbers_byte_for_byte():
    for name, sha256 in SHA256.items():
        assert hashlib.sha256((published.HERE / name).read_bytes()).hexdigest() == sha256, name


SHA256 = {
    "annotations.csv": "c833b37ae354aff56ec2949b982d3a8da878ce8d2f77c72ef31a0831bdb16d2b",
    "history.csv": "d74c257758fcf83705c10749e771c15847ea7daafc570d2065f0fc0aee9ebf4f",
    "history_runs.csv.gz": "d574b177c28192ea44ee68d803bb716940d1af0485067016a9af029bbbbcdc90",
    "published.csv": "7bb7acec2f218936d7e1ebf05cc228b067ef0f293a760d73999e756ec762755d",
    "releases.csv": "95b6e73eb5000d14ec980f899550e136d75f22ec0c40599ee88dc246fa96f760",
    "second_noise.csv": "bdf6970b7f8b6bc31a4a200f508fc4614fa33ef3dc337db0e43935e9bfe68165",
    "single_runs.csv.gz": "58679cd9b9134be40460630fc5c945fb1727f19654572dc8c4c0192bee111994",
}
