"""Tests of OUR methods at every privacy budget, for the claims that are taken from figures 3 and 6."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY, dataclass

from reports.claims.comparisons import difference
from reports.claims.judging import Absent, Comparison, judge, margin_of
from reports.claims.record import ClaimTest, Context, Method, Methods, Outcome, Words, methods_of


@dataclass(frozen=True)
class _AtBudgets(ClaimTest):
    """A test on methods of this suite. ``metrics``: each is a comparison of its own.

    ``corrected``: the methods that replace the second methods in the corrected reading.
    """

    first: Methods
    second: Methods
    _: KW_ONLY
    metrics: Words
    corrected: Methods = ()
    quantifier: str | None = None


@dataclass(frozen=True)
class AtEveryBudget(_AtBudgets):
    """OUR first methods score better than OUR second, at every budget, on every data set, in every one of ``metrics``.

    It is judged like :class:`reports.claims.Better`.
    """

    def outcome(self, context: Context) -> Outcome:
        return judge(*_compare(context, self), self.quantifier)


@dataclass(frozen=True)
class NeverWorse(_AtBudgets):
    """At no budget are OUR first methods worse than OUR second by more than the margin."""

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
        ours, others = (_budgets(context, m, dataset, metric) for m in (a, b))
        wanted += [(f"{a} vs {b}, {dataset}, {metric}, {k}", ours[k], others[k]) for k in ours if k in others]
    made, absent = [], Absent()
    for what, a, b in wanted:
        found = difference(context.data, [a], [b], a[4])
        if found is None:
            absent.add()
            continue
        at, forfeit, reference = found
        allowed, words = margin_of(a[4], reference) if margin else (0.0, "")
        context.compared.update((a, b))
        made.append(Comparison(what, at, forfeit, margin=allowed, margin_words=words))
    return made, absent


def _budgets(context: Context, method: Method, dataset: str, metric: str) -> dict[str, tuple]:
    """Keys of OUR cells of ``method``, by the budget at the end of their setting (``order=1;epsilon=e^0``)."""
    start = f"{method.setting};" if method.setting else ""
    return {
        s.removeprefix(start): (d, p, m, s, metric)
        for d, p, m, s in context.data.status
        if (d, m) == (dataset, method.name) and s.startswith(f"{start}order=")
    }
