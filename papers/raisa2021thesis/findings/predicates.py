"""The title of this finding, as a function of the committed numbers."""

import pandas as pd


def acceptance_but_not_mmd(counts: pd.DataFrame, starts: pd.DataFrame) -> bool:
    """Over half of the acceptance rates are reproduced, of MMDs and of clipped shares over half are compatible.

    This holds without any one model, too. No box that was run has another word than reproduced, compatible or
    inconclusive. The mean of the prior is a poor start.
    """
    run = ["reproduced", "compatible", "inconclusive"]
    of = counts[counts["dataset"] != "all"].groupby(["metric", "dataset"])[run].sum()
    shares = []
    for metric, name in zip(("acceptance", "mmd", "clipped_ratios"), (*run[:2], run[1]), strict=True):
        rest = of.loc[metric].sum() - of.loc[metric]
        shares.append((rest[name] / rest.sum(axis=1)).min())
    median = starts.groupby("start")["median"]
    return bool(
        min(shares) > 0.5
        and not {"better", "worse", "differs"} & set(counts.columns)
        and median.min()["mean of the prior"] > median.max()["published"]
    )
