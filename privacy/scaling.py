"""Standardisation that a private method may use: its ranges are public or bought, its moments are released.

Two releases, both under add/remove neighbours with the number of rows public (``PublicKnowledge.n``), both over
the full batch and both written to the ledger by the budget:

1. *ranges*, only where a column has no documented one: a joint histogram of the columns over signed powers of two;
2. *moments*: the joint sums of the values and of their squares, mapped to [-1, 1] by those ranges.

A documented range is taken as it is; the minimum and maximum of the data are never looked at. The cost is stated in
the currency of Gaussian differential privacy (Dong, Roth & Su 2022): a full-batch Gaussian release with noise
multiplier s costs mu = 1/s, and mu^2 adds up over releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from privacy.budget import Budget
from privacy.ledger import Event, Ledger, Relation

#: exponents of the bins of the range histogram: magnitudes 2^-20 to 2^20; below is the zero bin, above the last bin.
EXPONENTS = (-20, 20)
#: fraction of the rows that a bought range is asked to hold (less one standard deviation of the count's noise).
COVERAGE = 0.95
#: smallest standard deviation that is believed, as a fraction of half the range.
SD_FLOOR = 1.0 / 64.0


class Public(Protocol):
    """What is needed of ``models.task.PublicKnowledge``."""

    n: int
    x_bounds: tuple[tuple[float, float] | None, ...]
    y_bounds: tuple[float, float] | None


class Scaling(NamedTuple):
    """The four arguments of ``models.standardise.Standardiser``, in its order: ``Standardiser(*private_scaling(..))``.

    ``privacy`` imports nothing of the project, so the standardiser itself is made by the caller.
    """

    x_shift: np.ndarray
    x_scale: np.ndarray
    y_shift: float
    y_scale: float


# ---------------------------------------------------------------------------------------------- budget arithmetic
def gdp_delta(mu: float, epsilon: float) -> float:
    """Smallest delta at which a mu-Gaussian-DP mechanism is (epsilon, delta)-DP (Dong, Roth & Su 2022, cor. 1)."""
    return float(ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2)))


def gdp_mu(epsilon: float, delta: float) -> float:
    """The mu of Gaussian DP that is exactly (epsilon, delta)-DP; e.g. 0.26805 for (1, 1e-5)."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(f"gdp_mu: epsilon = {epsilon}, delta = {delta}; give epsilon > 0 and delta between 0 and 1")
    high = 1.0
    while gdp_delta(high, epsilon) < delta:
        high *= 2.0
    return float(brentq(lambda mu: gdp_delta(mu, epsilon) - delta, 1e-6, high, xtol=1e-12))


def scaling_noise_multiplier(epsilon: float, delta: float, share: float) -> float:
    """Noise multiplier of :func:`private_scaling` that spends ``share`` (in (0, 1]) of mu^2 of (epsilon, delta)."""
    if not (0 < share <= 1):
        raise ValueError(f"scaling: share = {share}; give the part of the budget for standardisation, in (0, 1]")
    return 1.0 / (gdp_mu(epsilon, delta) * math.sqrt(share))


def remaining_noise_multiplier(spent: Ledger, planned: Event, epsilon: float, delta: float) -> float:
    """Smallest noise multiplier (to 0.1 %, from above) at which ``planned`` still fits beside the events ``spent``.

    The epsilon of the whole ledger is the suite's own (``privacy.accountants.epsilon_of``), so a budget in mode
    ``enforce`` accepts the result. Depends on the events alone, never on data; results are kept, because every
    split of a data set asks the same question. Raises ValueError where ``spent`` already costs more than epsilon.
    """
    # The words of an event and the scale of what it releases do not matter to its cost.
    plain = tuple(
        replace(e, what=f"event {i}", sensitivity=1.0, noise_scale=e.noise_multiplier, proof="", generator="")
        for i, e in enumerate(spent)
    )
    unit = replace(planned, what="planned", sensitivity=1.0, noise_scale=1.0, proof="", generator="")
    return _remaining(plain, unit, float(epsilon), float(delta))


