"""The title of this finding, as a function of the committed numbers."""

import pandas as pd


def acceptance_but_not_mmd(counts: pd.DataFrame, starts: pd.DataFrame) -> bool:
    """Acceptance rates are mostly reproduced, MMDs and clipped shares are not; the prior's mean starts far off."""
    metric = counts.groupby("metric")[["reproduced", "compatible"]].sum()
    median = starts.groupby("start")["median"]
    return bool(
        metric.loc["acceptance", "reproduced"] > metric.loc["acceptance", "compatible"]
        and metric.loc["mmd", "reproduced"] < metric.loc["mmd", "compatible"]
        and metric.loc["clipped_ratios", "reproduced"] < metric.loc["clipped_ratios", "compatible"]
        and median.min()["mean of the prior"] > median.max()["published"]
    )
