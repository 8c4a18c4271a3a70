"""The three sentences of a block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from common_tasks import comparisons as compare
from common_tasks import tables as common_tables
from common_tasks.advice.standings import Standing, Standings, number, with_interval
from common_tasks.scores import CONDITIONAL_MARK, Arm, title
from evaluation.metrics import METRICS
from evaluation.paired import Difference
from reports.ledger import CONDITIONAL

#: so many names stand in a sentence; the table marks all.
NAMED = 4
#: what the committed tasks cannot know, before what is said of their data sets.
CHOOSING = "and choosing by scores on private rows would be a release of its own, which no epsilon here counts"


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _settings(tuned: bool) -> str:
    return "tuned" if tuned else "default settings"


def best(table: Standings) -> str:
    """What is best, by what is told apart; then, by epsilon, how methods without a score on every data set compare."""
    found, (epsilon, tuned) = table.of(table.main), table.main
    start = f"At epsilon = {epsilon} ({_settings(tuned)}) "
    unit = "" if table.scaled else f" {METRICS[table.metric].unit.words}"
    score = f"{with_interval(found.scores[found.first])}{unit}"
    first = table.name(found.first)
    if len(found.order) == 1:
        out = f"{start}{first} is the only private method with a score"
        out += f" on every data set, {score}" if found.left_out else f", {score}: there is nothing to compare it with"
    elif len(found.near) == len(found.order) - 1:
        many = len(found.order)
        out = f"{start}no order can be given: {first} has the highest mean, {score}, and "
        out += f"the other is not told apart from it ({_names(table, found.near)})" if many == 2 else (
            f"none of the {many - 1} others is told apart from it")  # fmt: skip
    else:
        nearest = found.apart[0]
        gap = table.ahead(found.first, nearest, found.level)
        behind = f"by {with_interval(gap, 3)}"
        name = table.name(nearest)
        if found.near:
            out = f"{start}{first} has the highest mean, {score}; not told apart from it: {_names(table, found.near)}; "
            some = len(found.apart)
            out += f"{name} is worse {behind}" if some == 1 else (
                f"the other {some} are significantly worse, the next of them, {name}, {behind}")  # fmt: skip
        else:
            how = "has the highest mean" if found.left_out else "is best"
            out = f"{start}{first} {how}, {score}, told apart from {_all(found)}: the next, {name}, is behind {behind}"
        out += _each(table, found.first, nearest)
    if table.zero and found.scores[found.first].difference <= 0:
        out += f"; no mean is above that of {title(table.zero.method, table.family.kind)}, which is 0"
    shown = {epsilon: found}
    for other in table.family.epsilons:
        column = (other, tuned) if table.of((other, tuned)).order else (other, False)
        there = table.of(column)
        if other != epsilon and there.order:
            lead = number(there.scores[there.first].difference)
            out += f"; at epsilon = {other} {table.name(there.first)} ({lead}{_others(there)})"
            shown[other] = there
    return " ".join([f"{out}.", *_left_out(table, dict(sorted(shown.items(), key=lambda pair: float(pair[0]))))])


def _left_out(table: Standings, shown: dict[str, Standing]) -> list[str]:
    """How methods with a score on some data sets only compare, on these, with the first; ``shown``: by epsilon."""
    why = {table.name(a): found.missing[a] for found in shown.values() for a in found.left_out}
    out = [f"Left out of these means: {_listed([f'{name} ({words})' for name, words in why.items()])}."] if why else []
    for epsilon, found in shown.items():
        first, said = table.name(found.first), {}
        for arm, gap in found.left_out.items():
            said.setdefault(_beside(gap, first), []).append(table.name(arm))
        parts = [f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {how}" for how, names in said.items()]
        on = "At" if len(out) > 1 else "On the data sets with a score, at"
        out += [f"{on} epsilon = {epsilon} {' and '.join(parts)}."] if parts else []
    return out


def _beside(gap: Difference, first: str) -> str:
    """How an arm compares with the first, which is ahead of it by ``gap``."""
    if gap.high < 0:
        by = replace(gap, difference=-gap.difference, low=-gap.high, high=-gap.low)
        return f"ahead of {first} by {with_interval(by)}"
    return f"worse than {first}" if gap.low > 0 else f"not told apart from {first}"


def _each(table: Standings, first: Arm, second: Arm) -> str:
    """Where the mean of the data sets hides that they disagree."""
    parts = table.by_dataset(first, second, compare.ALPHA / len(table.datasets))
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
        return ", the only one with a score on every data set" if found.left_out else ", the only one"
    near = f", not told apart from {len(found.near)} of {others} others"
    return near if found.near else f", told apart from {_all(found)}"


def _all(found: Standing) -> str:
    """Those that the first is told apart from: "all" only where no method of the column is left out."""
    others = len(found.order) - 1
    if found.left_out:
        many = f"the {others} others" if others > 1 else "the one other"
        return f"{many} with a score on every data set"
    return "all others with a score" if found.missing else "all others"


def cheap(table: Standings) -> str:
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
        lead = f"With nothing tuned, {first} has the highest mean ({number(plain.scores[plain.first].difference)}"
        lead += f"{_others(plain)})"
        lead += f"; {takes}{', the least of those' if len(cost) > 1 else ''}" if takes else ""
    return "; ".join(filter(None, (lead, table.about.tuning if table.main[1] or table.about.limits else ""))) + "."


def limits(table: Standings) -> str:
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
