"""The privacy claims of Jalko, Dikmen & Honkela (2017) at delta = 1e-3, by the authors' code."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim

DELTA = 1e-3
BOUND, REALISED = "replace-one, with replacement: bound", "replace-one, with replacement: realised"
PAIR = "all other rows contribute the same vector, and one row its opposite; batches with replacement, secret"


def claims() -> list[PrivacyClaim]:
    """One claim per table and budget with a printed epsilon. The code draws batches with replacement."""
    home = Path(__file__).parent / "reference"
    keys = ["dataset", "sigma", "kappa", "T"]
    ledger = pd.read_csv(home / "ledger.csv").query("reading == 'authors' and printed == printed")
    bounds = pd.read_csv(home / "epsilons.csv").query("delta == @DELTA")
    table = bounds.pivot_table(index=keys, columns="rule", values="epsilon")
    found = []
    for row in ledger.to_dict("records"):
        bound = table.loc[tuple(row[k] for k in keys)]
        found.append(
            PrivacyClaim(
                "jalko2017dpvi", "dpvi", "authors", row["dataset"],
                f"sigma={row['sigma']:g};rate={row['kappa']:g};steps={row['T']}", row["printed"], DELTA,
                row["relation"], "all noisy gradients", upper=bound[BOUND],
                accountants=f"theorem 10 of Balle, Barthe & Gaboardi 2018: {bound[BOUND]:.4g}",
                lower=bound[REALISED], pair=PAIR, evidence="exact convolution", all_steps=bound[REALISED],
                all_steps_pair=PAIR,
            )
        )  # fmt: skip
    return found
