"""Differences of methods on the common tasks over their common splits, and the two ends of the scale of scores.

All intervals have level 95 %. By default they are about the distribution of the data, with a correction for splits that
share rows. With ``ratio=THESE_ROWS`` they are about the given rows, over all their splits and all privacy noise
(``evaluation.paired``).
"""

from __future__ import annotations

from functools import cache

from common_tasks.scores import (
    FREE_YARDSTICK,
    PRIVATE,
    PRIVATE_YARDSTICK,
    REFERENCE,
    Arm,
    Family,
    higher,
    title,
    trivial,
)
from evaluation.paired import RATIO_90_10, THESE_ROWS, Difference, better_by

ALPHA = 0.05
Column = tuple[str, bool]
#: one difference with two intervals, about the distribution of the data and about the given rows.
Both = tuple[Difference, Difference]


def competitors(family: Family, column: Column) -> list[Arm]:
    """Private arms of one column: Bayesian methods and baselines at the same epsilon.

    A tuned column has every private method. A method without tuned settings has its default there
    (``Family.defaults``).
    """
    return family.of(PRIVATE, PRIVATE_YARDSTICK, column=column)


def _ahead(d: Difference | None) -> bool:
    return d is not None and d.significant and d.difference > 0


def reference(family: Family, dataset: str, metric: str) -> Arm | None:
    """The first non-private reference with default settings that has a score."""
    arms = (a for a in family.of(REFERENCE, column=("", False)) if (dataset, a, metric) in family.values)
    return next(arms, None)


def gap(family: Family, dataset: str, metric: str, a: Arm, b: Arm, ratio: float = RATIO_90_10) -> Difference | None:
    """How much a is better than b, with an interval of level 1 - ALPHA. None with fewer than two common splits."""
    d = better_by(family.values[dataset, a, metric], family.values[dataset, b, metric], higher(metric), ALPHA, ratio)
    return d if d is not None and d.n > 1 else None


def both_gaps(family: Family, dataset: str, metric: str, a: Arm, b: Arm) -> Both | None:
    """The difference of :func:`gap` with both intervals."""
    law, rows = (gap(family, dataset, metric, a, b, ratio) for ratio in (RATIO_90_10, THESE_ROWS))
    return (law, rows) if law and rows else None


def zero(family: Family) -> Arm | None:
    """The method at 0 on the scale of scores.

    It is the baseline that uses no input, or else the only non-private baseline.
    """
    free = [a for a in family.of(FREE_YARDSTICK) if not a.tuned]
    starts = [a for a in free if trivial(a, family.kind)] or free
    return starts[0] if len(starts) == 1 else None


@cache
def ends(family: Family, dataset: str, metric: str) -> tuple[Arm | None, Arm | None, str]:
    """(method at 0, method at 1, "") of the scale on a data set, or the reason why it has no scale.

    The method at 1 must be significantly better than the other, by an interval of level 1 - ALPHA about the
    distribution.
    """
    start, end = zero(family), reference(family, dataset, metric)
    if start is None or (dataset, start, metric) not in family.values:
        return start, end, "no trivial baseline has a score"
    if end is None:
        return start, end, "no reference without privacy has a score"
    d = gap(family, dataset, metric, end, start)
    if not _ahead(d):
        names = f"{title(end.method, family.kind)} is not significantly better than {title(start.method, family.kind)}"
        return start, end, names + (f" ({d.difference:.3g}, {d.low:.3g} to {d.high:.3g})" if d else "")
    return start, end, ""