@lru_cache(maxsize=256)
def _remaining(spent: tuple[Event, ...], planned: Event, epsilon: float, delta: float) -> float:
    from privacy.accountants import epsilon_of  # heavy import, only where it is needed

    def cost(noise_multiplier: float) -> float:
        return epsilon_of(Ledger([*spent, replace(planned, noise_scale=noise_multiplier)]), delta).epsilon

    if spent and not (epsilon_of(Ledger(list(spent)), delta).epsilon < epsilon):
        raise ValueError(
            f"the releases before training already cost more than epsilon = {epsilon:g} at delta = {delta:g}; "
            "give standardisation a smaller share of the budget"
        )
    # Gaussian DP without amplification is an upper end that always fits.
    left = gdp_mu(epsilon, delta) ** 2 - sum(1.0 / e.noise_multiplier**2 for e in spent)
    high = math.sqrt(planned.steps / left) * 1.01 if left > 0 else 10.0
    while cost(high) > epsilon:
        high *= 2.0
    low = high
    while cost(low) <= epsilon:
        high, low = low, low / 2.0
    return _smallest_above(cost, low, high, epsilon)


def _smallest_above(cost: Callable[[float], float], low: float, high: float, epsilon: float) -> float:
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        if cost(middle) <= epsilon:
            high = middle
        else:
            low = middle
    return high


# ------------------------------------------------------------------------------------------------- the two releases
def private_scaling(x: np.ndarray, y: np.ndarray, public: Public, budget: Budget, noise_multiplier: float) -> Scaling:
    """Shift and scale of every column from documented or bought ranges and released moments.

    Parameters
    ----------
    x : (n, d) inputs; y : (n,) targets; original units.
    public : number of rows and documented ranges. A column without one has its range bought.
    budget : is charged one or two full-batch Gaussian releases under add/remove.
    noise_multiplier : of the whole: the releases made here compose exactly to ONE full-batch Gaussian release with
        this noise multiplier (two releases get sqrt(2) times as much each). See :func:`scaling_noise_multiplier`.

    Returns
    -------
    :class:`Scaling`, post-processing of the releases: ``Standardiser(*private_scaling(...))``. It clips nothing.

    Raises ValueError for a documented range that is empty or not finite, or for the wrong number of ranges.
    """
    values = np.column_stack([x, y])
    ranges = _documented(public, values.shape[1])
    missing = [j for j, r in enumerate(ranges) if r is None]
    multiplier = noise_multiplier * math.sqrt(2.0) if missing else noise_multiplier
    if missing:
        for j, bought in zip(missing, private_ranges(values[:, missing], public.n, budget, multiplier), strict=True):
            ranges[j] = bought
    low, high = np.array(ranges, dtype=np.float64).T
    mean, sd = private_moments(values, low, high, public.n, budget, multiplier)
    return Scaling(mean[:-1], sd[:-1], float(mean[-1]), float(sd[-1]))


def _documented(public: Public, columns: int) -> list[tuple[float, float] | None]:
    x_bounds = list(public.x_bounds) or [None] * (columns - 1)
    if len(x_bounds) != columns - 1:
        raise ValueError(
            f"public.x_bounds has {len(x_bounds)} entries for {columns - 1} input columns; "
            "give one (lower, upper) or None for each"
        )
    ranges = [*x_bounds, public.y_bounds]
    for j, r in enumerate(ranges):
        if r is not None and not (math.isfinite(r[0]) and math.isfinite(r[1]) and r[0] < r[1]):
            where = f"public.x_bounds[{j}]" if j < columns - 1 else "public.y_bounds"
            raise ValueError(f"{where} = {r}; give finite numbers (lower, upper) with lower < upper, or None")
    return ranges


def bin_edges() -> np.ndarray:
    """Edges of the signed power-of-two bins, increasing; the zero bin is the middle one. Constants, no data."""
    powers = 2.0 ** np.arange(EXPONENTS[0], EXPONENTS[1] + 1)
    return np.concatenate([-powers[::-1], powers])


