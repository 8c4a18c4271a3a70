"""What the abstract says, and whether scores and ledgers bear it out. The body of the paper was not at hand.

Each claim is one function of the committed tables, with the source's words as its quote. Verdicts: those of
``reports.claims``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from papers.wang2018 import run

ABSTRACT = "abstract"
README = "README of the authors' program"


@dataclass(frozen=True)
class Tables:
    """The tables that claims read, all of ``reference/``."""

    wins: pd.DataFrame
    ledger: pd.DataFrame
    counterexample: pd.DataFrame  #: of AdaOPS
    verdicts: pd.DataFrame


@dataclass(frozen=True)
class Claim:
    """``judge``: tables -> (reading, verdict, evidence) once a reading."""

    id: str
    place: str
    quote: str
    judge: Callable[[Tables], list[tuple[str, str, str]]]


UNTESTABLE = "not testable here"
#: "nearly all" of the tables: nine in ten. The source gives no number.
NEARLY_ALL = 0.9


def both_beat_all(tables: Tables) -> list[tuple[str, str, str]]:
    """At every epsilon, on nearly all tables, both adaptive methods are below SSP, OPS and objective perturbation."""
    return _at_every_epsilon(tables, "both adaptive methods below the three others")


def adapt(tables: Tables) -> list[tuple[str, str, str]]:
    """No test: "nearly optimal" bounds a ratio to an optimum that no table has. How often each is below what it was
    made from is told as evidence."""
    out = []
    for question in ("AdaOPS below OPS", "AdaSSP below SSP"):
        out += [(r, UNTESTABLE, f"{question}: {e}") for r, _, e in _at_every_epsilon(tables, question)]
    return out


def _at_every_epsilon(tables: Tables, question: str) -> list[tuple[str, str, str]]:
    rows = tables.wins[tables.wins["question"] == question]
    out = []
    for reading, g in rows.groupby("reading", sort=False):
        share = g["yes"].astype(int) / g["of"].astype(int)
        told = ", ".join(f"{y} of {n} at {e}" for y, n, e in zip(g["yes"], g["of"], g["epsilon"], strict=True))
        out.append((reading, "holds" if (share >= NEARLY_ALL).all() else "does not hold", told))
    return out


def data_sets(tables: Tables) -> list[tuple[str, str, str]]:
    found = tables.verdicts["dataset"].nunique()
    return [("published", UNTESTABLE, f"the committed results hold {found} data sets")]


def guarantee(tables: Tables) -> list[tuple[str, str, str]]:
    """The two adaptive methods cost at most the claimed epsilon at every budget, scaling taken as public.

    Holds where the accountants say so; does not where two neighbouring tables show more than the claimed delta.
    """
    out = []
    for reading in run.config()["readings"]["adaops"]:
        rows = tables.ledger[tables.ledger["method"].isin(["adaops", "adassp"]) & (tables.ledger["reading"] == reading)]
        real, claimed = rows["largest"].astype(float), rows["claimed_epsilon"].astype(float)
        within = bool((real <= claimed * (1 + 1e-6)).all())  # the accountants' own rounding
        tried = tables.counterexample[tables.counterexample["reading"] == reading]
        found = tried[tried["delta_at_least"].astype(float) > tried["delta_claimed"].astype(float)]
        worst = ", ".join(
            f"{g['delta_at_least'].astype(float).max():.2g} at {e}" for e, g in found.groupby("epsilon", sort=False)
        )
        if len(found):
            out.append((reading, "does not hold", f"AdaOPS: delta is at least {worst}, where 1e-6 is claimed"))
        else:
            out.append((reading, "holds" if within else "not told apart", "both within the claim" if within else ""))
    return out


CLAIMS = (
    Claim(
        "both-beat-all",
        ABSTRACT,
        "both AdaOPS and AdaSSP outperform the existing techniques on nearly all 36 data sets that we test on",
        both_beat_all,
    ),
    Claim(
        "adapt",
        ABSTRACT,
        "adaptive algorithms that are able to exploit data-dependent quantities and behave nearly optimally for every "
        "instance",
        adapt,
    ),
    Claim("data-sets", ABSTRACT, "nearly all 36 data sets that we test on", data_sets),
    Claim(
        "guarantee",
        README,
        "AdaOPS and AdaSSP can automatically adapts to structures of the data set while preserving (eps,delta)-"
        "Differential Privacy",
        guarantee,
    ),
)


def build(tables: Tables) -> pd.DataFrame:
    """One row a claim and reading."""
    rows = []
    for claim in CLAIMS:
        for reading, verdict, evidence in claim.judge(tables):
            rows.append(
                {"claim": claim.id, "place": claim.place, "quote": claim.quote, "reading": reading, "verdict": verdict,
                 "evidence": evidence}
            )  # fmt: skip
    return pd.DataFrame(rows)
