"""What the figures show, and whether our chains bear it out. The final text of the thesis was not at hand.

Differences are of medians over 20 chains with the standard error of ``tables.medians``; one within two of these is not
told apart. Methods share data and starts, so the errors are rather too large than too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.claims.record import HOLDS, REFUTED, UNTOLD

ERRORS = 2.0
HMC, PENALTY, GUIDED = "dp_hmc", "dp_penalty", "dp_penalty_ocu_gwmh"
#: budgets of a figure.
EPSILONS = 6
Found = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Claim:
    """``judge``: medians -> (reading, verdict, evidence) once a reading."""

    id: str
    place: str
    statement: str
    judge: Callable[[pd.DataFrame], Found]


def above(differences, errors) -> str:
    """Are all these differences above 0?"""
    differences, errors = np.asarray(differences, float), ERRORS * np.asarray(errors, float)
    shown, against = differences > errors, differences < -errors
    return HOLDS if shown.all() else REFUTED if against.any() else UNTOLD


def _pairs(medians: pd.DataFrame, reading: str, models, better: str, rivals) -> pd.DataFrame:
    """Median MMD of each rival less that of ``better``, with its error, at every model and epsilon."""
    own = medians[(medians["reading"] == reading) & (medians["metric"] == "mmd") & medians["dataset"].isin(models)]
    first, keys = own[own["method"] == better], ["dataset", "epsilon"]
    both = [first.merge(own[own["method"] == r], on=keys, suffixes=("", "_rival")) for r in rivals]
    out = pd.concat(both)
    return out.assign(difference=out["median_rival"] - out["median"], error=np.hypot(out["se"], out["se_rival"]))


def lower(models, better: str, *rivals: str):
    """``better`` has the lower median MMD on each model at every epsilon."""

    def judge(medians: pd.DataFrame) -> Found:
        out = []
        for reading in ("published", "authors"):
            d = _pairs(medians, reading, models, better, rivals)
            if d["dataset"].nunique() < len(models) or d["method_rival"].nunique() < len(rivals):
                continue
            shown, against = ((s * d["difference"] > ERRORS * d["error"]).sum() for s in (1, -1))
            told = f"lower in {(d['difference'] > 0).sum()} of {len(d)} medians"
            told += f"; shown in {shown}, the reverse in {against}; mean difference {d['difference'].mean():.3f}"
            told += f" ± {ERRORS * d['error'].mean():.3f} (two errors, as if all were one box)"
            said = above(d["difference"], d["error"])
            if missing := EPSILONS * len(models) * len(rivals) - len(d):
                told, said = f"{told}; {missing} were not run", UNTOLD if said == HOLDS else said
            out.append((reading, said, told))
        return out

    return judge


FLAT, TEMPERED = ("flat_banana_2d", "flat_banana_10d"), ("tempered_banana_2d", "tempered_banana_10d")
MAIN, EXTRA = "figure banana_mmd", "figure banana_extra"
CLAIMS = (
    Claim("tempered-hmc", MAIN, "tempered bananas: DP HMC has a lower median MMD than DP Penalty at every epsilon",
          lower(TEMPERED, HMC, PENALTY)),
    Claim("tempered-hmc-guided", MAIN, "tempered bananas: DP HMC has a lower median MMD than DP Penalty OCU+GWMH at "
          "every epsilon", lower(TEMPERED, HMC, GUIDED)),
    Claim("flat-penalty", MAIN, "flat bananas: DP Penalty has a lower median MMD than DP HMC at every epsilon",
          lower(FLAT, PENALTY, HMC)),
    Claim("flat-guided", MAIN, "flat bananas: DP Penalty OCU+GWMH has a lower median MMD than DP HMC at every epsilon",
          lower(FLAT, GUIDED, HMC)),
    Claim("gauss30-guided", EXTRA, "Gauss, d = 30: DP Penalty OCU+GWMH has the lowest median MMD at every epsilon",
          lower(("gauss_30d",), GUIDED, PENALTY, HMC)),
    Claim("narrow-penalty", EXTRA, "narrow banana: DP Penalty has a lower median MMD than DP HMC at every epsilon",
          lower(("narrow_banana_2d",), PENALTY, HMC)),
    Claim("correlated-hmc", EXTRA, "correlated Gauss: DP HMC has a lower median MMD than DP Penalty at every epsilon",
          lower(("correlated_gauss_2d",), HMC, PENALTY)),
)  # fmt: skip


def build(medians: pd.DataFrame) -> pd.DataFrame:
    """One row a claim and reading; a reading without all of a claim's boxes has none."""
    rows = [
        {"claim": c.id, "place": c.place, "quote": "read off figure", "statement": c.statement, "reading": reading,
         "verdict": verdict, "evidence": evidence}
        for c in CLAIMS
        for reading, verdict, evidence in c.judge(medians)
    ]  # fmt: skip
    return pd.DataFrame(rows)
