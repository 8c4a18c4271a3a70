"""Score rows, and the checks on small things."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from papers.honkela2018robust import checks, data, release, run
from workflow import environment, program

MIRROR = os.environ.get("DPBAYES_MIRROR")


def test_rows_without_the_table(tmp_path, monkeypatch):
    def absent(mirror, raw):
        raise data.datasets.DataError("no table")

    monkeypatch.setattr(data, "load", absent)
    wanted = lambda row: row["method"] == "lr" and row["setting"] == "epsilon=2;n=100"  # noqa: E731
    found = list(run.rows("synth_B", "tiny", None, tmp_path, wanted))
    assert [(r["reading"], r["status"], r["reason"]) for r in found] == [
        ("authors", "no_data", "no table"), ("printed", "no_data", "no table")
    ]  # fmt: skip
    assert set(found[0]) == set(run.COLUMNS)


def test_a_private_cell_of_two_folds(table, monkeypatch):
    """The three readings. The source's fits of two folds; five corrected runs."""
    folds = [data.fold(table, f) for f in range(2)]
    monkeypatch.setattr(run, "scores", lambda folds, moments, drawn: np.arange(6.0).reshape(2, 3))
    monkeypatch.setattr(run, "randomness", lambda noise: None)
    told = {"method": "rplr", "setting": "epsilon=1;n=500", "repeats": 5}
    found = {r: run.cell_of(folds, told | {"reading": r}, {}) for r in ("authors", "printed", "corrected")}
    assert found["authors"]["mean"] == "2.5"
    assert (found["authors"]["parts"], found["authors"]["streams"]) == (2, 3)
    assert found["authors"]["ledger_epsilon"] == "inf"
    assert found["printed"]["status"] == "not_supported"
    assert found["printed"]["reason"] == ("the posterior does not exist in 2 of 2 folds: a negative eigenvalue in 2")
    own = found["corrected"]
    assert len(own["runs"].split()) == own["parts"] == 5
    assert float(own["ledger_epsilon"]) == pytest.approx(1.0, rel=1e-6)
    (event,) = json.loads(own["ledger"])
    assert (event["mechanism"], event["relation"], event["noise_multiplier"]) == ("laplace", "replace_one", 1.0)
    plain = run.cell_of(folds, told | {"method": "lr", "reading": "printed"}, {})
    assert float(plain["runs"].split()[0]) == pytest.approx(0.909366936694, abs=1e-11)
    assert "ledger" not in plain


@pytest.mark.parametrize("reading", ["authors", "printed"])
def test_the_sources_public_noise_is_refused_in_a_run_with_secret_noise(monkeypatch, reading):
    monkeypatch.setenv(environment.NOISE_VARIABLE, environment.SECRET)
    row = {"method": "rplr", "setting": "epsilon=1;n=500", "repeats": 5, "reading": reading}
    found = run.cell_of([], row, {})
    assert found == {"status": "not_supported", "reason": run.NO_SECRET}


def test_delta_of_two_distributions_by_hand():
    """One Laplace number with centres 1 apart, scale 1: delta(e) = 1 - exp((e - 1) / 2) below e = 1; with another scale
    by quadrature."""
    rng = np.random.default_rng(0)
    p, q = (np.zeros(1), np.ones(1)), (np.ones(1), np.ones(1))
    assert checks._delta(p, q, 0.2, 200_000, rng) == pytest.approx(1 - np.exp(-0.4), abs=0.005)
    assert checks._delta(p, q, 1.0, 20_000, rng) == pytest.approx(0, abs=1e-12)
    wide = (np.zeros(1), np.full(1, 2.0))
    x = np.linspace(-60, 60, 1_200_001)
    density, other = np.exp(-np.abs(x)) / 2, np.exp(-np.abs(x) / 2) / 4
    expected = np.maximum(0, density - np.exp(0.3) * other).sum() * (x[1] - x[0])
    assert checks._delta(p, wide, 0.3, 200_000, rng) == pytest.approx(expected, abs=0.005)


def test_a_replaced_row_moves_the_scale_of_the_noise(fold):
    one = checks._laws(fold, 500, (0.1, 0.5), 1.0)
    other = checks._laws(checks._replaced(fold, None, 1000.0), 500, (0.1, 0.5), 1.0)
    assert one[1][-1] * 10 < other[1][-1]
    assert one[0].shape == one[1].shape == (release.size(10),)


@pytest.mark.nightly
@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")
def test_cells_through_the_command(tmp_path):
    out = tmp_path / "synth_B.csv.gz"
    words = ["--scale", "tiny", "--mirror", MIRROR, "--results", str(tmp_path), "--out", str(out)]
    assert program.main(["honkela2018robust", "scores", "synth_B", *words]) == 0
    rows = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(rows) == [*run.COLUMNS, "cpu_seconds"]
    assert len(rows) == 27 * 2 + 8
