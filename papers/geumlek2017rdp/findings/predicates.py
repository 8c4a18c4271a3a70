"""The titles of these findings, as functions of the committed numbers."""

import pandas as pd


def fair_charge_helps_ops(fair: pd.DataFrame, error: pd.DataFrame, behind: pd.DataFrame) -> bool:
    """At its true cost, OPS has a better log-likelihood everywhere, and by it algorithm 6 is better in most settings.

    "Most" is nine in ten on every data set. In test error, the fair charge is better in fewer than one in ten.
    """
    ahead = (behind["low"] > 0).groupby(behind["dataset"]).mean()
    return bool(
        (fair["low"] > 0).all() and len(ahead) == 3 and (ahead > 0.9).all() and (error["high"] < 0).mean() < 0.1
    )


def three_traps(suprema: pd.DataFrame) -> bool:
    """Corollary 2 is never below the supremum, and above it below order 2. Corners are below it, theorem 16 above."""
    ratio = suprema.groupby("check")["ratio"]
    below_two = suprema[(suprema["check"] == "corollary_2") & (suprema["order"].astype(float) < 2)]
    return bool(
        ratio.min()["corollary_2"] >= 1 - 1e-9
        and (below_two["ratio"] > 1.01).all()
        and 0 < ratio.min()["corners_only"] <= ratio.max()["corners_only"] < 0.9
        and ratio.min()["theorem_16"] > 4
    )
