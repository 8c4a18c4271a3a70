"""Claims of the abstract and of captions, tested on the committed runs. The body of the paper was not available."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from papers.chen2025dppf import published
from papers.chen2025dppf.published import POOLED
from reports.claims.record import REFUTED, UNTESTED, Outcome
from reports.program import Claim, judged_claims

ABSTRACT, CAPTION = "abstract", "caption of a table of the authors' code"
Tables = Mapping[str, pd.DataFrame]


def consistent(tables: Tables) -> dict[str, Outcome]:
    """Consistency in the number of particles, which no finite number settles. The bias by that number is reported."""
    told = [
        f"{r['prior']} prior, {r['particles']} particles {r['median_bias']:.2f}"
        for r in tables["particles"].to_dict("records")
    ]
    return {"authors": Outcome(UNTESTED, f"regression, median bias of tau in posterior sd: {'; '.join(told)}")}


def interval(tables: Tables) -> dict[str, Outcome]:
    """The claim on coverage, which is far from .95 in every parameter. The largest mean share is compared with .95."""
    share = tables["intervals"].groupby(["prior", "parameter"], sort=False)["share"].mean()
    words = "; ".join(f"{prior} prior, {p} {100 * s:.0f} %" for (prior, p), s in share.items())
    return {"authors": Outcome(UNTESTED, f"regression, runs whose interval holds the exact posterior mean: {words}")}


def hundred(tables: Tables) -> dict[str, Outcome]:
    """Counts of runs, from the files of single runs."""
    cells = published.numbers()
    pooled = int((cells["table"] == POOLED).sum())
    few = cells[cells["table"].isin(["pf_conj"]) & (cells["metric"] == "beta1_mean") & (cells["n_published"] != "100")]
    told = ", ".join(f"{r['setting']}: {r['n_published']} runs" for r in few.to_dict("records"))
    return {
        "authors": Outcome(REFUTED, f"{told}; {pooled} means of the heavy prior pool runs with 100 to 400 particles")
    }


CLAIMS = (
    Claim("consistent", ABSTRACT, "consistent estimates",
          "not tested: a limit in the number of particles; the bias at three numbers is shown", consistent),
    Claim("mc-interval", ABSTRACT, "Monte Carlo error estimates and asymptotic confidence intervals",
          "not tested: the sentence names no number of particles; coverage of the exact mean is shown", interval),
    Claim("hundred", CAPTION, "averaged over 100 simulations",
          "each mean of the tables is over 100 runs with the stated number of particles", hundred),
)  # fmt: skip


def build(tables: Tables) -> pd.DataFrame:
    """One row per claim."""
    return judged_claims(CLAIMS, tables)
