"""Kinds of evidence: what our runs say about a published number. There is one function per kind.

A source publishes a mean of N runs, a single run, a box plot, or all its runs. The kinds differ in their bound on p,
the probability of such a difference if both implementations are the same. :mod:`reports.verdict` turns their results
into a word.

We have n runs x_1..x_n with mean ``mean`` and standard deviation s (ddof = 1). Published are m, the mean of N runs, and
perhaps their standard deviation s_pub. A printed standard error se is first converted to se sqrt(N). u is one unit of
the last digit of m, which covers both rounding and truncation. u_s is one unit of the last digit of s_pub, times
sqrt(N) for a standard error. S = s_pub + u_s is at least the standard deviation of their runs. gap = max(0, |mean - m|
- u) is at most the distance of the two means.

==================  ====================================================================================================
:func:`means`       mean and spread of N runs, on their own splits or on ours
:func:`batch`       one number of one batch of data sets, such as a coverage error
:func:`single`      one run on the same splits, which differs from ours only by its noise
:func:`exact`       one run without noise
:func:`box`         a box plot of N chains
:func:`all_runs`    mean and spread of N runs, and each of the runs
:func:`chances`     each of N runs of a sampler, by the chance that one of ours is above one of theirs
:func:`run_by_run`  chains with different inputs, each compared with the exact posterior of its input
:func:`streams`     one number whose noise is known up to a few streams of random numbers
==================  ====================================================================================================

If the paper's splits are also ours, the two means vary together, and :func:`means` is conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtr
from scipy.stats import norm as normal
from scipy.stats import rankdata, wilcoxon
from scipy.stats import t as student

from evaluation.metrics import METRICS

#: level of intervals and of bounds: 95 %.
AGREE = 0.05
#: number of resampled means of :func:`p_resampled`, and the seed of their stream, which is the same for every cell.
RESAMPLES, RESAMPLING_SEED = 100_000, 20210601
#: smallest p of a single published run that is judged by t, if splits differ (:func:`means`).
SINGLE = 0.01
#: largest spread of the logarithms of runs that :func:`single` judges by t.
NARROW = 0.25
#: the standard deviation of a normal distribution is this many times its median absolute deviation.
MAD = 1.4826
#: for a normal distribution: standard error of the median in units of sd / sqrt(n), interquartile range in units of sd.
MEDIAN, RANGE = math.sqrt(math.pi / 2), 1.3489795
#: relative tolerance for rounding of the inputs: .3 - .2 - .1 is not 0 in binary.
_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Printed:
    """A published mean.

    mean : its value.
    unit : u.
    spread : S, NaN if none is printed.
    n : the number N of runs.
    runs : these runs, if each is published.
    spread_unit : u_s.

    Numbers may be arrays of several published means.
    """

    mean: float
    unit: float
    spread: float
    n: float
    runs: tuple[float, ...] = ()
    spread_unit: float = math.nan

    @property
    def number(self) -> float:
        """The number that is compared."""
        return self.mean


@dataclass(frozen=True)
class Box:
    """A published box plot of ``n`` values, or arrays of several.

    outliers : number of values that are drawn beyond the whiskers.
    unit : one unit of the last digit of each number.
    """

    median: float
    q1: float
    q3: float
    whisker_low: float
    whisker_high: float
    outliers: int
    unit: float
    n: int

    @property
    def number(self) -> float:
        """The number that is compared."""
        return self.median


@dataclass(frozen=True)
class Found:
    """The answer of a kind of evidence about a number.

    p, p_kind : the two-sided probability of such a difference if both implementations are the same, and how it is
        bounded. NaN if nothing can be said.
    higher : whether ours is above the published number.
    bound : the one-sided 95 % bound of the distance of the two, in the units of the margin.
    difference : ours - published.
    low, high : its 95 % interval.
    detectable : the smallest distance that would have been refuted, infinite if none is.
    chance : W, the probability that one of our runs is above one of theirs, for evidence that compares single runs.
    reason : a remark for readers.
    """

    p: float
    p_kind: str
    higher: bool
    bound: float
    difference: float
    low: float = math.nan
    high: float = math.nan
    detectable: float = math.nan
    chance: float = math.nan
    reason: str = ""


#: the type of a kind of evidence: maps (published number, our runs (n,), metric, level of a refutation) to a Found.
Kind = Callable[..., Found]


def unit_of(published: str, digits: int | None = None) -> float:
    """One unit of the last digit of a printed number, or of the ``digits`` of its table if there are more."""
    text = published.strip().lower()
    if not text or "e" in text or not math.isfinite(float(text)):
        raise ValueError(f"published number '{published}': give plain decimal digits, as the paper prints them")
    decimals = len(text.partition(".")[2])
    return 10.0 ** -max(decimals, digits or 0)


def printed(mean: str, n: int, std: str = "", std_kind: str = "none", digits: int | None = None) -> Printed:
    """A published number from its strings. ``std_kind`` is sd, se, or none or redraws, which are no spread of runs.

    Raises ValueError for another kind, a spread below 0 and a count below 1.
    """
    if n < 1:
        raise ValueError(f"n_published {n}: a published number comes from at least one run")
    if std_kind not in ("sd", "se", "none", "redraws"):
        raise ValueError(f"std_kind '{std_kind}': give sd, se, redraws or none")
    spread = last = math.nan
    if std and std_kind in ("sd", "se"):
        if float(std) < 0:
            raise ValueError(f"published spread '{std}': it is below 0")
        root = math.sqrt(n) if std_kind == "se" else 1.0
        last = unit_of(std) * root
        spread = (float(std) + unit_of(std)) * root
    return Printed(float(mean), unit_of(mean, digits), spread, n, spread_unit=last)


def gap_of(ours, published, unit) -> np.ndarray:
    """max(0, |ours - published| - unit), which is also 0 below the rounding of the inputs. Broadcasts."""
    ours, published = np.asarray(ours, dtype=np.float64), np.asarray(published, dtype=np.float64)
    gap = np.maximum(0.0, np.abs(ours - published) - unit)
    return np.where(gap <= _ROUNDING * (np.abs(ours) + np.abs(published)), 0.0, gap)


@lru_cache(maxsize=512)
def _quantile(alpha: float, n: int | None = None) -> float:
    """The quantile t(1 - alpha; n - 1), or that of the normal distribution if n is None."""
    return float(normal.isf(alpha) if n is None else student.isf(alpha, n - 1))


def means(paper: Printed, values: Sequence[float], metric: str, level: float) -> Found:
    """The evidence of mean and spread of N published runs. The kind of p is one of three:

    ``t`` : if the spread of our runs is small and without heavy tails (:func:`tame`), both means are close to normal.
        Then p = P(|t(n-1)| >= gap / (max(s, S) sqrt(1/n + 1/N))). It has max(s, S) because either may be too small by
        chance. A single published run (N = 1) is not a mean, so p depends on far tails of the distribution itself, and
        n runs show no tail beyond 1 / (n + 1). There p is at least 1 %.
    ``rank`` : otherwise a bound on the Mann-Whitney test from m, S and N only, for any distribution of the scores.

        *Theirs at or above x.* Let k of their N runs lie at or above x, and let d = x - m - u > 0. So x exceeds their
        mean by d at least. For a given k their variance (divided by N) is least if k runs are at x, and N - k at the
        one value that keeps the mean. It is then d^2 k / (N - k), and it is at most v = S^2. So d^2 k <= v (N - k), and

            k <= K(x) = floor(N v / (v + d^2)).

        This is Cantelli's inequality for N numbers. It is attained, so it cannot be improved.

        K(x) = N if d <= 0. v = 0 for N = 1. Authors divide by N or by N - 1 and do not say which. (N - 1)/N S^2, the
        variance in the second case, would be too small in the first, so v = S^2. If s_pub is not printed, v is
        unbounded and K(x) = N - 1, because not all numbers exceed their mean. If scores are never negative, Markov's
        inequality holds too: k x <= N (m + u), so K(x) <= floor(N (m + u) / x). Theirs at or below x: the same with
        d = m - u - x, without Markov.
        *The test.* A pair is one of theirs and one of ours. At most U = sum_i K(x_i) pairs have theirs at or above
        ours, ties included. Ties broken at random can only lower this number. If all n + N runs are exchangeable, it
        then has the null distribution of Mann and Whitney. So P(Mann-Whitney(n, N) <= U) bounds the chance of ours
        lying so far above theirs. p is twice the smaller of this and its mirror image, at most 1. Full separation
        gives 2 / C(n + N, N): 3.8e-5 for n = 20, N = 5, which misses 1 % / 290, and 3.0e-5 for n = 21.
    ``resampled`` : for N >= 2 runs that are not tame, without an s_pub that bounds them. 100,000 means of N of our runs
        are drawn with replacement. p is twice the share (count + 1) / 100,001 of means at or beyond m -+ u on the
        scarcer side, and at least 2 / (floor(n/N) + 1). The data support no smaller p for an arbitrary distribution:
        their mean is exchangeable with the means of floor(n/N) disjoint groups of our runs. So it is the largest of
        them with probability 1 / (floor(n/N) + 1), and resampling knows nothing beyond the largest of our runs. This
        limit is needed. A paper drawn from this suite's own scores of the mixture lies outside all 100,000 means in up
        to 2 % of draws, even if our runs happen to look free of heavy tails. So resampling alone never refutes. If
        ranks with Markov's inequality give a smaller p, that exact bound counts, and its kind is ``rank``.

    ``low``, ``high`` are the 95 % interval of the difference. Widened by one unit, it contains 0 if p > 5 %. For
    ``rank`` it is the interval of a shift of our runs against theirs, including the unit. If no spread is published and
    the runs are not tame, it is the central 95 % of the means of N of our runs, minus m. ``detectable`` is infinite if
    nothing can be refuted (too few runs, or no published spread). Markov's inequality has one direction only and is
    left out of the interval and of ``detectable``. A single run of ours has no spread, so p is NaN.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n, mean = len(x), math.fsum(x) / len(x)
    difference = mean - paper.mean
    if n < 2:
        why = "one run of ours: no spread, so nothing can be said"
        return Found(math.nan, "", difference > 0, math.inf, difference, reason=why)
    std = _std(x, mean)
    p, kind, higher = _decided(x, mean, std, paper, metric)
    detectable, reason = math.inf, ""
    if kind == "t":
        error = float(_error(std, n, paper))
        low, high = (difference + sign * _quantile(AGREE / 2, n) * error for sign in (-1, 1))
        if paper.n > 1:
            detectable = _quantile(level / 2, n) * error + paper.unit
        reason = "our runs do not vary: only the last digit counts" if error == 0 else ""
    elif paper.n > 1 and math.isnan(paper.spread):
        ends = np.quantile(resampled_means(x, paper.n), [AGREE / 2, 1 - AGREE / 2])
        low, high = (float(e) - paper.mean for e in ends)
    else:
        low, high = _not_refuted(x, paper, AGREE)
        detectable = _farthest(difference, _not_refuted(x, paper, level))
    bound = float(bound_of_means(mean, std, n, paper, metric))
    return Found(p, kind, higher, bound, difference, low, high, detectable, reason=reason)


