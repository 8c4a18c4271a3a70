"""The check of the logistic sampler: equal laws pass, a law that is another fails, and a killed run goes on."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from datasets import store
from methods._shared.logistic.reference import Chains, compare
from papers.geumlek2017rdp import sampler_check
from tests.workflow.project import ROOT, environment
from workflow.experiments import cells

CONFIG = "papers/geumlek2017rdp/experiments/rdp_logistic.yaml"


def chains(rng, d=3, scale=1.0):
    """What four long chains of independent standard normal draws would hold."""
    draws = scale * rng.standard_normal((4, 500, d))
    energy = 0.5 * (draws**2).sum(axis=2)
    return Chains(draws, energy, 1.0, np.full(d, 2000.0), np.full(d, 2000.0), 2000.0)


def test_equal_laws_stay_below_the_limit_and_another_variance_does_not():
    """False alarm: 1e-3 for the three differences together (fixed seeds, so the test cannot flicker)."""
    rng = np.random.default_rng(1)
    limit = sampler_check.limit(3)
    mine = rng.standard_normal((200, 3))
    found = compare(mine, 0.5 * (mine**2).sum(axis=1), chains(rng))
    assert max(found.values()) < limit
    wide = 1.3 * rng.standard_normal((200, 3))
    found = compare(wide, 0.5 * (wide**2).sum(axis=1), chains(rng))
    assert found["variance_z"] > limit or found["energy_z"] > limit
    shifted = rng.standard_normal((200, 3)) + 0.5
    assert compare(shifted, 0.5 * (shifted**2).sum(axis=1), chains(rng))["mean_z"] > limit


def test_the_limit_is_a_bonferroni_quantile():
    """d = 9: 19 differences, two-sided 1e-3 / 19; the normal tail there, by its own series."""
    from math import erfc, sqrt

    assert 19 * erfc(sampler_check.limit(9) / sqrt(2)) == pytest.approx(1e-3, rel=1e-9)


def test_a_posterior_is_checked_again_where_any_difference_is_above_the_limit():
    row = {"mean_z": 1.0, "variance_z": 2.0, "energy_z": 0.5, "limit_z": 4.0}
    assert not sampler_check.above(row)
    for key in ("mean_z", "variance_z", "energy_z"):
        assert sampler_check.above({**row, key: 4.1})
        assert sampler_check.above({**row, key: float("nan")})
    assert sampler_check.above({**row, "limit_z": float("nan")})


def test_every_law_is_a_cell_of_the_experiment():
    known = {(c.method, c.setting) for c in cells(CONFIG, "full")}
    assert len(sampler_check.LAWS) == 12
    assert set(sampler_check.LAWS) <= known


def made_up(path):
    """A table of Abalone's shape, small, where the fetch rule would put the real one."""
    import datasets

    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, (90, 9))
    y = (x[:, 0] + 0.2 * rng.standard_normal(90) > 0.5).astype(float)
    columns = tuple(f"x{j}" for j in range(9))
    store.save(path, datasets.get("abalone"), datasets.Table(x, y, columns))


@pytest.mark.nightly
def test_a_check_that_was_killed_keeps_what_it_had(tmp_path):
    made_up(tmp_path / "data/abalone.npz")
    out = tmp_path / "extra/rdp_sampler_abalone.csv"
    command = [sys.executable, "-m", "workflow.extra", "geumlek2017rdp", out.name, "--scale", "tiny"]
    command += ["--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert 0.9 < float(row["rhat"]) < 1.05
    assert float(row["mean_z"]) < float(row["limit_z"])
    assert not out.with_suffix(".partial").exists()
    # as an interrupted run leaves it: the head and one finished posterior, marked so that it shows
    head = {
        "code": sampler_check.code_hash("papers.geumlek2017rdp.sampler_check"),
        "data": _hash(tmp_path / "data/abalone.npz"),
    }
    kept = {**row, "rhat": 123.0}
    out.with_suffix(".partial").write_text(json.dumps(head) + "\n" + json.dumps(kept) + "\n")
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert next(csv.DictReader(out.read_text().splitlines()))["rhat"] == "123"


def _hash(path):
    import datasets

    return datasets.load(path).data_hash
