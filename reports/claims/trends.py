"""Tests of trends: what scores or their spread do as a parameter of the method grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import pearsonr

from evaluation.metrics import judged
from evaluation.paired import Difference, paired
from reports.claims.context import Context, parts_of
from reports.claims.judging import Absent, Comparison, judge
from reports.claims.methods import OneMethod, Words, method_of
from reports.claims.record import ClaimTest, Outcome

#: (row, {value of the parameter: {split: score}}, {value: what is printed there}) of one table, data set and metric.
Series = tuple[dict[str, Any], dict[float, dict[str, float]], dict[float, str]]


@dataclass(frozen=True)
class _Trend(ClaimTest):
    """``along``: key of the published setting whose value grows."""

    method: OneMethod
    _: KW_ONLY
    along: str
    tables: Words
    datasets: Words = ()
    quantifier: str | None = None


@dataclass(frozen=True)
class Worsens(_Trend):
    """Scores get worse as the parameter grows: slope on its logarithm, split by split, for ``quantifier`` of them."""

    def outcome(self, context: Context) -> Outcome:
        made, absent = [], Absent()
        for row, scores, printed in _series(context, self, "mean"):
            common = set.intersection(*map(set, scores.values())) if len(scores) > 1 else set()
            if len(scores) < len(printed) or not common:
                absent.add(row)
                continue
            sign = -judged(row["metric"]).direction
            slope = partial(paired, worse := _slopes(scores, common, sign), dict.fromkeys(worse, 0.0))
            ends = sign * (float(printed[max(printed)]) - float(printed[min(printed)]))
            made.append(Comparison(f"{row['dataset']}, {row['metric']}", slope, 0, ends))
        return judge(made, absent, self.quantifier, "trends")


@dataclass(frozen=True)
class Spreads(_Trend):
    """The spread over splits is larger at the largest value of the parameter than at the smallest.

    Pitman-Morgan test of two variances measured on the same splits: correlation of sum and difference.
    """

    def outcome(self, context: Context) -> Outcome:
        made, absent = [], Absent()
        for row, scores, printed in _series(context, self, "std"):
            found = _sum_and_difference(scores) if len(scores) >= max(len(printed), 2) else None
            if found is None:
                absent.add(row)
                continue
            ends = [printed[max(printed)], printed[min(printed)]]
            paper = float(ends[0]) - float(ends[1]) if all(ends) else None
            what = f"{row['dataset']}, {row['metric']}, correlation of sum and difference"
            made.append(Comparison(what, found, 0, paper))
        return judge(made, absent, self.quantifier, "trends")


def _series(context: Context, test: _Trend, printed: str) -> list[Series]:
    """Scores along the parameter, a table, data set and metric each; ``printed``: column of the published rows."""
    series: dict[tuple, Series] = {}
    for row in context.rows(method_of(test.method), test.tables, test.datasets):
        value = parts_of(row["setting"]).get(test.along)
        if value is None:
            continue
        key = (row["table"], row["dataset"], row["metric"])
        entry = series.setdefault(key, (row, {}, {}))
        entry[2][float(value)] = row[printed]
        for cell in context.cells(row):
            found = context.data.values.get(cell)
            if found:
                entry[1][float(value)] = found
                break
    return list(series.values())


def _slopes(scores: dict[float, dict[str, float]], common: set[str], sign: int) -> dict[str, float]:
    """``sign`` x slope of the score on the parameter's logarithm, by split."""
    grid, first = np.log(sorted(scores)), min(scores)
    centred = grid - grid.mean()
    return {
        # less the first, so that a flat series has slope 0 and not a rounding error
        k: sign * float(centred @ [scores[c][k] - scores[first][k] for c in sorted(scores)] / (centred @ centred))
        for k in common
    }


def _sum_and_difference(scores: dict[float, dict[str, float]]) -> Callable[[float], Difference] | None:
    """Interval of the correlation of sum and difference of the two ends; None where it is not defined."""
    low, high = scores[min(scores)], scores[max(scores)]
    common = sorted(set(low) & set(high))
    a, b = np.array([low[k] for k in common]), np.array([high[k] for k in common])
    if len(common) < 4 or np.ptp(b - a) == 0 or np.ptp(b + a) == 0:
        return None
    return partial(_correlation, a + b, b - a)


def _correlation(x: np.ndarray, y: np.ndarray, alpha: float) -> Difference:
    found = pearsonr(x, y)
    ci = found.confidence_interval(1 - alpha)
    return Difference(float(found.statistic), float(ci.low), float(ci.high), len(x), True)
