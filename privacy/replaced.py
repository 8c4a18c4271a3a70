"""A noisy count of fields that did not fit their column, and of empty rows.

A row that cannot be read changes nothing except its own part of a fit, so a table in a wrong format would pass without
a word. Each fit of rows by a schema therefore spends a hundredth of its budget on one release: how many fields of each
column were replaced by a default, and how many rows are empty. Everything else here is post-processing with public
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privacy.budget import Budget
from privacy.ledger import Relation

#: share of the budget: of mu squared (Gaussian DP), or of epsilon at delta = 0.
SHARE = 0.01
#: level of the joint interval of all counts. Noise is independent, so each count has the level LEVEL^(1 / columns).
LEVEL = 0.99
#: a column is reported if the lower end of its interval is above this share of the rows.
REPORTED = 0.05
#: probability with which a column at the visible share is reported, at least.
POWER = 0.95
#: if the visible share is larger, the count is said to see too little.
TOO_LARGE = 0.20
_WHAT = "count of replaced fields per column and of empty rows"


@dataclass(frozen=True)
class Counted:
    """The noisy counts of one fit.

    Parameters
    ----------
    columns : the k names: inputs, and at last the target, whose count is that of empty rows.
    noisy : (k,) counts with noise.
    n : the public number of rows.
    half_width : half the width of each interval in rows, so that all of them hold at once with probability ``LEVEL``.
    visible : the smallest share of the rows that is reported with probability ``POWER`` at least; above 1 if none is.
    """

    columns: tuple[str, ...]
    noisy: np.ndarray
    n: int
    half_width: float
    visible: float

    @property
    def lower(self) -> np.ndarray:
        """(k,) lower ends of the joint interval, as shares of the rows."""
        return (self.noisy - self.half_width) / self.n

    @property
    def sentences(self) -> list[str]:
        """A sentence on the share that the counts can see, and one more if a column is above ``REPORTED``."""
        share = 100 * self.visible
        if self.visible <= TOO_LARGE:
            sees = f"reports a column of which {share:.1f} % or more did not fit"
        elif self.visible <= 1:
            sees = f"sees too little: it reports a column only if {share:.0f} % or more of it did not fit"
        else:
            sees = "sees nothing: it may not report a column without any field that fits"
        out = [
            f"{100 * SHARE:g} % of the budget counts the fields that did not fit. At these public numbers it {sees}."
        ]
        found = []
        for name, low in zip(self.columns, self.lower, strict=True):
            if low > REPORTED:
                of = "the rows are empty" if name == self.columns[-1] else f"the fields of {name} were replaced"
                found.append(f"{100 * low:.0f} % of {of}")
        return out + ([f"Check the format of the table: at least {', and '.join(found)}."] if found else [])


def visible_share(columns: int, n: int, epsilon: float, delta: float) -> float:
    """The smallest share of n rows that is reported with probability ``POWER``, from public numbers before a fit.

    ``columns``: the number of inputs of the table plus one.
    """
    multiplier = _multiplier(epsilon, delta)
    return _widths(columns, n, (columns if delta == 0 else math.sqrt(columns)) * multiplier, delta == 0)[1]


def release(replaced: np.ndarray, columns: Sequence[str], n: int, budget: Budget, relation: Relation) -> Counted:
    """Charge the count to a budget with epsilon and delta, and make it: one release of :func:`counts`.

    ``replaced`` is (rows, k) bool, ``columns`` the k names, ``n`` the public number of rows. Noise is Gaussian, or
    Laplace at delta = 0. Raises BudgetExceeded in mode ``enforce``.
    """
    k, laplace = len(columns), budget.delta == 0
    multiplier = _multiplier(float(budget.epsilon or 0), float(budget.delta or 0))
    if laplace:
        mechanism = budget.laplace(
            _WHAT, sensitivity=float(k), noise_scale=k * multiplier, relation=relation, proof="privacy.replaced.counts"
        )
    else:
        mechanism = budget.gaussian(
            _WHAT,
            sensitivity=math.sqrt(k),
            noise_multiplier=multiplier,
            relation=relation,
            proof="privacy.replaced.counts",
        )
    noisy = mechanism.release(counts(replaced))
    return Counted(tuple(columns), noisy, n, *_widths(k, n, mechanism.noise_scale, laplace))


def counts(replaced: np.ndarray) -> np.ndarray:
    """The number of marks of each column of ``replaced`` (rows, k) bool: (k,).

    The last column marks empty rows. L2 sensitivity sqrt(k) and L1 sensitivity k, with k = inputs + 1, under both
    relations. Proof: a row adds a vector of {0, 1}^k. If its values are replaced, or if it becomes an empty row, whose
    vector is in {0, 1}^k too, each of the k counts moves by at most 1. If it is left out, its vector alone is missing.
    """
    return np.asarray(replaced, dtype=bool).sum(axis=0).astype(np.float64)


def _multiplier(epsilon: float, delta: float) -> float:
    """Noise scale over sensitivity of the share ``SHARE`` of a budget."""
    from privacy.scaling import scaling_noise_multiplier

    return 1 / (SHARE * epsilon) if delta == 0 else scaling_noise_multiplier(epsilon, delta, SHARE)


def _widths(k: int, n: int, scale: float, laplace: bool) -> tuple[float, float]:
    """Half width of each interval in rows, and the visible share."""

    def quantile(p: float) -> float:
        return scale * (-math.log(2 * (1 - p)) if laplace else float(ndtri(p)))

    half = quantile((1 + LEVEL ** (1 / k)) / 2)
    return half, REPORTED + (half + quantile(POWER)) / n
