"""The rule that stood before :mod:`reports.verdict`, kept so that its word can be shown beside the new one.

    gap      = max(0, |ours - published| - one unit of the last digit)
    w(alpha) = t(1 - alpha/2; n - 1) * s * sqrt(1/n + 1/n_published)        s, n: ours
    reproduced     gap <= w(5 %)
    better, worse  gap >  w(1 % / 290)
    inconclusive   between, or a single run of ours

Scores of the data sets ``SKEWED``: 100,000 means of n_published of our runs; ``reproduced`` where the published number
is among the central 95 % of them, ``better`` or ``worse`` where it is outside all of them, each widened by the unit.
One number of a batch of data sets: n = n_published = 1 and the quantile of the normal distribution.

What was wrong with it: s of a positive score that spans decades makes w wider than the score itself, so that a number
outside every run was ``reproduced``; the published spread was not used; and papers drawn from this suite's own scores
had more false ``better`` and ``worse`` than stated.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

from evaluation.metrics import METRICS, UP
from reports.evidence import AGREE, Printed, gap_of, resampled_means
from reports.verdict import ANY_FALSE, FAMILY

#: published data sets whose scores were judged by resampling.
SKEWED = frozenset({"mixture_of_gaussians"})


def word(runs, mean: float, std: float, paper: Printed, metric: str, dataset: str, batch: bool = False) -> str:
    """reproduced, inconclusive, better or worse. ``runs``: scores; ``batch``: one number with its bootstrap ``std``."""
    gap, n = float(gap_of(mean, paper.mean, paper.unit)), len(runs)
    side = "better" if (mean > paper.mean) == (METRICS[metric].direction is UP) else "worse"
    if batch:
        agree, differ = (float(normal.isf(a / 2)) * std * math.sqrt(2) for a in (AGREE, ANY_FALSE / FAMILY))
    elif n < 2:
        return "reproduced" if dataset in SKEWED and gap == 0 else "inconclusive"
    elif dataset in SKEWED:
        means = resampled_means(np.asarray(runs, dtype=np.float64), paper.n)
        low, high = np.quantile(means, [AGREE / 2, 1 - AGREE / 2])
        if low - paper.unit <= paper.mean <= high + paper.unit:
            return "reproduced"
        outside = paper.mean < means.min() - paper.unit or paper.mean > means.max() + paper.unit
        return side if outside else "inconclusive"
    else:
        error = std * math.sqrt(1 / n + 1 / paper.n)
        agree, differ = (float(student.isf(a / 2, n - 1)) * error for a in (AGREE, ANY_FALSE / FAMILY))
    return "reproduced" if gap <= agree else side if gap > differ else "inconclusive"
