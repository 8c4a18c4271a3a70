"""The privacy claims of Raisa (2021): chains on private log-likelihood ratios and gradients."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim


def claims() -> list[PrivacyClaim]:
    """One claim per model, method and epsilon, from ``ledger.csv``."""
    table = pd.read_csv(Path(__file__).parent / "reference" / "ledger.csv")
    return [
        PrivacyClaim(
            "raisa2021thesis", r["method"], "printed", r["dataset"], f"epsilon={r['epsilon']:g}", r["epsilon"],
            r["delta"], "replace_one", "the whole chain", upper=r["ledger_epsilon"],
            accountants=f"gdp {r['ledger_epsilon']:.4g}",
        )
        for r in table.to_dict("records")
    ]  # fmt: skip
