"""Learning curves and reliability diagrams of an experiment's classifiers, from stored posteriors without a new fit.

    python -m workflow.extra dp_bayes_by_backprop2020note bbb_learning_curves.csv --scale full

A learning curve has test error and log-likelihood (nats per row), after the epochs that a fit's ``snapshots`` name and
at the end. They are those of the weights, or of the means of the posterior. The bins are those of the expected
calibration error, from the same predictions as the scores. A cell that was restored from the committed results has no
posterior, so its rows are committed ones too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.metrics import categorical_scores, reliability
from models.bnn_classification import ClassifierMeanField, ClassifierPoint
from workflow import papers
from workflow.experiments import Cell
from workflow.extra import Request
from workflow.store import fits_of, record_of

KEYS = ["cell", "method", "setting", "split"]
LEARNING = [*KEYS, "epoch", "test_error", "test_log_likelihood"]
RELIABILITY = [*KEYS, "bin", "count", "confidence", "accuracy"]


def networks(posterior: ClassifierMeanField | ClassifierPoint, epochs: int) -> Iterator[tuple[int, ClassifierPoint]]:
    """(epoch, network) of every snapshot and of the end, after ``epochs``."""
    final = posterior.mean if isinstance(posterior, ClassifierMeanField) else posterior.weights
    kept = zip(posterior.snapshots.epochs, posterior.snapshots.weights, strict=True)
    for epoch, weights in [*((e, w) for e, w in kept if e < epochs), (epochs, final)]:
        yield int(epoch), ClassifierPoint(weights.astype(np.float32), posterior.widths, posterior.input_scale)


def learning_curve(posterior, epochs: int, x: np.ndarray, y: np.ndarray) -> list[dict]:
    """One row per epoch, for test rows x (n, d) and classes y (n,)."""
    rows = []
    for epoch, network in networks(posterior, epochs):
        found = categorical_scores(network.predictive(x).log_probabilities, y)
        rows.append({"epoch": epoch, **{m: found[m][0] for m in LEARNING[-2:]}})
    return rows


def bins_of(log_probabilities: np.ndarray, y: np.ndarray) -> list[dict]:
    """One row for each bin that is not empty. Bins are counted from 1."""
    found = reliability(log_probabilities, y)
    return [
        {"bin": k + 1, "count": int(n), "confidence": float(c), "accuracy": float(a)}
        for k, (n, c, a) in enumerate(zip(*found, strict=True))
        if n
    ]


def of_cell(cell: Cell, fits: Path, data, committed: dict[str, pd.DataFrame]) -> tuple[list[dict], list[dict]]:
    """Rows (learning, reliability) of one cell. A fit that failed has none."""
    record = record_of(cell, fits)
    if record["reused"]:
        return tuple(committed[k][committed[k]["cell"] == cell.id].to_dict("records") for k in ("learning", "bins"))
    learning, bins = [], []
    for k, posterior in fits_of(cell, fits):
        _, test = cell.split_rows(data, k)
        x, y = data.x[test], data.y[test]
        keys = {"cell": cell.id, "method": cell.method, "setting": cell.setting, "split": k}
        learning += [keys | r for r in learning_curve(posterior, cell.build_settings().epochs, x, y)]
        # the random stream with which the scores are made
        predictive = posterior.predictive(x, np.random.default_rng(cell.seed(k, "predict")))
        bins += [keys | r for r in bins_of(predictive.log_probabilities, y)]
    return learning, bins


def committed_rows(names: dict[str, str], reference: Path = papers.REFERENCE) -> dict[str, pd.DataFrame]:
    """The committed tables. A table that does not exist is empty."""
    columns, found = {"learning": LEARNING, "bins": RELIABILITY}, {}
    for k, name in names.items():
        path = papers.find(name, reference)
        found[k] = pd.read_csv(path, keep_default_na=False) if path else pd.DataFrame(columns=columns[k])
    return found


def tables(request: Request) -> dict[str, str]:
    """``bbb_learning_curves.csv`` and ``bbb_reliability.csv`` as text. They have no rows if the scale has no cell."""
    names = {"learning": "bbb_learning_curves.csv", "bins": "bbb_reliability.csv"}
    learning, bins = [], []
    chosen = request.cells()
    committed = committed_rows(names)
    data = request.data(chosen[0].dataset) if chosen else None
    for cell in chosen:
        more = of_cell(cell, request.fits, data, committed)
        learning += more[0]
        bins += more[1]
    form = {"index": False, "lineterminator": "\n", "float_format": "%.8g"}
    return {
        names["learning"]: pd.DataFrame(learning, columns=LEARNING).to_csv(**form),
        names["bins"]: pd.DataFrame(bins, columns=RELIABILITY).to_csv(**form),
    }
