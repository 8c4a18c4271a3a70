"""Privately estimated mean and standard deviation of columns of any scale and offset.

A column may have any finite values: exponents from -1074 to 1023, both signs, and a spread that is far smaller than
its distance from 0. There are at most four releases. Each reads every row once, is Gaussian and full batch, and holds
under add/remove:

1. *Blocks*: counts of the rows by sign and by magnitude in powers of 16, over all doubles. They locate each column, or
   show that the noise hides it.
2. *Octaves*: counts of each located column by sign and powers of 2, near its blocks. They give a range.
3. *Cells*: counts in ``CELLS`` parts of equal width, for ranges that do not contain 0 and are narrower than a factor
   of 4. They find the offset of a column whose spread is small. If there is no such range, the share of this release
   goes to the next one.
4. *Moments*: sums of the values and of their squares, mapped to [-1, 1], and the number of rows.

The L2 sensitivity of a histogram does not depend on the number of its bins, so more bins cost no budget. They raise the
threshold that empty bins must not exceed, as the square root of a logarithm. Adjacent bins are added before they are
compared with it, so a column need not have most of its rows in one bin. Everything after a release is post-processing
with public numbers.

The shares of the budget and the constants below were chosen on synthetic rows (``benchmarks/ranges.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
#: half width of the interval of a column, in standard deviations.
DEVIATIONS = 3.0
#: standard deviations of noise by which the noisy number of rows must be below the public one to replace it.
FEWER_ROWS = 3.0
_MOST = float(np.finfo(np.float64).max)


class HiddenRange(ValueError):
    """Noise hides the scale of a column without which nothing can be fitted. It follows from releases only."""


class Columns(NamedTuple):
    """The ends of the interval of each column, (columns,): the mean and ``DEVIATIONS`` standard deviations, cut to its
    range. They are infinite for a column that the noise hides.
    """

    low: np.ndarray
    high: np.ndarray


# ----------------------------------------------------------------------------------------------------- the releases
def interval_counts(values: Sequence[np.ndarray], edges: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Weighted counts of each column in the intervals between its edges, column after column, as one vector.

    ``values``: columns (n,). ``edges``: for each column its increasing edges (k,), of which it has k + 1 counts: below
    the first edge, in [edge i, edge i + 1), and from the last one on. ``weights``: factor of each column's counts. A
    NaN, the value of an empty row, is not counted.

    L2 sensitivity under add/remove: the root of the sum of the squared weights, if edges and weights follow from public
    numbers and earlier releases. Proof: the intervals of a column are disjoint, so a row adds its weight to at most one
    count of the column, and nothing else. Adding or removing it changes the vector by at most one weight per column.
    """
    parts = []
    for column, ends, weight in zip(values, edges, weights, strict=True):
        column = np.asarray(column, dtype=np.float64)
        where = np.searchsorted(ends, column[~np.isnan(column)], side="right")
        parts.append(weight * np.bincount(where, minlength=len(ends) + 1))
    return np.concatenate(parts)


