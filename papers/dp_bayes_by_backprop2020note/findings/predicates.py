"""The title of this finding, as a function of the committed numbers."""

import pandas as pd


def close_and_overspent(errors: pd.DataFrame, accounting: pd.DataFrame) -> bool:
    """The corrected error is within the margin of DP-SGD's. The note's scheme spends over five times its claim."""
    margin = errors["margin"].astype(float)
    close = (errors["low"] > -margin) & (errors["high"] < margin)
    spent = accounting[["epsilon_epochs_replace", "epsilon_epochs_zero_out"]].min(axis=1)
    return bool(close.all() and (spent > 5 * accounting["epsilon_dp_sgd"]).all() and (spent > 0).all())
