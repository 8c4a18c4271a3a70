"""Who is better than whom on the common tasks, and is it certain? All comparisons of the rule ``common_tasks``.

Level of every statement: 5 %, divided by the number of comparisons that it rests on (``evaluation.ranking``). Without
more words a statement is about the law of the data: its intervals are corrected for splits that share rows. With
``ratio=THESE_ROWS`` it is about the rows at hand, over all their splits and all privacy noise (``evaluation.paired``).
"Best", bold, "separated" and "significantly" are always of the first kind. Every pair is compared over the splits that
both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations

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
from evaluation.paired import RATIO_90_10, THESE_ROWS, Difference
from evaluation.ranking import Rank, average_ranks, better_by, rank_sets

ALPHA = 0.05
Column = tuple[str, bool]


def competitors(family: Family, column: Column) -> list[Arm]:
    """Private arms of one column: Bayesian methods and yardsticks at the same epsilon.

    A tuned column holds every private method: with its default where that is what it has (``Family.defaults``).
    """
    return family.of(PRIVATE, PRIVATE_YARDSTICK, column=column)


@cache
def ranks(family: Family, dataset: str, metric: str, column: Column, ratio: float = RATIO_90_10) -> dict[Arm, Rank]:
    """Rank of every private arm of a column on one data set, with its confidence set."""
    return rank_sets(family.field(dataset, metric, competitors(family, column)), higher(metric), ALPHA, ratio)


def mean_ranks(
    family: Family, metric: str, column: Column, ratio: float = RATIO_90_10, among: Sequence[str] | None = None
) -> dict[Arm, Rank]:
    """Average over the data sets (or those ``among`` them), best first; empty where there is no score.

    A data set on which no arm of the column has a score is left out.
    """
    on = ranked_on(family, metric, column, among)
    fields = [family.field(d, metric, competitors(family, column)) for d in on]
    found = average_ranks(fields, higher(metric), ALPHA, ratio) if fields else {}
    return dict(sorted(found.items(), key=lambda pair: pair[1].rank))


def ranked_on(family: Family, metric: str, column: Column, among: Sequence[str] | None = None) -> list[str]:
    """Data sets that an average rank of that column rests on: those on which any of its arms has a score."""
    among = family.datasets if among is None else among
    return [d for d in among if any(family.field(d, metric, competitors(family, column)).values())]


def not_told_apart(found: dict[Arm, Rank], first: Arm | None = None) -> list[Arm]:
    """Arms whose confidence set reaches into that of ``first`` (else of the best); ``found``: of :func:`mean_ranks`."""
    first = next(iter(found)) if first is None else first
    return [a for a, r in found.items() if a != first and r.low <= found[first].high]


def pairs(
    family: Family, datasets: Sequence[str], metric: str, arms: Sequence[Arm], first: Arm | None = None
) -> tuple[int, int]:
    """Fewest and most splits that two of these arms share on any of these data sets; (0, 0) below two with a score.

    ``first``: only pairs with it.
    """
    counts = []
    for d in datasets:
        splits = {a: set(v) for a, v in family.field(d, metric, arms).items() if v}
        counts += [len(splits[a] & splits[b]) for a, b in combinations(splits, 2) if first in (None, a, b)]
    return (min(counts), max(counts)) if counts else (0, 0)


@cache
def best(family: Family, dataset: str, metric: str, column: Column) -> Arm | None:
    """The arm of rank 1 on a data set; None without a score."""
    found = ranks(family, dataset, metric, column)
    scored = [a for a in found if family.values.get((dataset, a, metric))]
    return min(scored, key=lambda a: found[a].rank) if scored else None


def not_separated(
    family: Family, dataset: str, metric: str, column: Column, ratio: float = RATIO_90_10
) -> tuple[Arm, list[Arm]] | None:
    """The best arm and those that no interval separates from it (level ALPHA / (M - 1) each); None without a score.

    The list is empty where the best is separated from all: only then is anything set in bold.
    """
    first = best(family, dataset, metric, column)
    if first is None:
        return None
    field = family.field(dataset, metric, competitors(family, column))
    others = [a for a in field if a != first and field[a]]
    level = ALPHA / max(1, len(field) - 1)
    near = [a for a in others if not _ahead(better_by(field[first], field[a], higher(metric), level, ratio))]
    return first, near


def separated_winner(family: Family, dataset: str, metric: str, column: Column) -> Arm | None:
    """The arm whose rank is 1, significantly; None where there is none, or nobody to be better than."""
    found = not_separated(family, dataset, metric, column)
    if found is None or found[1]:
        return None
    several = len(family.field(dataset, metric, competitors(family, column))) > 1
    return found[0] if several else None


#: one difference with both intervals: under the law of the data, and on these rows.
Both = tuple[Difference, Difference]


def lead(family: Family, dataset: str, metric: str, column: Column) -> tuple[Arm, Arm, Both] | None:
    """Best, next, and by how much (intervals of level 1 - ALPHA for that pair); None below two arms with a score."""
    first = best(family, dataset, metric, column)
    field = {a: v for a, v in family.field(dataset, metric, competitors(family, column)).items() if v}
    gaps = {a: better_by(field[first], field[a], higher(metric), ALPHA) for a in field if a != first} if first else {}
    gaps = {a: d for a, d in gaps.items() if d is not None}
    if not gaps:
        return None
    second = min(gaps, key=lambda a: gaps[a].difference)
    return first, second, (gaps[second], better_by(field[first], field[second], higher(metric), ALPHA, THESE_ROWS))


def yardsticks(family: Family, column: Column) -> list[Arm]:
    """What a private method of that column must not lose to: its private yardsticks, and the trivial ones."""
    return family.of(PRIVATE_YARDSTICK, column=column) + [a for a in family.arms if trivial(a, family.kind)]


@cache
def loses_to(family: Family, dataset: str, metric: str, arm: Arm) -> list[Arm]:
    """Yardsticks that are significantly better than a private arm, at level ALPHA / (number of yardsticks).

    A private arm that failed loses to every yardstick with a score.
    """
    if arm.role != PRIVATE:
        return []
    field = family.field(dataset, metric, [arm, *yardsticks(family, arm.column)])
    mine = field.pop(arm, None)
    rivals = {a: v for a, v in field.items() if v}
    if mine is None or not rivals:
        return []
    if not mine:
        return list(rivals)
    level = ALPHA / len(rivals)
    return [a for a, v in rivals.items() if _ahead(better_by(v, mine, higher(metric), level))]


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
    yardstick without privacy."""
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
        return start, end, "no control that looks at no input, and no single yardstick in its place, has a score"
    if end is None:
        return start, end, "no reference without privacy has a score"
    d = gap(family, dataset, metric, end, start)
    if not _ahead(d):
        names = f"{title(end.method, family.kind)} is not significantly better than {title(start.method, family.kind)}"
        return start, end, names + (f" ({d.difference:.3g}, {d.low:.3g} to {d.high:.3g})" if d else "")
    return start, end, ""
