"""What the titles of these findings say, as functions of the committed numbers."""

import pandas as pd


def covariance_times_four(changes: pd.DataFrame) -> bool:
    """At the opposite point only the covariance exceeds its declared sensitivity, by four; rescaling moves all more."""
    worst = changes.groupby(["case", "statistic"])["ratio"].max().unstack()
    opposite, rescaled = worst.loc["opposite point"], worst.loc["longest row at zero, rescaled"]
    return bool(
        3.5 < opposite["covariance"] <= 4
        and opposite[["weights", "mean"]].le(1 + 1e-9).all()
        and rescaled.gt(opposite).all()
        and rescaled.min() > 4
    )
