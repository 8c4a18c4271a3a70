"""Scores of a stored posterior, kind by kind, against numbers worked out here."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
from datasets import store
from models.logistic_regression import LogisticSample, RowScaling
from workflow.experiments import cells
from workflow.score import score_split


def test_a_logistic_draw_is_scored_by_wrong_labels_and_log_likelihood(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.7, (60, 9))
    y = (rng.random(60) < 0.5).astype(float)
    path = tmp_path / "abalone.npz"
    store.save(path, datasets.get("abalone"), datasets.Table(x, y, tuple(f"x{j}" for j in range(9))))
    data = datasets.load(path)
    cell = next(c for c in cells("config/experiments/rdp_logistic.yaml", "full") if c.dataset == "abalone")
    weights = rng.standard_normal(9)
    posterior = LogisticSample(weights, RowScaling(np.empty(0), np.empty(0), 1.0))
    scores = score_split(cell, 3, posterior.kind, posterior.parameters(), data)
    _, test = cell.split_rows(data, 3)
    assert len(test) == 20
    p = 1.0 / (1.0 + np.exp(-(x[test] @ weights)))
    assert scores["test_error"] == (pytest.approx(np.mean((p > 0.5) != (y[test] == 1))), "share")
    likelihood = np.mean(np.log(np.where(y[test] == 1, p, 1 - p)))
    assert scores["test_log_likelihood"] == (pytest.approx(likelihood), "nats")
