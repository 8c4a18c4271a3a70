"""THE rule, version 2: could this number have come from our program, and would we have noticed if not?

Pure functions, fixed once and never bent for a cell. ``reports.verdict_v1`` is the rule that stood before.

Ours: n runs x_1..x_n with mean ``mean`` and standard deviation s (ddof = 1). Published: m, the mean of N runs, and
their standard deviation s_pub, where it is printed (a standard error is first turned into one, se sqrt(N)). u: one unit
of the last digit of m, which covers a number that was rounded as well as one that was truncated; u_s: one unit of the
last digit of s_pub, times sqrt(N) for a standard error. S = s_pub + u_s is at least the standard deviation of their
runs. gap = max(0, |mean - m| - u) is at most the distance of the two means.

**p, the chance of what is seen if both programs are one** (two-sided, bounded from above):

``t`` : the spread of our runs is small and without heavy tails (:func:`tame`), so both means are close to normal:
    p = P(|t(n-1)| >= gap / (max(s, S) sqrt(1/n + 1/N))). max(s, S): either may be too small by chance. A single
    published run (N = 1) is no mean, so far tails of the law itself are asked for, and n runs show none beyond
    1 / (n + 1): there p is at least 1 %.
``rank`` : otherwise a bound on the Mann-Whitney test from m, S and N alone, for any law of the scores.

    *Theirs at or above x.* Let k of their N runs lie at or above x, and d = x - m - u > 0, so that x exceeds their mean
    by d at least. For a given k their variance (divided by N) is least with k runs at x and N - k at one value that
    keeps the mean, which makes it d^2 k / (N - k). It is at most v = S^2. So d^2 k <= v (N - k), and

        k <= K(x) = floor(N v / (v + d^2))           (Cantelli's inequality for N numbers; attained, so not improvable)

    K(x) = N where d <= 0. v = 0 for N = 1. Authors divide by N or by N - 1 and do not say which; (N - 1)/N S^2, the
    variance in the second case, would be too small in the first, so v = S^2. Without s_pub (v unbounded) K(x) = N - 1:
    not all numbers exceed their mean. Where scores are never negative, Markov's inequality holds too: k x <= N (m + u),
    so K(x) <= floor(N (m + u) / x). Theirs at or below x: the same with d = m - u - x, without Markov.
    *The test.* Pairs (one of theirs, one of ours) with theirs at or above ours number at most U = sum_i K(x_i), ties
    included. If all n + N runs are exchangeable, the number of such pairs (ties broken at random, which can only lower
    it) has the null law of Mann and Whitney, so P(Mann-Whitney(n, N) <= U) bounds the chance of ours lying so far above
    theirs. p is twice the smaller of this and its mirror image, at most 1. Full separation gives 2 / C(n + N, N):
    3.8e-5 for n = 20, N = 5, which misses 1 % / 290, and 3.0e-5 for n = 21.
``resampled`` : N >= 2 runs, not tame, and no s_pub to bound them by. p = twice the share of 100,000 means of N of our
    runs, drawn with replacement, that lie at or beyond m -+ u on the scarcer side, (count + 1) / 100,001, and at least
    2 / (floor(n/N) + 1). The limit is what the data support for any law: their mean is exchangeable with the means of
    floor(n/N) disjoint groups of our runs, so it is the largest of them all with probability 1 / (floor(n/N) + 1);
    resampling knows nothing beyond the largest of our runs. (Without the limit a paper drawn from this suite's own
    scores of the mixture lies outside all 100,000 means in up to 2 % of draws, also where our runs happen to look free
    of heavy tails.) So resampling alone never says ``better`` or ``worse``. Where ranks with Markov's inequality give a
    smaller p, that p counts, and its kind is ``rank``; it is an exact bound, so the rate of ``worse`` is kept.
``normal`` : one number of one batch of data sets, theirs and ours alike (a coverage error): n = N = 1, s from a
    bootstrap over our data sets, p = P(|normal| >= gap / (s sqrt 2)).

**Words.**

    better, worse   p <= 1 % / family. family: the published cells of a reading that are judged together (290 for the
                    five first sources, fixed for good; a later source has its own), so the chance of any false one
                    among them is at most 1 % (``rank``: for any law; ``t`` and ``normal``: for normal scores)
    inconclusive    p <= 5 %, or a single run of ours
    reproduced      p > 5 %, and the two are shown to be equivalent (:func:`equivalent`, 95 %, within :func:`margin`)
    compatible      p > 5 %, and they are not: nothing refutes the number and nothing shows it

A cell of ours that lost splits (diverged, failed, timed out) is at best ``inconclusive``: what survives is a selection
that flatters it. ``worse`` stands, because the lost ones would not have made it better.

Where the paper's splits are also ours the two means move together, and the rule is conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtr
from scipy.stats import norm as normal
from scipy.stats import t as student

from evaluation.metrics import METRICS, UP, judged

AGREE = 0.05
ANY_FALSE = 0.01
#: published cells of the five first sources: the number by which ANY_FALSE is divided.
FAMILY = 290

#: means drawn by :func:`p_resampled`, and the seed of the stream that draws them: the same for every cell.
RESAMPLES, RESAMPLING_SEED = 100_000, 20210601
#: least p of a single published run judged by t.
SINGLE = 0.01

VERDICTS = ("reproduced", "compatible", "inconclusive", "better", "worse")
#: verdicts of a cell of ours that has no score: its status, or that it was not run at this scale.
NO_SCORE = ("failed", "timeout", "diverged", "not_supported", "no_data", "not_run")

#: the standard deviation of a normal law is this many times its median absolute deviation.
_MAD = 1.4826
#: relative slack for what is below the rounding of the inputs: .3 - .2 - .1 is not 0 in binary.
_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Printed:
    """A published number. mean : its value. unit : u. spread : S, NaN where none is printed. n : N runs behind it."""

    mean: float
    unit: float
    spread: float
    n: int


@dataclass(frozen=True)
class Verdict:
    """One judged cell.

    difference : ours - published. low, high : its 95 % interval; widened by one unit it holds 0 where p > 5 %. Of a
    ``rank`` cell that of a shift of our runs against theirs, the unit included; where no spread is published and the
    cell is not tame, the central 95 % of the means of N of our runs, less m. p, p_kind : see the head of this module.
    detectable : the smallest |difference| that would have been called better or worse, in both directions; infinite
    where none is (too few runs, or no published spread). Markov's inequality, which sees one direction only, is left
    out of the interval and of ``detectable``.
    NaN where there is a single run of ours.
    """

    verdict: str
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    p_kind: str = ""
    detectable: float = math.nan
    reason: str = ""


def unit_of(published: str, digits: int | None = None) -> float:
    """One unit of the last digit of a number as printed; ``digits`` of its table if those are more."""
    text = published.strip().lower()
    if not text or "e" in text:
        raise ValueError(f"published number '{published}': give plain decimal digits, as the paper prints them")
    decimals = len(text.partition(".")[2])
    return 10.0 ** -max(decimals, digits or 0)


def printed(mean: str, n: int, std: str = "", std_kind: str = "none", digits: int | None = None) -> Printed:
    """A published number from its strings. ``std_kind``: sd, se, or none and redraws (no spread of runs).

    Raises ValueError for another kind, a spread below 0 and a count below 1.
    """
    if n < 1:
        raise ValueError(f"n_published {n}: a published number comes from at least one run")
    if std_kind not in ("sd", "se", "none", "redraws"):
        raise ValueError(f"std_kind '{std_kind}': give sd, se, redraws or none")
    spread = math.nan
    if std and std_kind in ("sd", "se"):
        if float(std) < 0:
            raise ValueError(f"published spread '{std}': it is below 0")
        spread = (float(std) + unit_of(std)) * (math.sqrt(n) if std_kind == "se" else 1.0)
    return Printed(float(mean), unit_of(mean, digits), spread, n)


def margin(metric: str, published) -> np.ndarray:
    """Delta: what counts as the same. Units of the metric; of a norm or divergence nats (:func:`equivalent`).

    Raises ValueError for a metric without a direction.
    """
    return judged(metric).margin.of(published)


def _positive(metric: str) -> bool:
    return METRICS[metric].scale == "positive"


def gap_of(ours, published, unit) -> np.ndarray:
    """max(0, |ours - published| - unit); 0 too for what is below the rounding of the inputs. Broadcasts."""
    ours, published = np.asarray(ours, dtype=np.float64), np.asarray(published, dtype=np.float64)
    gap = np.maximum(0.0, np.abs(ours - published) - unit)
    return np.where(gap <= _ROUNDING * (np.abs(ours) + np.abs(published)), 0.0, gap)


@lru_cache(maxsize=512)
def _quantile(alpha: float, n: int | None = None) -> float:
    """t(1 - alpha; n - 1), of the normal law without ``n``."""
    return float(normal.isf(alpha) if n is None else student.isf(alpha, n - 1))


def equivalent(mean, std, n: int, paper: Printed, metric: str) -> np.ndarray:
    """Is the difference shown to be within the margin? gap + t(.95; n-1) max(s, S) sqrt(1/n + 1/N) <= Delta.

    The one-sided 95 % bound of the difference of the two means (two one-sided tests), to the digits that are printed:
    gap leaves one unit out, so where a unit is more than the margin the unit decides. The spread is that of the test
    for a difference: a published mean with a larger spread than ours is not known better than its own spread says. A
    norm or divergence is compared by its logarithm: gap = distance of ln mean to the logarithms of m - u .. m + u, and
    the standard deviation is max(s / mean, S / m) (first order). Vectorised over ``mean``, ``std`` and the fields of
    ``paper`` but its count. False below two runs.
    """
    if n < 2:
        return np.zeros(np.shape(mean), dtype=bool)
    mean, std = np.asarray(mean, dtype=np.float64), np.asarray(std, dtype=np.float64)
    gap, spread = gap_of(mean, paper.mean, paper.unit), np.fmax(std, paper.spread)
    if METRICS[metric].margin.logarithmic:
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.log(np.maximum(np.asarray(paper.mean) - paper.unit, 0.0))
            high = np.log(np.maximum(np.asarray(paper.mean) + paper.unit, 0.0))
            gap = np.where(gap > 0, np.fmax(np.log(mean) - high, low - np.log(mean)), 0.0)
            spread = np.fmax(std / mean, paper.spread / np.asarray(paper.mean))
            gap = np.where((mean > 0) & (np.asarray(paper.mean) > 0), gap, np.inf)
    bound = gap + _quantile(AGREE, n) * spread * math.sqrt(1 / n + 1 / paper.n)
    return bound <= margin(metric, paper.mean)


def light_tails(runs: np.ndarray) -> np.ndarray:
    """s <= 2 * 1.4826 MAD, the last axis of ``runs`` holding the runs: at most twice that of a normal law."""
    deviation = np.median(np.abs(runs - np.median(runs, axis=-1, keepdims=True)), axis=-1)
    return runs.std(axis=-1, ddof=1) <= 2 * _MAD * deviation


def tame(runs: np.ndarray, paper: Printed, metric: str) -> np.ndarray:
    """Are means of these runs close to normal? ``runs`` (..., n).

    No heavy tails (:func:`light_tails`) and, for a metric that is never negative, s at most a quarter of our mean and S
    at most a quarter of the published one (a spread of the size of the number itself is a skewed law).
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
    """P(U <= u) for u = 0..nN, exact: U = number of pairs with theirs above ours, no ties, all orders equally likely.

    The largest of all n + N is ours with probability n / (n + N), and then in no pair; else it is theirs, and in n:
    P(n, N; u) = n/(n+N) P(n-1, N; u) + N/(n+N) P(n, N-1; u - n).
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
    """K: how many of N runs can lie ``distance`` or more beyond their mean, given their variance (divided by N).

    Vectorised; ``variance`` NaN where it is not known. ``distance`` <= 0: all N.
    """
    d2 = np.square(np.maximum(distance, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isnan(variance), 1.0 - 0.5 / n_published, variance / (variance + d2))
    # A share that rounding leaves below a whole number of runs counts as that number: the bound stays a bound.
    most = np.floor(n_published * np.minimum(share, 1.0) * (1 + 1e-12))
    return np.where(d2 > 0, most, n_published).astype(np.int64)


def p_rank(runs, paper: Printed, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """One-sided bounds: P(ours so far above theirs), P(ours so far below theirs). ``runs`` (..., n)."""
    return _p_rank(runs, paper, _positive(metric))


def _p_rank(runs, paper: Printed, positive: bool) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of :func:`p_rank`; ``positive``: can their runs not lie below 0? (Markov's inequality)"""
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
    """Which of ``n`` sorted runs make up each of RESAMPLES means, (RESAMPLES, n_published).

    The second half mirrors the first, so that a mirrored number is judged as the number is.
    """
    half = np.random.default_rng(RESAMPLING_SEED).integers(n, size=(RESAMPLES // 2, n_published))
    return np.concatenate([half, n - 1 - half])


def resampled_means(runs: np.ndarray, n_published: int) -> np.ndarray:
    """RESAMPLES means of ``n_published`` of ``runs`` (n,), which are sorted first."""
    return _means(np.sort(np.asarray(runs, dtype=np.float64)).tobytes(), n_published)


@lru_cache(maxsize=64)
def _means(runs: bytes, n_published: int) -> np.ndarray:
    x = np.frombuffer(runs)
    means = x[_draws(len(x), n_published)].mean(axis=1)
    means.setflags(write=False)
    return means


def p_resampled(means: np.ndarray, n: int, paper: Printed) -> tuple[float, float]:
    """One-sided: ours so far above theirs, and so far below. ``means``: of N of our ``n`` runs, resampled."""
    low = (1 + np.count_nonzero(means <= paper.mean + paper.unit)) / (1 + len(means))
    high = (1 + np.count_nonzero(means >= paper.mean - paper.unit)) / (1 + len(means))
    least = 1 / (n // paper.n + 1)
    return max(low, least), max(high, least)


def word(p: float, higher: bool, same: bool, metric: str, lost: int = 0, family: int = FAMILY) -> str:
    """One of ``VERDICTS``. ``higher``: is ours above the published number? ``same``: are they equivalent?"""
    if p <= ANY_FALSE / family:
        found = "better" if higher == (METRICS[metric].direction is UP) else "worse"
    elif p <= AGREE:
        found = "inconclusive"
    else:
        found = "reproduced" if same else "compatible"
    return "inconclusive" if lost and found != "worse" else found


def decide(x: np.ndarray, paper: Printed, metric: str) -> tuple[float, str, bool]:
    """(p, its kind, is ours above the published number?) of at least two scores ``x``, sorted."""
    mean = math.fsum(x) / len(x)
    if bool(tame(x, paper, metric)):
        return float(p_t(mean, _std(x, mean), len(x), paper)), "t", mean > paper.mean
    one_sided, kind = tuple(float(p) for p in p_rank(x, paper, metric)), "rank"
    if paper.n > 1 and math.isnan(paper.spread):
        by_means = p_resampled(resampled_means(x, paper.n), len(x), paper)
        if min(by_means) <= min(one_sided):
            one_sided, kind = by_means, "resampled"
    return min(1.0, 2 * min(one_sided)), kind, one_sided[0] < one_sided[1]


def word_of(runs: Sequence[float], paper: Printed, metric: str, lost: int = 0, family: int = FAMILY) -> str:
    """The word of :func:`judge` without the numbers beside it."""
    x = _checked(runs, metric)
    if len(x) < 2:
        return "inconclusive"
    p, _, higher = decide(x, paper, metric)
    mean = math.fsum(x) / len(x)
    same = bool(equivalent(mean, _std(x, mean), len(x), paper, metric))
    return word(p, higher, same, metric, lost, family)


def judge(runs: Sequence[float], paper: Printed, metric: str, lost: int = 0, family: int = FAMILY) -> Verdict:
    """Judge one cell. ``runs``: the score of every run of ours; ``lost``: how many splits have none.

    Raises ValueError for a metric without a direction and for scores that are none or not finite.
    """
    x = _checked(runs, metric)
    mean = math.fsum(x) / len(x)
    difference, said = mean - paper.mean, word_of(x, paper, metric, lost, family)
    if len(x) < 2:
        return Verdict(said, difference, reason="one run of ours: no spread, so nothing can be said")
    p, kind, _ = decide(x, paper, metric)
    detectable, reason = math.inf, ""
    if kind == "t":
        error = float(_error(_std(x, mean), len(x), paper))
        low, high = (difference + sign * _quantile(AGREE / 2, len(x)) * error for sign in (-1, 1))
        if paper.n > 1:
            detectable = _quantile(ANY_FALSE / family / 2, len(x)) * error + paper.unit
        reason = "our runs do not vary: only the last digit counts" if error == 0 else ""
    elif paper.n > 1 and math.isnan(paper.spread):
        ends = np.quantile(resampled_means(x, paper.n), [AGREE / 2, 1 - AGREE / 2])
        low, high = (float(e) - paper.mean for e in ends)
    else:
        low, high = _not_refuted(x, paper, AGREE)
        up, down = _not_refuted(x, paper, ANY_FALSE / family)
        detectable = max(difference - up, down - difference, 0.0)
    return Verdict(said, difference, low, high, p, kind, detectable, reason)


def _std(x: np.ndarray, mean: float) -> float:
    return math.sqrt(math.fsum((x - mean) ** 2) / (len(x) - 1))


def _checked(runs: Sequence[float], metric: str) -> np.ndarray:
    judged(metric)
    x = np.sort(np.asarray(runs, dtype=np.float64))
    if not len(x) or not np.isfinite(x).all():
        raise ValueError(f"{len(x)} scores; a judged cell has at least one, all of them finite")
    return x


def _not_refuted(x: np.ndarray, paper: Printed, alpha: float) -> tuple[float, float]:
    """Ends of the shifts c for which ours less c is not refuted at level ``alpha`` by ranks (without Markov).

    Each end is found by bisection: P(ours above theirs) grows with c, its mirror image falls. Infinite where even full
    separation does not refute.
    """
    reach = math.sqrt(paper.n) * (0.0 if math.isnan(paper.spread) else paper.spread) + 2 * paper.unit
    reach += 1e-9 * (float(np.abs(x).max()) + abs(paper.mean))
    first, last = float(x[0]) - paper.mean - reach, float(x[-1]) - paper.mean + reach
    ends = []
    for side, far, near in ((0, first, last), (1, last, first)):

        def refuted(c: float, side: int = side) -> bool:
            return 2 * float(_p_rank(x - c, paper, False)[side]) <= alpha

        if not refuted(far):
            ends.append(-math.inf if side == 0 else math.inf)
            continue
        for _ in range(60):
            middle = 0.5 * (far + near)
            far, near = (middle, near) if refuted(middle) else (far, middle)
        ends.append(near)
    return ends[0], ends[1]


def judge_batch(value: float, sd: float, paper: Printed, metric: str, family: int = FAMILY) -> Verdict:
    """Judge one number that a whole batch of data sets gives.

    ``sd``: its standard deviation over resampled data sets; the published batch has data sets of its own, so the
    difference has the variance 2 sd^2. Raises ValueError for a metric without a direction or a number that is not
    finite.
    """
    _checked([value], metric)
    if not (math.isfinite(sd) and sd >= 0):
        raise ValueError(f"value {value}, sd {sd}: a judged cell has a finite value and spread")
    error, difference = sd * math.sqrt(2), value - paper.mean
    gap = float(gap_of(value, paper.mean, paper.unit))
    p = float(_tail(gap, error, lambda x: ndtr(-x)))
    half, least, bound = (_quantile(a) * error for a in (AGREE / 2, ANY_FALSE / family / 2, AGREE))
    same = gap + bound <= float(margin(metric, paper.mean))
    said = word(p, difference > 0, same, metric, family=family)
    return Verdict(said, difference, difference - half, difference + half, p, "normal", least + paper.unit)