def _decided(x: np.ndarray, mean: float, std: float, paper: Printed, metric: str) -> tuple[float, str, bool]:
    """(p, its kind, is ours above the published number?) of at least two scores ``x``, sorted."""
    if bool(tame(x, paper, metric)):
        return float(p_t(mean, std, len(x), paper)), "t", mean > paper.mean
    one_sided, kind = tuple(float(p) for p in p_rank(x, paper, metric)), "rank"
    if paper.n > 1 and math.isnan(paper.spread):
        by_means = p_resampled(resampled_means(x, paper.n), len(x), paper)
        if min(by_means) <= min(one_sided):
            one_sided, kind = by_means, "resampled"
    return min(1.0, 2 * min(one_sided)), kind, one_sided[0] < one_sided[1]


def bound_of_means(mean, std, n: int, paper: Printed, metric: str) -> np.ndarray:
    """The one-sided 95 % bound of the distance of two means: gap + t(.95; n-1) max(s, S) sqrt(1/n + 1/N).

    It respects the printed digits: gap leaves one unit out, so the unit decides if it is larger than the margin. The
    spread is that of the test for a difference, because a published mean with a larger spread than ours is not known
    better than its own spread says. A norm or divergence is compared by its logarithm. There gap is the distance of
    ln mean from the logarithms of m - u .. m + u. The standard deviation is max(s / mean, S / m), to first order. The
    function is vectorised over ``mean``, ``std`` and the fields of ``paper`` except its count. The bound is infinite
    below two runs.
    """
    if n < 2:
        return np.full(np.shape(mean), np.inf)
    mean, std = np.asarray(mean, dtype=np.float64), np.asarray(std, dtype=np.float64)
    gap, spread = gap_of(mean, paper.mean, paper.unit), np.fmax(std, paper.spread)
    if METRICS[metric].margin.logarithmic:
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.log(np.maximum(np.asarray(paper.mean) - paper.unit, 0.0))
            high = np.log(np.maximum(np.asarray(paper.mean) + paper.unit, 0.0))
            gap = np.where(gap > 0, np.fmax(np.log(mean) - high, low - np.log(mean)), 0.0)
            spread = np.fmax(std / mean, paper.spread / np.asarray(paper.mean))
            gap = np.where((mean > 0) & (np.asarray(paper.mean) > 0), gap, np.inf)
    return gap + _quantile(AGREE, n) * spread * math.sqrt(1 / n + 1 / paper.n)


