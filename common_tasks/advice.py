"""Which method to take: one block a task, with one table, one figure and three sentences.

All numbers are of one metric, the log-likelihood of test rows, on the scale of each data set: 0 is the control that
looks at no input (the mean of the training targets), 1 the reference without privacy (the exact posterior where there
is one); what a task has of both stands in the caption. Means are over the data sets that have a scale. Where fewer than
half have one, numbers are nats a row above the control, or plain scores, on all.

"Told apart": an interval of level 5 % / (number of others) for the difference on that scale leaves out 0. Nothing is
said to be better than what it is not told apart from, and nothing is compared where there is one method only.

    from common_tasks.advice import blocks
    for block in blocks():           # the committed reference
        block.table, block.figure, block.sentences
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import t as student

from common_tasks import comparisons as compare
from common_tasks import tables as common_tables
from common_tasks.scores import (
    CONDITIONAL_MARK,
    DEFAULT,
    METRIC_WORDS,
    PRIVATE_YARDSTICK,
    UNITS,
    Arm,
    Family,
    higher,
    name_of,
    read,
    title,
)
from evaluation.paired import RATIO_90_10, Difference, paired
from evaluation.ranking import better_by
from evaluation.scale import position
from evaluation.summary import mean_std
from reports import style
from reports.ledger import CONDITIONAL
from workflow import committed, papers
from workflow.experiments import load

#: tasks in the order of the site; others come last.
ORDER = ("linear_regression", "logistic_regression", "density", "network")
#: what the table shows of calibration, the first that a task has, and its heading.
CALIBRATION = {
    "coverage_90": "90 % intervals cover",
    "expected_calibration_error": "calibration error of probabilities",
}
#: up to so many methods are lines over epsilon; more are a dot plot with the names on the axis.
LINES = 8
#: the axis of a scaled score ends here at the latest.
LOWEST, HIGHEST = -0.5, 1.5
#: so many names stand in a sentence; the table marks all.
NAMED = 4
#: what the committed tasks cannot know, before what is said of their data sets.
CHOOSING = "and choosing by scores on private rows would be a release of its own, which no epsilon here counts"


@dataclass(frozen=True)
class Block:
    """Advice for one task.

    Parameters
    ----------
    task, title : name of the task (``linear_regression``) and its words.
    table : one row a private method, as text; the best mean first.
    figure : SVG text: score against epsilon with 95 % intervals.
    data : the numbers of table and figure, a row a method, epsilon, choice of settings and data set ("(mean)": of all).
    sentences : what is best by what is told apart; what to take when nothing is tuned, and what it costs; what this
        cannot know.
    caption : of the figure, with every point that its axis leaves out.
    """

    task: str
    title: str
    table: pd.DataFrame
    figure: str
    data: pd.DataFrame
    sentences: tuple[str, str, str]
    caption: str = ""


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


def blocks(source: Path | pd.DataFrame | Iterable[Family] | None = None) -> list[Block]:
    """A block for every task with a private score.

    ``source``: folder of a reference (None: the committed one), tidy scores of the experiments of ``common_tasks``
    (``evaluation.summary.COLUMNS``, text), or families (``common_tasks.scores.read``). Raises FileNotFoundError for a
    reference without a score.
    """
    if source is None or isinstance(source, str | Path | pd.DataFrame):
        source = _families(papers.REFERENCE if source is None else source)
    found = sorted(source, key=lambda f: ORDER.index(f.task) if f.task in ORDER else len(ORDER))
    made = (block(f) for f in found)
    return [b for b in made if b is not None]


def _families(source: str | Path | pd.DataFrame) -> list[Family]:
    home = next(p for p in papers.papers() if p.key == "common_tasks")
    if isinstance(source, pd.DataFrame):
        here = [(p, source[source["experiment"] == name]) for name, p in home.experiments.items()]
        return [read(load(p), rows) for p, rows in here if len(rows)]
    known = [(p, name) for name, p in home.experiments.items() if committed.path_of(Path(source), name).is_file()]
    if not known:
        raise FileNotFoundError(f"{source} has no scores of {', '.join(home.experiments)}; name a reference's folder")
    return [read(load(p), committed.read(Path(source), name)) for p, name in known]


def block(family: Family, about: About | None = None) -> Block | None:
    """The advice of one task; None without a private method that has a score on every data set of the mean."""
    if not family.metrics or not any(a.epsilon for a in family.arms):
        return None
    about = about or About()
    table = Standings(family, about)
    columns = [c for c in family.columns if table.of(c).order]
    if not columns:
        return None
    data = pd.DataFrame(table.rows(columns))
    figure, outside = _figure(table, columns)
    said = (_best(table, columns), _cheap(table, columns), _limits(table))
    words = family.title.partition(":")[0]
    caption = ". ".join([f"{table.words}, with 95 % intervals", *([f"Beyond the axis: {outside}"] if outside else [])])
    return Block(family.task, words, _table(table, columns), figure, data, said, caption + ".")


@dataclass(frozen=True)
class Standing:
    """Private methods of one column, best mean first.

    ``scores``: arm -> mean with its 95 % interval; ``near``: the arms that are not told apart from the first;
    ``missing``: arm -> why it has no mean.
    """

    scores: dict[Arm, Difference]
    near: tuple[Arm, ...]
    missing: dict[Arm, str]

    @property
    def order(self) -> list[Arm]:
        return list(self.scores)

    @property
    def first(self) -> Arm:
        return self.order[0]

    @property
    def apart(self) -> list[Arm]:
        """Those that are worse than the first for certain."""
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
        kind, metric = self.family.kind, METRIC_WORDS[self.metric]
        if self.scaled:
            one = self.ends(self.datasets[0])[1]
            return f"Scaled {metric}: 0 is {title(self.zero.method, kind)}, 1 is {title(one.method, kind)}, no privacy"
        above = f" above {title(self.zero.method, kind)}" if self.zero else ""
        return f"{metric.capitalize()} in {UNITS[self.metric]}{above}"

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
        return None if parts is None else mean_over([*parts.values()], level)

    def by_dataset(self, a: Arm, b: Arm, level: float) -> dict[str, Difference] | None:
        """The same for each data set; None where one of them has no split that they share."""
        parts = {}
        for d in self.datasets:
            mine, other = (self.family.values.get((d, x, self.metric), {}) for x in (a, b))
            gap = better_by(mine, other, higher(self.metric), level, self.about.ratio)
            if gap is None:
                return None
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
            return Standing({}, (), missing)
        level = compare.ALPHA / max(1, len(order) - 1)
        gaps = {a: self.ahead(order[0], a, level) for a in order[1:]}
        near = tuple(a for a, d in gaps.items() if not (d and d.significant and d.difference > 0))
        return Standing({a: means[a] for a in order}, near, missing)

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
        row = {"task": self.family.task, "metric": self.metric, "unit": "scaled" if self.scaled else UNITS[self.metric]}
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
        return start, end, f"{title(end.method, kind)} is not better for certain than {title(start.method, kind)}"
    return start, end, ""


# --- table


def _n(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if abs(value) < 100 else f"{value:.3g}"


def _with_interval(d: Difference, digits: int = 2) -> str:
    low, high = _n(d.low, digits), _n(d.high, digits)
    return _n(d.difference, digits) + (f" ({low} to {high})" if math.isfinite(d.low) else "")


def _table(table: Standings, columns: Sequence[compare.Column]) -> pd.DataFrame:
    """Text, a row a private method: tuned and default score, cost, calibration, and is it told apart from the best?"""
    family, (epsilon, tuned) = table.family, table.main
    spent = common_tables.costs(family)
    calibration = next((m for m in CALIBRATION if any(k[2] == m for k in family.summary)), None)
    found, plain = table.of(table.main), table.of((epsilon, False))
    default = {a.method + "|" + name_of(a, family.kind): a for a in [*plain.order, *plain.missing]}
    rows = []
    for arm in [*found.order, *found.missing]:
        twin = default.get(arm.method + "|" + name_of(arm, family.kind)) if tuned else arm
        row = {"method": table.name(arm)}
        if tuned:
            row["tuned"] = "default" if _is_default(table, arm) else _cell(found, arm)
        row["default"] = "-" if twin is None else _cell(plain if tuned else found, twin)
        row["seconds a fit"] = _mean_of([spent[d, arm]["seconds"][0] for d in table.datasets if (d, arm) in spent])
        if calibration:
            at = [family.summary.get((d, arm, calibration)) for d in table.datasets]
            values = [r["mean"] for r in at if r]
            row[CALIBRATION[calibration]] = _share(values) if len(values) == len(at) else "-"
        if len(found.scores) > 1:
            state = "best" if arm == found.first else "yes" if arm in found.apart else "no"
            row["told apart from the best"] = "-" if arm in found.missing else state
        rows.append(row)
    return pd.DataFrame(rows)


def _is_default(table: Standings, arm: Arm) -> bool:
    """Do the defaults stand in the tuned column on every data set?"""
    return all(table.family.mark(d, arm).startswith(DEFAULT) for d in table.datasets)


def _cell(found: Standing, arm: Arm) -> str:
    return _with_interval(found.scores[arm]) if arm in found.scores else found.missing.get(arm, "-")


def _mean_of(values: Sequence[float]) -> str:
    values = [v for v in values if math.isfinite(v)]
    return f"{math.fsum(values) / len(values):.2g}" if values else "-"


def _share(values: Sequence[float]) -> str:
    return f"{mean_std(values)[0]:.1%}".replace("%", " %")


# --- sentences


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _settings(tuned: bool) -> str:
    return "tuned" if tuned else "default settings"


def _best(table: Standings, columns: Sequence[compare.Column]) -> str:
    """What is best, by what is told apart."""
    found, (epsilon, tuned) = table.of(table.main), table.main
    start = f"At epsilon = {epsilon} ({_settings(tuned)}) "
    score = f"{_with_interval(found.scores[found.first])}{'' if table.scaled else ' ' + UNITS[table.metric]}"
    first = table.name(found.first)
    if len(found.order) == 1:
        out = f"{start}{first} is the only private method with a score, {score}: there is nothing to compare it with"
    elif len(found.near) == len(found.order) - 1:
        many = len(found.order)
        out = f"{start}no order can be given: {first} has the highest mean, {score}, and "
        out += f"the other is not told apart from it ({_names(table, found.near)})" if many == 2 else (
            f"none of the {many - 1} others is told apart from it")  # fmt: skip
    else:
        nearest = found.apart[0]
        gap = table.ahead(found.first, nearest, compare.ALPHA / (len(found.order) - 1))
        behind = f"by {_with_interval(gap, 3)}"
        name = table.name(nearest)
        if found.near:
            out = f"{start}{first} has the highest mean, {score}; not told apart from it: {_names(table, found.near)}; "
            some = len(found.apart)
            out += f"{name} is worse {behind}" if some == 1 else (
                f"the other {some} are worse for certain, the next of them, {name}, {behind}")  # fmt: skip
        else:
            out = f"{start}{first} is best, {score}, told apart from all others: the next, {name}, is behind {behind}"
        out += _each(table, found.first, nearest)
    if table.zero and found.scores[found.first].difference <= 0:
        out += f"; no mean is above that of {title(table.zero.method, table.family.kind)}, which is 0"
    for other in table.family.epsilons:
        column = (other, tuned) if table.of((other, tuned)).order else (other, False)
        there = table.of(column)
        if other != epsilon and there.order:
            lead = _n(there.scores[there.first].difference)
            out += f"; at epsilon = {other} {table.name(there.first)} ({lead}{_others(there)})"
    return out + "."


def _each(table: Standings, first: Arm, second: Arm) -> str:
    """Where the mean of the data sets hides that they disagree."""
    parts = table.by_dataset(first, second, compare.ALPHA / len(table.datasets)) or {}
    behind = [d for d, p in parts.items() if p.high < 0]
    ahead = [d for d, p in parts.items() if p.low > 0]
    if not behind:
        return ""
    words = " and ".join(f"on {_listed([table.family.set_title(d) for d in names])} {how}" for names, how in (
        (ahead, "it is ahead"), (behind, "behind")) if names)  # fmt: skip
    return f" (a mean over data sets that differ: {words})"


def _names(table: Standings, arms: Sequence[Arm]) -> str:
    return _listed([table.name(a) for a in arms])


def _others(found: Standing) -> str:
    others = len(found.order) - 1
    if not others:
        return ", the only one"
    return f", not told apart from {len(found.near)} of {others} others" if found.near else ", told apart from all"


def _cheap(table: Standings, columns: Sequence[compare.Column]) -> str:
    """What to take when nothing is tuned, and the cheapest of what is as good."""
    column = table.main[0], False
    plain = table.of(column)
    family = table.family
    if not plain.order:
        return "No private method has a score with its default settings."
    spent = common_tables.costs(family)
    leaders = [plain.first, *plain.near]
    cost = {}
    for arm in leaders:
        seconds = [spent[d, arm]["seconds"][0] for d in table.datasets if (d, arm) in spent]
        if len(seconds) == len(table.datasets):
            cost[arm] = math.fsum(seconds) / len(seconds)
    first = table.name(plain.first)
    cheap = min(cost, key=cost.__getitem__) if cost else None
    takes = f"{'it' if cheap == plain.first else table.name(cheap)} takes {cost[cheap]:.2g} s a fit" if cost else ""
    if not table.main[1]:
        least = "" if len(cost) < 2 else f", the least of the {len(cost)} that no interval keeps apart from the first"
        lead = f"Nothing was tuned for these scores, so that they come at no further cost; {takes}{least}"
        lead = lead.replace("; it takes", f"; {first} takes") if takes else lead.removesuffix("; ")
    else:
        lead = f"With nothing tuned, {first} has the highest mean ({_n(plain.scores[plain.first].difference)}"
        lead += f"{_others(plain)})"
        lead += f"; {takes}{', the least of those' if len(cost) > 1 else ''}" if takes else ""
    return "; ".join(filter(None, (lead, table.about.tuning if table.main[1] or table.about.limits else ""))) + "."


def _limits(table: Standings) -> str:
    """What the scores cannot know."""
    family, count = table.family, len(table.datasets)
    sets = ", ".join(map(family.set_title, table.datasets))
    out = table.about.limits or (
        f"It cannot know other rows, sizes or models than {count} data set{'s' if count > 1 else ''} ({sets}) and one "
        "model, nor that what is not told apart is equal"
    )
    left = [d for d in family.datasets if d not in table.datasets]
    if left:
        out += f"; left out is {_listed([family.set_title(d) for d in left])}, where {table.ends(left[0])[2]}"
    if not table.scaled:
        without = [d for d in table.datasets if table.ends(d)[2]]
        where = "" if len(without) == count else f" on {_listed([family.set_title(d) for d in without])}"
        out += f"; there is no scale, since {table.ends(without[0])[2]}{where}"
    if any(d in family.conditional for d in table.datasets):
        out += f"; with {CONDITIONAL_MARK}, guarantees are {CONDITIONAL}, which no epsilon counts"
    return f"{out}; {CHOOSING}."


# --- figure


def _figure(table: Standings, columns: Sequence[compare.Column]) -> tuple[str, str]:
    """SVG text, and in words the points that its axis leaves out."""
    epsilons = [e for e in table.family.epsilons if any(c[0] == e for c in columns)]
    methods = {_line(a) for c in columns for a in table.of(c).scores}
    low, high = _axis(table, columns)
    draw = _curves if len(epsilons) > 1 and len(methods) <= LINES else _dots
    return draw(table, epsilons, low, high)


def _line(arm: Arm) -> tuple[str, str]:
    """What is one line or row of a figure: a method, however it is set."""
    return arm.method, ";".join(p for p in arm.setting.split(";") if p != "tuned" and not p.startswith("epsilon="))


def _axis(table: Standings, columns: Sequence[compare.Column]) -> tuple[float, float]:
    """Ends of the axis of scores: all of 0 to 1, and no farther than ``LOWEST`` and ``HIGHEST``, where it is scaled;
    else where most of the scores are."""
    found = [d for c in columns for d in table.of(c).scores.values()]
    values = sorted(d.difference for d in found)
    if table.scaled:
        inside = [d for d in found if d.difference >= LOWEST]
        lows = [d.low if math.isfinite(d.low) else d.difference for d in inside]
        highs = [d.high if math.isfinite(d.high) else d.difference for d in inside]
        return max(LOWEST, min([0.0, *lows])) - 0.05, min(HIGHEST, max([1.0, *highs])) + 0.05
    middle, top = values[len(values) // 2], max(values[-1], 0.0) if table.zero else values[-1]
    low = max(values[0], middle - 3 * (top - middle)) if top > middle else values[0]
    room = 0.08 * (top - low) or 0.1 * max(abs(top), 1.0)
    return low - room, top + room


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, facecolor="white")
    return out.getvalue()


def _marks(table: Standings) -> list[tuple[float, str]]:
    """Lines of the scale with their words."""
    if not table.scaled:
        return [(0.0, title(table.zero.method, table.family.kind))] if table.zero else []
    one = table.ends(table.datasets[0])[1]
    kind = table.family.kind
    return [(0.0, title(table.zero.method, kind)), (1.0, title(one.method, kind))]


def _dots(table: Standings, epsilons: Sequence[str], low: float, high: float) -> tuple[str, str]:
    """Names on the axis, sorted by score; a panel an epsilon."""
    order: list[tuple[str, str]] = []
    names: dict[tuple[str, str], str] = {}
    first = table.main
    for column in [first, *[(e, t) for e in epsilons for t in (True, False) if (e, t) != first]]:
        for arm in table.of(column).scores:
            if _line(arm) not in names:
                names[_line(arm)] = table.name(arm)
                order.append(_line(arm))
    outside: list[tuple[Arm, Difference]] = []
    from matplotlib.lines import Line2D

    with style.canvas(1, len(epsilons), panel=0.235 * len(order) + 0.75) as (figure, axes):
        figure.set_figwidth(min(style.WIDTH, 3.4 + 2.3 * len(epsilons)))
        for ax, epsilon in zip(axes[0], epsilons, strict=True):
            tuned_too = bool(table.of((epsilon, True)).order)
            for tuned in (False, True) if tuned_too else (False,):
                for arm, d in table.of((epsilon, tuned)).scores.items():
                    if tuned_too and not tuned and _said_by_twin(table, arm, d, low, high):
                        continue
                    y = order.index(_line(arm)) + (0.0 if not tuned_too else -0.12 if tuned else 0.16)
                    full = tuned or not tuned_too
                    outside += _point(ax, arm, d, y, low, high, full)
            for at, word in _marks(table):
                ax.axvline(at, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
                ax.annotate(
                    word, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                    ha="right" if at > high - 0.2 else "center", fontsize=6.5, color=style.GREY,
                )  # fmt: skip
            ax.set_xlim(low, high)
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.set_yticks(range(len(order)), [names[k] for k in order] if ax is axes[0][0] else [""] * len(order))
            ax.tick_params(labelsize=7.5)
            ax.grid(axis="x")
            ax.set_title(f"epsilon = {epsilon}", fontsize=9, pad=14)
        axes[0][len(epsilons) // 2].set_xlabel(_label(table), fontsize=8)
        tuned_any = any(table.of((e, True)).order for e in epsilons)
        kind = {"linestyle": "none", "markersize": 5}
        handles = [Line2D([], [], marker="o", color=style.BLUE, label="tuned" if tuned_any else "method", **kind)]
        if tuned_any:
            hollow = {"markerfacecolor": "white", "label": "default settings, where they differ"}
            handles.append(Line2D([], [], marker="o", color=style.BLUE, **hollow, **kind))
        if any(n.endswith("(yardstick)") for n in names.values()):
            handles.append(Line2D([], [], marker="s", color=style.GREY, label="yardstick", **kind))
        if len(handles) > 1:
            figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=7.5)
        return _svg(figure), _beyond(table, outside)


def _said_by_twin(table: Standings, arm: Arm, d: Difference, low: float, high: float) -> bool:
    """Does the tuned column show this default's number too, or is neither of the two on the axis?"""
    for twin, other in table.of((arm.epsilon, True)).scores.items():
        if _line(twin) == _line(arm):
            beyond = all(not low <= x.difference <= high for x in (d, other))
            return beyond or _is_default(table, twin) or d.difference == other.difference
    return False


