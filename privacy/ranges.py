"""Privately estimated mean and standard deviation of columns of any scale and offset.

A column may have any finite values: exponents from -1074 to 1023, both signs, and a spread that is far smaller than
its distance from 0. There are at most four releases. Each reads every row once, is Gaussian and full batch, and holds
under add/remove:

1. *Blocks*: counts of the rows by sign and by magnitude in powers of 16, over all doubles. They locate each column, or
   show that the noise hides it.
2. *Octaves*: counts of each located column by sign and powers of 2, near its blocks. They give a range.
3. *Cells*: counts in ``CELLS`` parts of equal width, for ranges that do not contain 0 and are narrower than a factor
   of 4. They find the offset of a column whose spread is small. Without such a range, the share of this release goes
   to the next one.
4. *Moments*: sums of the values and of their squares, mapped to [-1, 1], and the number of rows.

The L2 sensitivity of a histogram does not depend on the number of its bins, so more bins cost no budget. They raise the
threshold that empty bins must not exceed, as the square root of a logarithm. Adjacent bins are added before they are
compared with it, so a column need not have most of its rows in one bin. Everything after a release is post-processing
with public numbers.

The shares of the budget and the constants below were chosen on synthetic rows (``benchmarks/ranges.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from privacy.budget import Budget
from privacy.ledger import Relation

#: shares of the squared mu of all releases.
SHARES = {"blocks": 0.35, "octaves": 0.3, "cells": 0.1, "moments": 0.25}
#: octaves per block. A column of one scale is in one block or in two adjacent ones.
BLOCK = 4
#: exponents of the smallest positive double and of the largest one.
SMALLEST, LARGEST = -1074, 1023
#: magnitudes below 2 to this power have this scale, because the inverse of a scale must be finite.
LEAST_SCALE = -1000
#: probability that noise alone locates a column: of a column that may be left out, and of one that may not.
FALSE_COLUMN, FALSE_TARGET = 0.01, 0.001
#: exponents that most columns have, and the share of that probability that their blocks get.
TYPICAL, TYPICAL_SHARE = (-32, 64), 0.95
#: adjacent bins that are added: of blocks and of octaves.
BLOCK_WIDTHS, OCTAVE_WIDTHS = (1, 2), (1, 2, 3, 4, 5, 6)
#: parts of a range in the third release.
CELLS = 4096
#: standard deviations of noise, and part of the rows, above which bins next to the best ones belong to the range.
NEXT, PART = 2.5, 0.01
#: standard deviations of noise below which octaves or cells do not narrow a range.
CLEAR_OCTAVES, CLEAR_CELLS = 3.0, 5.0
#: octaves that hold less than this fraction of the rows are widened: to 0, and by an octave at the other end.
COVERAGE = 0.9
#: smallest standard deviation that is believed, as a fraction of half the range.
SD_FLOOR = 1.0 / 64.0
#: standard deviations of noise by which the noisy number of rows must be below the public one to replace it.
FEWER_ROWS = 3.0
_MOST = float(np.finfo(np.float64).max)


class HiddenRange(ValueError):
    """Noise hides the scale of a column without which nothing can be fitted. It follows from releases only."""


class Columns(NamedTuple):
    """Mean, standard deviation, and whether the noise hides the column, each (columns,).

    A hidden column has mean 0 and standard deviation infinity, so scaling maps it to 0.
    """

    mean: np.ndarray
    sd: np.ndarray
    hidden: np.ndarray


# ----------------------------------------------------------------------------------------------------- the releases
def interval_counts(values: Sequence[np.ndarray], edges: Sequence[np.ndarray]) -> np.ndarray:
    """Counts of each column in the intervals between its edges, one column after the other, as one vector.

    ``values``: columns (n,). ``edges``: for each column its increasing edges (k,), of which it has k + 1 counts: below
    the first edge, in [edge i, edge i + 1), and from the last one on. A NaN, the value of an empty row, is not counted.

    L2 sensitivity under add/remove, for edges that follow from public numbers and earlier releases: sqrt(columns).
    Proof: a row adds at most one 1 to the counts of each column and nothing else, because the intervals are disjoint.
    Adding or removing it therefore changes the vector by at most ``columns`` ones.
    """
    parts = []
    for column, ends in zip(values, edges, strict=True):
        column = np.asarray(column, dtype=np.float64)
        where = np.searchsorted(ends, column[~np.isnan(column)], side="right")
        parts.append(np.bincount(where, minlength=len(ends) + 1))
    return np.concatenate(parts).astype(np.float64)


def moment_sums(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums of u and of u^2 - 1/2 over the rows, and half the number of rows: a vector (2 x columns + 1,).

    u are the values (n, columns) mapped from [low, high] to [-1, 1] and clipped. A NaN adds 0 to the sums of its
    column, and a row of NaN only, an empty row, is not counted.

    L2 sensitivity under add/remove: sqrt(5/4 columns + 1/4). Proof: a row adds (u_j, u_j^2 - 1/2) for every column j,
    or (0, 0) for a NaN. Since |u_j| <= 1, the squared norm is

        u_j^2 + (u_j^2 - 1/2)^2 = u_j^4 + 1/4 <= 5/4,

    and these add up over the columns. The number of rows adds (1/2)^2 at most.
    """
    values = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(values)
    half = high / 2 - low / 2  # the ends may be the largest doubles, whose difference is infinite
    with np.errstate(over="ignore", invalid="ignore"):
        u = values - (high / 2 + low / 2)
        u /= half  # in place, to avoid a second copy of many rows
    np.clip(np.nan_to_num(u, copy=False, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0, out=u)
    first = u.sum(axis=0)
    np.square(u, out=u)
    u -= 0.5
    u[~there] = 0.0
    return np.concatenate([first, u.sum(axis=0), [0.5 * there.any(axis=1).sum()]])


class Bounds(NamedTuple):
    """Ranges of the columns that the noise does not hide.

    ``seen`` are their numbers, ``low`` and ``high`` the ends, and ``spent`` the share of the squared mu so far.
    """

    seen: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spent: float


def private_bounds(
    values: np.ndarray, n: int, budget: Budget, noise_multiplier: float, needed: Sequence[int] = ()
) -> Bounds:
    """The first two or three releases of :func:`private_columns`, with its arguments and errors."""
    columns = values.shape[1]
    if not columns:
        raise ValueError("private ranges: no column; give at least one")

    def counted(what: str, share: str, which: Sequence[int], edges: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
        mechanism = budget.gaussian(
            what,
            sensitivity=math.sqrt(len(which)),
            noise_multiplier=noise_multiplier / math.sqrt(SHARES[share]),
            relation=Relation.ADD_REMOVE,
            proof="privacy.ranges.interval_counts",
        )
        noisy = mechanism.release(interval_counts([values[:, j] for j in which], edges))
        return np.split(noisy, np.cumsum([len(e) + 1 for e in edges])[:-1]), mechanism.noise_scale

    noisy, sd = counted("histogram of all magnitudes", "blocks", range(columns), [_signed(_block_edges())] * columns)
    found = [_blocks(c, sd, n, FALSE_TARGET if j in needed else FALSE_COLUMN) for j, c in enumerate(noisy)]
    if (lost := any(found[j] is None for j in needed)) or not any(found):
        raise HiddenRange(
            f"the noise hides the scale of {'the target' if lost else 'every column'} at this epsilon and number of "
            "rows; state its range. The budget of this fit is spent."
        )
    seen = np.flatnonzero([f is not None for f in found])
    starts = [f for f in found if f is not None]
    low, high = np.array([s.ends for s in starts], dtype=np.float64).T
    magnitudes = [s.near for s in starts]
    noisy, sd = counted("histogram of octaves", "octaves", seen, [_signed(np.ldexp(1.0, m)) for m in magnitudes])
    for i, (counts, exponents, start) in enumerate(zip(noisy, magnitudes, starts, strict=True)):
        low[i], high[i] = _octaves(counts, exponents, sd, n, start)
    small, large = np.sort(np.abs([low, high]), axis=0)
    narrow = np.flatnonzero((np.sign(low) == np.sign(high)) & (large / 4.0 <= small))
    if len(narrow):
        grids = [np.linspace(low[i], high[i], CELLS + 1)[1:-1] for i in narrow]
        noisy, sd = counted("histogram of cells", "cells", seen[narrow], grids)
        for i, counts in zip(narrow, noisy, strict=True):
            low[i], high[i] = _cells(counts, sd, float(low[i]), float(high[i]))
    spent = SHARES["blocks"] + SHARES["octaves"] + (SHARES["cells"] if len(narrow) else 0.0)
    return Bounds(seen, *_wide_enough(low, high), spent)


def private_columns(
    values: np.ndarray, n: int, budget: Budget, noise_multiplier: float, needed: Sequence[int] = ()
) -> Columns:
    """Mean and standard deviation of every column, privately estimated, and the columns that the noise hides.

    Parameters
    ----------
    values : (rows, columns), original units. Empty rows are NaN, or left out.
    n : public number of rows. It widens ranges that hold too few of them, and takes the place of a noisy number of rows
        that is not clearly smaller.
    budget : is charged three or four full-batch Gaussian releases under add/remove.
    noise_multiplier : of the one release to which all of them compose exactly. Each spends a fixed share of its squared
        mu, whatever the earlier ones gave, so ordinary adaptive composition holds.
    needed : columns without which there is no fit, such as the target.

    Raises :class:`HiddenRange` if the noise hides a column of ``needed``, or all columns. Only the first release is
    then made.
    """
    columns = values.shape[1]
    seen, low, high, spent = private_bounds(values, n, budget, noise_multiplier, needed)
    mean, sd, hidden = np.zeros(columns), np.full(columns, np.inf), np.ones(columns, bool)
    multiplier = noise_multiplier / math.sqrt(1.0 - spent)
    mean[seen], sd[seen] = _moments(values[:, seen], low, high, n, budget, multiplier)
    hidden[seen] = False
    return Columns(mean, sd, hidden)


def _moments(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, n: int, budget: Budget, multiplier: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every column by one release of :func:`moment_sums`."""
    k = values.shape[1]
    mechanism = budget.gaussian(
        "sums of the columns and of their squares, and the number of rows",
        sensitivity=math.sqrt(1.25 * k + 0.25),
        noise_multiplier=multiplier,
        relation=Relation.ADD_REMOVE,
        proof="privacy.ranges.moment_sums",
    )
    sums = mechanism.release(moment_sums(values, low, high))
    rows, noise = 2.0 * float(sums[-1]), mechanism.noise_scale
    if not rows < n - FEWER_ROWS * 2.0 * noise:
        rows = float(n)
    rows = max(rows, 1.0)
    first = np.clip(sums[:k] / rows, -1.0, 1.0)
    floor = max(SD_FLOOR**2, 2.0 * noise / rows)
    variance = np.clip(sums[k : 2 * k] / rows + 0.5 - first**2, min(floor, 1.0), 1.0)
    half = high / 2 - low / 2
    return high / 2 + low / 2 + half * first, half * np.sqrt(variance)


# ------------------------------------------------------------------------------------------- reading the histograms
class Start(NamedTuple):
    """The blocks of a column: exponents of the first and behind the last octave, and the sign (-1, 1, or 0 for both).

    A column of which only zeros are visible has the exponents of [-1, 1].
    """

    first: int
    end: int
    sign: int

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the blocks."""
        top = _power(self.end)
        return {-1: (-top, 0.0), 0: (-top, top), 1: (0.0, top)}[self.sign]

    @property
    def near(self) -> np.ndarray:
        """The exponents of the octaves from one block below to one block above."""
        return np.arange(max(self.first - BLOCK, SMALLEST), min(self.end + BLOCK, LARGEST) + 1)


def _power(exponent: int) -> float:
    """2 to this power, or the largest double."""
    return math.ldexp(1.0, exponent) if exponent <= LARGEST else _MOST


def _block_edges() -> np.ndarray:
    """The lower ends of the blocks of positive numbers."""
    return np.ldexp(1.0, np.arange(SMALLEST, LARGEST + 1, BLOCK))


def _signed(positive: np.ndarray) -> np.ndarray:
    """Edges of bins for both signs, with one bin around 0."""
    return np.concatenate([-positive[::-1], positive])


def _by_sign(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Counts of negative numbers, of positive numbers, both by increasing magnitude, and of the bin around 0."""
    k = len(counts) // 2
    return counts[:k][::-1], counts[k + 1 :], float(counts[k])


class _Window(NamedTuple):
    above: float  # count over its noise, less the threshold
    first: int
    end: int
    sign: int


def _best(negative: np.ndarray, positive: np.ndarray, sd: float, widths: Sequence[int], threshold) -> _Window:
    """The adjacent bins, of one sign or both, whose count is furthest above the threshold, in noise deviations.

    ``threshold``: a number, or an array by the first bin.
    """
    best = _Window(-math.inf, 0, 1, 0)
    for width in widths:
        for sign, counts in ((-1, negative), (1, positive), (0, negative + positive)):
            if len(counts) < width:
                continue
            sums = np.convolve(counts, np.ones(width), "valid")
            score = sums / (sd * math.sqrt(width * (1 + (sign == 0))))
            above = score - (threshold if np.ndim(threshold) == 0 else threshold[: len(score)])
            i = int(np.argmax(above))
            if above[i] > best.above:
                best = _Window(float(above[i]), i, i + width, sign)
    return best


def _thresholds(rate: float) -> np.ndarray:
    """The threshold of windows by their first block, in noise deviations, for a false window with probability rate.

    A union bound over all windows. The blocks of ``TYPICAL`` share most of the probability.
    """
    exponents = np.arange(SMALLEST, LARGEST + 1, BLOCK)
    typical = (exponents + BLOCK > TYPICAL[0]) & (exponents < TYPICAL[1])
    windows = 3 * len(BLOCK_WIDTHS)
    each = np.where(typical, TYPICAL_SHARE / typical.sum(), (1 - TYPICAL_SHARE) / (~typical).sum())
    return -ndtri(rate * each / windows)


def _clear(count: float, bins: int, sd: float, n: int) -> bool:
    """Whether a noisy count of so many bins is more than noise and more than a small part of the rows."""
    return count > max(NEXT * sd * math.sqrt(bins), PART * n)


def _sign(best: _Window, negative: np.ndarray, positive: np.ndarray, sd: float, n: int) -> int:
    """The sign of a window, 0 if the other sign has a part of the rows."""
    other = {-1: positive, 0: positive, 1: negative}[best.sign][best.first : best.end]
    return 0 if _clear(other.sum(), len(other), sd, n) else best.sign


def _blocks(counts: np.ndarray, sd: float, n: int, rate: float) -> Start | None:
    """The blocks of a column, or None if the noise hides them."""
    negative, positive, zeros = _by_sign(counts)
    thresholds = _thresholds(rate)
    best = _best(negative, positive, sd, BLOCK_WIDTHS, thresholds)
    if best.above <= 0:
        return Start(-BLOCK, 0, 0) if zeros > sd * thresholds.min() else None
    sign = _sign(best, negative, positive, sd, n)
    return Start(SMALLEST + BLOCK * best.first, SMALLEST + BLOCK * best.end, sign)


def _octaves(counts: np.ndarray, exponents: np.ndarray, sd: float, n: int, start: Start) -> tuple[float, float]:
    """The range of a column: 0 or powers of two with a sign.

    It reaches over the best octaves and those next to them whose counts are clear. It ends at 0 unless these hold
    ``COVERAGE`` of the rows, and no zeros are clear. If no octaves are clear, it is the range of the blocks.
    """
    negative, positive, zeros = _by_sign(counts)
    best = _best(negative, positive, sd, OCTAVE_WIDTHS, CLEAR_OCTAVES)
    if best.above <= 0:
        return start.ends
    first, end, sign = best.first, best.end, _sign(best, negative, positive, sd, n)
    side, bins = {-1: negative, 0: negative + positive, 1: positive}[sign], 1 + (sign == 0)
    while end < len(side) and _clear(side[end], bins, sd, n):
        end += 1
    while first > 0 and _clear(side[first - 1], bins, sd, n):
        first -= 1
    whole = side[first:end].sum() >= COVERAGE * n
    if not whole and side[max(first - BLOCK, 0) : end].sum() + zeros < COVERAGE * n:
        end += 1
    top = _power(int(exponents[0]) + end)
    if sign == 0:
        return -top, top
    # the bin around 0 has also the smaller magnitudes of both signs
    bottom = _power(int(exponents[0]) + first) if whole and not _clear(zeros, 1, sd, n) else 0.0
    return (bottom, top) if sign > 0 else (-top, -bottom)


def _cells(counts: np.ndarray, sd: float, low: float, high: float) -> tuple[float, float]:
    """The part of the range that holds a column of small spread, or the range itself.

    The clearest run of 1, 2, 4, ... cells holds the middle of the rows. It is widened by its own length at both ends.
    """
    sums, best, length = np.concatenate([[0.0], np.cumsum(counts)]), (CLEAR_CELLS, 0, 0), 1
    while length <= CELLS // 8:
        score = (sums[length:] - sums[:-length]) / (sd * math.sqrt(length))
        i = int(np.argmax(score))
        if score[i] > best[0]:
            best = (float(score[i]), i, length)
        length *= 2
    _, i, length = best
    if not length:
        return low, high
    step = (high / 2 - low / 2) / (CELLS / 2)
    return low + step * max(i - length, 0), low + step * min(i + 2 * length, CELLS)


def _wide_enough(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranges, widened where half of one is below 2^LEAST_SCALE or below the distance of adjacent doubles."""
    middle = high / 2 + low / 2
    least = np.maximum(2.0**LEAST_SCALE, 4.0 * np.spacing(np.abs(middle)))
    tight = high / 2 - low / 2 < least
    return np.where(tight, middle - least, low), np.where(tight, middle + least, high)


# ----------------------------------------------------------------------------------------------------- the forecast
@dataclass(frozen=True)
class Hiding:
    """How likely the noise hides columns, from public numbers.

    Parameters
    ----------
    columns : number of columns whose range is estimated, with the target.
    share : assumed share of the rows of a column that are in its fullest block of magnitudes.
    column, target : probability that the noise hides a column that may be left out, and the target.
    rows : number of rows at which a column is hidden with probability ``RARE`` at most.
    """

    columns: int
    share: float
    column: float
    target: float
    rows: int

    @property
    def expected(self) -> float:
        """The expected number of hidden columns besides the target."""
        return (self.columns - 1) * self.column


#: probability of hiding that counts as small.
RARE = 0.01
#: share of the rows in the fullest block that is assumed: a normal distribution around 0 has .75 to .94.
FULLEST = 0.75


def hiding(n: int, columns: int, noise_multiplier: float, share: float = FULLEST) -> Hiding:
    """The probability that the noise hides a column, before anything is spent. Reads no row.

    Parameters
    ----------
    n : public number of rows.
    columns : number of columns without a stated range, with the target if it has none.
    noise_multiplier : the argument of :func:`private_columns`, see ``privacy.scaling.scaling_noise_multiplier``.
    share : share of the rows of a column in its fullest block of magnitudes, such as [1, 16), over both signs.

    The count of that block has twice the variance of one bin. A column of one sign, or one that fills two blocks, is
    hidden less often. Zeros are in no block. Raises ValueError for numbers out of range.
    """
    if n < 1 or columns < 1 or not 0 < share <= 1:
        raise ValueError(f"hiding: n = {n}, columns = {columns}, share = {share}; give n, columns >= 1, share in (0, 1]")
    sd = noise_multiplier / math.sqrt(SHARES["blocks"]) * math.sqrt(2.0 * columns)
    column, target = (float(_thresholds(rate).min()) for rate in (FALSE_COLUMN, FALSE_TARGET))
    full = share * n / sd
    rows = math.ceil((target - ndtri(RARE)) * sd / share)
    return Hiding(columns, share, float(ndtr(column - full)), float(ndtr(target - full)), rows)
