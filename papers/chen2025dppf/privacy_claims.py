"""The privacy claims of Chen, Sanghi & Awan (2025): Laplace noise on moments of clipped rows, pure epsilon."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.chen2025dppf.releases import sums, true_epsilon
from privacy.ledger import Relation
from reports.privacy_claims import PrivacyClaim

UNSCALED = "chen_lr_unscaled"
#: the release of real data: the median of 100 noisy releases, each at the claimed epsilon.
REAL = "coefficients and moments, the median of 100 noisy releases, of ages that are scaled by their private extremes"
REAL_EPSILON = 0.5
#: a row (x, y) and its replacement. Without scaling, their sums have the largest L1 distance, 256 / 3.
PAIR = (5.0, 5.0), (-1 / 3, -1 / 3)


def distance_unscaled() -> float:
    """The L1 distance of the sums of the two rows of ``PAIR``, without scaling."""
    one, other = (sums(np.array([x]), np.array([y]), 1.0) for x, y in PAIR)
    return float(np.abs(one - other).sum())


def claims() -> list[PrivacyClaim]:
    """One claim per data set and epsilon, from ``ledger.csv``, and that of the release of real data.

    Laplace noise has the epsilon L1 distance / scale, so a pair of rows gives a lower bound that is exact. There is one
    for the rows that the source's code does not scale. The release of real data has no upper bound, because nothing
    bounds what a row does to the extremes by which all rows are scaled. No pair was tried on it.
    """
    table = pd.read_csv(Path(__file__).parent / "reference" / "ledger.csv")
    found = []
    for r in table.to_dict("records"):
        against, upper = {}, true_epsilon(r["dataset"], r["claimed_epsilon"])
        if r["dataset"] == UNSCALED:
            text = " by ".join(f"({x:.3g}, {y:.3g})" for x, y in PAIR)
            against = {"lower": distance_unscaled() / r["scale"], "pair": f"a row {text}", "evidence": "exact"}
        found.append(
            PrivacyClaim(
                "chen2025dppf", "release", r["reading"], r["dataset"], f"epsilon={r['claimed_epsilon']:g}",
                r["claimed_epsilon"], 0.0, r["relation"], "noisy moments of the clipped rows",
                upper=upper, accountants=f"pure {upper:.4g}", **against,
            )
        )  # fmt: skip
    found.append(
        PrivacyClaim(
            "chen2025dppf", "release of real data", "authors", "census", f"epsilon={REAL_EPSILON:g}", REAL_EPSILON, 0.0,
            str(Relation.REPLACE_ONE), REAL, accountants="none: the scale is not charged",
        )
    )  # fmt: skip
    return found
