"""Claims of the abstract, tested on scores and ledgers. The body of the paper was not available.

Each claim is one function of the committed tables and has the source's words as its quote. The verdicts are those of
``reports.claims``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reports.claims.record import HOLDS, REFUTED, ROUNDING, UNDECIDED, UNTESTED, Outcome
from reports.program import Claim, judged_claims

ABSTRACT = "abstract"
README = "README of the authors' code"


@dataclass(frozen=True)
class Tables:
    """The tables of ``reference/`` that claims read."""

    wins: pd.DataFrame
    ledger: pd.DataFrame
    counterexample: pd.DataFrame  #: of AdaOPS
    verdicts: pd.DataFrame


#: data sets of the paper.
ALL = 36


def both_beat_all(tables: Tables) -> dict[str, Outcome]:
    """Counts for the claim on "nearly all" data sets, without a test.

    "Nearly all" is not a number, and the source names no epsilon. The counts are reported as evidence. So is the
    largest epsilon up to which the share could exceed one half, the least that the words can mean.
    """
    out = {}
    for reading, g in _counts(tables, "both adaptive methods below the three others"):
        possible = g["yes"].astype(int) + ALL - g["of"].astype(int)
        most = g.loc[possible > ALL / 2, "epsilon"]
        rest = f"with those not run counted in favour, more than half of {ALL}"
        rest += f" up to epsilon = {most.iloc[-1]}" if len(most) else " at no epsilon"
        out[reading] = Outcome(UNTESTED, f"{_told(g)}; {rest}")
    return out


def adapt(tables: Tables) -> dict[str, Outcome]:
    """Counts for the claim "nearly optimal", without a test.

    The words bound a ratio to an optimum that no table has. The counts of how often each method's error is below that
    of the method it was derived from are reported as evidence.
    """
    told: dict[str, list[str]] = {}
    for question in ("AdaOPS below OPS", "AdaSSP below SSP"):
        for reading, g in _counts(tables, question):
            told.setdefault(reading, []).append(f"{question}: {_told(g)}")
    return {reading: Outcome(UNTESTED, "; ".join(words)) for reading, words in told.items()}


def _counts(tables: Tables, question: str) -> list[tuple[str, pd.DataFrame]]:
    rows = tables.wins[tables.wins["question"] == question]
    return [(str(reading), g) for reading, g in rows.groupby("reading", sort=False)]


def _told(g: pd.DataFrame) -> str:
    return ", ".join(f"{y} of {n} at {e}" for y, n, e in zip(g["yes"], g["of"], g["epsilon"], strict=True))


def data_sets(tables: Tables) -> dict[str, Outcome]:
    found = tables.verdicts["dataset"].nunique()
    return {"published": Outcome(UNTESTED, f"the committed results hold {found} data sets")}


def guarantee(tables: Tables) -> dict[str, Outcome]:
    """The two adaptive methods cost at most the claimed epsilon at every budget, if the scaling is taken as public.

    The claim holds if the accountants confirm it. It fails if two neighbouring tables have more than the claimed delta.
    It is in the README of the authors' code, so it is judged by the code and by the corrected version.
    """
    out = {}
    for reading in ("authors", "corrected"):
        rows = tables.ledger[tables.ledger["method"].isin(["adaops", "adassp"]) & (tables.ledger["reading"] == reading)]
        real, claimed = rows["largest"].astype(float), rows["claimed_epsilon"].astype(float)
        within = bool((real <= claimed * (1 + ROUNDING)).all())
        tried = tables.counterexample[tables.counterexample["reading"] == reading]
        found = tried[tried["delta_at_least"].astype(float) > tried["delta_claimed"].astype(float)]
        worst = ", ".join(
            f"{g['delta_at_least'].astype(float).max():.2g} at {e}" for e, g in found.groupby("epsilon", sort=False)
        )
        if len(found):
            out[reading] = Outcome(REFUTED, f"AdaOPS: delta is at least {worst}, where 1e-6 is claimed")
        else:
            out[reading] = Outcome(*((HOLDS, "both within the claim") if within else (UNDECIDED, "not bounded")))
    return out


CLAIMS = (
    Claim(
        "both-beat-all",
        ABSTRACT,
        "both AdaOPS and AdaSSP outperform the existing techniques on nearly all 36 data sets that we test on",
        "not tested: the abstract says neither how many are nearly all nor at which epsilon",
        both_beat_all,
    ),
    Claim(
        "adapt",
        ABSTRACT,
        "adaptive algorithms that are able to exploit data-dependent quantities and behave nearly optimally for every "
        "instance",
        "not tested: no table has the optimum",
        adapt,
    ),
    Claim(
        "data-sets", ABSTRACT, "nearly all 36 data sets that we test on", "not tested: not all are published", data_sets
    ),
    Claim(
        "guarantee",
        README,
        "AdaOPS and AdaSSP can automatically adapts to structures of the data set while preserving (eps,delta)-"
        "Differential Privacy",
        "at every budget both cost at most the claimed epsilon and delta, scaling taken as public",
        guarantee,
    ),
)


#: id of a claim -> what the corrected reading changes.
REPAIRS = {"guarantee": "AdaOPS is replaced by a version whose guarantee is proved"}


def build(tables: Tables) -> pd.DataFrame:
    """One row per claim. Only the claim that a reading is private is judged."""
    made = judged_claims(CLAIMS, tables)
    return made.assign(repair=made["claim"].map(REPAIRS).fillna(""))
