"""Tests that only the claims of DP-SEP need: trends along a parameter, medians over data sets, failures.

* ``Worsens``, ``Spreads``: change of scores or of their spread as a parameter of the method grows.
* ``Larger``, ``Closer``: medians over independent data sets, for scores of any distribution.
* ``FailsLess``: how often a method fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import fisher_exact, pearsonr

from evaluation.metrics import judged
from evaluation.paired import THESE_ROWS, Difference, median_paired, paired
from reports.claims.judging import ALPHA, Absent, Comparison, judge, margin_of
from reports.claims.record import (
    HOLDS,
    REFUTED,
    UNDECIDED,
    UNTESTED,
    ClaimTest,
    Context,
    Methods,
    OneMethod,
    Outcome,
    Words,
    method_of,
    methods_of,
    parts_of,
)  # fmt: skip

#: (row, {parameter value: {split: score}}, {parameter value: printed number}) of one table, data set and metric.
Series = tuple[dict[str, Any], dict[float, dict[str, float]], dict[float, str]]


@dataclass(frozen=True)
class _Trend(ClaimTest):
    """A test of a trend. ``along``: key of the published setting whose value grows."""

    method: OneMethod
    _: KW_ONLY
    along: str
    tables: Words
    datasets: Words = ()
    quantifier: str | None = None


@dataclass(frozen=True)
class Worsens(_Trend):
    """Scores get worse as the parameter grows, by the slope on its logarithm per split, for ``quantifier`` of them."""

    def outcome(self, context: Context) -> Outcome:
        made, absent = [], Absent()
        for row, scores, printed in _series(context, self, "mean"):
            common = set.intersection(*map(set, scores.values())) if len(scores) > 1 else set()
            if len(scores) < len(printed) or not common:
                absent.add(row)
                continue
            sign = -judged(row["metric"]).direction
            worse = _slopes(scores, common, sign)
            slope = partial(paired, worse, dict.fromkeys(worse, 0.0), ratio=THESE_ROWS)
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
    """Scores along the parameter per table, data set and metric. ``printed``: column of the published rows."""
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
    """``sign`` times the slope of the score on the parameter's logarithm, by split."""
    grid, first = np.log(sorted(scores)), min(scores)
    centred = grid - grid.mean()
    return {
        # minus the first score, so a flat series has slope 0 and not a rounding error
        k: sign * float(centred @ [scores[c][k] - scores[first][k] for c in sorted(scores)] / (centred @ centred))
        for k in common
    }


def _sum_and_difference(scores: dict[float, dict[str, float]]) -> Callable[[float], Difference] | None:
    """Confidence interval of the correlation of sum and difference of the two ends, or None if it is not defined."""
    low, high = scores[min(scores)], scores[max(scores)]
    common = sorted(set(low) & set(high))
    a, b = np.array([low[k] for k in common]), np.array([high[k] for k in common])
    if len(common) < 4 or np.ptp(b - a) == 0 or np.ptp(b + a) == 0:
        return None
    return partial(_correlation, a + b, b - a)


def _correlation(x: np.ndarray, y: np.ndarray, alpha: float) -> Difference:
    found = pearsonr(x, y)
    ci = found.confidence_interval(1 - alpha)
    return Difference(float(found.statistic), float(ci.low), float(ci.high), len(x))


@dataclass(frozen=True)
class Larger(ClaimTest):
    """``metric`` (one of ours) is larger for the first methods than for the second, on each data set.

    The data sets are independent and the scores may have any distribution. The test uses the median difference and its
    distribution-free interval (``evaluation.paired.median_paired``). ``by_margin``: larger by more than the margin.
    This is for words such as "not well separated" or "poor", which mean a difference that matters.
    """

    first: Methods
    second: Methods
    _: KW_ONLY
    tables: Words
    metric: str
    datasets: Words = ()
    quantifier: str | None = None
    by_margin: bool = False

    def outcome(self, context: Context) -> Outcome:
        wanted: dict[tuple, tuple] = {}
        for a in methods_of(self.first):
            for b in methods_of(self.second):
                for ra in context.rows(a, self.tables, self.datasets):
                    cell = context.cells(ra)[0][:4]
                    if b.own:
                        others = [k[:4] for k in context.own(b, context.cells(ra))]
                    else:
                        others = [context.cells(rb)[0][:4] for rb in context.rows(b, self.tables, self.datasets)]
                    wanted |= {(cell, other): f"{_called(cell)} vs {_called(other)}" for other in others}
        pairs = [(a, b, what) for (a, b), what in wanted.items()]
        return judge(*_medians(context, pairs, self.metric, 1, self.by_margin), self.quantifier)


