"""The table of claims: the verdict on each in every reading, with its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from reports import published as published_numbers
from reports.claims import files
from reports.claims.context import Context, Data
from reports.claims.elsewhere import HoldsIn
from reports.claims.record import ANOTHER, COLUMNS, HOLDS, PROVED, REFUTED, UNTESTED, UNTOLD, Claim, Outcome
from reports.config import READINGS
from reports.verdicts import finding_of, read_findings


def evaluate(
    config: dict[str, Any],
    scores: pd.DataFrame,
    claims: Iterable[Claim] | None = None,
    published: pd.DataFrame | None = None,
    findings: pd.DataFrame | None = None,
    extra: Path | None = None,
) -> pd.DataFrame:
    """Verdict on every claim that the experiment settles, columns ``COLUMNS``.

    First those that its scores settle, then those that a table of this suite does (:class:`HoldsIn`); the sources in
    the order of the experiment's, the claims of one in the order of its file.

    ``extra``: folder of the tables that are no scores; None: there are none.

    A finding is attached where its index row names the method ``claim:<id>``.
    """
    numbers = published_numbers.load() if published is None else published
    index = (read_findings() if findings is None else findings).to_dict("records")
    index = [f for f in index if f["method"].startswith("claim:")]
    data = Data(config, scores[scores["experiment"] == config["experiment"]], numbers, extra)
    sources = config["sources"]
    mine = [
        c
        for c in (files.load() if claims is None else claims)
        if c.experiment == config["experiment"] and c.source in sources
    ]
    mine.sort(key=lambda c: (isinstance(c.test, HoldsIn), sources.index(c.source)))
    rows = []
    for claim in mine:
        outcomes = _outcomes(claim, data)
        asked = {"source": claim.source, "method": f"claim:{claim.id}", "reading": "*", "dataset": "*"}
        rows.append(
            claim.row()
            | {
                "verdict": _decide(outcomes, claim.proof),
                "margin": next((o.margin for o in outcomes.values() if o.margin), "none"),
                "figure": " | ".join(f"{reading}: {o.figure}" for reading, o in outcomes.items() if o.figure),
                "finding": finding_of(asked, [f | {"reading": "*", "dataset": "*"} for f in index]),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims that repeat no other one."""
    return frame[frame["same_as"] == ""]


def _outcomes(claim: Claim, data: Data) -> dict[str, Outcome]:
    """Reading -> outcome: the printed one, and each other that some cell of the claim really has."""
    outcomes = {}
    for reading in READINGS:
        context = Context(data, claim.source, reading)
        outcome = claim.test.outcome(context)
        if reading == "printed" or reading in context.used:
            outcomes[reading] = outcome
    return outcomes


def _decide(outcomes: dict[str, Outcome], proof: str = "") -> str:
    """The printed reading where the claim holds in it; else another in which it does.

    A claim that holds in none does not hold only where every reading that could be tested refutes it: one that leaves
    it open (the authors' program, say) leaves it ``not told apart``. A claim with a proof is ``by proof`` only as long
    as its check, in the printed reading, agrees.
    """
    if outcomes["printed"].state == HOLDS:
        return PROVED if proof else HOLDS
    states = {o.state for o in outcomes.values()}
    return next((word for state, word in ((HOLDS, ANOTHER), (UNTOLD, UNTOLD), (REFUTED, REFUTED)) if state in states),
                UNTESTED)  # fmt: skip
