"""The comparisons of findings, with the interval of each difference, from the committed scores.

``reports/findings/comparisons.csv`` lists them (:data:`PLAN`), one row per question: the scores of ``method`` at
``setting`` compared with those of ``other_method`` at ``other_setting``. An empty ``other_experiment``,
``other_protocol`` or ``other_method`` is that of the first. ``dataset`` is one name, several joined by ``|``, or empty
for all that both have. A ``setting`` that ends in ``*`` means all settings with this beginning. Each is compared with
the ``other_setting`` of the same end, or with ``other_setting`` itself if that has no ``*``. ``kind`` says what is
compared:

* ``mean``: the mean over the splits that both have, by ``evaluation.paired.paired``, corrected for splits that share
  rows. Different protocols are compared by ``unpaired``. Runs on the same split are independent.
* ``median``: the median difference over independent data sets (``evaluation.paired.median_paired``).
* ``batch``: two numbers of a whole batch of data sets, with their bootstrap standard deviations as if independent.

:func:`build` gives one row per question and data set. ``compared`` says whether the first method is better, worse or
not separated, by the 95 % interval of this pair only. ``close`` says whether the whole interval lies within the margin,
``not_worse`` whether its worse end does. The margin is that of the verdict rule (``reports.verdict.margin``). If a
common task has an exact posterior (:data:`SCALES`), the margin of a log-likelihood is a tenth of the distance from the
training mean to that posterior.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import norm as normal

from datasets.protocols import overlap
from evaluation.metrics import IN_NATS, METRICS, NONE
from evaluation.paired import Difference, median_paired, paired, unpaired
from evaluation.summary import values_by
from reports.config import ReportError
from reports.tables import dataset_title
from reports.verdict import margin
from reports.verdicts import BATCH

FILE = Path(__file__).parent / "findings" / "comparisons.csv"
#: name of the committed table.
NAME = "comparisons.csv"
PLAN = (
    *("id", "kind", "experiment", "protocol", "dataset", "metric", "method", "setting"),
    *("other_experiment", "other_protocol", "other_method", "other_setting"),
)
COLUMNS = (
    *("id", "dataset", "title", "method", "setting", "metric", "mean", "other_mean", "difference", "low", "high", "n"),
    *("interval", "compared", "margin", "close", "not_worse"),
)
KINDS = ("mean", "median", "batch")
WORDS = ("better", "worse", "not separated")
ALPHA = 0.05
#: common task -> the methods whose mean log-likelihoods are the ends of its scale: training mean and exact posterior.
SCALES = {
    "common_linear_regression": ("predict_mean", "exact_posterior"),
    "common_logistic_regression": ("predict_mean", "nuts"),
}
#: margin of a log-likelihood of these tasks, as a share of the scale.
SHARE = 0.1
Key = tuple[str, str, str, str, str]


def read_plan(path: Path = FILE) -> list[dict[str, str]]:
    """Read the plan. Raises :class:`ReportError` for wrong columns, an unknown kind or metric, or a repeated row."""
    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        if tuple(reader.fieldnames or ()) != PLAN:
            raise ReportError(f"{path}: columns {reader.fieldnames}; they must be {', '.join(PLAN)}")
        rows = list(reader)
    judged = {m.name for m in METRICS.values() if m.direction is not NONE}
    for row in rows:
        if row["kind"] not in KINDS or row["metric"] not in judged:
            raise ReportError(f"{path}: {row['id']}: kind '{row['kind']}', metric '{row['metric']}' is unknown")
    asked = [tuple(row[c] for c in PLAN if c != "kind") for row in rows]
    if twice := {a for a in asked if asked.count(a) > 1}:
        raise ReportError(f"{path}: asked twice: {sorted(twice)[0]}")
    return rows


def build(scores: Mapping[str, pd.DataFrame], plan: list[dict[str, str]] | None = None) -> pd.DataFrame:
    """One row per question of the plan and data set on which both sides have scores. ``scores``: by experiment."""
    plan = read_plan() if plan is None else plan
    columns = ("dataset", "protocol", "method", "setting", "metric")
    known = {name: values_by(frame, *columns) for name, frame in scores.items()}
    rows = [row for asked in plan for row in _rows(asked, known)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(asked: dict[str, str], known: dict[str, dict[Key, dict[str, float]]]) -> list[dict[str, Any]]:
    first = known.get(asked["experiment"], {})
    second = known.get(asked["other_experiment"] or asked["experiment"], {})
    named = asked["dataset"].split("|") if asked["dataset"] else list(dict.fromkeys(k[0] for k in first))
    return [
        row
        for dataset in named
        for setting, other in _settings(asked, first)
        if (row := _row(asked, dataset, setting, other, first, second)) is not None
    ]


def _settings(asked: dict[str, str], first: dict[Key, dict[str, float]]) -> list[tuple[str, str]]:
    """The pairs of settings that a row of the plan compares."""
    setting, other = asked["setting"], asked["other_setting"]
    if not setting.endswith("*"):
        return [(setting, other)]
    start = setting[:-1]
    mine = dict.fromkeys(k[3] for k in first if k[2] == asked["method"] and k[3].startswith(start))
    ends = [s.removeprefix(start) for s in mine]
    return [(start + e, other[:-1] + e if other.endswith("*") else other) for e in ends]


def _row(asked: dict[str, str], dataset: str, setting: str, other_setting: str, first, second) -> dict[str, Any] | None:
    protocol, metric = asked["protocol"], asked["metric"]
    a = (dataset, protocol, asked["method"], setting)
    b = (dataset, asked["other_protocol"] or protocol, asked["other_method"] or asked["method"], other_setting)
    found = _difference(asked["kind"], metric, (first, a), (second, b))
    if found is None:
        return None
    d, mean, other = found
    sign = METRICS[metric].direction
    size = _margin(asked, dataset, first, other)
    worst = min(sign * d.low, sign * d.high)
    compared = "not separated" if not d.significant else "better" if sign * d.difference > 0 else "worse"
    return {
        **{"id": asked["id"], "dataset": dataset, "title": dataset_title(dataset)},
        **{"method": asked["method"], "setting": setting, "metric": metric},
        **{"mean": mean, "other_mean": other, "difference": d.difference, "low": d.low},
        **{"high": d.high, "n": d.n, "interval": f"{d.difference:+.3g} ({d.low:+.3g} to {d.high:+.3g})"},
        **{"compared": compared, "margin": size, "close": _word(max(abs(d.low), abs(d.high)) < size)},
        "not_worse": _word(worst > -size),
    }


def _margin(asked: dict[str, str], dataset: str, first: dict[Key, dict[str, float]], other: float) -> float:
    """The margin in units of the metric. ``other`` is the number of the second side."""
    if METRICS[asked["metric"]].margin is IN_NATS and asked["experiment"] in SCALES:
        found = [
            first.get((dataset, asked["protocol"], method, "", asked["metric"]))
            for method in SCALES[asked["experiment"]]
        ]
        ends = [values for values in found if values]
        if len(ends) == len(found):
            trivial, exact = (sum(values.values()) / len(values) for values in ends)
            return SHARE * (exact - trivial)
    return float(margin(asked["metric"], other))


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def _difference(kind: str, metric: str, *sides: tuple[dict, Key]) -> tuple[Difference, float, float] | None:
    """(interval, first number, second number), or None if a side has no score or there is no interval."""
    parts = BATCH[metric] if kind == "batch" else ()
    (x, *more_x), (y, *more_y) = ([values.get((*key, m), {}) for m in (metric, *parts)] for values, key in sides)
    if not x or not y:
        return None
    if kind == "batch":
        (sd_x, each_x), (sd_y, each_y) = more_x, more_y
        (u,), (v,) = x.values(), y.values()
        half = float(normal.isf(ALPHA / 2)) * math.hypot(*sd_x.values(), *sd_y.values())
        return Difference(u - v, u - v - half, u - v + half, min(len(each_x), len(each_y))), u, v
    protocols = [key[1] for _, key in sides]
    if kind == "median":
        d = median_paired(x, y, ALPHA)
        return (d, float(pd.Series(x).median()), float(pd.Series(y).median())) if math.isfinite(d.low) else None
    ratio = max(map(overlap, protocols))
    if protocols[0] == protocols[1]:
        common = set(x) & set(y)
        x, y = ({k: v for k, v in side.items() if k in common} for side in (x, y))
    if min(len(x), len(y)) < 2:
        return None
    d = (paired if protocols[0] == protocols[1] else unpaired)(x, y, ALPHA, ratio)
    return d, sum(x.values()) / len(x), sum(y.values()) / len(y)
