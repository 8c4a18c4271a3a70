"""What the source says of its figures, and whether its boxes and our chains bear it out.

Sentences are those of its section "Comparison of DP MCMC Algorithms", in a stored version of the thesis' LaTeX
(commit 12e4714 of its repository), or read off the boxes. Differences are of medians over 20 chains with the standard
error of ``tables.medians``; one within two of these is not told apart. Methods share data and starts, so the errors
are rather too large than too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from papers.raisa2021thesis.tables import METHODS, MODELS
from reports.claims.record import HOLDS, REFUTED, UNTOLD

ERRORS = 2.0
HMC, PENALTY, GUIDED = "dp_hmc", "dp_penalty", "dp_penalty_ocu_gwmh"
PLACE = "Comparison of DP MCMC Algorithms"
#: budgets of a figure.
EPSILONS = 6
Found = list[tuple[str, str, str]]


@dataclass(frozen=True)
class Claim:
    """``judge``: medians -> (reading, verdict, evidence) once a reading."""

    id: str
    place: str
    quote: str
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
            told += f"; shown in {shown}, the reverse in {against}"
            said = above(d["difference"], d["error"])
            if missing := EPSILONS * len(models) * len(rivals) - len(d):
                told, said = f"{told}; {missing} were not run", UNTOLD if said == HOLDS else said
            out.append((reading, said, told))
        return out

    return judge


def clipped_below(models, methods, most: float):
    """The median share of clipped ratios is below ``most`` on these models at every epsilon."""

    def judge(medians: pd.DataFrame) -> Found:
        out = []
        for reading in ("published", "authors"):
            d = medians[(medians["reading"] == reading) & (medians["metric"] == "clipped_ratios")]
            d = d[d["dataset"].isin(models) & d["method"].isin(methods)]
            if d.groupby("method")["dataset"].nunique().reindex(list(methods)).fillna(0).lt(len(models)).any():
                continue
            worst = d.loc[d["median"].idxmax()]
            told = f"largest median {worst['median']:.3f}: {METHODS[worst['method']]}, {MODELS[worst['dataset']]}"
            said = above(most - d["median"], d["se"])
            if missing := EPSILONS * len(models) * len(methods) - len(d):
                told, said = f"{told}; {missing} were not run", UNTOLD if said == HOLDS else said
            out.append((reading, said, told))
        return out

    return judge


def higher_later(model: str, method: str, before: int):
    """The median MMD of each epsilon beyond ``before`` + 1 is above that of ``before``."""

    def judge(medians: pd.DataFrame) -> Found:
        out = []
        for reading in ("published", "authors"):
            d = medians[(medians["reading"] == reading) & (medians["metric"] == "mmd") & (medians["dataset"] == model)]
            d = d[d["method"] == method].set_index("epsilon")
            if d.empty:
                continue
            first, later = d.loc[before], d.loc[d.index > before + 1]
            said = above(later["median"] - first["median"], np.hypot(later["se"], first["se"]))
            out.append((reading, said, ", ".join(f"{m:.2f} at {e}" for e, m in d["median"].items())))
        return out

    return judge


FLAT, TEMPERED = ("flat_banana_2d", "flat_banana_10d"), ("tempered_banana_2d", "tempered_banana_10d")
BANANAS = (*FLAT, *TEMPERED)
NARROW, GAUSS, CORRELATED = ("narrow_banana_2d",), ("gauss_30d",), ("correlated_gauss_2d",)
WITH = "with tempering HMC beats the penalty algorithms, but without tempering this is reversed"
HIGH = ("In the 30-dimensional Gaussian, DP penalty with OCU and GWMH beats the other two algorithms, "
        "with DP HMC narrowly beating DP penalty.")  # fmt: skip
BOTH = "the penalty algorithms perform equally, and HMC beats both of them"
CLIP = "Almost all runs had less than 10% clipping"
EXTRA = "almost all runs have less than 10% clipping, with the exception of DP penalty OCU+GWMH on the narrow banana"
CLAIMS = (
    Claim("tempered-hmc", PLACE, WITH, "tempered bananas: DP HMC has a lower median MMD than DP Penalty, with "
          "OCU+GWMH and without, at every epsilon", lower(TEMPERED, HMC, PENALTY, GUIDED)),
    Claim("flat-penalty", PLACE, WITH, "flat bananas: DP Penalty has a lower median MMD than DP HMC at every epsilon",
          lower(FLAT, PENALTY, HMC)),
    Claim("flat-guided", PLACE, WITH, "flat bananas: DP Penalty OCU+GWMH has a lower median MMD than DP HMC at every "
          "epsilon", lower(FLAT, GUIDED, HMC)),
    Claim("gauss30-guided", PLACE, HIGH, "DP Penalty OCU+GWMH has the lowest median MMD at every epsilon",
          lower(GAUSS, GUIDED, PENALTY, HMC)),
    Claim("gauss30-hmc", PLACE, HIGH, "DP HMC has a lower median MMD than DP Penalty at every epsilon",
          lower(GAUSS, HMC, PENALTY)),
    Claim("narrow-penalty", "figure banana_extra", "read off the boxes", "narrow banana: DP Penalty has a lower median "
          "MMD than DP HMC at every epsilon", lower(NARROW, PENALTY, HMC)),
    Claim("narrow-guided-fails", PLACE, "in the higher values of epsilon where it performs extremely poorly",
          "narrow banana: DP Penalty OCU+GWMH has a higher median MMD at epsilon 5 and 6 than at 3",
          higher_later(NARROW[0], GUIDED, 3)),
    Claim("correlated-hmc", PLACE, BOTH, "correlated Gauss: DP HMC has a lower median MMD than both at every epsilon",
          lower(CORRELATED, HMC, PENALTY, GUIDED)),
    Claim("little-clipping", PLACE, CLIP, "flat and tempered bananas: the median share of clipped ratios is below 0.1 "
          "at every epsilon", clipped_below(BANANAS, (HMC, PENALTY, GUIDED), 0.1)),
    Claim("little-clipping-extra", PLACE, EXTRA, "narrow banana: the median share of clipped ratios is below 0.1 at "
          "every epsilon for DP HMC and DP Penalty", clipped_below(NARROW, (HMC, PENALTY), 0.1)),
)  # fmt: skip


def build(medians: pd.DataFrame) -> pd.DataFrame:
    """One row a claim and reading; a reading without all of a claim's boxes has none."""
    rows = [
        {"claim": c.id, "place": c.place, "quote": c.quote, "statement": c.statement, "reading": reading,
         "verdict": verdict, "evidence": evidence}
        for c in CLAIMS
        for reading, verdict, evidence in c.judge(medians)
    ]  # fmt: skip
    return pd.DataFrame(rows)
