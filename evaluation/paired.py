"""Comparisons of two methods over random train/test splits that overlap.

d_j is the difference of both scores on split j, for j = 1, ..., J. A split is drawn at random from the rows of the data
set, and every fit has its own privacy noise. Two questions have two different intervals.

*These rows* (``ratio`` = 0, ``THESE_ROWS``). Which method has the better mean over all random splits of these rows and
all privacy noise? Given the rows, the d_j are independent and identically distributed, because splits and noise are.
The interval is the plain paired t interval, with variance s^2/J. It is exact for normal d_j, and approximate by the
central limit theorem otherwise. It does not matter that the splits share rows, because the rows are given. The interval
shrinks to a point as J grows, and says nothing about other rows.

*The distribution of the data* (``ratio`` = n_test/n_train). Would the same hold for other rows from the same
distribution, with the same number of rows? Splits of one data set share rows, so the peculiarities of these rows are in
every d_j and do not average out. The plain interval would be far too narrow. Nadeau & Bengio (2003, section 3,
"corrected resampled t-test") replace s^2/J by s^2 (1/J + n_test/n_train). This rests on a guess of the correlation of
the d_j, not on a theorem. Privacy noise is independent between splits and adds nothing to that correlation, so the
correction overcounts it. If noise dominates, the interval is wider than needed, and more splits hardly narrow it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student

from evaluation.summary import mean_std

#: n_test / n_train of a 90/10 split.
RATIO_90_10 = 1 / 9
#: given instead of n_test / n_train for a statement about the rows of the data set only.
THESE_ROWS = 0.0


@dataclass(frozen=True)
class Difference:
    """The mean or median of a - b with its interval. ``n`` is the number of pairs, or the smaller group if unpaired."""

    difference: float
    low: float
    high: float
    n: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return math.isfinite(self.low) and (self.low > 0 or self.high < 0)


def paired(
    a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05, ratio: float = RATIO_90_10
) -> Difference:
    """The mean of a - b over the splits that both have, with its interval of level 1 - alpha.

    ``ratio`` is n_test / n_train for a statement about the distribution of the data, or ``THESE_ROWS`` for one about
    these rows. With one common split the interval is NaN. Raises ValueError if there is no common split.
    """
    common = sorted(set(a) & set(b))
    if not common:
        raise ValueError("the two methods share no split; compare them with `unpaired`")
    mean, sd, n = mean_std(a[k] - b[k] for k in common)
    half = half_width(sd, n, ratio, alpha)
    return Difference(mean, mean - half, mean + half, n)


def half_width(sd: float, n: float, ratio: float = RATIO_90_10, alpha: float = 0.05) -> float:
    """Half of the interval of a mean over ``n`` overlapping splits, as in :func:`paired`. NaN if n < 2."""
    half = math.nan
    if n >= 2 and math.isfinite(sd):
        half = _student(1 - alpha / 2, n - 1) * sd * math.sqrt(1 / n + ratio)
    return half


@cache
def _student(p: float, df: float) -> float:
    """The quantile of Student's t, kept because the same few are needed thousands of times."""
    return float(student.ppf(p, df))


def better_by(
    a: Mapping[str, float],
    b: Mapping[str, float],
    higher_is_better: bool,
    alpha: float = 0.05,
    ratio: float = RATIO_90_10,
) -> Difference | None:
    """By how much a is better than b, paired over common splits, or None if they share none. Above 0, a is better."""
    if not set(a) & set(b):
        return None
    first, second = (a, b) if higher_is_better else (b, a)
    return paired(first, second, alpha, ratio)


def unpaired(
    a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05, ratio: float = RATIO_90_10
) -> Difference:
    """:func:`paired` for two methods on different splits: Welch's interval with corrected variances.

    Raises ValueError if one method has no score.
    """
    ma, sa, na = mean_std(a.values())
    mb, sb, nb = mean_std(b.values())
    if na == 0 or nb == 0:
        raise ValueError("one of the two methods has no score to compare")
    if na < 2 or nb < 2:
        return Difference(ma - mb, math.nan, math.nan, min(na, nb))
    va, vb = sa**2 * (1 / na + ratio), sb**2 * (1 / nb + ratio)
    if va + vb == 0:
        return Difference(ma - mb, ma - mb, ma - mb, min(na, nb))
    df = (va + vb) ** 2 / (va**2 / (na - 1) + vb**2 / (nb - 1))
    half = float(student.ppf(1 - alpha / 2, df)) * math.sqrt(va + vb)
    return Difference(ma - mb, ma - mb - half, ma - mb + half, min(na, nb))


def median_paired(a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05) -> Difference:
    """The median of a - b over independent data sets that both have, with a distribution-free 1 - alpha interval.

    The limits are order statistics of the differences, as for the sign test. They are exact for independent replicates
    of any distribution, however skewed. They are NaN if there are too few data sets for the level. Raises ValueError if
    there is no common data set.
    """
    common = sorted(set(a) & set(b))
    if not common:
        raise ValueError("the two methods share no data set")
    d = np.sort([a[k] - b[k] for k in common])
    n = len(d)
    k = int(binom.ppf(alpha / 2, n, 0.5))  # the largest k with P(Binomial(n, 1/2) < k) <= alpha / 2
    if k < 1:
        return Difference(float(np.median(d)), math.nan, math.nan, n)
    return Difference(float(np.median(d)), float(d[k - 1]), float(d[n - k]), n)
