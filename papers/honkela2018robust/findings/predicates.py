"""The titles of these findings, as functions of the committed numbers."""

import pandas as pd


def stopped_early(updates: pd.DataFrame, cells: pd.DataFrame, posteriors: pd.DataFrame) -> bool:
    """Stopped fits are the published ones, and no fit keeps its score if continued.

    Up to epsilon 2, private fits have no posterior to which they could converge.
    """
    by = updates.set_index(["method", "setting", "updates"])["score"].unstack()
    plain, private = by.loc["lr"], by.loc["rplr"].drop("epsilon=10;n=500")
    tight = posteriors["setting"].str.extract(r"epsilon=([\d.]+)")[0].astype(float) <= 2
    return bool(
        not cells["verdict"].isin(["better", "worse", "differs"]).any()
        and (plain["20000"] - plain["4999"] > 0.01).all()
        and (private["50000"] < private["4999"] - 0.1).all()
        and (posteriors.loc[tight, "exist"] == 0).all()
    )


def outliers_show(shown: pd.DataFrame, ledgers: pd.DataFrame, corrected: pd.DataFrame) -> bool:
    """An outlier has delta near 1 at five times epsilon, and a typical row shows nothing.

    Ledgers of the authors' code are infinite, and those of the corrected version equal the claim. Its mean is above
    every published private number.
    """
    own = ledgers["reading"] == "corrected"
    far = shown.loc[shown["row"] == "target 1000", "delta_at_least"]
    return bool(
        len(far) == 12
        and len(corrected) == 15
        and (corrected["difference"] > 0).all()
        and (far > 0.9).all()
        and (shown.loc[shown["row"] == "typical", "delta_at_least"] == 0).all()
        and (ledgers.loc[~own, "ledger_epsilon"] == float("inf")).all()
        and ((ledgers["ledger_epsilon"] - ledgers["claimed_epsilon"])[own].abs() < 1e-6).all()
    )
