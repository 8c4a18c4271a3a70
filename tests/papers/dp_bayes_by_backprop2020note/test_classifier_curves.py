"""Learning curves and reliability bins are read from stored posteriors, by the streams of the scores."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evaluation.metrics import categorical_scores
from models.bnn_classification import BNNClassification, ClassifierMeanField, ClassifierPoint, Snapshots, size
from papers.dp_bayes_by_backprop2020note import classifier_curves as curves

WIDTHS = BNNClassification(4, 1, 3, 2.0).widths(2)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return SimpleNamespace(x=rng.standard_normal((300, 2)), y=rng.integers(0, 3, 300).astype(float))


@pytest.fixture
def posterior():
    rng = np.random.default_rng(1)
    w = rng.standard_normal((3, size(WIDTHS))).astype(np.float16)
    kept = Snapshots.of([(1, w[0]), (4, w[1])])
    return ClassifierMeanField(w[2].astype(np.float32), np.full(size(WIDTHS), 0.3, np.float32), WIDTHS, 2.0, 3, kept)


def cell():
    return SimpleNamespace(
        id="c",
        method="m",
        setting="epsilon=2",
        split_rows=lambda data, k: (np.arange(5), np.arange(5, len(data.y))),
        seed=lambda k, role: [k, len(role)],
        build_settings=lambda: SimpleNamespace(epochs=6),
    )


def store(folder: Path, posterior, **changes) -> Path:
    row = {"split": 1, "status": "ok", "posterior_kind": posterior.kind} | changes
    (folder / "c.json").write_text(json.dumps({"reused": [], "splits": [row]}))
    np.savez(folder / "c.npz", **{f"1/{k}": v for k, v in posterior.parameters().items()})
    return folder


def test_a_curve_goes_through_the_snapshots_to_the_mean(tmp_path, data, posterior):
    learning, _ = curves.of_cell(cell(), store(tmp_path, posterior), data, {})
    assert [r["epoch"] for r in learning] == [1, 4, 6]
    weights = [*posterior.snapshots.weights.astype(np.float32), posterior.mean]
    for row, w in zip(learning, weights, strict=True):
        p = ClassifierPoint(w, WIDTHS, 2.0).predictive(data.x[5:]).log_probabilities
        assert row["test_error"] == np.mean(np.argmax(p, axis=1) != data.y[5:])
        assert {row["cell"], row["method"], row["setting"], row["split"]} == {"c", "m", "epsilon=2", 1}
    assert len({r["test_log_likelihood"] for r in learning}) == 3


def test_the_bins_give_the_calibration_error_of_the_scores(tmp_path, data, posterior):
    _, bins = curves.of_cell(cell(), store(tmp_path, posterior), data, {})
    table = pd.DataFrame(bins)
    assert table["count"].sum() == 295
    gap = np.abs(table["accuracy"] - table["confidence"])
    p = posterior.predictive(data.x[5:], np.random.default_rng([1, 7])).log_probabilities
    expected = categorical_scores(p, data.y[5:])["expected_calibration_error"][0]
    assert float(table["count"] @ gap) / 295 == pytest.approx(expected, rel=1e-12)


def test_a_failed_fit_has_no_rows_and_a_restored_cell_those_of_the_reference(tmp_path, data, posterior):
    assert curves.of_cell(cell(), store(tmp_path, posterior, status="diverged"), data, {}) == ([], [])
    (tmp_path / "c.json").write_text(json.dumps({"reused": [{"cell": "c"}], "splits": []}))
    rows = pd.DataFrame({"cell": ["c", "other"], "epoch": [3, 4]})
    learning, bins = curves.of_cell(cell(), tmp_path, data, {"learning": rows, "bins": rows.iloc[1:]})
    assert learning == [{"cell": "c", "epoch": 3}]
    assert bins == []


def test_a_last_snapshot_does_not_stand_twice(posterior):
    posterior = dataclasses.replace(posterior, snapshots=Snapshots.of([(6, posterior.mean.astype(np.float16))]))
    ((epoch, network),) = curves.networks(posterior, 6)
    assert epoch == 6
    np.testing.assert_array_equal(network.weights, posterior.mean)


def test_no_committed_table_is_an_empty_one(tmp_path):
    found = curves.committed_rows({"learning": "a.csv", "bins": "b.csv"}, tmp_path)
    assert list(found["learning"].columns) == curves.LEARNING
    assert len(found["bins"]) == 0
