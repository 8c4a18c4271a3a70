"""Tests that compare two methods of a paper, cell by cell, over the splits that both share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm as normal

from evaluation.metrics import judged
from evaluation.paired import THESE_ROWS, Difference, paired, unpaired
from reports.claims.judging import Absent, Comparison, judge, margin_of
from reports.claims.record import ClaimTest, Context, Data, Method, Methods, Outcome, Words, methods_of, parts_of
from reports.verdicts import BATCH


@dataclass(frozen=True)
class _TwoSided(ClaimTest):
    """``tables``, ``datasets``: where the paper prints the scores (all data sets by default). ``same``: keys of the
    published settings, such as epsilon, in which the two cells must agree."""

    first: Methods
    second: Methods
    _: KW_ONLY
    tables: Words
    datasets: Words = ()
    same: Words = ()
    quantifier: str | None = None


@dataclass(frozen=True)
class Better(_TwoSided):
    """The first methods score better than the second, in as many comparisons as ``quantifier`` says."""

    def outcome(self, context: Context) -> Outcome:
        made, absent = _Pairs(context, self).compare()
        return judge(made, absent, self.quantifier)


@dataclass(frozen=True)
class NotWorse(_TwoSided):
    """The first methods are not worse than the second by more than the margin, as in "comparable" or "not worse"."""

    def outcome(self, context: Context) -> Outcome:
        made, absent = _Pairs(context, self, margin=True).compare()
        return judge(made, absent, self.quantifier)


@dataclass(frozen=True)
class Within(_TwoSided):
    """The first methods differ from the second by less than the margin, as in "close to" or "as good as"."""

    def outcome(self, context: Context) -> Outcome:
        made, absent = _Pairs(context, self, margin=True, close=True).compare()
        return judge(made, absent, self.quantifier)


@dataclass(frozen=True)
class _Pair:
    """A published row with the cells of ours on both sides.

    ``gap`` is the same difference of the printed means, or None for a method of this suite.
    """

    row: dict[str, Any]
    cells_a: list[tuple]
    cells_b: list[tuple]
    words: str
    gap: float | None


@dataclass(frozen=True)
class _Pairs:
    """The comparisons of a two-sided test in one context."""

    context: Context
    test: _TwoSided
    margin: bool = False
    close: bool = False

    def compare(self) -> tuple[list[Comparison], Absent]:
        """All comparisons, and the number of those that could not be made."""
        made, absent = [], Absent()
        for pair in self._wanted():
            what = ", ".join([pair.words, *self._alike(pair.row)[1:]])
            found = difference(self.context.data, pair.cells_a, pair.cells_b, pair.row["metric"])
            if found is None:
                absent.add(pair.row)
                continue
            at, forfeit, reference = found
            allowed, words = margin_of(pair.row["metric"], reference) if self.margin else (0.0, "")
            if self.margin and pair.gap is not None and (self.close or pair.gap < 0):
                allowed = max(allowed, abs(pair.gap))  # the paper itself calls this gap comparable
            made.append(Comparison(what, at, forfeit, self._printed(pair), allowed, self.close, words))
        return made, absent

    def _wanted(self) -> list[_Pair]:
        wanted = []
        for a in methods_of(self.test.first):
            for b in methods_of(self.test.second):
                if a.own or b.own:
                    wanted += self._beside_own(a, b)
                    continue
                for ra in self._rows(a):
                    for rb in self._rows(b):
                        if self._alike(ra) == self._alike(rb):
                            gap = judged(ra["metric"]).direction * (float(ra["mean"]) - float(rb["mean"]))
                            cells = self.context.cells(ra), self.context.cells(rb)
                            wanted.append(_Pair(ra, *cells, f"{a} vs {b}", gap))
        return wanted

    def _beside_own(self, a: Method, b: Method) -> list[_Pair]:
        """Pairs in which one side is a method of this suite, on the cells of the other side."""
        wanted = []
        for row in self._rows(b if a.own else a):
            cells = self.context.cells(row)
            pair = (cells, self.context.own(a if a.own else b, cells))
            wanted.append(_Pair(row, *(pair[::-1] if a.own else pair), f"{a} vs {b}", None))
        return wanted

    def _rows(self, method: Method) -> list[dict[str, Any]]:
        return self.context.rows(method, self.test.tables, self.test.datasets)

    def _alike(self, row: dict[str, Any]) -> tuple[str, ...]:
        """What two published rows must share to be compared: table, data set, metric and ``same`` settings."""
        parts = parts_of(row["setting"])
        settings = (f"{k} = {parts.get(k, 'none')}" for k in self.test.same)
        return (row["table"], row["dataset"], row["metric"], *settings)

    def _printed(self, pair: _Pair) -> float | None:
        """How far the paper's own numbers support the claim, with the same margin around their own reference."""
        if not self.margin or pair.gap is None:
            return pair.gap
        theirs, _ = margin_of(pair.row["metric"], self._published_reference(pair.row))
        # the margin itself counts as within
        return (theirs - abs(pair.gap) if self.close else theirs + pair.gap) + 1e-9

    def _published_reference(self, row: dict[str, Any]) -> float:
        """The printed mean of the method with which ``row`` is compared, the largest if there are several."""
        same = [r for b in methods_of(self.test.second) if not b.own for r in self._rows(b)]
        return max((abs(float(r["mean"])) for r in same if self._alike(r) == self._alike(row)), default=0)


