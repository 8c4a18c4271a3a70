"""THE rule: would n_published runs of our program have printed this number?

One pure function, fixed once and never bent for a cell.

    gap      = max(0, |ours - published| - one unit of the last digit)
    w(alpha) = t(1 - alpha/2; n - 1) * s * sqrt(1/n + 1/n_published)        s, n: ours
    reproduced     gap <= w(5 %)
    better, worse  gap >  w(1 % / 290)
    inconclusive   between, or a single run of ours (no spread, so no width)

290 is the number of published cells and fixed for good: the chance of any false ``better`` or ``worse`` among all of
them is at most 1 %, and no verdict moves when cells are added. The unit covers a number that was rounded as well as
one that was truncated. Where the paper's splits are also ours the two means move together and the rule is
conservative.

Scores of the mixture of Gaussians are far from normal (over data sets they span orders of magnitude), so the same
question is asked by resampling, and these cells stand outside the stated rate: 100,000 means of n_published of our
runs, drawn with replacement; ``reproduced`` where the published number is among the central 95 % of them, ``better`` or
``worse`` only where it is outside all of them, each widened by the unit.

A coverage error is one number of one batch of data sets, theirs and ours alike: n = n_published = 1, s from a bootstrap
over our data sets, and the quantile of the normal distribution in place of t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

from evaluation.metrics import HIGHER_IS_BETTER

AGREE = 0.05
FAMILY = 290
DIFFER = 0.01 / FAMILY

#: means drawn by :func:`judge_resampled`, and the seed of the stream that draws them: the same for every cell.
RESAMPLES, RESAMPLING_SEED = 100_000, 20210601

VERDICTS = ("reproduced", "inconclusive", "better", "worse")
#: verdicts of a cell of ours that has no score: its status, or that it was not run at this scale.
NO_SCORE = ("failed", "timeout", "diverged", "not_supported", "no_data", "not_run")


def width(alpha: float, std, n, n_published):
    """w(alpha). NaN below two runs of ours; 0 for runs that never vary. Broadcasts."""
    std, n = np.asarray(std, dtype=np.float64), np.asarray(n, dtype=np.float64)
    enough = n >= 2
    quantile = student.ppf(1 - alpha / 2, np.where(enough, n - 1, 1.0))
    return np.where(enough, quantile * std * np.sqrt(1 / n + 1 / np.asarray(n_published, dtype=np.float64)), np.nan)


def classify(ours, std, n, published, unit, n_published, higher_is_better: bool) -> np.ndarray:
    """The rule, vectorised: array of the four words of ``VERDICTS``. All arguments broadcast."""
    ours, published, unit = (np.asarray(a, dtype=np.float64) for a in (ours, published, unit))
    difference = ours - published
    gap = np.maximum(0.0, np.abs(difference) - unit)
    # 0.3 - 0.2 - 0.1 is not 0 in binary: what is below the rounding of the inputs is no gap.
    gap = np.where(gap <= 4 * np.finfo(np.float64).eps * (np.abs(ours) + np.abs(published)), 0.0, gap)
    agree, differ = width(AGREE, std, n, n_published), width(DIFFER, std, n, n_published)
    side = np.where((difference > 0) == higher_is_better, "better", "worse")
    out = np.where(gap > differ, side, "inconclusive")
    return np.where(gap <= agree, "reproduced", out)


@dataclass(frozen=True)
class Verdict:
    """One judged cell.

    difference : ours - published. low, high : its 95 % interval, difference -+ w(5 %); ``reproduced`` says that this
    interval, widened by one unit of the last digit, holds 0. detectable : the smallest |difference| that would have
    been called better or worse, w(1 %/290) + one unit. NaN where there is a single run of ours.
    """

    verdict: str
    difference: float
    low: float
    high: float
    detectable: float
    reason: str = ""


def judge_batch(value: float, sd: float, published: str, metric: str, digits: int | None = None) -> Verdict:
    """Judge one number that a whole batch of data sets gives.

    ``sd``: its standard deviation over resampled data sets; the published batch has data sets of its own, so the
    difference has the variance 2 sd^2. Raises ValueError for a metric without a direction or a number that is not
    finite.
    """
    if metric not in HIGHER_IS_BETTER:
        raise ValueError(f"metric '{metric}' has no direction; add it to evaluation.metrics.HIGHER_IS_BETTER")
    if not (math.isfinite(value) and math.isfinite(sd) and sd >= 0):
        raise ValueError(f"value {value}, sd {sd}: a judged cell has a finite value and spread")
    unit, difference = unit_of(published, digits), value - float(published)
    agree, differ = (float(normal.isf(alpha / 2)) * sd * math.sqrt(2) for alpha in (AGREE, DIFFER))
    gap = abs(difference) - unit
    word = "inconclusive"
    if gap <= agree:
        word = "reproduced"
    elif gap > differ:
        word = "better" if (difference > 0) == HIGHER_IS_BETTER[metric] else "worse"
    return Verdict(word, difference, difference - agree, difference + agree, differ + unit)


def unit_of(published: str, digits: int | None = None) -> float:
    """One unit of the last digit of a number as printed; ``digits`` of its table if those are more."""
    text = published.strip().lower()
    if not text or "e" in text:
        raise ValueError(f"published number '{published}': give plain decimal digits, as the paper prints them")
    decimals = len(text.partition(".")[2])
    return 10.0 ** -max(decimals, digits or 0)


def judge(
    mean: float, std: float, n: int, published: str, n_published: int, metric: str, digits: int | None = None
) -> Verdict:
    """Judge one cell. ``published`` is the printed string: its digits are data.

    Raises ValueError for a metric without a direction, a mean that is not finite, or counts below 1.
    """
    if metric not in HIGHER_IS_BETTER:
        raise ValueError(f"metric '{metric}' has no direction; add it to evaluation.metrics.HIGHER_IS_BETTER")
    if not math.isfinite(mean) or n < 1 or n_published < 1:
        raise ValueError(
            f"mean {mean}, n {n}, n_published {n_published}: a judged cell has a finite mean and counts >= 1"
        )
    if n >= 2 and not (math.isfinite(std) and std >= 0):
        raise ValueError(f"std {std} with n {n}: give the standard deviation over the runs (ddof = 1)")
    unit = unit_of(published, digits)
    value = float(published)
    word = str(classify(mean, std, n, value, unit, n_published, HIGHER_IS_BETTER[metric]))
    difference = mean - value
    if n < 2:
        return Verdict(word, difference, math.nan, math.nan, math.nan, "one run of ours: no spread, so no interval")
    w = float(width(AGREE, std, n, n_published))
    reason = "our runs do not vary: only the last digit counts" if std == 0 else ""
    detectable = float(width(DIFFER, std, n, n_published)) + unit
    return Verdict(word, difference, difference - w, difference + w, detectable, reason)


@lru_cache(maxsize=32)
def _draws(n: int, n_published: int) -> np.ndarray:
    """Which of ``n`` runs make up each of RESAMPLES means, (RESAMPLES, n_published)."""
    return np.random.default_rng(RESAMPLING_SEED).integers(n, size=(RESAMPLES, n_published))


def judge_resampled(
    values: Sequence[float], published: str, n_published: int, metric: str, digits: int | None = None
) -> Verdict:
    """Judge a cell whose runs are far from normal, by means of ``n_published`` of our runs.

    ``values``: the score of every run of ours. ``low``, ``high``: central 95 % of the resampled means, less the
    published number. ``detectable``: the smallest shift of the published number from our mean that would have been
    called better or worse in both directions. Raises ValueError as :func:`judge` does.
    """
    if metric not in HIGHER_IS_BETTER:
        raise ValueError(f"metric '{metric}' has no direction; add it to evaluation.metrics.HIGHER_IS_BETTER")
    runs = np.sort(np.asarray(values, dtype=np.float64))
    if not len(runs) or not np.isfinite(runs).all() or n_published < 1:
        raise ValueError(f"{len(runs)} values, n_published {n_published}: give finite scores and counts >= 1")
    unit = unit_of(published, digits)
    value = float(published)
    mean = math.fsum(runs) / len(runs)
    if len(runs) < 2:
        word = "reproduced" if abs(mean - value) <= unit else "inconclusive"
        return Verdict(word, mean - value, math.nan, math.nan, math.nan, "one run of ours: no spread, so no interval")
    means = runs[_draws(len(runs), n_published)].mean(axis=1)
    low, high = np.quantile(means, [AGREE / 2, 1 - AGREE / 2])
    smallest, largest = float(means.min()), float(means.max())
    if low - unit <= value <= high + unit:
        word = "reproduced"
    elif value < smallest - unit or value > largest + unit:
        word = "better" if (mean > value) == HIGHER_IS_BETTER[metric] else "worse"
    else:
        word = "inconclusive"
    detectable = max(mean - smallest, largest - mean) + unit
    return Verdict(word, mean - value, float(low) - value, float(high) - value, detectable)
