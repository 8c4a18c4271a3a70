"""Claims of the figures, tested on our chains. The final text of the thesis was not available.

Differences are of medians over 20 chains, with the standard error of ``tables.medians``. Methods share data and starts,
so the errors are more likely too large than too small. :func:`reports.claims.judging.judge` judges them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from papers.raisa2021thesis.verdicts import N
from reports.claims import own_row
from reports.claims.judging import Absent, Comparison, about, judge
from reports.claims.record import ABOVE, ROUNDING, WITHIN, Outcome

HMC, PENALTY, GUIDED = "dp_hmc", "dp_penalty", "dp_penalty_ocu_gwmh"
#: number of epsilons in a figure.
EPSILONS = 6
KEYS = ["dataset", "epsilon", "method_rival"]


@dataclass(frozen=True)
class Claim:
    """A claim that ``better`` has a lower median MMD than each of ``rivals`` on each of ``models``.

    It is claimed at every epsilon, or in at least ``at_least`` of these box plots.
    """

    id: str
    place: str
    statement: str
    models: tuple[str, ...]
    better: str
    rivals: tuple[str, ...]
    at_least: int | None = None
    quote: str = "read off figure"

    @property
    def boxes(self) -> int:
        return EPSILONS * len(self.models) * len(self.rivals)


def outcome(claim: Claim, medians: pd.DataFrame) -> Outcome:
    """The outcome by our chains, with the number of published medians that agree."""
    ours, theirs = (_pairs(claim, medians, reading) for reading in ("authors", "published"))
    made = []
    for key, row in ours.iterrows():
        dataset, epsilon, rival = key
        at = about(row["difference"], row["error"], N)
        paper = float(theirs.loc[key, "difference"])
        made.append(Comparison(f"{claim.better} vs {rival}, {dataset}, epsilon = {epsilon}", at, paper=paper))
    return judge(made, Absent(other=claim.boxes - len(ours)), claim.at_least)


def _pairs(claim: Claim, medians: pd.DataFrame, reading: str) -> pd.DataFrame:
    """Median MMD of each rival minus that of the better method, with its error, by ``KEYS``."""
    own = medians[
        (medians["reading"] == reading) & (medians["metric"] == "mmd") & medians["dataset"].isin(claim.models)
    ]
    first = own[own["method"] == claim.better]
    both = [
        first.merge(own[own["method"] == r], on=["dataset", "epsilon"], suffixes=("", "_rival")) for r in claim.rivals
    ]
    out = pd.concat(both)
    out = out.assign(difference=out["median_rival"] - out["median"], error=np.hypot(out["se"], out["se_rival"]))
    return out.set_index(KEYS)[["difference", "error"]]


FLAT, TEMPERED = ("flat_banana_2d", "flat_banana_10d"), ("tempered_banana_2d", "tempered_banana_10d")
MAIN, EXTRA = "figure banana_mmd", "figure banana_extra"
CLAIMS = (
    Claim("tempered-hmc", MAIN, "tempered bananas: DP HMC has a lower median MMD than DP Penalty at every epsilon",
          TEMPERED, HMC, (PENALTY,)),
    Claim("tempered-hmc-guided", MAIN, "tempered bananas: DP HMC has a lower median MMD than DP Penalty OCU+GWMH at "
          "every epsilon", TEMPERED, HMC, (GUIDED,)),
    Claim("flat-penalty", MAIN, "flat bananas: DP Penalty has a lower median MMD than DP HMC in 11 of the 12 boxes",
          FLAT, PENALTY, (HMC,), at_least=11),
    Claim("flat-guided", MAIN, "flat bananas: DP Penalty OCU+GWMH has a lower median MMD than DP HMC at every epsilon",
          FLAT, GUIDED, (HMC,)),
    Claim("gauss30-guided", EXTRA, "Gauss, d = 30: DP Penalty OCU+GWMH has the lowest median MMD at every epsilon",
          ("gauss_30d",), GUIDED, (PENALTY, HMC)),
    Claim("narrow-penalty", EXTRA, "narrow banana: DP Penalty has a lower median MMD than DP HMC at every epsilon",
          ("narrow_banana_2d",), PENALTY, (HMC,)),
    Claim("correlated-hmc", EXTRA, "correlated Gauss: DP HMC has a lower median MMD than DP Penalty at every epsilon",
          ("correlated_gauss_2d",), HMC, (PENALTY,)),
)  # fmt: skip


def build(medians: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """One row per claim. ``ledger``: of ``tables.ledger``. Each chain claims the epsilon of its box plot."""
    within = (ledger["ledger_epsilon"].astype(float) <= ledger["epsilon"].astype(float) * (1 + ROUNDING)).all()
    privacy = {"authors": (WITHIN, "") if within else (ABOVE, "epsilon above the claim by the ledger")}
    return pd.DataFrame([own_row(c, {"authors": outcome(c, medians)}, privacy) for c in CLAIMS])
