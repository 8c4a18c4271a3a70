"""The titles of these findings, as functions of the committed numbers."""

import pandas as pd


def agrees_and_only_noisier_means(choices: pd.DataFrame, scores: pd.DataFrame) -> bool:
    """The second implementation agrees within 2.5 standard errors, and only noisier means lower disputed settings.

    A choice counts if it lowers a disputed setting by over 1 nat and three standard errors, and moves no other setting
    by more than half a nat.
    """
    again = choices[choices["choice"] == "as the program"].set_index("cell")
    ours = scores.groupby("setting")["value"].agg(["mean", "sem"]).loc[again.index]
    error = (again["standard_error"] ** 2 + ours["sem"] ** 2) ** 0.5
    heavy = choices["heavy"] == "yes"
    lowers = (choices["shift"] < -1) & (choices["shift"] < -3 * choices["shift_standard_error"])
    moves = choices["shift"].abs() > 0.5
    able = set(choices.loc[heavy & lowers, "choice"]) - set(choices.loc[~heavy & moves, "choice"])
    return bool(((again["mean"] - ours["mean"]).abs() < 2.5 * error).all()) and able == {
        "means: Gaussian noise larger by a fifth",
        "means: Laplace's sqrt(2) in the Gaussian noise",
        "means: Gaussian noise scaled by the L1 sensitivity",
    }


def covariance_times_four(changes: pd.DataFrame, atoms: pd.DataFrame) -> bool:
    """At the opposite point, only the covariance exceeds its declared sensitivity, by a factor of four.

    If the replacement changes the rescaling, all statistics exceed it by more. The event that shows the largest norm
    happens in all fits on one table and in none on its neighbour.
    """
    worst = changes.groupby(["case", "statistic"])["ratio"].max().unstack()
    opposite, rescaled = worst.loc["opposite point"], worst.loc["longest row at zero, rescaled"]
    return bool(
        3.5 < opposite["covariance"] <= 4
        and opposite[["weights", "mean"]].le(1 + 1e-9).all()
        and rescaled.gt(opposite).all()
        and rescaled.min() > 4
        and (atoms["with_event"] == 0).all()
        and (atoms["with_event_neighbour"] == atoms["fits"]).all()
        and (atoms["delta_at_least"] > atoms["delta"]).all()
    )