def _label(table: Standings) -> str:
    return f"scaled {METRIC_WORDS[table.metric]}" if table.scaled else table.words


def _point(
    ax: Any, arm: Arm, d: Difference, y: float, low: float, high: float, full: bool
) -> list[tuple[Arm, Difference]]:
    """One dot with its interval, or an arrow with the number at the edge; gives what lies beyond it."""
    yardstick = arm.role == PRIVATE_YARDSTICK
    colour, marker = (style.GREY, "s") if yardstick else (style.BLUE, "o")
    if low <= d.difference <= high:
        if math.isfinite(d.low):
            ends_of = max(d.low, low), min(d.high, high)
            ax.plot(ends_of, [y, y], color=colour, linewidth=1.4 if full else 0.8, zorder=2)
        face = colour if full else "white"
        ax.plot(d.difference, y, marker=marker, color=colour, markerfacecolor=face, markersize=4.2, zorder=3)
        return []
    left = d.difference < low
    word, at, by = (f"◂ {_n(d.difference)}", low, 3) if left else (f"{_n(d.difference)} ▸", high, -3)
    ax.annotate(
        word, (at, y), xytext=(by, 0), textcoords="offset points", va="center", ha="left" if left else "right",
        fontsize=6.5, color=colour,
    )  # fmt: skip
    return [(arm, d)]