def _positive(metric: str) -> bool:
    return METRICS[metric].scale == "positive"


def light_tails(runs: np.ndarray) -> np.ndarray:
    """Whether s <= 2 * 1.4826 MAD over the last axis of ``runs``: at most twice what a normal distribution has."""
    deviation = np.median(np.abs(runs - np.median(runs, axis=-1, keepdims=True)), axis=-1)
    return runs.std(axis=-1, ddof=1) <= 2 * MAD * deviation


def tame(runs: np.ndarray, paper: Printed, metric: str) -> np.ndarray:
    """Whether means of these runs (..., n) are close to normal.

    They must not have heavy tails (:func:`light_tails`). A spread of the size of the number itself means a skewed
    distribution. So for a metric that is never negative, s must be at most a quarter of our mean, and S at most a
    quarter of the published one.
    """
    light = light_tails(runs)
    if not _positive(metric):
        return light
    spread = np.asarray(paper.spread)
    narrow = (runs.std(axis=-1, ddof=1) <= runs.mean(axis=-1) / 4) & ~(spread > np.asarray(paper.mean) / 4)
    return light & narrow


def p_t(mean, std, n: int, paper: Printed) -> np.ndarray:
    """Two-sided p by t(n - 1) of gap / (max(s, S) sqrt(1/n + 1/N)), at least SINGLE for N = 1. Vectorised."""
    p = _tail(gap_of(mean, paper.mean, paper.unit), _error(std, n, paper), lambda x: stdtr(n - 1, -x))
    return np.maximum(p, SINGLE if paper.n == 1 else 0.0)


def _error(std, n: int, paper: Printed) -> np.ndarray:
    return np.fmax(np.asarray(std, dtype=np.float64), paper.spread) * math.sqrt(1 / n + 1 / paper.n)


def _tail(gap, error, survival: Callable) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap > 0, 2 * survival(np.divide(gap, error)), 1.0)


@lru_cache(maxsize=64)
def mann_whitney(n: int, n_published: int) -> np.ndarray:
    """The exact P(U <= u) for u = 0..nN, where U is the number of pairs with theirs above ours.

    There are no ties, and all orders are equally likely. The largest of all n + N is ours with probability n / (n + N),
    and then in no pair. Otherwise it is theirs, and in n pairs: P(n, N; u) = n/(n+N) P(n-1, N; u) + N/(n+N)
    P(n, N-1; u - n).
    """
    size = n * n_published + 1
    rows = np.zeros((n_published + 1, size))
    rows[:, 0] = 1.0  # none of ours: no pair
    for k in range(1, n + 1):
        for j in range(1, n_published + 1):
            moved = np.zeros(size)
            moved[k:] = rows[j - 1, : size - k]
            rows[j] = k / (k + j) * rows[j] + j / (k + j) * moved
    out = np.minimum(np.cumsum(rows[-1]), 1.0)
    out.setflags(write=False)
    return out


