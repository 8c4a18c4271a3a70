"""The privacy claim of the note on DP Bayes by backprop: its bound is that of noisy SGD."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reports.privacy_claims import PrivacyClaim

DELTA = 1e-5


def claims() -> list[PrivacyClaim]:
    """One claim per epsilon of noisy SGD, from ``bbb_accounting.csv``.

    The note states no relation. The upper bound is for a replaced row, and the lower bound for a row that is replaced
    by nothing, which is the smaller one. The batches are fixed and public, so both are exact.
    """
    table = pd.read_csv(Path(__file__).parent / "reference" / "bbb_accounting.csv")
    return [
        PrivacyClaim(
            "dp_bayes_by_backprop2020note", "dp_bayes_by_backprop", "printed", "mnist_digits",
            f"{row['case']};multiplier={row['noise_multiplier']:.3g}",
            row["epsilon_dp_sgd"], DELTA, "replace_one", "final mean and rho (\"Output\" of algorithm 1)",
            upper=row["epsilon_epochs_replace"], accountants=f"gdp {row['epsilon_epochs_replace']:.4g}",
            all_steps=row["epsilon_epochs_zero_out"],
            all_steps_pair="one row's clipped gradient is left out in each epoch; public batches",
            ours="dp_bayes_by_backprop",
        )
        for row in table.to_dict("records")
    ]  # fmt: skip
