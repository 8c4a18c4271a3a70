"""What the titles of these findings say, as functions of the committed numbers."""

import pandas as pd


def stopped_early(updates: pd.DataFrame, cells: pd.DataFrame, posteriors: pd.DataFrame) -> bool:
    """The fits as stopped are the published ones; run on, no fit keeps its score; private ones have no posterior to
    arrive at up to epsilon 2."""
    by = updates.set_index(["method", "setting", "updates"])["score"].unstack()
    plain, private = by.loc["lr"], by.loc["rplr"].drop("epsilon=10;n=500")
    tight = posteriors["setting"].str.extract(r"epsilon=([\d.]+)")[0].astype(float) <= 2
    return bool(
        not cells["verdict"].isin(["better", "worse", "differs"]).any()
        and (plain["20000"] - plain["4999"] > 0.01).all()
        and (private["50000"] < private["4999"] - 0.1).all()
        and (posteriors.loc[tight, "exist"] == 0).all()
    )
