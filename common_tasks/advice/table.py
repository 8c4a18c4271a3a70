"""The table of a block: a row per private method with its score, its calibration and its cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from common_tasks import best
from common_tasks import tables as common_tables
from common_tasks.advice.answer import Answer
from common_tasks.scores import Arm, adapter

#: what the table shows of calibration: the first of these that a task has, and its heading.
CALIBRATION = {
    "coverage_90": "90 % intervals cover",
    "expected_calibration_error": "calibration error of probabilities",
}
#: stands behind a score on a table that was looked at while the method was designed.
LOOKED_AT = "†"


def build(found: Answer) -> pd.DataFrame:
    """Text, a row per private method at the main epsilon, in the order of ``Answer.order``."""
    family, epsilon = found.family, found.main
    fitted = found.at(epsilon)
    scores, whole = fitted.scores, fitted.frame[fitted.frame["without"] == ""].set_index("method")
    spent = common_tables.costs(family)
    metric = next((m for m in CALIBRATION if any(k[2] == m for k in family.summary)), None)
    tuned = "tuned" in scores.settings.values()
    splits = {m: _splits(scores, m) for m in scores.methods}
    rows = []
    for method in found.order(epsilon):
        arm = scores.arms[method]
        rated = bool(np.isfinite(scores.y[scores.methods.index(method)]).any())
        counted = method in whole.index
        row = {"method": found.name(method)}
        if len(whole):
            told = whole.loc[method] if counted else None
            row["best on the next table"] = "-" if told is None else f"{told['probability']:.2f}"
            row["expected regret"] = "-" if told is None else f"{told['regret']:.2f}"
            row["median score (range)"] = _range(scores, method) if counted else _why(found, method)
        else:
            for d in scores.named:
                mean, error = scores.on(method, d)
                width = f" ± {1.96 * error:.2f}" if error > 0 else ""
                missing = scores.why.get((method, d), "no score").partition(":")[0]
                mark = f" {LOOKED_AT}" if (method, d) in found.looked_at else ""
                row[found.set_name(d)] = f"{mean:.2f}{width}{mark}" if math.isfinite(mean) else missing
        if metric:
            at = [family.summary.get((d, arm, metric)) for d in scores.named]
            values = [r["mean"] for r in at if r]
            row[CALIBRATION[metric]] = f"{100 * math.fsum(values) / len(values):.1f} %" if values else "-"
        if any(_noise_aware(a, family.kind) for a in scores.arms.values()):
            row["intervals count the noise"] = "yes" if _noise_aware(arm, family.kind) else "no"
        if tuned:
            row["settings"] = scores.settings[method] if rated else "-"
        if len(set(filter(None, splits.values()))) > 1:
            row["splits"] = splits[method] or "-"
        row["seconds per fit"] = _mean_of([spent[d, arm]["seconds"][0] for d in scores.named if (d, arm) in spent])
        rows.append(row)
    return pd.DataFrame(rows)


def _noise_aware(arm: Arm, kind: str) -> bool:
    method = adapter(arm.method, kind)
    return method is not None and method.noise_aware


def _range(scores: best.Scores, method: str) -> str:
    """Median, lowest and highest score of the tables, and on how many tables if not on all."""
    y = scores.counted[scores.methods.index(method)]
    y, count = y[np.isfinite(y)], len(y)
    words = f"{np.median(y):.2f} ({y.min():.2f} to {y.max():.2f})" if len(y) > 1 else f"{y[0]:.2f}"
    return words + (f", {len(y)} of {count}" if len(y) < count else "")


def _why(found: Answer, method: str) -> str:
    why = (found.at(found.main).scores.why.get((method, d), "no score") for d in found.at(found.main).scores.named)
    return "; ".join(dict.fromkeys(w.partition(":")[0] for w in why))


def _splits(scores: best.Scores, method: str) -> str:
    """Fewest and most splits of a table with a score."""
    n = scores.n[scores.methods.index(method)]
    n = n[n > 0]
    return "" if not len(n) else f"{n.min()} to {n.max()}" if n.min() < n.max() else f"{n.min()}"


def _mean_of(values: Sequence[float]) -> str:
    values = [v for v in values if math.isfinite(v)]
    return f"{math.fsum(values) / len(values):.2g}" if values else "-"
