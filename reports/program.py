"""The published numbers of a paper with its own code, matched with its score rows: verdicts, ceiling cases and runs.

The paper's ``verdicts.py`` states in one :class:`Numbers` what is specific to it: the numbers, the score row for each,
and how it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports.claims import own_row
from reports.claims.record import Outcome
from reports.evidence import Runs
from reports.verdict import Case, Verdict, judge
from workflow.papers import Paper
from workflow.program import read_scores
from workflow.published import KEY

#: a row of a table, texts by column.
Row = Mapping[str, str]
NOT_RUN = "not_run", "no score file of this table"


@dataclass(frozen=True)
class Numbers:
    """The published numbers with which a paper's own code is compared.

    Parameters
    ----------
    paper : its record, whose ``family`` shares the level.
    protocol : a word for the split.
    cells : returns the published numbers, with the columns ``KEY``, mean and n_published.
    names : columns that match a score row with a number, besides the reading.
    readings : number -> its readings.
    judged : (number, score row) -> the published number, our runs and the kind of evidence.
    columns : (number, score row, verdict) -> columns of ours, the verdict and its reason.
    named : number -> further columns of the published side, and columns that differ from the default.
    absent : number -> status and reason if it has no score row.
    shown : (key, score row) -> runs to draw with the number, or None. By default these are the judged ones.
    """

    paper: Paper
    protocol: str
    cells: Callable[[], pd.DataFrame]
    names: Sequence[str]
    readings: Callable[[Row], Sequence[str]]
    judged: Callable[[Row, Row], Runs]
    columns: Callable[[Row, Row, Verdict], dict]
    named: Callable[[Row], dict]
    absent: Callable[[Row], tuple[str, str]] = lambda cell: NOT_RUN
    shown: Callable[[tuple[str, ...], Row], np.ndarray | None] | None = None

    def matched(self, scores: pd.DataFrame) -> Iterator[tuple[Row, str, Row | None]]:
        """Each number and reading with its score row, None if there is none."""
        names = [*self.names, "reading"]
        rows = {tuple(row[n] for n in names): row for row in scores.to_dict("records")}
        for cell in self.cells().to_dict("records"):
            for reading in self.readings(cell):
                yield cell, reading, rows.get((*(cell[n] for n in self.names), reading))

    def verdicts(self, scores: pd.DataFrame) -> pd.DataFrame:
        """One row per published number and reading."""
        out = []
        for cell, reading, row in self.matched(scores):
            made = {k: cell[k] for k in KEY} | {
                "reading": reading,
                "protocol": self.protocol,
                # not the method of the suite with that name
                "our_method": f"{self.paper.key}/{cell['method']}" if row else "",
                "n_published": cell["n_published"],
                "published_mean": cell["mean"],
            }
            made |= self.named(cell)
            status, reason = (row["status"], row["reason"]) if row else self.absent(cell)
            if row and status == "ok":
                made |= self.columns(cell, row, judge(self.judged(cell, row), family=self.paper.family))
            else:
                made |= {"verdict": status, "p_kind": "", "reason": reason}
            out.append(made | {"headline": "yes" if reading == "authors" else "no"})
        return pd.DataFrame(out)

    def _run(self, reference: Path) -> Iterator[tuple[tuple[str, ...], Row, Row]]:
        for cell, reading, row in self.matched(read_scores(reference / "scores")):
            if row and row["status"] == "ok":
                yield (*(cell[k] for k in KEY), reading), cell, row

    def cases(self, reference: Path) -> Iterator[Case]:
        """The cases of the ceiling: numbers that were run in a reading that can be a reproduction."""
        for key, cell, row in self._run(reference):
            if key[-1] != "corrected":
                yield Case(key, self.judged(cell, row), self.paper.family)

    def runs(self, reference: Path) -> dict[tuple[str, ...], np.ndarray]:
        """(a number's six keys, reading) -> our runs, if there are several."""
        out = {}
        for key, cell, row in self._run(reference):
            if self.shown:
                found = self.shown(key, row)
            else:
                found = np.asarray(self.judged(cell, row).values) if row["runs"] else None
            if found is not None:
                out[key] = found
        return out


def said(found: Verdict) -> dict[str, float | str]:
    """The columns of a verdict."""
    names = ("difference", "low", "high", "p", "p_kind", "detectable", "verdict", "reason")
    return {name: getattr(found, name) for name in names}


def counts(verdicts: pd.DataFrame, keys: Sequence[str], over: str) -> pd.DataFrame:
    """Counts of verdicts by the columns ``keys``, with rows for "all" in the column ``over``."""
    both = pd.concat([verdicts.assign(**{over: "all"}), verdicts])
    return both.groupby([*keys, "verdict"], sort=False).size().unstack(fill_value=0).reset_index()


@dataclass(frozen=True)
class Claim:
    """A claim of the source. ``judge`` maps the paper's tables to outcomes by reading."""

    id: str
    place: str
    quote: str
    statement: str
    judge: Callable[[Any], dict[str, Outcome]]


def judged_claims(claims: Sequence[Claim], tables: Any) -> pd.DataFrame:
    """One row per claim. No reading is excluded because of its epsilon."""
    return pd.DataFrame([own_row(c, c.judge(tables)) for c in claims])
