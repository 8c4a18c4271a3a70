"""Summaries of tidy scores: one mean, standard deviation and count per cell and metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.metrics import DIAGNOSTICS

COLUMNS = [
    "cell",
    "experiment",
    "dataset",
    "protocol",
    "method",
    "setting",
    "split",
    "seed",
    "metric",
    "value",
    "unit",
    "status",
    "reason",
    "epsilon",
    "delta",
    "relation",
    "accountant",
    "seconds",
    "cpu_seconds",
    "compile_seconds",
    "peak_mb",
    "code_hash",
    "data_hash",
    "scale",
]
#: columns that older committed rows lack; they are read as empty.
OPTIONAL = ("cpu_seconds",)
STATUS = ("ok", "failed", "timeout", "diverged", "not_supported", "no_data")
CELL = ["experiment", "dataset", "protocol", "method", "setting"]
_ONE_A_CELL = ["cell", "epsilon", "delta", "relation", "accountant"]


def read_scores(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Tidy scores of one or more files or folders (all ``*.csv`` in them), with every column as strings.

    Raises FileNotFoundError if nothing is found, ValueError for a missing column or an unknown status.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    files: list[Path] = []
    for path in map(Path, paths):
        found = sorted(path.glob("*.csv")) if path.is_dir() else [path]
        if not found or not all(f.is_file() for f in found):
            raise FileNotFoundError(f"no scores at {path}; run the suite first (`./bench`), or name another folder")
        files += found
    return pd.concat([checked(pd.read_csv(f, dtype=str, keep_default_na=False), f) for f in files], ignore_index=True)


def checked(scores: pd.DataFrame, where: str | Path) -> pd.DataFrame:
    """The scores with the columns ``COLUMNS``. Missing columns of ``OPTIONAL`` are added and left empty.

    Raises ValueError, which names ``where``, for another missing column, an unknown status, and a value that is not a
    finite number although the status is ok. A diagnostic may be infinite.
    """
    missing = [c for c in COLUMNS if c not in scores.columns and c not in OPTIONAL]
    if missing:
        raise ValueError(f"{where}: column '{missing[0]}' is missing; a scores file has {', '.join(COLUMNS)}")
    unknown = sorted(set(scores["status"]) - set(STATUS))
    if unknown:
        raise ValueError(f"{where}: unknown status '{unknown[0]}'; the closed list is {', '.join(STATUS)}")
    scored = scores[(scores["status"] == "ok") & (scores["metric"] != "")]
    size = pd.to_numeric(scored["value"], errors="coerce").abs()
    if not (fine := (size < math.inf) | (size.notna() & scored["metric"].isin(DIAGNOSTICS))).all():
        row = scored[~fine].iloc[0]
        raise ValueError(
            f"{where}: {row['metric']} of cell {row['cell']}, split '{row['split']}', is '{row['value']}' with status "
            "ok; such a split has status diverged: score it again"
        )
    return scores.reindex(columns=COLUMNS, fill_value="")


def seconds_of(row: Mapping[str, str]) -> tuple[float, bool] | None:
    """The seconds of a score row's fit, and whether they are CPU seconds (else wall time); None if not recorded."""
    text = row["cpu_seconds"] or row["seconds"]
    return (float(text), bool(row["cpu_seconds"])) if text else None


def mean_std(values: Iterable[float]) -> tuple[float, float, int]:
    """Mean, standard deviation (ddof = 1; NaN for fewer than two values) and count.

    Sums are exact (``math.fsum``), so the result does not depend on the order of the rows.
    """
    values = [float(v) for v in values]
    n = len(values)
    if n == 0:
        return math.nan, math.nan, 0
    mean = math.fsum(values) / n
    if n == 1:
        return mean, math.nan, 1
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)), n


def summarise(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per cell and metric.

    Columns: the five of ``CELL``, cell, metric, mean, std (ddof = 1), n (splits with status ok), planned (splits of
    the cell), status, reason, epsilon, delta, relation, accountant.

    Means are over splits with status ok. If no split is ok, the cell has one row with an empty metric and the most
    frequent status of its splits. If only some splits failed, the status is ok, n counts the ok ones, and the reason
    says how many are missing and why. A number of a whole cell, whose row names no split, is its own mean, with n = 1
    and no std.
    """
    told = [c for c in _ONE_A_CELL if c in scores]
    wanted = [*CELL, *told, "split", "metric", "value", "status", "reason"]
    by_cell: dict[tuple[str, ...], list[dict[str, Any]]] = {}  # lists, because data frames cost ten times as much
    for row in zip(*(scores[c].tolist() for c in wanted), strict=True):
        by_cell.setdefault(row[: len(CELL)], []).append(dict(zip(wanted, row, strict=True)))
    rows = []
    for key, group in sorted(by_cell.items(), key=lambda item: item[0]):
        base = dict(zip(CELL, key, strict=True))
        ok = [r for r in group if r["status"] == "ok"]
        bad = [r for r in group if r["status"] != "ok"]
        base |= {c: (ok or bad)[0][c] for c in told}
        planned = max(1, len({r["split"] for r in group} - {""}))
        if not ok:
            kinds = Counter(r["status"] for r in bad)
            status = max(sorted(kinds), key=kinds.__getitem__)
            reason = next((r["reason"] for r in bad if r["status"] == status and r["reason"]), "no reason was given")
            nothing = {"metric": "", "mean": math.nan, "std": math.nan, "n": 0, "planned": planned}
            rows.append({**base, **nothing, "status": status, "reason": reason})
            continue
        # Splits may differ in size by a row and so in epsilon. The cell's epsilon is the largest.
        if costs := [r["epsilon"] for r in ok if r.get("epsilon", "") != ""]:
            base["epsilon"] = max(costs, key=float)
        reason = ""
        lost = {r["split"]: r["status"] for r in reversed(bad)}
        if lost:
            kinds = ", ".join(f"{k} {s}" for s, k in sorted(Counter(lost.values()).items()))
            reason = f"{len(lost)} of {planned} splits without a score ({kinds}): {bad[0]['reason']}"
        by_metric: dict[str, dict[str, Any]] = {}
        for r in ok:
            values = by_metric.setdefault(r["metric"], {})
            if (split := r["split"]) in values:
                raise ValueError(f"{base['cell']}: split {split} has two rows of {r['metric']}; a tidy file has one")
            values[split] = r["value"]
        for metric, values in sorted(by_metric.items()):
            mean, std, n = mean_std(values.values())
            got = {"metric": metric, "mean": mean, "std": std, "n": n, "planned": planned}
            rows.append({**base, **got, "status": "ok", "reason": reason})
    columns = [*CELL, "cell", "metric", "mean", "std", "n", "planned", "status", "reason", *_ONE_A_CELL[1:]]
    return pd.DataFrame(rows, columns=columns)


def values_by(scores: pd.DataFrame, *columns: str) -> dict[tuple[str, ...], dict[str, float]]:
    """The scores with status ok: the words in ``columns`` -> split -> value."""
    ok = scores[scores["status"] == "ok"]
    out: dict[tuple[str, ...], dict[str, float]] = {}
    for *key, split, value in zip(*(ok[c].tolist() for c in (*columns, "split", "value")), strict=True):
        out.setdefault(tuple(key), {})[split] = float(value)
    return out
