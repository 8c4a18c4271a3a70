"""The title of this finding, as a function of the committed numbers."""

import pandas as pd


def acceptance_but_not_mmd(counts: pd.DataFrame, starts: pd.DataFrame) -> bool:
    """Most acceptance rates are reproduced, MMDs and clipped shares are not; the mean of the prior is a poor start."""
    metric = counts.groupby("metric")[["reproduced", "compatible"]].sum()
    median = starts.groupby("start")["median"]
    return bool(
        metric.loc["acceptance", "reproduced"] > metric.loc["acceptance", "compatible"]
        and metric.loc["mmd", "reproduced"] < metric.loc["mmd", "compatible"]
        and metric.loc["clipped_ratios", "reproduced"] < metric.loc["clipped_ratios", "compatible"]
        and median.min()["mean of the prior"] > median.max()["published"]
    )