def difference(
    data: Data, cells_a, cells_b, metric: str
) -> tuple[Callable[[float], Difference] | None, int, float] | None:
    """(function from level to the interval in favour of a, forfeit, mean of b) of two cells, or None.

    The first pair of cells with one protocol is taken, otherwise any two. The interval is over the splits that both
    share, and the plain one of ``evaluation.paired``, because a claim is about the data sets, and so the rows, that its
    source names. A cell that diverged has lost: ``forfeit`` is +1 if b diverged and -1 if a did. A number of a whole
    batch of data sets has no splits. Its interval is normal, with both bootstrap standard deviations as if independent.
    """
    pairs = [(a, b) for a in cells_a for b in cells_b]
    pairs.sort(key=lambda ab: ab[0][1] != ab[1][1])
    for a, b in pairs:
        if metric in BATCH:
            if (found := _batch_difference(data, a, b)) is not None:
                return found[0], 0, found[1]
            continue
        va, vb = data.values.get(a), data.values.get(b)
        if va and vb:
            sign = judged(metric).direction
            va, vb = ({k: sign * v for k, v in x.items()} for x in (va, vb))
            same = a[1] == b[1] and set(va) & set(vb)
            interval = partial(paired if same else unpaired, va, vb, ratio=THESE_ROWS)
            return lambda alpha, f=interval: f(alpha=alpha), 0, float(np.mean(list(vb.values())))
        lost = int(bool(va) and data.diverged(b)) - int(bool(vb) and data.diverged(a))
        if lost:
            return None, lost, math.nan
    return None


def _batch_difference(data: Data, a: tuple, b: tuple) -> tuple[Callable[[float], Difference], float] | None:
    """The interval for two numbers of whole batches (lower is better), and the second; None if one has no score."""
    spread, each = BATCH[a[4]]
    found = [[data.values.get((*key[:4], m), {}) for m in (key[4], spread, each)] for key in (a, b)]
    if not all(value and sd for value, sd, _ in found):
        return None
    (va, sa, na), (vb, sb, nb) = ((value[""], sd[""], len(of)) for value, sd, of in found)
    gap = judged(a[4]).direction * (va - vb)

    def at(alpha: float) -> Difference:
        half = float(normal.isf(alpha / 2)) * math.hypot(sa, sb)
        return Difference(gap, gap - half, gap + half, min(na, nb))

    return at, vb