def moment_sums(values: np.ndarray, low: np.ndarray, high: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of u and of u^2 - 1/2 over the rows, and half the number of rows: a vector (2 x columns + 1,).

    u are the values (n, columns) mapped from [low, high] to [-1, 1] and clipped. ``weights`` (columns,) are factors of
    the sums. A NaN adds 0 to the sums of its column, and a row of NaN only, an empty row, is not counted.

    L2 sensitivity under add/remove, with the weights w_j: sqrt(5/4 sum of w_j^2 + 1/4). Proof: a row adds (w_j u_j,
    w_j (u_j^2 - 1/2)) for every column j, or (0, 0) for a NaN. Since |u_j| <= 1, the squared norm is

        w_j^2 (u_j^2 + (u_j^2 - 1/2)^2) = w_j^2 (u_j^4 + 1/4) <= 5/4 w_j^2,

    and these add up over the columns. The number of rows adds (1/2)^2 at most.
    """
    values = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(values)
    half = high / 2 - low / 2  # the ends may be the largest doubles, whose difference is infinite
    with np.errstate(over="ignore", invalid="ignore"):
        u = values - (high / 2 + low / 2)
        u /= half  # in place, to avoid a second copy of many rows
    np.clip(np.nan_to_num(u, copy=False, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0, out=u)
    first = weights * u.sum(axis=0)
    np.square(u, out=u)
    u -= 0.5
    u[~there] = 0.0
    return np.concatenate([first, weights * u.sum(axis=0), [0.5 * there.any(axis=1).sum()]])


def column_weights(columns: int, needed: Sequence[int]) -> np.ndarray:
    """The weight of each column in all releases, (columns,).

    There is no fit if a needed column is hidden. Together they get half of the sum of squared weights of the others, so
    the noise of a lone target does not grow with the number of inputs. The noise of an input grows by at most 22 %.
    """
    weights = np.ones(columns)
    if 0 < len(needed) < columns:
        weights[list(needed)] = math.sqrt(max(1.0, (columns - len(needed)) / (2 * len(needed))))
    return weights


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

    weights = column_weights(columns, needed)

    def counted(what: str, share: str, which: Sequence[int], edges: Sequence[np.ndarray]) -> Iterator[tuple]:
        """Counts of each column, and the standard deviation of their noise."""
        each = weights[which]
        mechanism = budget.gaussian(
            what,
            sensitivity=math.sqrt((each**2).sum()),
            noise_multiplier=noise_multiplier / math.sqrt(SHARES[share]),
            relation=Relation.ADD_REMOVE,
            proof="privacy.ranges.interval_counts",
        )
        noisy = mechanism.release(interval_counts([values[:, j] for j in which], edges, each))
        parts = np.split(noisy, np.cumsum([len(e) + 1 for e in edges])[:-1])
        return ((part / w, mechanism.noise_scale / w) for part, w in zip(parts, each, strict=True))

    every = list(range(columns))
    noisy = counted("histogram of all magnitudes", "blocks", every, [_signed(_block_edges())] * columns)
    found = [_blocks(c, sd, n, FALSE_TARGET if j in needed else FALSE_COLUMN) for j, (c, sd) in enumerate(noisy)]
    if any(found[j] is None for j in needed):
        raise HiddenRange(
            "the noise hides the scale of a column without which there is no fit, such as the target, at this epsilon "
            "and number of rows; state ranges that are known without the rows. The budget of this fit is spent."
        )
    seen = np.flatnonzero([f is not None for f in found])
    if not len(seen):
        return Bounds(seen, np.zeros(0), np.zeros(0), SHARES["blocks"])
    starts = [f for f in found if f is not None]
    low, high = np.array([s.ends for s in starts], dtype=np.float64).T
    magnitudes = [s.near for s in starts]
    noisy = counted("histogram of octaves", "octaves", seen, [_signed(np.ldexp(1.0, m)) for m in magnitudes])
    for i, ((counts, sd), exponents, start) in enumerate(zip(noisy, magnitudes, starts, strict=True)):
        low[i], high[i] = _octaves(counts, exponents, sd, n, start)
    small, large = np.sort(np.abs([low, high]), axis=0)
    narrow = np.flatnonzero((np.sign(low) == np.sign(high)) & (large / 4.0 <= small))
    if len(narrow):
        grids = [np.linspace(low[i], high[i], CELLS + 1)[1:-1] for i in narrow]
        noisy = counted("histogram of cells", "cells", seen[narrow], grids)
        for i, (counts, sd) in zip(narrow, noisy, strict=True):
            low[i], high[i] = _cells(counts, sd, n, float(low[i]), float(high[i]))
    spent = SHARES["blocks"] + SHARES["octaves"] + (SHARES["cells"] if len(narrow) else 0.0)
    return Bounds(seen, *_wide_enough(low, high), spent)


def private_columns(
    values: np.ndarray, n: int, budget: Budget, noise_multiplier: float, needed: Sequence[int] = ()
) -> Columns:
    """The interval of every column to which a fit scales it, privately estimated, and the columns that noise hides.

    Parameters
    ----------
    values : (rows, columns), original units. Empty rows are NaN, or left out.
    n : public number of rows. It widens ranges that hold too few of them, and takes the place of a noisy number of rows
        that is not clearly smaller.
    budget : is charged three or four full-batch Gaussian releases under add/remove.
    noise_multiplier : of the one release to which all of them compose exactly. Each spends a fixed share of its squared
        mu, whatever the earlier ones gave, so ordinary adaptive composition holds.
    needed : columns without which there is no fit, such as the target.

    Raises :class:`HiddenRange` if the noise hides a column of ``needed``. Only the first release is then made, as it is
    if the noise hides all columns.
    """
    columns = values.shape[1]
    seen, low, high, spent = private_bounds(values, n, budget, noise_multiplier, needed)
    found = Columns(np.full(columns, -np.inf), np.full(columns, np.inf))
    if not len(seen):
        return found
    weights, k = column_weights(columns, needed)[seen], len(seen)
    mechanism = budget.gaussian(
        "sums of the columns and of their squares, and the number of rows",
        sensitivity=math.sqrt(1.25 * (weights**2).sum() + 0.25),
        noise_multiplier=noise_multiplier / math.sqrt(1.0 - spent),
        relation=Relation.ADD_REMOVE,
        proof="privacy.ranges.moment_sums",
    )
    sums = mechanism.release(moment_sums(values[:, seen], low, high, weights))
    rows = 2.0 * float(sums[-1])
    rows = max(rows, 1.0) if rows < n - FEWER_ROWS * 2.0 * mechanism.noise_scale else float(n)
    noise = mechanism.noise_scale / weights / rows
    mean = np.clip(sums[:k] / weights / rows, -1.0, 1.0)
    floor = np.clip(2.0 * noise, SD_FLOOR**2, 1.0)
    sd = np.sqrt(np.clip(sums[k : 2 * k] / weights / rows + 0.5 - mean**2, floor, 1.0))
    middle, half = high / 2 + low / 2, high / 2 - low / 2
    found.low[seen] = middle + half * np.maximum(mean - DEVIATIONS * sd, -1.0)
    found.high[seen] = middle + half * np.minimum(mean + DEVIATIONS * sd, 1.0)
    return found


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


def _cells(counts: np.ndarray, sd: float, n: int, low: float, high: float) -> tuple[float, float]:
    """The part of the range that holds a column of small spread, or the range itself.

    The clearest run of 1, 2, 4, ... cells holds the middle of the rows. It is widened by its own length at both ends,
    until it holds ``COVERAGE`` of the rows. A part of more than half of the cells leaves the range as it is.
    """
    sums, best, length = np.concatenate([[0.0], np.cumsum(counts)]), (CLEAR_CELLS, 0, CELLS), 1
    while length < CELLS:
        score = (sums[length:] - sums[:-length]) / (sd * math.sqrt(length))
        i = int(np.argmax(score))
        if score[i] > best[0]:
            best = (float(score[i]), i, length)
        length *= 2
    _, first, length = best
    first, end = max(first - length, 0), min(first + 2 * length, CELLS)
    while sums[end] - sums[first] < COVERAGE * n and end - first <= CELLS // 2:
        length *= 2
        first, end = max(first - length, 0), min(end + length, CELLS)
    if end - first > CELLS // 2:
        return low, high
    step = (high / 2 - low / 2) / (CELLS / 2)
    return low + step * first, low + step * end


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
    inputs : number of inputs whose range is estimated.
    column : probability that the noise hides one of them: in the best case, all rows in one bin, and as assumed. Such
        an input is left out of the fit.
    target : the same for the target, without which there is no fit. 0 if its range is stated.
    rows : number of rows at which no probability is above ``RARE``.
    """

    inputs: int
    column: tuple[float, float]
    target: tuple[float, float]
    rows: int

    @property
    def expected(self) -> tuple[float, float]:
        """The expected number of inputs that are left out, in the best case and as assumed."""
        return self.inputs * self.column[0], self.inputs * self.column[1]

    @property
    def hopeless(self) -> bool:
        """Whether a fit is more likely lost than not even in the best case, so that it should be refused."""
        return self.target[0] > 0.5

    @property
    def words(self) -> str:
        """A warning and its remedy, "" if hiding is unlikely."""
        if self.expected[1] < LEFT_OUT and self.target[1] <= RARE:
            return ""
        parts = []
        if self.expected[1] >= LEFT_OUT:
            few, many = (f"{v:.1f}" for v in self.expected)
            number = many if few == many else f"{few} to {many}"
            parts.append(f"{number} of the {self.inputs} inputs without a stated range are expected to be left out")
        if self.target[1] > RARE:
            low, high = (f"{v:.2f}" for v in self.target)
            chance = high if low == high else f"{low} to {high}"
            parts.append(f"with probability {chance} the target's range is hidden, and the fit is lost")
        return (
            f"The noise may hide ranges: {', and '.join(parts)}. The smaller number is for columns of one sign and one "
            "order of magnitude, the larger one for columns that are normal around 0. "
            f"About {self.rows:,} rows would do. State the ranges that are known without the rows, or take a larger "
            "epsilon."
        )


#: probability of hiding that counts as small, and expected number of inputs left out that does.
RARE, LEFT_OUT = 0.01, 0.1
#: share of the rows that is assumed to be in the best two bins: that of the normal distribution around 0 whose scale is
#: the least favourable (.67; the mean over scales is .76).
FULLEST = 0.67


def hiding(
    n: int, inputs: int, noise_multiplier: float, target: bool = True, share: float = FULLEST, bins: int = 2
) -> Hiding:
    """The probability that the noise hides a column, before anything is spent. It reads no row.

    Parameters
    ----------
    n : public number of rows.
    inputs : number of inputs without a stated range.
    noise_multiplier : the argument of :func:`private_columns`, see ``privacy.scaling.scaling_noise_multiplier``.
    target : whether the target's range is estimated too.
    share, bins : share of the rows of a column in its best bins, and their number. A bin is one sign of one block of
        magnitudes, such as [4, 64). One bin is the best case, four the worst. Zeros are in no bin.

    Raises ValueError for numbers out of range.
    """
    if n < 1 or inputs < 0 or not inputs + target or not 0 < share <= 1 or bins not in (1, 2, 4):
        raise ValueError(
            f"hiding: n = {n}, inputs = {inputs}, share = {share:g}, bins = {bins}; give at least 1 row, 1 column, a "
            "share in (0, 1], and 1, 2 or 4 bins"
        )
    weights = column_weights(inputs + target, [inputs] if target else [])
    sd = noise_multiplier / math.sqrt(SHARES["blocks"]) * math.sqrt((weights**2).sum())
    found, rows = [], [1.0]
    for weight, rate, here in ((1.0, FALSE_COLUMN, inputs), (weights[-1], FALSE_TARGET, target)):
        threshold, noise = float(_thresholds(rate).min()), sd / weight
        cases = ((1.0, noise), (share, noise * math.sqrt(bins)))
        found.append(tuple(float(ndtr(threshold - part * n / s)) if here else 0.0 for part, s in cases))
        rows += [(threshold - ndtri(RARE)) * cases[1][1] / share] if here else []
    return Hiding(inputs, found[0], found[1], math.ceil(max(rows)))
