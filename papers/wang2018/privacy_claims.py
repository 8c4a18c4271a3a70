"""The privacy claims of Wang (2018) at delta = 1e-6, with the scaling of the rows taken as public."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

from papers.wang2018.estimators.perturbed_moments import IDENTITY
from reports.privacy_claims import PrivacyClaim

READINGS = ("printed", "authors")
#: rows of the pair for SSP.
ROWS = 1_000_000
SSP_PAIR = f"one row with the opposite target added to {ROWS:,} rows"
DRAW = "one draw of the coefficients"
RELEASED = {"ssp": "coefficients", "adassp": "coefficients", "objpert": "coefficients"}


def ssp_at_least(epsilon: float, delta: float) -> float:
    """A lower bound on the epsilon of the coefficients that the authors' SSP releases, at least 0.

    Pair: one input, ROWS rows x = 1 with target -1, and one more row x = 1 with target 1. The released coefficient is
    (b + s z) / (a + 1 + s z'), where a and b are the moments, s = sqrt(log(4 / delta)) / epsilon, and z, z' are
    standard normal. Up to the probability of a negative denominator, which is added to the side where it hurts,
    P(coefficient > w) = Phi((b - w (a + 1)) / (s sqrt(1 + w^2))). The bound is the largest log((P - delta) / Q) over w.
    """
    s = math.sqrt(math.log(4 / delta)) / epsilon
    negative = float(ndtr(-(ROWS + IDENTITY) / s))
    center, spread = -ROWS / (ROWS + IDENTITY), s * math.sqrt(2) / ROWS
    w = center + spread * np.linspace(-12, 12, 4001)
    at = [(b - w * (a + IDENTITY)) / (s * np.sqrt(1 + w**2)) for a, b in ((ROWS, -ROWS), (ROWS + 1, 1 - ROWS))]
    best = 0.0
    for p, q in ((ndtr(at[1]), ndtr(at[0])), (ndtr(-at[0]), ndtr(-at[1]))):
        top, bottom = p - negative - delta, q + negative
        best = max(best, float(np.log(top[top > 0] / bottom[top > 0]).max()))
    return best


def _up(value: float) -> float:
    """An upper bound that was rounded to six digits, rounded up."""
    return value if math.isinf(value) else value * (1 + 1e-5)


def claims() -> list[PrivacyClaim]:
    """One claim per method, reading and epsilon; the bounds are the largest over the tables."""
    home = Path(__file__).parent / "reference"
    ledger = pd.read_csv(home / "ledger.csv").query("reading in @READINGS and not method.str.endswith('_unshown')")
    draws = pd.read_csv(home / "counterexample.csv")
    draws["method"] = "ops_" + draws["rule"]
    tried = pd.concat([draws, pd.read_csv(home / "counterexample_adaops.csv").assign(method="adaops")])
    found = []
    for row in ledger.to_dict("records"):
        method, claimed = row["method"], row["claimed_epsilon"]
        # the cap of AdaOPS is in the authors' code only
        seen = "printed, no cap" if (method, row["reading"]) == ("adaops", "printed") else row["reading"]
        mine = tried[(tried["method"] == method) & (tried["reading"] == seen) & (tried["epsilon"] == claimed)]
        against: dict = {}
        if len(mine):
            against = {"delta_at_least": mine["delta_at_least"].max(), "pair": "two tables with rows along two axes"}
            exact = "97 % confidence, 1,000,000 draws per table" if method == "adaops" else "quadrature"
            against["evidence"] = f"{exact}; the largest of three sizes"
        elif method == "ssp":
            against = {"lower": ssp_at_least(claimed, row["delta"]), "pair": SSP_PAIR}
            against |= {"evidence": "normal distribution of the ratio, exact", "all_steps": against["lower"]}
            against["all_steps_pair"] = "a row of norm 1 with target 1"
        found.append(
            PrivacyClaim(
                "wang2018adaptive", method, row["reading"], "", f"epsilon={claimed:g}", claimed, row["delta"],
                row["relation"], RELEASED.get(method, DRAW), upper=_up(row["largest"]),
                accountants=f"{row['largest']:.6g}, largest for the sizes of {row['tables']} tables", **against,
            )
        )  # fmt: skip
    return found
