"""Scores on the scale of two others: 0 is the one, 1 the other, on the same splits; and means over data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evaluation.paired import RATIO_90_10, Difference, paired
from evaluation.summary import mean_std


def position(
    a: Mapping[str, float],
    zero: Mapping[str, float],
    one: Mapping[str, float],
    alpha: float = 0.05,
    ratio: float = RATIO_90_10,
) -> Difference | None:
    """(a - zero) / (one - zero) of the means over the splits that all three have; None without any or for equal ends.

    The interval is of the ratio r to first order (delta method): its error is that of the mean of
    (a - zero) - r (one - zero), divided by the mean of one - zero. Good where the two ends are many standard errors
    apart. ``ratio`` as of :func:`evaluation.paired.paired`.

    >>> position({"0": 3.0, "1": 5.0}, {"0": 0.0, "1": 0.0}, {"0": 4.0, "1": 4.0}).difference
    1.0
    """
    common = sorted(set(a) & set(zero) & set(one))
    width = mean_std(one[k] - zero[k] for k in common)[0]
    if not common or width == 0:
        return None
    r = mean_std(a[k] - zero[k] for k in common)[0] / width
    error = paired(
        {k: a[k] - zero[k] - r * (one[k] - zero[k]) for k in common}, dict.fromkeys(common, 0.0), alpha, ratio
    )
    half = abs((error.high - error.low) / (2 * width))
    return Difference(r, r - half, r + half, len(common), True)


def mean(parts: Sequence[Difference]) -> Difference:
    """Mean over these data sets, which share no row: half widths add by their squares. ``n``: of the smallest part.

    About these data sets, as a fixed list. Raises ValueError for none.
    """
    if not parts:
        raise ValueError("a mean needs at least one data set")
    centre = math.fsum(p.difference for p in parts) / len(parts)
    half = math.sqrt(math.fsum((p.high - p.low) ** 2 for p in parts)) / (2 * len(parts))
    return Difference(centre, centre - half, centre + half, min(p.n for p in parts), True)
