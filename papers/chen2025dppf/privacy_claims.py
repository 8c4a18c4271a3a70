"""The privacy claims of Chen, Sanghi & Awan (2025): Laplace noise on moments of clipped rows, pure epsilon."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim


def claims() -> list[PrivacyClaim]:
    """One claim per data set and epsilon, from ``ledger.csv``. The data set without scaling is ours and is left out."""
    table = pd.read_csv(Path(__file__).parent / "reference" / "ledger.csv")
    return [
        PrivacyClaim(
            "chen2025dppf", "release", r["reading"], r["dataset"], f"epsilon={r['claimed_epsilon']:g}",
            r["claimed_epsilon"], 0.0, r["relation"], "noisy moments of the clipped rows", upper=r["ledger_epsilon"],
            accountants=f"pure {r['ledger_epsilon']:.4g}",
        )
        for r in table.to_dict("records")
        if not r["dataset"].endswith("_unscaled")
    ]  # fmt: skip
