"""Sentences of abstract and README, and whether our runs bear them out. The body of the paper was not at hand.

Most sentences are about rows that are not at hand, or about a rival whose numbers were not committed. They are not
tested; what the simulated half says beside them is told as evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from papers.honkela2018robust import published
from reports.claims.judging import Absent, Comparison, about, judge
from reports.claims.record import UNTESTED, Outcome
from reports.program import Claim, judged_claims

ABSTRACT, README = "abstract", "README of the authors' code"
#: the split that README names and the one in the code.
NAMED, USED = ("0.30", "0.65"), ("0.35", "0.60")


@dataclass(frozen=True)
class Tables:
    """``scores``: mean by table, method, setting and reading; ``splits``: scores of the 25 fits of a split, by p1 and
    p2 as printed."""

    scores: pd.DataFrame
    splits: dict[tuple[str, str], np.ndarray]

    def mean(self, method: str, n: int, reading: str) -> float:
        """Score of a cell at epsilon = 2."""
        f = self.scores
        rows = f[(f["table"] == "synth_B") & (f["method"] == method) & (f["reading"] == reading)]
        return float(rows.loc[rows["setting"].map(published.private_rows) == n, "mean"].iloc[0])


def four_times(tables: Tables) -> dict[str, Outcome]:
    """Lasso has no committed number; beside it the private method with 4 n rows and the fit without privacy with n."""
    out = {}
    for reading in ("authors", "corrected"):
        told = [
            f"private with {4 * n} rows {tables.mean('rplr', 4 * n, reading):.3f}, not private with {n} rows "
            f"{tables.mean('lr', n, 'authors'):.3f} (posterior mean {tables.mean('lr', n, 'printed'):.3f})"
            for n in (100, 200)
        ]
        out[reading] = Outcome(UNTESTED, "simulated half, epsilon = 2: " + "; ".join(told))
    return out


def efficiency(tables: Tables) -> dict[str, Outcome]:
    gaps = (f"{tables.mean('lr', n, 'authors') - tables.mean('rplr', n, 'authors'):.3f}" for n in range(100, 801, 100))
    text = f"simulated half, epsilon = 2, not private less private with 100 to 800 rows: {', '.join(gaps)}"
    return {"authors": Outcome(UNTESTED, text)}


def similar_to_mcmc(tables: Tables) -> dict[str, Outcome]:
    """The sentence is about GDSC."""
    told = [f"{tables.mean('lr', n, 'authors'):.3f} and {tables.mean('lr', n, 'printed'):.3f}" for n in (100, 500, 800)]
    text = f"simulated half, not private, stopped fit and posterior mean with 100, 500, 800 rows: {'; '.join(told)}"
    return {"authors": Outcome(UNTESTED, text)}


def best_split(tables: Tables) -> dict[str, Outcome]:
    """Fit by fit of the same 25: the named split less the one in the code."""
    d = tables.splits[NAMED].mean(axis=1) - tables.splits[USED].mean(axis=1)
    at = about(float(d.mean()), float(d.std(ddof=1)) / math.sqrt(len(d)), len(d))
    return {"authors": judge([Comparison(f"p = {', '.join(NAMED)} less {', '.join(USED)}", at)], Absent(), None)}


CLAIMS = (
    Claim("four-times", ABSTRACT,
          "matches the predictive accuracy of the state-of-the-art non-private lasso regression using only 4x more "
          "samples", "not tested: no number of lasso regression was committed", four_times),
    Claim("efficiency", ABSTRACT,
          "asymptotic efficiency with good prediction accuracy even with moderate-sized data",
          "not tested: the sentence names no size", efficiency),
    Claim("similar-to-mcmc", README, "produced similar results as MCMC but significantly faster",
          "not tested: the sentence is about rows that are not at hand", similar_to_mcmc),
    Claim("best-split", README, "The optimal split (in our tests, p1=0.30, p2=0.65, p3=0.05)",
          "on the 25 simulated fits the named split has a higher mean score than the one in the code", best_split),
)  # fmt: skip


def build(tables: Tables) -> pd.DataFrame:
    """One row per claim."""
    return judged_claims(CLAIMS, tables)