def _beyond(table: Standings, outside: Sequence[tuple[Arm, Difference]]) -> str:
    """Points that the axis leaves out, in words."""
    by: dict[str, list[str]] = {}
    for arm, d in outside:
        by.setdefault(table.name(arm), []).append(f"{_n(d.difference)} at epsilon = {arm.epsilon}")
    return "; ".join(f"{name} ({', '.join(at)})" for name, at in by.items())


def _curves(table: Standings, epsilons: Sequence[str], low: float, high: float) -> tuple[str, str]:
    """Few methods: lines over epsilon, tuned where there is such a column."""
    lines: dict[tuple[str, str], list[tuple[str, Arm, Difference]]] = {}
    for e in epsilons:
        column = (e, True) if table.of((e, True)).order else (e, False)
        for arm, d in table.of(column).scores.items():
            lines.setdefault(_line(arm), []).append((e, arm, d))
    at_main = [_line(a) for a in table.of(table.main).order]
    order = sorted(lines, key=lambda k: at_main.index(k) if k in at_main else len(at_main))
    outside: list[tuple[Arm, Difference]] = []
    with style.canvas(1, 1, panel=3.0) as (figure, axes):
        figure.set_figwidth(7.6)
        ax = axes[0][0]
        for k, key in enumerate(order):
            # beside one another, so that intervals do not hide each other
            shift = 0.05 * (k - (len(order) - 1) / 2)
            colour, marker = style.SERIES[k % len(style.SERIES)] if k < len(style.SERIES) else (style.GREY, "Xd"[k % 2])
            shown = [(epsilons.index(e) + shift, d, arm) for e, arm, d in lines[key]]
            inside = [(x, d) for x, d, _ in shown if low <= d.difference <= high]
            name = table.name(lines[key][0][1])
            dash = (0, (4, 2)) if name.endswith("(yardstick)") else "-"
            xs, ys = [x for x, _ in inside], [d.difference for _, d in inside]
            ax.plot(xs, ys, color=colour, marker=marker, markersize=4.5, linewidth=1.1, linestyle=dash, label=name)
            for x, d in inside:
                if math.isfinite(d.low):
                    ax.plot([x, x], [max(d.low, low), min(d.high, high)], color=colour, linewidth=1.4)
            for x, d, arm in shown:
                if not low <= d.difference <= high:
                    down = d.difference < low
                    ax.annotate(
                        f"{_n(d.difference)} {'◂' if down else '▸'}", (x, low if down else high), xytext=(0, 3 if down
                        else -3), textcoords="offset points", va="bottom" if down else "top", ha="center", fontsize=6.5,
                        color=colour, rotation=90,
                    )  # fmt: skip
                    outside.append((arm, d))
        for at, word in _marks(table):
            ax.axhline(at, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
            ax.annotate(
                word, (1.0, at), xycoords=("axes fraction", "data"), xytext=(0, 2), textcoords="offset points",
                ha="right", fontsize=6.5, color=style.GREY,
            )  # fmt: skip
        ax.set_xticks(range(len(epsilons)), epsilons)
        ax.set_xlim(-0.4, len(epsilons) - 0.6)
        ax.set_ylim(low, high)
        ax.set_xlabel("epsilon" + (", tuned settings" if table.main[1] else ""), fontsize=8)
        ax.set_ylabel(_label(table), fontsize=8)
        ax.tick_params(labelsize=8)
        figure.legend(loc="outside right center", fontsize=7.5)
        return _svg(figure), _beyond(table, outside)
