"""The difference of two cells with its interval, over the splits that both share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import norm as normal

from evaluation.metrics import judged
from evaluation.paired import RATIO_90_10, RATIO_THIRDS, Difference, paired, unpaired
from reports.claims.context import Data
from reports.verdicts import BATCH

#: overlap of the training rows of two runs, n_test / n_train; protocols whose runs share one split are independent.
_RATIOS = {"thirds": RATIO_THIRDS, "repeats": 0.0, "official": 0.0}


def difference(
    data: Data, cells_a, cells_b, metric: str
) -> tuple[Callable[[float], Difference] | None, int, float] | None:
    """(interval of the difference toward a by level, forfeit, mean of b) of the first pair of cells of one protocol,
    else of any two; None if there is none.

    Over splits that both cells share, by the interval of ``evaluation.paired`` (corrected for overlapping splits). A
    cell that diverged has lost (``forfeit``: +1, b did; -1, a did). A number of a whole batch of data sets has no
    splits: its interval is normal, with the two bootstrap deviations as if independent.
    """
    pairs = [(a, b) for a in cells_a for b in cells_b]
    pairs.sort(key=lambda ab: ab[0][1] != ab[1][1])
    for a, b in pairs:
        if metric in BATCH:
            if (found := _batch_difference(data, a, b)) is not None:
                return found[0], 0, found[1]
            continue
        va, vb = data.values.get(a), data.values.get(b)
        if va and vb:
            sign = judged(metric).direction
            va, vb = ({k: sign * v for k, v in x.items()} for x in (va, vb))
            same = a[1] == b[1] and set(va) & set(vb)
            ratio = max(_RATIOS.get(protocol, RATIO_90_10) for protocol in (a[1], b[1]))
            interval = partial(paired if same else unpaired, va, vb, ratio=ratio)
            return lambda alpha, f=interval: f(alpha=alpha), 0, float(np.mean(list(vb.values())))
        lost = int(bool(va) and data.diverged(b)) - int(bool(vb) and data.diverged(a))
        if lost:
            return None, lost, math.nan
    return None


def _batch_difference(data: Data, a: tuple, b: tuple) -> tuple[Callable[[float], Difference], float] | None:
    """Interval (lower is better) of two numbers of whole batches, and the second; None where one has no score."""
    spread, each = BATCH[a[4]]
    found = [[data.values.get((*key[:4], m), {}) for m in (key[4], spread, each)] for key in (a, b)]
    if not all(value and sd for value, sd, _ in found):
        return None
    (va, sa, na), (vb, sb, nb) = ((value[""], sd[""], len(of)) for value, sd, of in found)
    gap = judged(a[4]).direction * (va - vb)

    def at(alpha: float) -> Difference:
        half = float(normal.isf(alpha / 2)) * math.hypot(sa, sb)
        return Difference(gap, gap - half, gap + half, min(na, nb), False)

    return at, vb
