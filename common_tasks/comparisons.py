"""Differences of methods on the common tasks over the splits that both have, and the two ends of the scale.

An interval has level 95 %. Without more words it is about the distribution of the data: it is corrected for splits that
share rows. With ``ratio=THESE_ROWS`` it is about the rows at hand, over all their splits and all privacy noise
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
#: one difference with both intervals: about the distribution of the data, and about these rows.
Both = tuple[Difference, Difference]


def competitors(family: Family, column: Column) -> list[Arm]:
    """Private arms of one column: Bayesian methods and baselines at the same epsilon.

    A tuned column holds every private method: with its default where that is what it has (``Family.defaults``).
    """
    return family.of(PRIVATE, PRIVATE_YARDSTICK, column=column)


def _ahead(d: Difference | None) -> bool:
    return d is not None and d.significant and d.difference > 0


def reference(family: Family, dataset: str, metric: str) -> Arm | None:
    """The first reference without privacy that has a score, default settings."""
    found = (a for a in family.of(REFERENCE, column=("", False)) if (dataset, a, metric) in family.values)
    return next(found, None)


def gap(family: Family, dataset: str, metric: str, a: Arm, b: Arm, ratio: float = RATIO_90_10) -> Difference | None:
    """By how much a is better than b, with an interval of level 1 - ALPHA; None below two common splits."""
    d = better_by(family.values[dataset, a, metric], family.values[dataset, b, metric], higher(metric), ALPHA, ratio)
    return d if d is not None and d.n > 1 else None


def both_gaps(family: Family, dataset: str, metric: str, a: Arm, b: Arm) -> Both | None:
    """The same with both intervals."""
    law, rows = (gap(family, dataset, metric, a, b, ratio) for ratio in (RATIO_90_10, THESE_ROWS))
    return (law, rows) if law and rows else None


def zero(family: Family) -> Arm | None:
    """What the scale of scores starts from: the control that looks at no input; in a family without one its only
    baseline without privacy."""
    free = [a for a in family.of(FREE_YARDSTICK) if not a.tuned]
    starts = [a for a in free if trivial(a, family.kind)] or free
    return starts[0] if len(starts) == 1 else None


@cache
def ends(family: Family, dataset: str, metric: str) -> tuple[Arm | None, Arm | None, str]:
    """(what is 0, what is 1, "") of the scale on a data set, or why it has none.

    1 has to be significantly better than 0, by an interval of level 1 - ALPHA under the law of the data.
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
