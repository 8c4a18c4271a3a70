"""The privacy claims of DP-EM (Park et al. 2017) at delta = 1e-4, by the authors' code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim

PROOF = (
    "the largest norm of a private row is released: a repaired mean has it as its norm, or a repaired covariance has "
    "an eigenvalue that is a fixed multiple of its square, and the probability of a repair is above delta"
)


def claims() -> list[PrivacyClaim]:
    """One claim per claimed epsilon, release and composition, from ``dpem_atoms.csv``.

    Settings in which this suite repairs a composition formula are left out.
    """
    table = pd.read_csv(Path(__file__).parent / "reference" / "dpem_atoms.csv")
    found = []
    for row in table[~table["setting"].str.endswith(";consistent")].to_dict("records"):
        shown = row["with_event"] == 0 and row["delta_at_least"] > row["delta"]
        found.append(
            PrivacyClaim(
                "park2017dpem", "dp_em", "authors", "life_science", row["setting"], row["claimed"], row["delta"],
                "replace_one", "final weights, means and covariances",
                delta_at_least=row["delta_at_least"], pair="one row twice as long as all others",
                evidence=f"{row['fits']} fits on the neighbour, {row['confidence']:.0%} confidence; else by proof",
                proof=PROOF if shown else "", ours="dp_em_authors",
            )
        )  # fmt: skip
    return found
