"""Comparisons of two methods over random train/test splits that overlap.

Two questions, two intervals. d_j is the difference of both scores on split j; a split is drawn at random from the rows
at hand, and every fit has privacy noise of its own.

These rows (``ratio`` = 0, ``THESE_ROWS``): which method has the better mean over all random splits of the rows at hand
and all privacy noise? Given the rows, splits and noise are independent from one j to the next, and so are the d_j, of
one distribution: the interval is the plain paired t interval, s^2/J, exact for normal d_j and near it by the central
limit theorem otherwise. That all splits take from the same rows is no matter, since the rows are given. It narrows to a
point as J grows. It says nothing about other rows.

The distribution of the data (``ratio`` = n_test/n_train): would it be so with other rows of the same distribution, as
many? Splits of one data set share rows, so that what these rows have in particular is in every d_j and does not average
out; the plain interval is then far too sure. Nadeau & Bengio (2003, section 3, "corrected resampled t-test") replace
s^2/J by s^2 (1/J + n_test/n_train): a correction by a guess of the correlation of the d_j, no theorem. Privacy noise is
independent between splits and is none of that correlation, so that the correction counts it once too often: where noise
rules, the interval is wider than need be, and more splits hardly narrow it.
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
#: in the place of n_test / n_train: the statement is about the rows at hand.
THESE_ROWS = 0.0


@dataclass(frozen=True)
class Difference:
    """Mean of a - b with its interval; ``n`` pairs (the smaller group where unpaired)."""

    difference: float
    low: float
    high: float
    n: int
    paired: bool

    @property
    def significant(self) -> bool:
        """The interval leaves out 0."""
        return math.isfinite(self.low) and (self.low > 0 or self.high < 0)


def paired(
    a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05, ratio: float = RATIO_90_10
) -> Difference:
    """Interval (level 1 - alpha) of the mean of a - b over the splits that both have.

    ``ratio`` = n_test / n_train for a statement about the distribution of the data, ``THESE_ROWS`` for one about these
    rows. Below two common splits there is no interval (NaN). Raises ValueError without any.
    """
    common = sorted(set(a) & set(b))
    if not common:
        raise ValueError("the two methods share no split; compare them with `unpaired`")
    mean, sd, n = mean_std(a[k] - b[k] for k in common)
    if n < 2:
        return Difference(mean, math.nan, math.nan, n, True)
    half = _student(1 - alpha / 2, n - 1) * sd * math.sqrt(1 / n + ratio)
    return Difference(mean, mean - half, mean + half, n, True)


@cache
def _student(p: float, df: int) -> float:
    """Quantile of Student's t: the same few, thousands of times."""
    return float(student.ppf(p, df))


def better_by(
    a: Mapping[str, float],
    b: Mapping[str, float],
    higher_is_better: bool,
    alpha: float = 0.05,
    ratio: float = RATIO_90_10,
) -> Difference | None:
    """By how much a is better than b (above 0: better), paired over common splits; None where they share none."""
    if not set(a) & set(b):
        return None
    first, second = (a, b) if higher_is_better else (b, a)
    return paired(first, second, alpha, ratio)


def unpaired(
    a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05, ratio: float = RATIO_90_10
) -> Difference:
    """The same for two methods that ran on different splits: Welch's interval with the corrected variances."""
    ma, sa, na = mean_std(a.values())
    mb, sb, nb = mean_std(b.values())
    if na == 0 or nb == 0:
        raise ValueError("one of the two methods has no score to compare")
    if na < 2 or nb < 2:
        return Difference(ma - mb, math.nan, math.nan, min(na, nb), False)
    va, vb = sa**2 * (1 / na + ratio), sb**2 * (1 / nb + ratio)
    if va + vb == 0:
        return Difference(ma - mb, ma - mb, ma - mb, min(na, nb), False)
    df = (va + vb) ** 2 / (va**2 / (na - 1) + vb**2 / (nb - 1))
    half = float(student.ppf(1 - alpha / 2, df)) * math.sqrt(va + vb)
    return Difference(ma - mb, ma - mb - half, ma - mb + half, min(na, nb), False)


def median_paired(a: Mapping[str, float], b: Mapping[str, float], alpha: float = 0.05) -> Difference:
    """Median of a - b over independent data sets that both have, with its distribution-free interval (1 - alpha).

    Order statistics of the differences (the interval that belongs to the sign test): exact for independent replicates
    of any distribution, however skewed. NaN where there are too few for the level. Raises ValueError without a common
    one.
    """
    common = sorted(set(a) & set(b))
    if not common:
        raise ValueError("the two methods share no data set")
    d = np.sort([a[k] - b[k] for k in common])
    n = len(d)
    k = int(binom.ppf(alpha / 2, n, 0.5))  # the largest k with P(Binomial(n, 1/2) < k) <= alpha / 2
    if k < 1:
        return Difference(float(np.median(d)), math.nan, math.nan, n, True)
    return Difference(float(np.median(d)), float(d[k - 1]), float(d[n - k]), n, True)
