"""The table of a block: a row a private method with its tuned and default score, its cost and its calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from common_tasks import tables as common_tables
from common_tasks.advice.standings import Standing, Standings, with_interval
from common_tasks.scores import DEFAULT, Arm, name_of
from evaluation.summary import mean_std

#: what the table shows of calibration, the first that a task has, and its heading.
CALIBRATION = {
    "coverage_90": "90 % intervals cover",
    "expected_calibration_error": "calibration error of probabilities",
}


def build(table: Standings) -> pd.DataFrame:
    """Text, a row a private method: tuned and default score, cost, calibration, and is it told apart from the best?"""
    family, (epsilon, tuned) = table.family, table.main
    spent = common_tables.costs(family)
    calibration = next((m for m in CALIBRATION if any(k[2] == m for k in family.summary)), None)
    found, plain = table.of(table.main), table.of((epsilon, False))
    default = {a.method + "|" + name_of(a, family.kind): a for a in [*plain.order, *plain.missing]}
    rows = []
    for arm in [*found.order, *found.missing]:
        twin = default.get(arm.method + "|" + name_of(arm, family.kind)) if tuned else arm
        row = {"method": table.name(arm)}
        if tuned:
            # whose tuning chose the default, or that has nothing to tune, says so
            row["tuned"] = family.mark_over(table.datasets, arm) if is_default(table, arm) else _cell(found, arm)
        row["default"] = "-" if twin is None else _cell(plain if tuned else found, twin)
        row["seconds a fit"] = _mean_of([spent[d, arm]["seconds"][0] for d in table.datasets if (d, arm) in spent])
        if calibration:
            at = [family.summary.get((d, arm, calibration)) for d in table.datasets]
            values = [r["mean"] for r in at if r]
            row[CALIBRATION[calibration]] = _share(values) if len(values) == len(at) else "-"
        if len(found.scores) > 1:
            state = "best" if arm == found.first else "yes" if arm in found.apart else "no"
            row["told apart from the best"] = "-" if arm in found.missing else state
        rows.append(row)
    return pd.DataFrame(rows)


def is_default(table: Standings, arm: Arm) -> bool:
    """Do the defaults stand in the tuned column on every data set?"""
    return all(table.family.mark(d, arm).startswith(DEFAULT) for d in table.datasets)


def _cell(found: Standing, arm: Arm) -> str:
    return with_interval(found.scores[arm]) if arm in found.scores else found.missing.get(arm, "-")


def _mean_of(values: Sequence[float]) -> str:
    values = [v for v in values if math.isfinite(v)]
    return f"{math.fsum(values) / len(values):.2g}" if values else "-"


def _share(values: Sequence[float]) -> str:
    return f"{mean_std(values)[0]:.1%}".replace("%", " %")
