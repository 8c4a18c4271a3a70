"""Ranks of several methods over the same splits, each with a confidence set.

A rank says nothing without its uncertainty. The confidence set for the rank of one method is made from its pairwise
comparisons (Mogstad, Romano, Shaikh & Wilhelm 2024, "Inference for ranks", section 3; here with the intervals of
Nadeau & Bengio 2003 for splits that overlap, ``evaluation.paired``): at least as many methods are better as are
separated above it, at least as many are worse as are separated below it. Each of its M - 1 intervals has level
1 - alpha / (M - 1), so that all of them hold together with probability at least 1 - alpha, and with them the set.

A set says what its intervals say (``evaluation.paired``): with ``ratio`` = n_test / n_train it is about the rank under
the law of the data, with ``THESE_ROWS`` about that on the rows at hand, over all their splits and all privacy noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.paired import RATIO_90_10, Difference, paired

#: method -> split -> score. A method without any split has failed: it ranks below all that have one.
Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Rank:
    """Rank of a method (1 is best; ties share their mean) and its confidence set {low, ..., high}.

    Averages over data sets have fractional bounds. ``among``: number of methods.
    """

    rank: float
    low: float
    high: float
    among: int


def better_by(
    a: Mapping[str, float],
    b: Mapping[str, float],
    higher_is_better: bool,
    alpha: float = 0.05,
    ratio: float = RATIO_90_10,
) -> Difference | None:
    """By how much a is better than b (above 0: better), paired over common splits; None where they share none."""
    if not set(a) & set(b):
        return None
    first, second = (a, b) if higher_is_better else (b, a)
    return paired(first, second, alpha, ratio)


def rank_sets(
    scores: Scores, higher_is_better: bool, alpha: float = 0.05, ratio: float = RATIO_90_10
) -> dict[str, Rank]:
    """Rank of every method with its confidence set of level 1 - alpha, each set by itself.

    Parameters
    ----------
    scores : method -> split -> score; pairs are compared over the splits that both have. A method without a score is
        below every method with one, for certain, and tied with others like it.
    ratio : n_test / n_train of the splits, or ``THESE_ROWS``.

    The rank is 1 + the number of methods with a better mean over common splits, + 1/2 for each tie or pair without a
    common split; it lies in its set.

    >>> few = {"a": {"0": 1.0, "1": 1.1}, "b": {}}
    >>> rank_sets(few, higher_is_better=False)["b"]
    Rank(rank=2.0, low=2, high=2, among=2)
    """
    names = list(scores)
    count = len(names)
    rank = dict.fromkeys(names, 1.0)
    low, high = dict.fromkeys(names, 1), dict.fromkeys(names, count)
    level = alpha / max(1, count - 1)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            ahead, sure = _compare(scores[a], scores[b], higher_is_better, level, ratio)
            if ahead == 0:
                rank[a] += 0.5
                rank[b] += 0.5
                continue
            winner, loser = (a, b) if ahead > 0 else (b, a)
            rank[loser] += 1
            if sure:
                low[loser] += 1
                high[winner] -= 1
    return {m: Rank(rank[m], low[m], high[m], count) for m in names}


def _compare(a, b, higher_is_better: bool, alpha: float, ratio: float) -> tuple[int, bool]:
    """(sign of how much a is better, is it separated?)"""
    if not a or not b:
        return bool(a) - bool(b), True
    d = better_by(a, b, higher_is_better, alpha, ratio)
    if d is None:
        return 0, False
    return (d.difference > 0) - (d.difference < 0), d.significant


def average_ranks(
    by_dataset: Sequence[Scores], higher_is_better: bool, alpha: float = 0.05, ratio: float = RATIO_90_10
) -> dict[str, Rank]:
    """Average rank over data sets, of the methods that all of them have, with bounds of level 1 - alpha each.

    The bounds are averages of the sets' bounds; each set is taken at level 1 - alpha / (number of data sets), so that
    all sets of a method hold together. ``among`` is the number of methods that are compared on every data set: a
    method that is missing on one of them is compared on none (one that failed there is not missing: its mapping is
    empty). Raises ValueError without a data set.
    """
    if not by_dataset:
        raise ValueError("an average rank needs at least one data set")
    common = [m for m in by_dataset[0] if all(m in scores for scores in by_dataset)]
    sets = [
        rank_sets({m: scores[m] for m in common}, higher_is_better, alpha / len(by_dataset), ratio)
        for scores in by_dataset
    ]
    return {m: _mean([s[m] for s in sets]) for m in common}


def _mean(ranks: Sequence[Rank]) -> Rank:
    low, high, rank = (sum(getattr(r, k) for r in ranks) / len(ranks) for k in ("low", "high", "rank"))
    return Rank(rank, low, high, ranks[0].among)