@dataclass(frozen=True)
class Closer(ClaimTest):
    """``metric`` (of the paper) improves with each step up of the parameter ``along``. See :class:`Larger`."""

    method: OneMethod
    _: KW_ONLY
    tables: Words
    along: str
    metric: str
    datasets: Words = ()
    quantifier: str | None = None

    def outcome(self, context: Context) -> Outcome:
        found: dict[float, tuple] = {}
        for row in context.rows(method_of(self.method), self.tables, self.datasets):
            value = parts_of(row["setting"]).get(self.along)
            if value is not None and row["metric"] == self.metric:
                found[float(value)] = context.cells(row)[0]
        steps = sorted(found)
        pairs = [(found[b], found[a], f"{self.along} {a:g} to {b:g}") for a, b in itertools.pairwise(steps)]
        return judge(*_medians(context, pairs, None, judged(self.metric).direction), self.quantifier)


def _called(cell: tuple) -> str:
    return cell[2] + (f" [{cell[3]}]" if cell[3] else "")


def _medians(
    context: Context, pairs: list[tuple], metric: str | None, sign: int, by_margin: bool = False
) -> tuple[list[Comparison], Absent]:
    """Whether ``sign`` x (first - second) is above 0 or the margin at each median. ``metric`` None: the cells' own."""
    made, absent = [], Absent()
    for a, b, what in pairs:
        va, vb = (context.data.values.get((*k[:4], metric or k[4]), {}) for k in (a, b))
        if not (common := set(va) & set(vb)):
            absent.add()
            continue
        signed = ({k: sign * v for k, v in x.items()} for x in (va, vb))
        least, words = margin_of(metric or a[4], float(np.median(list(vb.values())))) if by_margin else (0.0, "")
        words = words and f"larger by more than {words}"
        at = partial(median_paired, *signed)
        made.append(Comparison(f"{what}, median over {len(common)} data sets", at, margin=-least, margin_words=words))
    return made, absent


@dataclass(frozen=True)
class FailsLess(ClaimTest):
    """The first method has fewer splits without a score than the second, by Fisher's exact test."""

    first: OneMethod
    second: OneMethod
    _: KW_ONLY
    tables: Words
    datasets: Words = ()

    def outcome(self, context: Context) -> Outcome:
        counts = []
        for method in (self.first, self.second):
            rows = context.rows(method_of(method), self.tables, self.datasets)
            cells = {cell for row in rows for cell in context.cells(row)[:1]}
            states = [
                s
                for c in cells
                for s in context.data.status.get(c[:4], {}).values()
                if s not in ("no_data", "not_supported")
            ]
            counts.append((sum(s != "ok" for s in states), len(states)))
        (fa, na), (fb, nb) = counts
        if not na or not nb:
            return Outcome(UNTESTED, "no scores for it")
        figure = f"splits without a score: {fa} of {na} against {fb} of {nb}"
        if fa == fb == 0:
            return Outcome(UNDECIDED, figure + ": neither fails, so nothing can be shown")
        table = [[fa, na - fa], [fb, nb - fb]]
        less, more = (float(fisher_exact(table, alternative=side).pvalue) for side in ("less", "greater"))
        state = HOLDS if less < ALPHA / 2 else REFUTED if more < ALPHA / 2 else UNDECIDED
        return Outcome(state, f"{figure} (p = {less:.2g} for fewer, {more:.2g} for more)")
