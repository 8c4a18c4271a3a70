"""The gate sees a number that moved, and says which."""

import numpy as np
import pandas as pd
import pytest

import datasets
from datasets import store
from evaluation.summary import COLUMNS
from reports import compact
from reports.files import write_csv
from workflow import gates
from workflow.experiments import cells
from workflow.imports import ROOT

GATE = {
    "experiment": "dpsep_uci",
    "dataset": "wine",
    "splits": 1,
    "tolerance": {"closed_form": 1e-8, "one_epoch": 1e-6, "standard_errors": 0.5},
    "closed_form": ["predict_mean", "ridge"],
    "one_epoch": [],
    "chaotic": [],
    "left_out": {},
}


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """Made-up wine, and a reference that was computed from it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 11))
    table = datasets.Table(x, x[:, 0] + 0.1 * rng.normal(size=60), tuple(f"x{j}" for j in range(11)))
    data = tmp_path / "wine.npz"
    store.save(data, datasets.get("wine"), table)
    chosen = [c for c in gates.sample(gates.samples()[0]) if c.method in GATE["closed_form"]]
    monkeypatch.setattr(gates, "REFERENCE", tmp_path)
    monkeypatch.setattr(gates, "ROOT", tmp_path)
    monkeypatch.setattr(gates, "samples", lambda: [GATE])
    monkeypatch.setattr(gates, "sample", lambda gate: chosen)
    (tmp_path / "one_epoch.csv").write_text("method,metric,value\n")

    def write(shift=0.0):
        rows = []
        for cell in chosen:
            key = {k: getattr(cell, k) for k in ("experiment", "dataset", "protocol", "method", "setting")}
            for (k, metric), value in gates.scores(cell, 1, str(data)).items():
                moved = value + (shift if (cell.method, metric) == ("ridge", "rmse") else 0.0)
                own = {"cell": cell.id, "split": str(k), "metric": metric, "value": repr(moved), "status": "ok"}
                rows.append(dict.fromkeys(COLUMNS, "") | key | own)
        for part, frame in zip(("scores", "cells"), compact.compact(pd.DataFrame(rows)), strict=True):
            write_csv(tmp_path / part / "dpsep_uci.csv", frame)
        return tmp_path

    return write


def test_the_same_numbers_pass(scene, capsys):
    assert gates.check(scene()) == 0
    assert "recomputed 2 cells, 0 outside" in capsys.readouterr().out


def test_a_moved_number_is_named(scene, capsys):
    assert gates.check(scene(shift=1e-6)) == 1
    out = capsys.readouterr().out
    assert "ridge" in out
    assert "split 0 rmse" in out


def test_a_missing_reference_is_one_clear_error(scene):
    data = scene()
    (data / "cells/dpsep_uci.csv").unlink()
    with pytest.raises(SystemExit, match=r"cells/dpsep_uci\.csv is missing; a full run"):
        gates.check(data)


def test_nothing_recomputed_is_a_failure(scene, monkeypatch):
    data = scene()
    monkeypatch.setattr(gates, "sample", lambda gate: [])
    assert gates.check(data) == 1


def test_every_method_of_the_experiment_is_in_the_sample():
    from methods import contract

    for kind in ("bnn_regression", "mixture_of_gaussians"):
        here = [s for s in gates.samples() if gates.sample(s)[0].kind == kind]
        sampled = {c.method for s in here for c in gates.sample(s)}
        expected = {n for n in contract.names() if kind in contract.get(n).models}
        assert sampled == expected - {m for s in here for m in s["left_out"] if m not in sampled}


def test_a_sample_without_chaos_is_held_to_its_band(scene, monkeypatch, capsys):
    """Half a standard error would let this pass: the ridge of one split has no spread to be held to."""
    monkeypatch.setattr(gates, "samples", lambda: [GATE | {"closed_form": [], "band": 1e-9}])
    assert gates.check(scene(shift=1e-6)) == 1
    assert "not chaotic" in capsys.readouterr().out


def test_a_sample_may_be_compared_after_one_epoch_alone(scene, monkeypatch, capsys):
    """`splits: 0` recomputes no whole fit; the golden row decides."""
    folder = scene()
    monkeypatch.setattr(gates, "samples", lambda: [GATE | {"splits": 0, "one_epoch": ["ridge"]}])
    monkeypatch.setattr(gates, "one_epoch", lambda gate, path: {("ridge", "rmse"): 0.5})
    golden = folder / "one_epoch.csv"
    golden.write_text("method,metric,value\nridge,rmse,0.5\n")
    assert gates.check(folder) == 0
    assert "recomputed 1 cells" in capsys.readouterr().out
    golden.write_text("method,metric,value\nridge,rmse,0.50001\n")
    assert gates.check(folder) == 1
    assert "one epoch of ridge: rmse" in capsys.readouterr().out


def test_golden_rows_of_one_epoch_are_there_for_every_method_that_is_compared():
    golden = (gates.REFERENCE / "one_epoch.csv").read_text().splitlines()[1:]
    named = [m for gate in gates.samples() for m in gate.get("one_epoch", [])]
    assert sorted(set(named)) == sorted(named)
    assert {line.split(",")[0] for line in golden} == set(named)


def test_a_refusal_is_recomputed_as_one(scene, tmp_path):
    """A method that gives its reason and no fit is no failure: the reference says the same."""
    scene()
    chosen = cells(ROOT / "config/experiments/common_linear_regression.yaml", "full")
    refused = next(c for c in chosen if (c.dataset, c.method) == ("wine", "posterior_sampling_direct"))
    assert list(gates.scores(refused, 2, str(tmp_path / "wine.npz"))) == [(0, "not_supported"), (1, "not_supported")]
