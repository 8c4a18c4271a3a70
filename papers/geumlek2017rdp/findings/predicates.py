"""The titles of these findings, as functions of the committed numbers."""

import pandas as pd


def fair_charge_helps_ops(fair: pd.DataFrame, behind: pd.DataFrame) -> bool:
    """At its true cost, OPS is better everywhere, and algorithm 6 is better than that in most settings."""
    return bool((fair["low"] > 0).all() and (behind["low"] > 0).mean() > 0.9)


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