def range_counts(values: np.ndarray) -> np.ndarray:
    """Histogram of each column over :func:`bin_edges`: (columns, bins); values beyond the ends go to the end bins.

    L2 sensitivity under add/remove: sqrt(columns). Proof: a row adds exactly one 1 in each column's histogram and
    nothing else, so adding or removing it changes the whole array by a vector of ``columns`` ones. A NaN counts
    as 0 (the zero bin), so the bound needs no condition on the values.
    """
    values = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
    edges = bin_edges()
    bins = len(edges) - 1
    which = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    return np.stack([np.bincount(column, minlength=bins) for column in which.T]).astype(np.float64)


def private_ranges(values: np.ndarray, n: int, budget: Budget, noise_multiplier: float) -> list[tuple[float, float]]:
    """One range a column, ends signed powers of two, bought by one Gaussian release of :func:`range_counts`.

    For each column the narrowest run of bins whose noisy count reaches COVERAGE x n less one standard deviation of
    that count's noise; where none does, the run with the largest noisy count less that standard deviation.
    """
    columns = values.shape[1]
    mechanism = budget.gaussian(
        "histogram of magnitudes for the ranges of columns without documented ones",
        sensitivity=math.sqrt(columns),
        noise_multiplier=noise_multiplier,
        relation=Relation.ADD_REMOVE,
        proof="privacy.scaling.range_counts",
    )
    noisy = mechanism.release(range_counts(values))
    edges = bin_edges()
    start, stop = np.triu_indices(len(edges), k=1)
    width = edges[stop] - edges[start]
    slack = mechanism.noise_scale * np.sqrt(stop - start)
    out = []
    for counts in noisy:
        total = np.concatenate([[0.0], np.cumsum(counts)])
        inside = total[stop] - total[start]
        enough = inside >= COVERAGE * n - slack
        best = int(np.argmin(np.where(enough, width, np.inf))) if enough.any() else int(np.argmax(inside - slack))
        out.append((float(edges[start[best]]), float(edges[stop[best]])))
    return out


def moment_sums(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums over the rows of u and of u^2 - 1/2, with u the values mapped to [-1, 1] and clipped; (2, columns).

    L2 sensitivity under add/remove: sqrt(5/4 x columns). Proof: a row adds (u_j, u_j^2 - 1/2) for every column j, of
    squared norm u_j^2 + (u_j^2 - 1/2)^2 = u_j^4 + 1/4 <= 5/4 since |u_j| <= 1; these add up over the columns.
    Centring the squares is what brings 2 down to 5/4; n / 2, public, is added back after the release.
    A NaN counts as u = 0.
    """
    u = (np.asarray(values, dtype=np.float64) - (high + low) / 2) / ((high - low) / 2)
    u = np.clip(np.nan_to_num(u, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
    return np.stack([u.sum(axis=0), (u**2 - 0.5).sum(axis=0)])


def private_moments(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, n: int, budget: Budget, noise_multiplier: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every column, original units, by one Gaussian release of :func:`moment_sums`.

    The mean is clipped to the range; the variance is floored where the noise would hide it (two standard
    deviations of its own noise, and SD_FLOOR squared). Both are post-processing with public numbers.
    """
    columns = values.shape[1]
    mechanism = budget.gaussian(
        "sums of the columns and of their squares for standardisation",
        sensitivity=math.sqrt(1.25 * columns),
        noise_multiplier=noise_multiplier,
        relation=Relation.ADD_REMOVE,
        proof="privacy.scaling.moment_sums",
    )
    first, second = mechanism.release(moment_sums(values, low, high)) / n
    first = np.clip(first, -1.0, 1.0)
    floor = max(SD_FLOOR**2, 2.0 * mechanism.noise_scale / n)
    variance = np.clip(second + 0.5 - first**2, min(floor, 1.0), 1.0)
    half = (high - low) / 2
    return (high + low) / 2 + half * first, half * np.sqrt(variance)
