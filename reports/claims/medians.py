"""Tests of medians over independent data sets, for scores of any law."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY, dataclass
from functools import partial

from evaluation.metrics import judged
from evaluation.paired import median_paired
from reports.claims.context import Context, parts_of
from reports.claims.judging import Absent, Comparison, judge
from reports.claims.methods import Methods, OneMethod, Words, method_of, methods_of
from reports.claims.record import ClaimTest, Outcome


@dataclass(frozen=True)
class Larger(ClaimTest):
    """``metric`` (one of ours) is larger for the first methods than for the second, data set by data set.

    For independent data sets and scores of any law: the median difference and its distribution-free interval
    (``evaluation.paired.median_paired``).
    """

    first: Methods
    second: Methods
    _: KW_ONLY
    tables: Words
    metric: str
    datasets: Words = ()
    quantifier: str | None = None

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
        return judge(*_medians(context, pairs, self.metric, 1), self.quantifier)


@dataclass(frozen=True)
class Closer(ClaimTest):
    """``metric`` (of the paper) gets better with each step up of the parameter ``along``; see :class:`Larger`."""

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


def _medians(context: Context, pairs: list[tuple], metric: str | None, sign: int) -> tuple[list[Comparison], Absent]:
    """``sign`` x (first - second) is above 0 at the median of every pair of cells; metric None: in the cells."""
    made, absent = [], Absent()
    for a, b, what in pairs:
        va, vb = (context.data.values.get((*k[:4], metric or k[4]), {}) for k in (a, b))
        if not (common := set(va) & set(vb)):
            absent.add()
            continue
        signed = ({k: sign * v for k, v in x.items()} for x in (va, vb))
        made.append(Comparison(f"{what}, median over {len(common)} data sets", partial(median_paired, *signed)))
    return made, absent
