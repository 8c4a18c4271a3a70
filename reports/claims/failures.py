"""Test of how often a method fails."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from scipy.stats import fisher_exact

from reports.claims.context import Context
from reports.claims.judging import ALPHA
from reports.claims.methods import OneMethod, Words, method_of
from reports.claims.record import HOLDS, REFUTED, UNTESTED, UNTOLD, ClaimTest, Outcome


@dataclass(frozen=True)
class FailsLess(ClaimTest):
    """The first method loses fewer splits (failed, diverged, timeout) than the second: Fisher's exact test."""

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
            return Outcome(UNTOLD, figure + ": neither fails, so nothing can be told")
        table = [[fa, na - fa], [fb, nb - fb]]
        less, more = (float(fisher_exact(table, alternative=side).pvalue) for side in ("less", "greater"))
        state = HOLDS if less < ALPHA / 2 else REFUTED if more < ALPHA / 2 else UNTOLD
        return Outcome(state, f"{figure} (p = {less:.2g} for fewer, {more:.2g} for more)")
