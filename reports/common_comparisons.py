"""Who is better than whom on the common tasks, and is it certain? All comparisons of the rule ``common_tasks``.

Level of every statement: 5 %, divided by the number of comparisons that it rests on (``evaluation.ranking``).
"""

from __future__ import annotations

from evaluation.paired import Difference
from evaluation.ranking import Rank, average_ranks, better_by, rank_sets
from reports.common_scores import PRIVATE, PRIVATE_YARDSTICK, REFERENCE, Arm, Family, higher, trivial

ALPHA = 0.05
Column = tuple[str, bool]


def competitors(family: Family, column: Column) -> list[Arm]:
    """Private arms of one column: Bayesian methods and yardsticks at the same epsilon.

    A tuned column holds every private method: with its default where that is what it has (``Family.defaults``).
    """
    return family.of(PRIVATE, PRIVATE_YARDSTICK, column=column)


def ranks(family: Family, dataset: str, metric: str, column: Column) -> dict[Arm, Rank]:
    """Rank of every private arm of a column on one data set, with its confidence set."""
    return rank_sets(family.field(dataset, metric, competitors(family, column)), higher(metric), ALPHA)


def mean_ranks(family: Family, metric: str, column: Column) -> dict[Arm, Rank]:
    """Average over the data sets, best first; empty where there is no score.

    A data set on which no arm of the column has a score is left out.
    """
    fields = [family.field(d, metric, competitors(family, column)) for d in ranked_on(family, metric, column)]
    found = average_ranks(fields, higher(metric), ALPHA) if fields else {}
    return dict(sorted(found.items(), key=lambda pair: pair[1].rank))


def ranked_on(family: Family, metric: str, column: Column) -> list[str]:
    """Data sets that an average rank of that column rests on: those on which any of its arms has a score."""
    return [d for d in family.datasets if any(family.field(d, metric, competitors(family, column)).values())]


def best(family: Family, dataset: str, metric: str, column: Column) -> Arm | None:
    """The arm of rank 1 on a data set; None without a score."""
    found = ranks(family, dataset, metric, column)
    scored = [a for a in found if family.values.get((dataset, a, metric))]
    return min(scored, key=lambda a: found[a].rank) if scored else None


def not_separated(family: Family, dataset: str, metric: str, column: Column) -> tuple[Arm, list[Arm]] | None:
    """The best arm and those that no interval separates from it (level ALPHA / (M - 1) each); None without a score.

    The list is empty where the best is separated from all: only then is anything set in bold.
    """
    first = best(family, dataset, metric, column)
    if first is None:
        return None
    field = family.field(dataset, metric, competitors(family, column))
    others = [a for a in field if a != first and field[a]]
    level = ALPHA / max(1, len(field) - 1)
    near = [a for a in others if not _ahead(better_by(field[first], field[a], higher(metric), level))]
    return first, near


def separated_winner(family: Family, dataset: str, metric: str, column: Column) -> Arm | None:
    """The arm whose rank is 1 for certain; None where there is none, or nobody to be better than."""
    found = not_separated(family, dataset, metric, column)
    if found is None or found[1]:
        return None
    several = len(family.field(dataset, metric, competitors(family, column))) > 1
    return found[0] if several else None


def lead(family: Family, dataset: str, metric: str, column: Column) -> tuple[Arm, Arm, Difference] | None:
    """Best, next, and by how much (an interval of level 1 - ALPHA for that pair); None below two arms with a score."""
    first = best(family, dataset, metric, column)
    field = {a: v for a, v in family.field(dataset, metric, competitors(family, column)).items() if v}
    gaps = {a: better_by(field[first], field[a], higher(metric), ALPHA) for a in field if a != first} if first else {}
    gaps = {a: d for a, d in gaps.items() if d is not None}
    if not gaps:
        return None
    second = min(gaps, key=lambda a: gaps[a].difference)
    return first, second, gaps[second]


def yardsticks(family: Family, column: Column) -> list[Arm]:
    """What a private method of that column must not lose to: its private yardsticks, and the trivial ones."""
    return family.of(PRIVATE_YARDSTICK, column=column) + [a for a in family.arms if trivial(a, family.kind)]


def loses_to(family: Family, dataset: str, metric: str, arm: Arm) -> list[Arm]:
    """Yardsticks that are better than a private arm for certain, at level ALPHA / (number of yardsticks).

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


def gap(family: Family, dataset: str, metric: str, a: Arm, b: Arm) -> Difference | None:
    """By how much a is better than b, with an interval of level 1 - ALPHA; None below two common splits."""
    d = better_by(family.values[dataset, a, metric], family.values[dataset, b, metric], higher(metric), ALPHA)
    return d if d is not None and d.n > 1 else None
