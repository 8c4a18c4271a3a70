"""Claims of the abstract and README, tested on our runs. The body of the paper was not available.

Most sentences are about rows that are not available, or about a rival whose numbers were not committed. They are not
tested. The results of the simulated half are reported as evidence.
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
#: the budget splits in the README and in the code.
NAMED, USED = ("0.30", "0.65"), ("0.35", "0.60")


@dataclass(frozen=True)
class Tables:
    """The tables that claims read.

    * ``scores``: mean by table, method, setting and reading.
    * ``splits``: scores of the 25 fits of a split, by p1 and p2 as printed.
    """

    scores: pd.DataFrame
    splits: dict[tuple[str, str], np.ndarray]

    def mean(self, method: str, n: int, reading: str) -> float:
        """Mean score of a method with n private rows at epsilon = 2."""
        f = self.scores
        rows = f[(f["table"] == "synth_B") & (f["method"] == method) & (f["reading"] == reading)]
        return float(rows.loc[rows["setting"].map(published.private_rows) == n, "mean"].iloc[0])


def four_times(tables: Tables) -> dict[str, Outcome]:
    """Scores of the private method with 4 n rows and of the non-private fit with n. Lasso has no committed number."""
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
    """No test, because the sentence is about GDSC."""
    told = [f"{tables.mean('lr', n, 'authors'):.3f} and {tables.mean('lr', n, 'printed'):.3f}" for n in (100, 500, 800)]
    text = f"simulated half, not private, stopped fit and posterior mean with 100, 500, 800 rows: {'; '.join(told)}"
    return {"authors": Outcome(UNTESTED, text)}


def best_split(tables: Tables) -> dict[str, Outcome]:
    """Scores of the split in the README minus those of the split in the code, on the same 25 fits."""
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
