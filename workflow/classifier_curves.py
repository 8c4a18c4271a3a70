"""Learning curves and reliability diagrams of an experiment's classifiers, from stored posteriors: re-runs no fit.

    python -m workflow.classifier_curves --config X.yaml --scale full --data results/data/D.npz --fits results/fits \\
        --learning curves.csv --reliability bins.csv

The learning curve of a fit is the test error and log-likelihood (nats a row) of its weights, or of the means of its
posterior, after the epochs that its ``snapshots`` name and at the end. The bins are those of the expected calibration
error, from the same predictions as the scores. A cell that was restored from the reference has no posterior: its rows
come from the reference too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.metrics import categorical_scores, reliability
from models.bnn_classification import ClassifierMeanField, ClassifierPoint
from workflow.experiments import Cell, cells
from workflow.files import write_text
from workflow.stored import fits_of, record_of

KEYS = ["cell", "method", "setting", "split"]
LEARNING = [*KEYS, "epoch", "test_error", "test_log_likelihood"]
RELIABILITY = [*KEYS, "bin", "count", "confidence", "accuracy"]


def networks(posterior: ClassifierMeanField | ClassifierPoint, epochs: int) -> Iterator[tuple[int, ClassifierPoint]]:
    """(epoch, network) of every snapshot, and of the end, which is after ``epochs``."""
    final = posterior.mean if isinstance(posterior, ClassifierMeanField) else posterior.weights
    kept = zip(posterior.snapshots.epochs, posterior.snapshots.weights, strict=True)
    for epoch, weights in [*((e, w) for e, w in kept if e < epochs), (epochs, final)]:
        yield int(epoch), ClassifierPoint(weights.astype(np.float32), posterior.widths, posterior.input_scale)


def learning_curve(posterior, epochs: int, x: np.ndarray, y: np.ndarray) -> list[dict]:
    """One row an epoch, for test rows x (n, d) and classes y (n,)."""
    rows = []
    for epoch, network in networks(posterior, epochs):
        found = categorical_scores(network.predictive(x).log_probabilities, y)
        rows.append({"epoch": epoch, **{m: found[m][0] for m in LEARNING[-2:]}})
    return rows


def bins_of(log_probabilities: np.ndarray, y: np.ndarray) -> list[dict]:
    """One row for each bin that is not empty, from 1."""
    found = reliability(log_probabilities, y)
    return [
        {"bin": k + 1, "count": int(n), "confidence": float(c), "accuracy": float(a)}
        for k, (n, c, a) in enumerate(zip(*found, strict=True))
        if n
    ]


def of_cell(cell: Cell, fits: Path, data, committed: dict[str, pd.DataFrame]) -> tuple[list[dict], list[dict]]:
    """Rows (learning, reliability) of one cell; none for a fit that failed."""
    record = record_of(cell, fits)
    if record["reused"]:
        return tuple(committed[k][committed[k]["cell"] == cell.id].to_dict("records") for k in ("learning", "bins"))
    learning, bins = [], []
    for k, posterior in fits_of(cell, fits):
        _, test = cell.split_rows(data, k)
        x, y = data.x[test], data.y[test]
        keys = {"cell": cell.id, "method": cell.method, "setting": cell.setting, "split": k}
        learning += [keys | r for r in learning_curve(posterior, cell.build_settings().epochs, x, y)]
        # the stream that the scores are made with
        predictive = posterior.predictive(x, np.random.default_rng(cell.seed(k, "predict")))
        bins += [keys | r for r in bins_of(predictive.log_probabilities, y)]
    return learning, bins


def committed_rows(reference: Path, names: dict[str, str]) -> dict[str, pd.DataFrame]:
    """The committed tables; empty ones where there are none."""
    columns = {"learning": LEARNING, "bins": RELIABILITY}
    return {
        k: pd.read_csv(reference / n, keep_default_na=False)
        if (reference / n).is_file()
        else pd.DataFrame(columns=columns[k])
        for k, n in names.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Learning curves and reliability bins of stored classifiers.")
    parser.add_argument("--config", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--data", type=Path, help="the data set's npz file; without it the tables are empty")
    parser.add_argument("--fits", default="results/fits", type=Path)
    parser.add_argument("--learning", required=True, type=Path)
    parser.add_argument("--reliability", required=True, type=Path)
    parser.add_argument("--reference", default=Path("reports/reference"), type=Path)
    args = parser.parse_args()

    import datasets

    learning, bins = [], []
    chosen = cells(args.config, args.scale)
    committed = committed_rows(args.reference, {"learning": args.learning.name, "bins": args.reliability.name})
    if chosen:
        data = datasets.load(args.data)
        for cell in chosen:
            more = of_cell(cell, args.fits, data, committed)
            learning += more[0]
            bins += more[1]
    for path, rows, columns in ((args.learning, learning, LEARNING), (args.reliability, bins, RELIABILITY)):
        frame = pd.DataFrame(rows, columns=columns)
        write_text(path, frame.to_csv(index=False, lineterminator="\n", float_format="%.8g"))


if __name__ == "__main__":
    main()
