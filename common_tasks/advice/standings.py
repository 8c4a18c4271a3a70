"""Who is told apart from whom: scores of private methods on the scale of each data set, and their means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from scipy.stats import t as student

from common_tasks import comparisons as compare
from common_tasks.advice.scale import position
from common_tasks.scores import (
    PRIVATE_YARDSTICK,
    Arm,
    Family,
    higher,
    name_of,
    title,
)
from evaluation.metrics import METRICS
from evaluation.paired import RATIO_90_10, Difference, paired
from evaluation.ranking import better_by


@dataclass(frozen=True)
class About:
    """What the rows are, for intervals and sentences.

    ``ratio``: n_test / n_train of splits that share rows, ``evaluation.paired.THESE_ROWS`` for rows that are drawn anew
    for every fit. ``sets``: "data set" or another word for what the mean is over. ``reference``: the method without
    privacy that is 1 on the scale; "" for that of the kind of model. ``tuning``, ``limits``: end of the second sentence
    and start of the third.
    """

    ratio: float = RATIO_90_10
    sets: str = "data set"
    reference: str = ""
    tuning: str = "settings were tuned on made-up rows, which costs no privacy"
    limits: str = ""


@dataclass(frozen=True)
class Standing:
    """Private methods of one column, best mean first.

    ``scores``: arm -> mean with its 95 % interval; ``near``: the arms that are not told apart from the first;
    ``missing``: arm -> why it has no mean. ``left_out``: arm among the missing with a score on some of the data sets ->
    by how much the first is ahead of it there. ``level``: of each interval that compares an arm with the first,
    ``compare.ALPHA`` over their number, those that are left out included.
    """

    scores: dict[Arm, Difference]
    near: tuple[Arm, ...]
    missing: dict[Arm, str]
    left_out: dict[Arm, Difference]
    level: float

    @property
    def order(self) -> list[Arm]:
        return list(self.scores)

    @property
    def first(self) -> Arm:
        return self.order[0]

    @property
    def apart(self) -> list[Arm]:
        """Those that are significantly worse than the first."""
        return [a for a in self.order[1:] if a not in self.near]


@dataclass(eq=False)
class Standings:
    """Scores of a family on its scale, and who is told apart from whom."""

    family: Family
    about: About
    known: dict[compare.Column, Standing] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """The log-likelihood, which every task has; else the last that is compared."""
        return self.family.metrics[-1]

    @cached_property
    def datasets(self) -> list[str]:
        """Data sets with a scale; all where fewer than half have one."""
        scaled = [d for d in self.family.datasets if not self.ends(d)[2]]
        return scaled if self.scaled else list(self.family.datasets)

    @cached_property
    def scaled(self) -> bool:
        """Do at least half of the data sets have a scale?"""
        count = sum(not self.ends(d)[2] for d in self.family.datasets)
        return 0 < len(self.family.datasets) <= 2 * count

    @cached_property
    def zero(self) -> Arm | None:
        """The control, where it has a score on every data set."""
        start = compare.zero(self.family)
        return start if start and all((d, start, self.metric) in self.family.values for d in self.datasets) else None

    @cached_property
    def words(self) -> str:
        """What a number is."""
        kind, metric = self.family.kind, METRICS[self.metric].title
        if self.scaled:
            one = self.ends(self.datasets[0])[1]
            return f"Scaled {metric}: 0 is {title(self.zero.method, kind)}, 1 is {title(one.method, kind)}, no privacy"
        above = f" above {title(self.zero.method, kind)}" if self.zero else ""
        return f"{metric.capitalize()} in {METRICS[self.metric].unit.words}{above}"

    def ends(self, dataset: str) -> tuple[Arm | None, Arm | None, str]:
        """What is 0, what is 1, and why there is no scale, by intervals that fit how these rows came about."""
        return ends(self.family, dataset, self.metric, self.about)

    def score(self, dataset: str, arm: Arm) -> Difference | None:
        """Score of an arm on one data set with its 95 % interval; None without one."""
        values = self.family.values
        mine = values.get((dataset, arm, self.metric))
        if not mine:
            return None
        if self.scaled:
            start, end, _ = self.ends(dataset)
            at = (values[dataset, a, self.metric] for a in (start, end))
            return position(mine, *at, compare.ALPHA, self.about.ratio)
        other = values[dataset, self.zero, self.metric] if self.zero else dict.fromkeys(mine, 0.0)
        if not set(mine) & set(other):
            return None
        sign = 1.0 if higher(self.metric) or not self.zero else -1.0
        d = paired(mine, other, compare.ALPHA, self.about.ratio)
        return d if sign > 0 else replace(d, difference=-d.difference, low=-d.high, high=-d.low)

    def ahead(self, a: Arm, b: Arm, level: float) -> Difference | None:
        """By how much a is better than b on the scale, mean over the data sets; None where they share no split."""
        parts = self.by_dataset(a, b, level)
        return None if len(parts) < len(self.datasets) else mean_over([*parts.values()], level)

    def by_dataset(self, a: Arm, b: Arm, level: float) -> dict[str, Difference]:
        """The same for each data set on which they share a split."""
        parts = {}
        for d in self.datasets:
            mine, other = (self.family.values.get((d, x, self.metric), {}) for x in (a, b))
            gap = better_by(mine, other, higher(self.metric), level, self.about.ratio)
            if gap is None:
                continue
            width = self.width(d)
            parts[d] = replace(gap, **{k: getattr(gap, k) / width for k in ("difference", "low", "high")})
        return parts

    def width(self, dataset: str) -> float:
        """Units of the score from 0 to 1 on a data set."""
        if not self.scaled:
            return 1.0
        start, end, _ = self.ends(dataset)
        mine, other = (self.family.values[dataset, a, self.metric] for a in (end, start))
        return better_by(mine, other, higher(self.metric), compare.ALPHA).difference

    def of(self, column: compare.Column) -> Standing:
        """The private methods of one column."""
        if column not in self.known:
            self.known[column] = self._standing(column)
        return self.known[column]

    def _standing(self, column: compare.Column) -> Standing:
        means, missing = {}, {}
        for arm in compare.competitors(self.family, column):
            parts = [self.score(d, arm) for d in self.datasets]
            if all(p is not None for p in parts):
                means[arm] = mean_over(parts, compare.ALPHA)
            else:
                missing[arm] = self._why(arm, parts)
        sign = 1.0 if self.scaled or self.zero or higher(self.metric) else -1.0
        order = sorted(means, key=lambda a: -sign * means[a].difference)
        if not order:
            return Standing({}, (), missing, {}, compare.ALPHA)
        first = order[0]
        partly = [a for a in missing if self.by_dataset(first, a, compare.ALPHA)]
        level = compare.ALPHA / max(1, len(order) - 1 + len(partly))
        gaps = {a: self.ahead(first, a, level) for a in order[1:]}
        near = tuple(a for a, d in gaps.items() if not (d and d.significant and d.difference > 0))
        left_out = {a: mean_over([*self.by_dataset(first, a, level).values()], level) for a in partly}
        return Standing({a: means[a] for a in order}, near, missing, left_out, level)

    def _why(self, arm: Arm, parts: Sequence[Difference | None]) -> str:
        lost = [d for d, p in zip(self.datasets, parts, strict=True) if p is None]
        status = dict.fromkeys(self.family.status.get((d, arm), ("no score", ""))[0] for d in lost)
        words = ", ".join(s.replace("_", " ") for s in status)
        return words if len(lost) == len(self.datasets) else f"{words} on {', '.join(map(self.family.set_title, lost))}"

    @cached_property
    def main(self) -> compare.Column:
        """The column of table and first sentence: epsilon = 1 or the middle one, tuned where anything is."""
        epsilons = [e for e in self.family.epsilons if self.of((e, False)).order or self.of((e, True)).order]
        epsilon = "1" if "1" in epsilons else epsilons[(len(epsilons) - 1) // 2]
        return epsilon, bool((epsilon, True) in self.family.columns and self.of((epsilon, True)).order)

    def name(self, arm: Arm) -> str:
        return name_of(arm, self.family.kind) + (" (yardstick)" if arm.role == PRIVATE_YARDSTICK else "")

    def rows(self, columns: Sequence[compare.Column]) -> list[dict[str, Any]]:
        """The frame of :attr:`Block.data`."""
        out = []
        for column in columns:
            found = self.of(column)
            for arm, mean in found.scores.items():
                apart = "" if len(found.scores) == 1 else str(arm in found.apart)
                told = {"told_apart_from_best": "best" if arm == found.first and apart else apart}
                out.append(self._row(arm, "(mean)", mean) | told)
                out += [self._row(arm, d, self.score(d, arm)) | {"told_apart_from_best": ""} for d in self.datasets]
        return out

    def _row(self, arm: Arm, dataset: str, d: Difference) -> dict[str, Any]:
        row = {
            "task": self.family.task,
            "metric": self.metric,
            "unit": "scaled" if self.scaled else METRICS[self.metric].unit.words,
        }
        row |= {"method": arm.method, "title": self.name(arm), "epsilon": arm.epsilon, "tuned": arm.tuned}
        return row | {"dataset": dataset, "score": d.difference, "low": d.low, "high": d.high, "splits": d.n}


def mean_over(parts: Sequence[Difference], level: float) -> Difference:
    """Mean over data sets that share no row, from intervals of level 1 - ``level`` of each; about these data sets.

    Welch's interval: variances of the means add, with Satterthwaite's degrees of freedom. NaN where a part has none.
    """
    centre = math.fsum(p.difference for p in parts) / len(parts)
    n = min(p.n for p in parts)
    if n < 2 or not all(math.isfinite(p.low) for p in parts):
        return Difference(centre, math.nan, math.nan, n, True)
    variances = [((p.high - p.low) / 2 / float(student.ppf(1 - level / 2, p.n - 1))) ** 2 for p in parts]
    whole = math.fsum(variances)
    if whole == 0:
        return Difference(centre, centre, centre, n, True)
    df = whole**2 / math.fsum(v**2 / (p.n - 1) for v, p in zip(variances, parts, strict=True))
    half = float(student.ppf(1 - level / 2, df)) * math.sqrt(whole) / len(parts)
    return Difference(centre, centre - half, centre + half, n, True)


def ends(family: Family, dataset: str, metric: str, about: About) -> tuple[Arm | None, Arm | None, str]:
    """As ``common_tasks.comparisons.ends``, for these rows and this reference."""
    if about.ratio == RATIO_90_10 and not about.reference:
        return compare.ends(family, dataset, metric)
    start, end = compare.zero(family), compare.reference(family, dataset, metric)
    if about.reference:
        named = (a for a in family.arms if a.method == about.reference and not a.epsilon)
        end = next((a for a in named if (dataset, a, metric) in family.values), None)
    if start is None or end is None or (dataset, start, metric) not in family.values:
        return start, end, "the control or the reference without privacy has no score"
    d = compare.gap(family, dataset, metric, end, start, about.ratio)
    if d is None or not d.significant or d.difference < 0:
        kind = family.kind
        return start, end, f"{title(end.method, kind)} is not significantly better than {title(start.method, kind)}"
    return start, end, ""


def number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.3g}"


def with_interval(d: Difference, digits: int = 2) -> str:
    low, high = number(d.low, digits), number(d.high, digits)
    return number(d.difference, digits) + (f" ({low} to {high})" if math.isfinite(d.low) else "")
