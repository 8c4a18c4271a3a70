"""The distance of a sampler's draws from exact posterior draws, and what it adds to delta.

Every row of the table is one posterior at one budget. Let t bound the total variation between a draw and the exact
posterior on two neighbours. If exact draws are (epsilon, delta)-DP, the sampler's draws are
(epsilon, delta + (1 + e^epsilon) t)-DP on these two:

    P(draw in S) <= P(exact in S) + t
                 <= e^epsilon P(exact' in S) + delta + t
                 <= e^epsilon (P(draw' in S) + t) + delta + t.

The columns ``delta_added_*`` hold (1 + e^epsilon) t, at most 1, for the t of one data set. A bound for all data sets
would need the largest t of all.

The columns ``below`` and ``above`` are the shares of draws beyond the exact quantiles at ``level`` and 1 - ``level``.
All intervals are 95 %: by Clopper & Pearson for shares, by Dvoretzky, Kiefer & Wolfowitz for distances. References
count by their effective sample size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import beta

from privacy.ledger import Ledger

ALPHA = 0.05
COLUMNS = (
    *("task", "dataset", "method", "setting", "n", "d", "power", "precision", "radius", "epsilon", "delta"),
    *("draws", "reference", "reference_size", "level", "below", "below_low", "below_high"),
    *("above", "above_low", "above_high", "kolmogorov", "kolmogorov_low", "kolmogorov_high"),
    *("tv_low", "tv_high", "tv_by", "delta_added_low", "delta_added_high", "law_p"),
    *("delta_exact", "delta_drawn", "epsilon_exact", "epsilon_drawn", "seconds"),
)


def share(count: int, of: int) -> tuple[float, float, float]:
    """The share count / of and its 95 % interval (Clopper & Pearson): (share, low, high)."""
    low = float(beta.ppf(ALPHA / 2, count, of - count + 1)) if count else 0.0
    high = float(beta.isf(ALPHA / 2, count + 1, of - count)) if count < of else 1.0
    return count / of, low, high


def half_width(size: float, alpha: float = ALPHA) -> float:
    """The largest error, at level 1 - alpha, of an empirical distribution function of ``size`` draws (Massart 1990)."""
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * size))


def kolmogorov(a: np.ndarray, b: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The largest difference of the distribution functions of draws ``a`` (k,) and ``b`` (m,). b may be weighted.

    Raises ValueError for a draw or weight that is not finite, or weights without a sum above 0.
    """
    weight = np.ones(len(b)) if weight is None else weight
    if not (all(np.isfinite(v).all() for v in (a, b, weight)) and weight.sum() > 0):
        raise ValueError(
            "a draw or its weight is not finite, or all weights are 0; check the sampler and its reference"
        )
    weight = weight / weight.sum()
    order = np.argsort(b)
    both = np.concatenate([a, b])
    of_b = np.concatenate([[0.0], np.cumsum(weight[order])])[np.searchsorted(b[order], both, side="right")]
    of_a = np.searchsorted(np.sort(a), both, side="right") / len(a)
    return float(np.abs(of_a - of_b).max())


def added(epsilon: float, distance: float) -> float:
    """The part of delta that a total variation adds, at most 1."""
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * distance)


def epsilon_of(events: Sequence, delta: float) -> float:
    """The epsilon of events at ``delta``."""
    from privacy.accountants import epsilon_of  # heavy

    return float(epsilon_of(Ledger([*events]), delta).epsilon)


def facts(target, epsilon: float, delta: float, draws: int, level: float, counts, gap, tv) -> dict:
    """The columns that are computed in the same way for all rows.

    target : the posterior, with its ``power``, ``precision`` and ``radius``.
    counts : numbers of draws below and above the exact quantiles.
    gap : Kolmogorov distance and its interval.
    tv : interval of the total variation.
    """
    row = {"power": target.power, "precision": target.precision, "radius": target.radius}
    row |= {"epsilon": epsilon, "delta": delta, "draws": draws, "level": level}
    for name, count in zip(("below", "above"), counts, strict=True):
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), share(int(count), draws), strict=True))
    row |= dict(zip(("kolmogorov", "kolmogorov_low", "kolmogorov_high"), gap, strict=True))
    row |= {"tv_low": tv[0], "tv_high": tv[1]}
    return row | {"delta_added_low": added(epsilon, tv[0]), "delta_added_high": added(epsilon, tv[1])}