def most_beyond(distance, variance, n_published: int) -> np.ndarray:
    """K, the largest number of N runs that can lie ``distance`` or more beyond their mean.

    ``variance`` is theirs (divided by N), or NaN if it is not known. For ``distance`` <= 0 all N can. Vectorised.
    """
    d2 = np.square(np.maximum(distance, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isnan(variance), 1.0 - 0.5 / n_published, variance / (variance + d2))
    # A share that rounding leaves just below a whole number of runs counts as that number, so the bound is valid.
    most = np.floor(n_published * np.minimum(share, 1.0) * (1 + 1e-12))
    return np.where(d2 > 0, most, n_published).astype(np.int64)


def p_rank(runs, paper: Printed, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """One-sided bounds: P(ours so far above theirs), P(ours so far below theirs). ``runs`` (..., n)."""
    return _p_rank(runs, paper, _positive(metric))


def _p_rank(runs, paper: Printed, positive: bool) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of :func:`p_rank`. If ``positive``, their runs cannot be below 0, and Markov's inequality is used."""
    runs = np.asarray(runs, dtype=np.float64)
    mean, spread = (np.asarray(a, dtype=np.float64)[..., None] for a in (paper.mean, paper.spread))
    variance = np.zeros_like(spread) if paper.n == 1 else np.square(spread)
    slack = _ROUNDING * (np.abs(runs) + np.abs(mean))
    above = most_beyond(runs - mean - paper.unit - slack, variance, paper.n)
    below = most_beyond(mean - runs - paper.unit - slack, variance, paper.n)
    if positive:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = np.floor(paper.n * (mean + paper.unit) / runs * (1 + 1e-12))
        above = np.where(runs > 0, np.minimum(above, np.minimum(most, paper.n)), above).astype(np.int64)
    null = mann_whitney(runs.shape[-1], paper.n)
    return null[above.sum(axis=-1)], null[below.sum(axis=-1)]


@lru_cache(maxsize=32)
def _draws(n: int, n_published: int) -> np.ndarray:
    """The indices of ``n`` sorted runs in each of RESAMPLES means: (RESAMPLES, n_published).

    The second half mirrors the first, so that a number and its mirror image get the same verdict.
    """
    half = np.random.default_rng(RESAMPLING_SEED).integers(n, size=(RESAMPLES // 2, n_published))
    return np.concatenate([half, n - 1 - half])


def resampled_means(runs: np.ndarray, n_published: int) -> np.ndarray:
    """RESAMPLES means of ``n_published`` of the ``runs`` (n,), which are sorted first."""
    return _means(np.sort(np.asarray(runs, dtype=np.float64)).tobytes(), n_published)


@lru_cache(maxsize=64)
def _means(runs: bytes, n_published: int) -> np.ndarray:
    x = np.frombuffer(runs)
    means = x[_draws(len(x), n_published)].mean(axis=1)
    means.setflags(write=False)
    return means


def p_resampled(means: np.ndarray, n: int, paper: Printed) -> tuple[float, float]:
    """One-sided p: ours so far above theirs, and so far below. ``means`` are resampled from N of our ``n`` runs."""
    low = (1 + np.count_nonzero(means <= paper.mean + paper.unit)) / (1 + len(means))
    high = (1 + np.count_nonzero(means >= paper.mean - paper.unit)) / (1 + len(means))
    least = 1 / (n // paper.n + 1)
    return max(low, least), max(high, least)


def _std(x: np.ndarray, mean: float) -> float:
    return math.sqrt(math.fsum((x - mean) ** 2) / (len(x) - 1))


def _farthest(difference: float, ends: tuple[float, float]) -> float:
    """The largest distance of ``difference`` from a shift that is not refuted. ``ends``: smallest and largest shift."""
    return max(difference - ends[0], ends[1] - difference, 0.0)


def _not_refuted(x: np.ndarray, paper: Printed, alpha: float) -> tuple[float, float]:
    """The ends of the shifts c for which ours minus c is not refuted at level ``alpha`` by ranks, without Markov."""
    reach = math.sqrt(paper.n) * (0.0 if math.isnan(paper.spread) else paper.spread) + 2 * paper.unit
    reach += 1e-9 * (float(np.abs(x).max()) + abs(paper.mean))
    first, last = float(x[0]) - paper.mean - reach, float(x[-1]) - paper.mean + reach
    return _shifts(lambda c, side: 2 * float(_p_rank(x - c, paper, False)[side]) <= alpha, first, last)


def _shifts(refuted: Callable[[float, int], bool], first: float, last: float) -> tuple[float, float]:
    """The ends of the shifts c for which ours minus c is not refuted.

    ``refuted`` (c, side): whether it is, as too far above (side 0) or below (side 1). Ours is above all of theirs at
    ``first`` and below them at ``last``. Each end is found by bisection, because P(ours above theirs) grows with c and
    its mirror image falls. An end is infinite if even full separation does not refute.
    """
    ends = []
    for side, far, near in ((0, first, last), (1, last, first)):
        if not refuted(far, side):
            ends.append(-math.inf if side == 0 else math.inf)
            continue
        for _ in range(60):
            middle = 0.5 * (far + near)
            far, near = (middle, near) if refuted(middle, side) else (far, middle)
        ends.append(near)
    return ends[0], ends[1]


def batch(paper: Printed, values: Sequence[float], metric: str, level: float, *, sd: float) -> Found:
    """The evidence of one number per batch of data sets, theirs and ours (n = N = 1). p is of kind ``normal``.

    ``sd`` is its standard deviation over resampled data sets. The published batch has other data sets, so the
    difference has variance 2 sd^2, and p = P(|normal| >= gap / (sd sqrt 2)). Raises ValueError for an ``sd`` that is
    not finite or below 0.
    """
    (value,) = values
    if not (math.isfinite(sd) and sd >= 0):
        raise ValueError(f"value {value}, sd {sd}: a judged cell has a finite value and spread")
    error, difference = sd * math.sqrt(2), value - paper.mean
    gap = float(gap_of(value, paper.mean, paper.unit))
    p = float(_tail(gap, error, lambda x: ndtr(-x)))
    half, least, bound = (_quantile(a) * error for a in (AGREE / 2, level / 2, AGREE))
    ends = difference - half, difference + half
    return Found(p, "normal", difference > 0, gap + bound, difference, *ends, detectable=least + paper.unit)


def single(paper: Printed, values: Sequence[float], metric: str, level: float, *, heavy: bool = False) -> Found:
    """The evidence of one published run of a positive score on our splits, so that only its noise differs from ours.

    :func:`means` refutes no single published run, because our runs there also differ by their splits and are few. Here
    many repetitions differ only by noise of a known distribution, so one number can be tested. Both share the spread
    over splits, so ``paper`` has none, and N = 1.

    ``t`` : if the logarithms of our runs have light tails and a spread of at most 1/4, which is small for a positive
        number. p = P(|t(n - 1)| >= gap / (s sqrt(1 + 1 / n))), on the logarithms, with gap reduced by one unit.
    ``rank`` : otherwise, and always for ``heavy`` runs, whose error has no mean. p = 2 (1 + number of our runs at or
        beyond the number) / (n + 1). It is at least 2 / (n + 1), so ranks alone refute no number.
    """
    x = np.asarray(values, dtype=np.float64)
    n, ours, number, unit = len(x), float(x.mean()), paper.mean, paper.unit
    p, by_t, higher = p_single(x, number, unit, heavy)
    if by_t:
        logs = np.log(x)
        error = float(logs.std(ddof=1)) * math.sqrt(1 + 1 / n)
        low, high = (math.exp(float(logs.mean()) + w * _quantile(AGREE / 2, n) * error) - number for w in (-1, 1))
        detectable = number * math.expm1(_quantile(level / 2, n) * error) + unit
    else:
        low, high = (-(number - float(q)) for q in np.quantile(x, [AGREE / 2, 1 - AGREE / 2]))
        detectable = math.inf
    bound = float(bound_of_means(ours, float(x.std(ddof=1)), n, paper, metric))
    kind = "t" if by_t else "rank"
    return Found(float(p), kind, bool(higher), bound, ours - number, low, high, detectable)


def p_single(runs: np.ndarray, number, unit, heavy: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, whether by t, whether ours is above) of :func:`single`. ``runs`` (..., n), positive; ``number`` (...)."""
    logs, n, number = np.log(runs), runs.shape[-1], np.asarray(number, dtype=np.float64)
    middle, s = logs.mean(axis=-1), logs.std(axis=-1, ddof=1)
    by_t = light_tails(logs) & (s <= NARROW) & (not heavy)
    low, high = np.log(np.maximum(number - unit, 1e-300)), np.log(number + unit)
    gap = np.maximum(0.0, np.maximum(low - middle, middle - high))
    p_by_t = _tail(gap, s * math.sqrt(1 + 1 / n), lambda z: stdtr(n - 1, -z))
    above = (runs >= (number - unit)[..., None]).sum(axis=-1)
    below = (runs <= (number + unit)[..., None]).sum(axis=-1)
    by_rank = np.minimum(1.0, 2 * (1 + np.minimum(above, below)) / (n + 1))
    return np.where(by_t, p_by_t, by_rank), by_t, np.where(by_t, middle > np.log(number), above > below)


def exact(paper: Printed, values: Sequence[float], metric: str, level: float, *, rounding: float = 0.0) -> Found:
    """The evidence of one published run without noise: p is 1 within one unit of the last digit, and 0 beyond.

    ``rounding`` is how much the number may change because our data are a rounded copy. A difference between one unit
    and ``rounding`` is neither refuted nor shown to be small.
    """
    (ours,) = values
    gap = float(gap_of(ours, paper.mean, paper.unit))
    p, bound = (1.0 if gap <= rounding else 0.0), (0.0 if gap == 0 else math.inf)
    return Found(p, "exact", ours > paper.mean, bound, ours - paper.mean, detectable=paper.unit + rounding)


def box(
    paper: Box, values: Sequence[float], metric: str, level: float, *, calibration: Sequence[tuple[float, float]] = ()
) -> Found:
    """The evidence of a box plot of N values: median, quartiles, whiskers and outliers. p is of kind ``rank``.

    It is the rank test of :func:`means`, where the bound K(x) on the number of theirs at or above x comes from the box.
    The sorted values are y_1 <= .. <= y_N. NumPy and matplotlib interpolate quantile q linearly at place (N - 1) q,
    counted from 0. For N = 20

        q1 = 1/4 y_5 + 3/4 y_6,    median = 1/2 y_10 + 1/2 y_11,    q3 = 3/4 y_15 + 1/4 y_16,

    and each is at least its lower neighbour: y_5 <= q1, y_10 <= median, y_15 <= q3. The upper whisker is the largest
    value within 1.5 boxes of q3. All values above it are among the points drawn as outliers. K(x) is the smallest value
    in this list whose number x exceeds by more than one unit of the last digit:

        K(x) = outliers    x > upper whisker (all of them may lie above)
               5           x > q3
               10          x > median
               15          x > q1
               19          x > lower whisker (which is itself one of their values)
               20          else

    Theirs at or below x: the mirror image. The pairs with theirs at or above ours are at most U = sum_i K(x_i), ties
    included, and P(Mann-Whitney(n, N) <= U) bounds the probability of ours lying so far above theirs. The bound on p is
    twice the smaller of this and its mirror image.

    A box keeps five numbers of twenty, so the bound is far above the probability itself: if both have the same normal
    distribution, it is at most 5 % in only .3 % of boxes. ``calibration`` has pairs (p, largest bound that has this p)
    from a simulation (``papers.raisa2021thesis.checks.calibration``). p is the smallest of them whose bound is not
    exceeded, or the bound itself if that is smaller. So a refutation, whose level no simulation reaches, relies on the
    bound.

    Medians are compared. Their bound is gap + t(.95; N - 1) 1.2533 s sqrt(1/n + 1/N), where s is the larger
    interquartile range over 1.349. It assumes that both distributions are close to normal around their medians, so that
    a median has standard error 1.2533 s / sqrt n. No refutation relies on that. The interval ``low``, ``high`` is made
    in the same way. ``detectable`` is that of a shift of all our runs. Raises ValueError for another N than 20.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    above, below = (float(p) for p in p_box(x, paper))
    difference, error, bound = (float(v[0]) for v in medians(x, paper))
    half = _quantile(AGREE / 2, paper.n) * error
    p = calibrated(min(1.0, 2 * min(above, below)), calibration)
    least = _farthest(
        difference,
        _shifts(
            lambda c, side: calibrated(2 * float(p_box(x - c, paper)[side]), calibration) <= level,
            float(x[0]) - paper.whisker_high - 2 * paper.unit,
            float(x[-1]) - paper.whisker_low + 2 * paper.unit,
        ),
    )
    return Found(p, "rank", bool(above < below), bound, difference, difference - half, difference + half, least)


def calibrated(bound: float, calibration: Sequence[tuple[float, float]]) -> float:
    """The p of a box whose bound on p is ``bound``."""
    return min([bound, *(p for p, largest in calibration if bound <= largest)])


def medians(runs: np.ndarray, paper: Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The difference of medians, its standard error and the bound of :func:`box`, (..., 1) each. ``runs``: (..., n)."""
    q1, median, q3 = np.quantile(runs, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    spread = np.maximum(spread_of(q1, q3), spread_of(paper.q1, paper.q3))
    error = MEDIAN * spread * math.sqrt(1 / runs.shape[-1] + 1 / paper.n)
    gap = gap_of(median, paper.median, paper.unit)
    return median - paper.median, error, gap + _quantile(AGREE, paper.n) * error


def box_plot(runs: np.ndarray, unit: float) -> Box:
    """The box plot of runs (..., n): the numbers of matplotlib, rounded to ``unit``, (..., 1) each."""
    q1, median, q3 = np.quantile(runs, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    reach = 1.5 * (q3 - q1)
    within = (runs >= q1 - reach) & (runs <= q3 + reach)
    low = np.minimum(np.where(within, runs, np.inf).min(axis=-1, keepdims=True), q1)
    high = np.maximum(np.where(within, runs, -np.inf).max(axis=-1, keepdims=True), q3)
    beyond = ((runs < low) | (runs > high)).sum(axis=-1, keepdims=True)
    q1, median, q3, low, high = (np.round(v / unit) * unit for v in (q1, median, q3, low, high))
    return Box(median, q1, q3, low, high, beyond, unit, runs.shape[-1])


def spread_of(q1: float, q3: float) -> float:
    """The standard deviation of a normal distribution with these quartiles."""
    return (q3 - q1) / RANGE


def most_above(x, paper: Box) -> np.ndarray:
    """K(x) of :func:`box`: the largest number of their 20 values at or above x. Raises ValueError for another N."""
    if paper.n != 20:
        raise ValueError(f"a box of {paper.n} values: the bound is worked out for 20")
    steps = ((paper.whisker_low, 19), (paper.q1, 15), (paper.median, 10), (paper.q3, 5),
             (paper.whisker_high, paper.outliers))  # fmt: skip
    out: np.ndarray = np.asarray(paper.n)
    for at, most in steps:
        out = np.where(np.asarray(x) > at + paper.unit, np.minimum(out, most), out)
    return out


def most_below(x, paper: Box) -> np.ndarray:
    """The largest number of their values at or below x."""
    mirrored = replace(
        paper, median=-paper.median, q1=-paper.q3, q3=-paper.q1, whisker_low=-paper.whisker_high,
        whisker_high=-paper.whisker_low,
    )  # fmt: skip
    return most_above(-np.asarray(x), mirrored)


def p_box(runs: np.ndarray, paper: Box) -> tuple[np.ndarray, np.ndarray]:
    """One-sided bounds: P(ours so far above theirs), P(ours so far below theirs).

    ``runs`` (..., n), the numbers of ``paper`` (..., 1) if there are several boxes.
    """
    null = mann_whitney(runs.shape[-1], paper.n)
    return null[most_above(runs, paper).sum(axis=-1)], null[most_below(runs, paper).sum(axis=-1)]


def all_runs(paper: Printed, values: Sequence[float], metric: str, level: float) -> Found:
    """The evidence of N published runs of which each is known (``Printed.runs``), with their mean and spread.

    p is that of the exact two-sample rank test of Wilcoxon, Mann and Whitney on our runs and theirs, given the ties
    (:func:`rank_test`). Interval, bound and ``detectable`` are those of :func:`means`.
    """
    p, z = rank_test(np.asarray(values, dtype=np.float64), np.asarray(paper.runs))
    return replace(means(paper, values, metric, level), p=p, p_kind="rank of all runs", higher=z < 0)


def rank_test(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """(p, z): the exact two-sided p of the sum of their ranks, and the standardised sum. Ties get their mean rank.

    The null distribution counts all choices of N among the n + N pooled ranks, which are doubled to be whole numbers.
    """
    pooled = np.concatenate([theirs, ours])
    ranks = np.rint(2 * rankdata(np.round(pooled, 12))).astype(int)
    n, total = len(theirs), len(pooled)
    seen = int(ranks[:n].sum())
    largest = int(np.sort(ranks)[-n:].sum())
    ways = np.zeros((n + 1, largest + 1))
    ways[0, 0] = 1.0
    for r in ranks:
        ways[1:, r:] += ways[:-1, : largest + 1 - r]
    law = ways[n] / ways[n].sum()
    p = min(1.0, 2 * min(law[: seen + 1].sum(), law[seen:].sum()))
    mean = n * ranks.mean()
    sd = math.sqrt(n * (total - n) / total * ranks.var(ddof=1))
    return float(p), (seen - mean) / sd


def chances(paper: Printed, values: Sequence[float], metric: str, level: float) -> Found:
    """The evidence of single runs of a sampler, N of theirs (``Printed.runs``) and n of ours.

    They are compared by W, the probability that one of ours is above one of theirs. A tie counts half. p is that of the
    rank test of Wilcoxon, Mann and Whitney in its normal approximation, with the variance given the ties
    (:func:`chance_above`). ``bound`` is the distance from 1/2 to the farther end of the 95 % interval of W, by DeLong's
    variance. ``difference`` is that of the means. ``detectable`` is that of a shift of all our runs. The shifts that
    are not refuted lie between two of the n N differences of one of ours and one of theirs, in their order (Hodges &
    Lehmann 1963). Raises ValueError if no run of theirs is given.
    """
    theirs, ours = np.asarray(paper.runs, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if not len(theirs):
        raise ValueError("no published run: two samples of single runs are compared run by run")
    p, w, half = (float(v[0]) for v in chance_above(ours[None], theirs[None]))
    difference = float(ours.mean() - theirs.mean())
    least = _farthest(difference, _shifts_of_pairs(ours, theirs, level))
    return Found(p, "rank of all runs", w > 0.5, abs(w - 0.5) + half, difference, detectable=least, chance=w)


def _shifts_of_pairs(ours: np.ndarray, theirs: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of the shifts c for which ours minus c is not refuted by :func:`chance_above`, if no run then ties."""
    pairs = np.sort((ours[:, None] - theirs).ravel())
    apart = np.concatenate([ours - ours.min(), theirs - theirs.max() - 1.0])  # ties of one sample only
    null = _null_variance(rankdata(apart)[None], len(ours), len(theirs))[0]
    above = 0.5 + _quantile(level / 2) * math.sqrt(null) + 0.5 / len(pairs)  # the smallest W that is refuted
    most = math.ceil(above * len(pairs) - 1e-9)  # pairs with ours above theirs
    if most > len(pairs):
        return -math.inf, math.inf
    return float(pairs[-most]), float(pairs[most - 1])


def _null_variance(ranks: np.ndarray, n: int, m: int) -> np.ndarray:
    """The variance of W under one distribution, given the ties: (draws,), from the pooled ranks (draws, n + m)."""
    total = n + m
    return ranks.var(axis=1) * total / (total - 1.0) / (n * m * total / 1.0)


def chance_above(ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, W, half width of its 95 % interval), (draws,) each, of samples (draws, n) and (draws, N)."""
    n, m = ours.shape[1], theirs.shape[1]
    above = 0.5 * (np.sign(ours[:, :, None] - theirs[:, None, :]) + 1.0)
    w = above.mean(axis=(1, 2))
    ranks = rankdata(np.concatenate([ours, theirs], axis=1), axis=1)
    null = _null_variance(ranks, n, m)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(null > 0, (np.abs(w - 0.5) - 0.5 / (n * m)) / np.sqrt(null), 0.0)
    p = np.minimum(1.0, 2 * ndtr(-np.maximum(z, 0.0)))
    parts = [above.mean(axis=2).var(axis=1, ddof=1) / n if n > 1 else np.full(len(w), np.inf),
             above.mean(axis=1).var(axis=1, ddof=1) / m if m > 1 else np.full(len(w), np.inf)]  # fmt: skip
    return p, w, _quantile(AGREE / 2) * np.sqrt(parts[0] + parts[1])


def run_by_run(paper: Printed, values: Sequence[float], metric: str, level: float, *, errors: Sequence[float]) -> Found:
    """The evidence of their chains (``Printed.runs``), each with its own input, compared with its exact value.

    ``values`` (n,) are the exact values in the order of their runs. ``errors`` (n,) are the standard errors of run and
    exact value together. z_k is their difference over the error. p is that of Wilcoxon's signed-rank test of the z_k.
    The test assumes that they are symmetric around 0, and not that the errors are right. W_k = Phi(z_k) is the
    probability that a perfect copy of run k is above it. ``bound`` is the distance from 1/2 to the farther end of the
    95 % interval of their mean. ``detectable`` is that of a shift of all exact values.
    """
    gaps, errors = np.asarray(values, dtype=np.float64) - np.asarray(paper.runs), np.asarray(errors, dtype=np.float64)
    p, w, half = (float(v[0]) for v in chance_of_chains((gaps / errors)[None]))
    difference, beyond, tiny = float(gaps.mean()), _quantile(level / 2), 1e-9 * float(np.abs(gaps).max())
    ends = _shifts(
        lambda c, side: (-1) ** side * _signed_ranks((gaps - c) / errors) >= beyond,
        float(gaps.min()) - tiny,
        float(gaps.max()) + tiny,
    )
    return Found(
        p, "signed rank, run by run", w > 0.5, abs(w - 0.5) + half, difference,
        detectable=_farthest(difference, ends), chance=w,
    )  # fmt: skip


def _signed_ranks(z: np.ndarray) -> float:
    """Wilcoxon's sum of the ranks of positive ``z``, standardised by its null distribution without ties."""
    n = len(z)
    return (rankdata(np.abs(z))[z > 0].sum() - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)


def chance_of_chains(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, mean W, half width of its 95 % interval), (draws,) each, of standardised differences (draws, n)."""
    chance, n = ndtr(z), z.shape[1]
    p = wilcoxon(z, axis=1, method="approx").pvalue
    return p, chance.mean(axis=1), _quantile(AGREE / 2, n) * chance.std(axis=1, ddof=1) / math.sqrt(n)


def streams(paper: Printed, values: Sequence[Sequence[float]], metric: str, level: float) -> Found:
    """The evidence of one published mean over F parts (folds), each with one of K random streams.

    Which stream a part took is unknown.

    ``values`` (F, K) are the scores of every part with every stream. If each part took one of its streams independently
    and with equal probability, the distribution of the mean is known. Its centre is the mean of all values, its
    variance is the sum of the parts' variances over F^2, and its range is given by the means of the parts' smallest and
    largest values. p is twice Chernoff's bound on the tail beyond the number, and at most 1:

        exp(min over lambda of sum_f log mean_k exp(lambda (v_fk - v_f) / F) - lambda gap)

    Here v_f is the mean of part f. The bound is 0 outside of the range and assumes no normal distribution. ``low`` and
    ``high`` are where that p crosses 5 %, ``detectable`` where it crosses the level, and ``bound`` where it crosses
    10 %.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 2:
        raise ValueError(f"values of shape {v.shape}: give one row per part and one column per stream")
    centre = float(v.mean())
    steps = (v - v.mean(axis=1, keepdims=True)) / len(v)
    difference = centre - paper.mean
    gap = float(gap_of(centre, paper.mean, paper.unit))
    up, down = steps, -steps  # theirs above the centre, below it
    p = min(1.0, 2 * chernoff(up if difference < 0 else down, gap)) if gap > 0 else 1.0
    high, low = difference + _crossing(down, AGREE), difference - _crossing(up, AGREE)
    beyond = max(_crossing(up, 2 * AGREE), _crossing(down, 2 * AGREE))
    least = max(_crossing(up, level), _crossing(down, level)) + paper.unit
    bound = gap + beyond
    if METRICS[metric].margin.logarithmic:
        near = min(centre, paper.mean - paper.unit) - beyond
        bound = math.inf if near <= 0 else (gap + beyond) / near  # at least the difference of the logarithms
    return Found(p, "streams", difference > 0, bound, difference, low, high, least)


def chernoff(steps: np.ndarray, distance: float) -> float:
    """A bound on P(sum of one entry per row of ``steps`` (F, K) >= ``distance`` > 0). Rows have mean 0."""
    if distance > steps.max(axis=1).sum() * (1 + 1e-12):
        return 0.0
    tilt = _tilt(steps, lambda log_mean, mean, tilt: mean >= distance)
    log_mean, _ = _tilted(steps, tilt)
    return math.exp(min(0.0, log_mean - tilt * distance))  # any tilt bounds the tail


def _tilted(steps: np.ndarray, tilt: float) -> tuple[float, float]:
    """The logarithm of the mean of exp(tilt sum), and the mean of the sum under these weights."""
    largest = steps.max(axis=1)
    weights = np.exp(tilt * (steps - largest[:, None]))
    total = weights.sum(axis=1)
    mean = float(((weights * steps).sum(axis=1) / total).sum())
    return float(np.log(total / steps.shape[1]).sum() + tilt * largest.sum()), mean


def _tilt(steps: np.ndarray, reached: Callable[[float, float, float], bool]) -> float:
    """The smallest tilt at which ``reached`` (of :func:`_tilted` and the tilt) is true, by bisection."""
    high = 1.0 / max(float(np.abs(steps).max()), 1e-300)
    for _ in range(40):
        if reached(*_tilted(steps, high), high):
            break
        high *= 2
    low = 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(*_tilted(steps, middle), middle) else (middle, high)
    return high


def _crossing(steps: np.ndarray, alpha: float) -> float:
    """The smallest distance at which twice :func:`chernoff` is at most ``alpha``, or else the end of the range."""
    if not steps.any():
        return 0.0
    tilt = _tilt(steps, lambda log_mean, mean, tilt: log_mean - tilt * mean <= math.log(alpha / 2))
    return _tilted(steps, tilt)[1]


@dataclass(frozen=True)
class Runs:
    """A published number with our runs: the input of :func:`reports.verdict.judge`.

    published : a :class:`Printed` number or a :class:`Box`.
    values : the scores of all our runs.
    evidence : a kind of this module, with options set by ``functools.partial``.
    """

    published: Printed | Box
    values: Sequence[float]
    metric: str
    evidence: Kind = means
