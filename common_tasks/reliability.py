"""Bins of a reliability diagram: whether the class probabilities of the common tasks are calibrated.

    python -m workflow.extra common_tasks common_reliability.csv --scale full

The bins are those of the expected calibration error, from the same predictions as the scores, over all splits of a
cell. An empty bin has no row. No fit is repeated, because stored posteriors are read. Splits that were restored from
the committed results have no posterior. Their bins are the committed ones, to six digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.metrics import CALIBRATION_BINS, Reliability, class_reliability
from workflow import papers
from workflow.experiments import Cell
from workflow.extra import Request
from workflow.store import fits_of, record_of

COLUMNS = ["cell", "dataset", "method", "setting", "bin", "count", "confidence", "accuracy"]


def pooled(found: Sequence[Reliability]) -> list[dict]:
    """One row per bin that is not empty, numbered from 1: counts and means over the rows of all splits."""
    count = np.zeros(CALIBRATION_BINS)
    sums = np.zeros((2, CALIBRATION_BINS))
    for r in found:
        count += r.count
        sums += r.count * np.where(r.count > 0, [r.confidence, r.accuracy], 0.0)
    return [
        {"bin": k + 1, "count": int(count[k]), "confidence": sums[0, k] / count[k], "accuracy": sums[1, k] / count[k]}
        for k in np.flatnonzero(count)
    ]


def unpooled(rows: Sequence[dict]) -> Reliability:
    """The input of :func:`pooled` that gives these rows, as if it were one split."""
    total = Reliability(*np.zeros((3, CALIBRATION_BINS)))
    for row in rows:
        for name, bins in total._asdict().items():
            bins[row["bin"] - 1] = row[name]
    return total


def of_cell(cell: Cell, fits: Path, data, committed: pd.DataFrame) -> list[dict]:
    """The rows of one cell, empty if no fit is ok."""
    key = {"dataset": cell.dataset, "method": cell.method, "setting": cell.setting}
    counts = []
    if restored := {r["cell"] for r in record_of(cell, fits)["reused"]}:
        rows = committed[committed["cell"].isin(restored)].to_dict("records")
        if restored == {cell.id}:
            return rows
        counts.append(unpooled(rows))
    for k, posterior in fits_of(cell, fits):
        _, test = cell.split_rows(data, k)
        # the stream of random numbers of the scores
        with np.errstate(all="ignore"):
            predictive = posterior.predictive(data.x[test], np.random.default_rng(cell.seed(k, "predict")))
            p = np.asarray(predictive.mean)
        if np.isfinite(p).all():
            counts.append(class_reliability(p, data.y[test]))
    return [{"cell": cell.id, **key, **row} for row in pooled(counts)]


def tables(request: Request) -> dict[str, str]:
    """``common_reliability.csv``, as text."""
    name = "common_reliability.csv"
    path, rows, loaded = papers.find(name), [], {}
    committed = pd.read_csv(path, keep_default_na=False) if path else pd.DataFrame(columns=COLUMNS)
    for cell in request.cells():
        if cell.dataset not in loaded:
            loaded = {cell.dataset: request.data(cell.dataset)}
        rows += of_cell(cell, request.fits, loaded[cell.dataset], committed)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return {name: frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")}
