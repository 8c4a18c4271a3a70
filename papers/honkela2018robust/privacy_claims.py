"""The privacy claims of Honkela et al. (2018): pure epsilon of noisy moments of clipped rows, by the authors' code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim

PROOF = (
    "the scale of the Laplace noise is a function of the private rows: at two scales the ratio of the densities is "
    "unbounded, so that no epsilon holds at delta = 0"
)


def claims() -> list[PrivacyClaim]:
    """One claim per epsilon of the synthetic data, with the worst pair of ``outlier.csv`` at that epsilon."""
    home = Path(__file__).parent / "reference"
    ledger = pd.read_csv(home / "ledger.csv").query("reading == 'authors'")
    pairs = pd.read_csv(home / "outlier.csv").query("at == epsilon")
    found = []
    for row in ledger.to_dict("records"):
        mine = pairs[pairs["epsilon"] == row["claimed_epsilon"]]
        against = {}
        if len(mine):
            worst = mine.loc[mine["delta_at_least"].idxmax()]
            against = {
                "delta_at_least": worst["delta_at_least"],
                "pair": f"a typical row replaced by: {worst['row']}",
                "evidence": "99 % confidence, Monte Carlo",
            }
        found.append(
            PrivacyClaim(
                "honkela2018robust", "robust_private", "authors", row["table"], row["setting"], row["claimed_epsilon"],
                0.0, row["relation"], "noisy moments of the clipped rows", proof=PROOF, **against,
            )
        )  # fmt: skip
    return found
