"""Claims that scores do not settle: a table of this suite does, an experiment that is not run, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reports.claims.context import Context
from reports.claims.record import HOLDS, REFUTED, UNTESTED, UNTOLD, ClaimTest, Outcome
from reports.config import ReportError


@dataclass(frozen=True, kw_only=True)
class HoldsIn(ClaimTest):
    """A claim settled by a table of this suite that is no score: ``file`` (CSV in the reference) and ``claim``.

    The table has columns ``claim``, ``reading``, ``holds`` (yes, no, unclear) and ``figure``, and at most one row of
    that name a reading.
    """

    file: str
    claim: str

    def outcome(self, context: Context) -> Outcome:
        path = None if context.data.extra is None else context.data.extra / self.file
        if path is None or not path.is_file():
            return Outcome(UNTESTED, f"{self.file} is not made" if context.reading == "printed" else "")
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = table[table["claim"] == self.claim]
        if not len(rows):
            raise ReportError(f"{path}: no row with claim = {self.claim}")
        rows = rows[rows["reading"] == context.reading]
        if len(rows) > 1:
            raise ReportError(f"{path}: two rows with claim = {self.claim}, reading = {context.reading}")
        if not len(rows):
            return Outcome(UNTESTED, "")
        context.used.add(context.reading)
        states = {"yes": HOLDS, "no": REFUTED, "unclear": UNTOLD}
        return Outcome(states[rows["holds"].iloc[0]], rows["figure"].iloc[0])


@dataclass(frozen=True)
class Needs(ClaimTest):
    """A claim about an experiment that this suite does not run (yet)."""

    experiment: str

    def outcome(self, context: Context) -> Outcome:
        return Outcome(UNTESTED, f"needs the experiment {self.experiment}" if context.reading == "printed" else "")


@dataclass(frozen=True, kw_only=True)
class NotTestable(ClaimTest):
    """A claim that no score can settle; ``why`` says the reason."""

    why: str

    def outcome(self, context: Context) -> Outcome:
        return Outcome(UNTESTED, self.why if context.reading == "printed" else "")
