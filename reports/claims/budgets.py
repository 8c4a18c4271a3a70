"""Tests of OUR methods at every privacy budget, for claims that are read off a figure."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY, dataclass

from reports.claims.context import Context
from reports.claims.differences import difference
from reports.claims.judging import Absent, Comparison, judge, margin_of
from reports.claims.methods import Methods, Words, methods_of
from reports.claims.record import ClaimTest, Outcome


@dataclass(frozen=True)
class _AtBudgets(ClaimTest):
    """Methods of this suite. ``metrics``: each is a comparison of its own. ``corrected``: what takes the place of the
    second methods in the corrected reading."""

    first: Methods
    second: Methods
    _: KW_ONLY
    metrics: Words
    corrected: Methods = ()
    quantifier: str | None = None


@dataclass(frozen=True)
class AtEveryBudget(_AtBudgets):
    """OUR first methods score better than OUR second at every budget, on every data set, in every one of ``metrics``.

    Judged like :class:`reports.claims.comparisons.Better`.
    """

    def outcome(self, context: Context) -> Outcome:
        return judge(*_compare(context, self), self.quantifier)


@dataclass(frozen=True)
class NeverWorse(_AtBudgets):
    """OUR first methods are at no budget worse than OUR second by more than the margin."""

    def outcome(self, context: Context) -> Outcome:
        return judge(*_compare(context, self, margin=True), self.quantifier)


def _compare(context: Context, test: _AtBudgets, margin: bool = False) -> tuple[list[Comparison], Absent]:
    first, second = methods_of(test.first), methods_of(test.second)
    if context.reading != "printed":
        if not test.corrected or context.reading != "corrected":
            return [], Absent()
        second = methods_of(test.corrected)
        context.used.add(context.reading)
    datasets = dict.fromkeys(d for d, *_ in context.data.status)
    wanted = []
    for dataset, metric, a, b in itertools.product(datasets, test.metrics, first, second):
        ours, others = (context.budgets(m, dataset, metric) for m in (a, b))
        wanted += [(f"{a} vs {b}, {dataset}, {metric}, {k}", ours[k], others[k]) for k in ours if k in others]
    made, absent = [], Absent()
    for what, a, b in wanted:
        found = difference(context.data, [a], [b], a[4])
        if found is None:
            absent.add()
            continue
        at, forfeit, reference = found
        allowed, words = margin_of(a[4], reference) if margin else (0.0, "")
        made.append(Comparison(what, at, forfeit, margin=allowed, margin_words=words))
    return made, absent
