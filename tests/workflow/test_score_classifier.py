"""A classifier's stored posterior is scored on the test rows, with the seed of its cell."""

from types import SimpleNamespace

import numpy as np
import pytest

from datasets import protocols
from models.bnn_classification import BNNClassification, ClassifierMeanField, size
from models.kind import kind
from workflow.score import score_split


def cell():
    return SimpleNamespace(
        about=kind("bnn_classification"),
        build_model=lambda: BNNClassification(4, 1, 3, 2.0),
        dataset="mnist_digits",
        intervals=False,
        rare_class=False,
        split_rows=lambda data, k: (np.arange(5), np.arange(5, len(data.y))),
        seed=lambda k, role: [k, len(role)],
    )


def test_scores_of_a_classifier():
    rng = np.random.default_rng(0)
    widths = BNNClassification(4, 1, 3, 2.0).widths(2)
    mean = rng.standard_normal(size(widths)).astype(np.float32)
    q = ClassifierMeanField(mean, np.full_like(mean, 0.1), widths, 2.0, 3)
    data = SimpleNamespace(x=rng.standard_normal((30, 2)), y=rng.integers(0, 3, 30).astype(float))
    scores = score_split(cell(), 1, q.kind, q.parameters(), data)
    p = q.predictive(data.x[5:], np.random.default_rng([1, 7])).log_probabilities
    assert scores["test_error"][0] == np.mean(np.argmax(p, axis=1) != data.y[5:])
    assert scores["test_log_likelihood"][0] == pytest.approx(np.mean(p[np.arange(25), data.y[5:].astype(int)]))
    assert 0 <= scores["expected_calibration_error"][0] <= 1
    with pytest.raises(ValueError, match="not finite"):
        score_split(cell(), 1, q.kind, q.parameters() | {"mean": np.full_like(mean, np.nan)}, data)


def test_the_model_and_its_split_have_a_home():
    assert kind("bnn_classification").model is BNNClassification
    assert protocols.home("official").__name__ == "datasets.protocols.official"
