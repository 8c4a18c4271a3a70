"""Sentences of the page "Which method should I take?": made from the scores by a closed list of templates.

Each names the rows that carry it: a field of a template is text or links, and every sentence has a link.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from common_tasks import comparisons as compare
from common_tasks import privacy as common_privacy
from common_tasks import ranks as common_ranks
from common_tasks import tables as common_tables
from common_tasks.scores import PRIVATE, PRIVATE_YARDSTICK, Arm, Family, higher, name_of, trivial
from evaluation.metrics import METRICS, SHARE
from evaluation.paired import THESE_ROWS
from reports.ledger import CONDITIONAL

#: share by which coverage may be off and still be called close.
CLOSE = 0.05
LEVEL = 0.90

#: the closed list; no number is typed in any of them.
TEMPLATES = {
    "short": "Epsilon = {epsilon}, {effort}: the best average rank by {metric} has {first}; {told}.{beside}",
    "without": "Without {conditional} ({why}), in the same columns: the best average rank has {firsts}.",
    "rank": "By {metric} over {sets} ({pairs}), {first} has the best average rank, {rank} of {among} (confidence set "
    "{low} to {high}; on these rows {rows_low} to {rows_high}){ties}{rivals}{left_out}.",
    "unconditional": "Without {conditional}: {first} has the best average rank, {rank} of {among} (confidence set "
    "{low} to {high}; on these rows {rows_low} to {rows_high}){ties}{left_out}.",
    "winner": "On {dataset}, {first} has the best {metric}: {score}, better than {second}, the next, by {gap} "
    "({low} to {high}; on these rows {rows_low} to {rows_high}; {pairs}), and separated from every other private "
    "method with a score there.",
    "near": "On {dataset}, {first} has the best {metric}: {score}; not separated from it ({pairs}; on these rows "
    "{rows}): {others}.",
    "open": "On {dataset}, {first} has the best {metric}: {score}; no other private method with a score there "
    "is separated from it ({pairs}; on these rows {rows} are not).",
    "splits": "That is its mean over {own} splits. Better means of the table are over other splits; over the shared "
    "ones: {others}.",
    "alone": "On {dataset}, {first} is the only private method with a {metric}: {score}.",
    "behind": "That is worse than {reference}, which has no privacy, by {gap} ({low} to {high}; on these rows "
    "{rows_low} to {rows_high}).",
    "ahead": "That is better than {reference}, which has no privacy, by {gap} ({low} to {high}; on these rows "
    "{rows_low} to {rows_high}).",
    "level": "It is not separated from {reference}, which has no privacy and is ahead by {gap} ({low} to {high}; on "
    "these rows {rows_low} to {rows_high}).",
    "trivial": "By {metric}, significantly worse than {yardstick}, which looks at no input: {losers}.",
    "loses": "By {metric}, significantly worse than {yardstick} at the same epsilon: {losers}.",
    "beaten_by_none": "By {metric}, no method is significantly worse than a yardstick; compared: {names}.",
    "close": "{level} intervals within {close} of their level on every data set: {names}.",
    "narrow": "{level} intervals too narrow by more than {close} on some data set, at worst covering: {names}.",
    "wide": "{level} intervals too wide by more than {close} on some data set, at worst covering: {names}.",
    "calibration": "Smallest expected calibration error, mean over the data sets: {first}, {value}; largest: {last}, "
    "{worst}.",
    "cost": "{clock} seconds a fit, mean over the data sets: from {least} ({first}) to {most} ({last}).",
    "failed": "Without a score: {names}.",
}


@dataclass(frozen=True)
class Link:
    """Words that lead to a row of a table on the same page."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Sentence:
    """A filled template: parts in order, texts and links."""

    kind: str
    parts: tuple[str | Link, ...]

    @property
    def text(self) -> str:
        return "".join(p if isinstance(p, str) else p.text for p in self.parts)

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(p for p in self.parts if isinstance(p, Link))


def say(kind: str, **fields: str | Link | Sequence[str | Link]) -> Sentence:
    """The template ``kind`` with its fields filled in. Raises KeyError for an unknown one or a missing field."""
    parts: list[str | Link] = []
    for literal, name, _, _ in string.Formatter().parse(TEMPLATES[kind]):
        value = () if name is None else fields[name]
        parts += [literal, *([value] if isinstance(value, str | Link) else value)]
    return Sentence(kind, tuple(p for p in parts if p != ""))


def listed(items: Iterable[Sequence[str | Link]]) -> list[str | Link]:
    """Items, each a list of parts, with commas between them."""
    out: list[str | Link] = []
    for item in items:
        out += [", " if out else "", *item]
    return out


def in_short(family: Family) -> list[Sentence]:
    """Who has the best average rank, a sentence an epsilon: in the tuned column, the default beside it; and one of all
    epsilons without the conditional data sets.

    By the metric that comes last (the log-likelihood, which all families have).
    """
    if not family.metrics:
        return []
    out, firsts = [], []
    metric, efforts = family.metrics[-1], {True: "tuned with equal effort", False: "default settings, none is tuned"}
    for epsilon in family.epsilons:
        tuned = (epsilon, True) in family.columns
        found = common_ranks.standing(family, metric, (epsilon, tuned))
        if found is None:
            continue
        told = {"epsilon": epsilon, "effort": efforts[tuned], "metric": METRICS[metric].title}
        told |= {"first": _first(family, found), "told": _told(family, found)}
        out.append(say("short", **told, beside=_beside(family, metric, epsilon) if tuned else ""))
        rest = _unconditional_ranks(family, metric, (epsilon, tuned))
        if rest:
            firsts.append([_first(family, rest), f" at epsilon = {epsilon} ({_told(family, rest)})"])
    if firsts:
        sets = listed([[Link(family.set_title(d), common_privacy.range_id(d))] for d in family.conditional])
        out.append(say("without", conditional=sets, why=CONDITIONAL, firsts=listed(firsts)))
    return out


def _first(family: Family, found: common_ranks.Standing) -> Link:
    """The arm with the best average rank."""
    arm = next(iter(found.law))
    return _rank_link(family, arm, family.mark_over(found.datasets, arm))


def _told(family: Family, found: common_ranks.Standing) -> str:
    """Who shares the first place, and how many others no set keeps apart from it, in both senses."""
    (first, r), *others = found.law.items()
    if not others:
        return "there is no other"
    ties = [_name(family, a) for a, o in others if o.rank == r.rank]
    law, rows = (len(compare.not_told_apart(ranks, first)) for ranks in (found.law, found.rows))
    apart = f"not told apart from it: {law} of {len(others)} others, on these rows {rows}"
    left_out = [_name(family, a) for a in found.left_out]
    missing = [f"not ranked, without a score on every data set: {', '.join(left_out)}"] if left_out else []
    return "; ".join([*([f"the same rank: {', '.join(ties)}"] if ties else []), apart, *missing])


def _beside(family: Family, metric: str, epsilon: str) -> list[str | Link]:
    """The same of the default column."""
    found = common_ranks.standing(family, metric, (epsilon, False))
    return [] if found is None else [" Default settings: ", _first(family, found), f"; {_told(family, found)}."]


def _unconditional_ranks(family: Family, metric: str, column: compare.Column) -> common_ranks.Standing | None:
    """None where no data set is conditional, or all that have a score are."""
    return common_ranks.standing(family, metric, column, family.unconditional) if family.conditional else None


def _conditional(family: Family) -> str:
    return ", ".join(map(family.set_title, family.conditional))


#: sentences that stand together.
Item = list[Sentence]


def about(family: Family, column: compare.Column) -> list[tuple[str, list[Item]]]:
    """(heading, items) of one family at one epsilon: a heading a metric, then intervals and cost."""
    out = []
    for metric in family.metrics:
        winners = [_winner(family, dataset, metric, column) for dataset in family.datasets]
        said = [_rank(family, metric, column), *winners, *([s] for s in _losers(family, metric, column))]
        out.append((METRICS[metric].title.replace("test", "Test", 1), said))
    intervals = [*_coverage(family, column), *_calibration(family, column)]
    out.append(("Intervals and calibration", [[s] for s in intervals]))
    out.append(("Cost", [_cost(family, column), _failed(family, column)]))
    kept = [(heading, [item for item in said if item]) for heading, said in out]
    return [(heading, said) for heading, said in kept if said]


def _name(family: Family, arm: Arm, mark: str = "") -> str:
    """``mark``: says where a default stands in a tuned column (``Family.mark``)."""
    words = ", ".join(filter(None, ("yardstick" if arm.role == PRIVATE_YARDSTICK else "", mark)))
    return name_of(arm, family.kind) + (f" ({words})" if words else "")


def _rank_link(family: Family, arm: Arm, mark: str = "") -> Link:
    return Link(_name(family, arm, mark), common_ranks.row_id(family, arm))


def _row(family: Family, metric: str, dataset: str, arm: Arm, text: str = "") -> Link:
    """``text``: instead of the name and its mark."""
    words = text or _name(family, arm, family.mark(dataset, arm))
    return Link(words, common_tables.row_id(family, metric, dataset, arm))


def _calibration_row(family: Family, dataset: str, arm: Arm, text: str = "") -> Link:
    """``text``: instead of the name and its mark."""
    words = text or _name(family, arm, family.mark(dataset, arm))
    return Link(words, common_tables.calibration_id(family, dataset, arm))


def _over_all(family: Family, arm: Arm) -> str:
    """Name and mark of an arm where something is said of all data sets."""
    return _name(family, arm, family.mark_over(family.datasets, arm))


def _n(value: float) -> str:
    return f"{value:.3g}"


def _of(metric: str, value: float) -> str:
    """A score with its unit."""
    return f"{_n(100 * value)} %" if METRICS[metric].unit is SHARE else f"{_n(value)} {METRICS[metric].unit.words}"


def _between(metric: str, both: compare.Both) -> dict[str, str]:
    """Fields gap, low and high of a difference, and rows_low and rows_high."""
    law, rows = both
    share = METRICS[metric].unit is SHARE
    gap = f"{_n(100 * law.difference)} percentage points" if share else _of(metric, law.difference)
    ends = {"low": law.low, "high": law.high, "rows_low": rows.low, "rows_high": rows.high}
    return {"gap": gap} | {k: _n(100 * v if share else v) for k, v in ends.items()}


def _pairs(counts: tuple[int, int]) -> str:
    """How many splits two methods share."""
    least, most = counts
    return f"{least} splits a pair" if least == most else f"{least} to {most} splits a pair"


def _best_rank(kind: str, family: Family, found: common_ranks.Standing, **fields) -> Sentence:
    """A sentence about the best average rank and its sets."""
    (first, r), *others = found.law.items()
    rows = found.rows[first]
    numbers = {"rank": r.rank, "low": r.low, "high": r.high, "rows_low": rows.low, "rows_high": rows.high}
    same = [[_rank_link(family, a)] for a, o in others if o.rank == r.rank]
    fields |= {k: _n(v) for k, v in numbers.items()} | {"among": str(r.among), "first": _first(family, found)}
    fields["ties"] = ["; the same average rank: ", *listed(same)] if same else []
    names = ", ".join(_name(family, a) for a in found.left_out)
    return say(kind, **fields, left_out=f"; not ranked, without a score on every data set: {names}" if names else "")


def _rank(family: Family, metric: str, column: compare.Column) -> list[Sentence]:
    found = common_ranks.standing(family, metric, column)
    if found is None or len(found.law) < 2:
        return []
    rivals = [[_rank_link(family, a)] for a in compare.not_told_apart(found.law)]
    tail = ["; sets that reach into it: ", *listed(rivals)] if rivals else ["; no other set reaches into it"]
    tail = ["; every other set reaches into it"] if len(rivals) == len(found.law) - 1 else tail
    count = len(found.datasets)
    told = {"metric": METRICS[metric].title, "sets": f"{count} data set" + ("s" if count > 1 else "")}
    out = [_best_rank("rank", family, found, **told, pairs=_pairs(found.pairs), rivals=tail)]
    rest = _unconditional_ranks(family, metric, column)
    if rest and len(rest.law) > 1:
        out.append(_best_rank("unconditional", family, rest, conditional=_conditional(family)))
    return out


def _winner(family: Family, dataset: str, metric: str, column: compare.Column) -> list[Sentence]:
    found = compare.not_separated(family, dataset, metric, column)
    if found is None:
        return []
    first, near = found
    told = {"dataset": family.set_title(dataset), "metric": METRICS[metric].title}
    told |= {"first": _row(family, metric, dataset, first)}
    told |= {"score": _of(metric, family.summary[dataset, first, metric]["mean"])}
    gap = compare.lead(family, dataset, metric, column)
    if gap is None:
        return [say("alone", **told)]
    _, second, both = gap
    scored = [a for a in compare.competitors(family, column) if (dataset, a, metric) in family.values]
    told |= {"pairs": _pairs(compare.pairs(family, [dataset], metric, scored, first))}
    if near:
        told |= {"rows": _on_rows(family, dataset, metric, column, len(scored) - 1)}
    if len(near) == len(scored) - 1:
        out = [say("open", **told)]
    elif near:
        out = [say("near", **told, others=listed([[_row(family, metric, dataset, a)] for a in near]))]
    else:
        out = [say("winner", **told, second=_row(family, metric, dataset, second), **_between(metric, both))]
    return [*out, *_other_splits(family, dataset, metric, first, scored), *_behind(family, dataset, metric, first)]


def _other_splits(family: Family, dataset: str, metric: str, first: Arm, scored: Sequence[Arm]) -> list[Sentence]:
    """What the table shows of a method that has a better mean than the first, over other splits than the first."""
    mine, out = family.values[dataset, first, metric], []
    for arm in scored:
        theirs = family.values[dataset, arm, metric]
        common = sorted(set(mine) & set(theirs))
        own, other = (family.summary[dataset, a, metric]["mean"] for a in (first, arm))
        if arm != first and (other > own if higher(metric) else other < own) and common:
            over_shared = _of(metric, math.fsum(theirs[k] for k in common) / len(common))
            row = _row(family, metric, dataset, arm)
            out.append([row, f" {over_shared} (in the table {_of(metric, other)}, {len(theirs)} splits)"])
    return [say("splits", own=str(len(mine)), others=listed(out))] if out else []


def _on_rows(family: Family, dataset: str, metric: str, column: compare.Column, others: int) -> str:
    """How many the plain intervals leave."""
    _, near = compare.not_separated(family, dataset, metric, column, THESE_ROWS)
    return f"{len(near) or 'none'} of {others} others"


def _behind(family: Family, dataset: str, metric: str, first: Arm) -> list[Sentence]:
    """How far the best private method is from the first reference without privacy."""
    reference = compare.reference(family, dataset, metric)
    both = reference and compare.both_gaps(family, dataset, metric, reference, first)
    if not both:
        return []
    told = {"reference": _row(family, metric, dataset, reference)}
    if not both[0].significant:
        return [say("level", **told, **_between(metric, both))]
    if both[0].difference > 0:
        return [say("behind", **told, **_between(metric, both))]
    turned = tuple(replace(d, difference=-d.difference, low=-d.high, high=-d.low) for d in both)
    return [say("ahead", **told, **_between(metric, turned))]


def _losers(family: Family, metric: str, column: compare.Column) -> list[Sentence]:
    lost: dict[str, dict[Arm, list[str]]] = {}
    arms = family.of(PRIVATE, column=column)
    for dataset in family.datasets:
        for arm in arms:
            for yardstick in compare.loses_to(family, dataset, metric, arm):
                lost.setdefault(yardstick.method, {}).setdefault(arm, []).append(dataset)
    by = {a.method: a for a in compare.yardsticks(family, column)}
    out = []
    for method, losers in sorted(lost.items(), key=lambda pair: (not trivial(by[pair[0]], family.kind), pair[0])):
        items = [
            [
                name_of(arm, family.kind),
                " (",
                *listed([[_row(family, metric, d, arm, family.set_title(d))] for d in sets]),
                ")",
            ]
            for arm, sets in losers.items()
        ]
        dataset = next(iter(losers.values()))[0]
        yardstick = _row(family, metric, dataset, by[method], _name(family, by[method]))
        kind = "trivial" if trivial(by[method], family.kind) else "loses"
        out.append(say(kind, metric=METRICS[metric].title, yardstick=yardstick, losers=listed(items)))
    scored = {a: d for a in arms for d in reversed(family.datasets) if (d, a, metric) in family.values}
    if not out and by and scored:
        names = listed([[_row(family, metric, d, a, _name(family, a))] for a, d in scored.items()])
        out.append(say("beaten_by_none", metric=METRICS[metric].title, names=names))
    return out


def _coverage(family: Family, column: compare.Column) -> list[Sentence]:
    metric = f"coverage_{round(100 * LEVEL)}"
    close, narrow, wide = [], [], []
    for arm in family.of(PRIVATE, PRIVATE_YARDSTICK, column=column):
        at = {d: family.summary[d, arm, metric]["mean"] for d in family.datasets if (d, arm, metric) in family.summary}
        if not at:
            continue
        low, high = min(at, key=at.__getitem__), max(at, key=at.__getitem__)
        if at[low] < LEVEL - CLOSE:
            narrow.append(_covering(family, low, arm, at[low]))
        if at[high] > LEVEL + CLOSE:
            wide.append(_covering(family, high, arm, at[high]))
        if len(at) == len(family.datasets) and at[low] >= LEVEL - CLOSE and at[high] <= LEVEL + CLOSE:
            close.append([_calibration_row(family, low, arm, _over_all(family, arm))])
    words = {"level": f"{LEVEL:.0%}", "close": f"{100 * CLOSE:g} percentage points"}
    sets = {"close": close, "narrow": narrow, "wide": wide}
    return [say(kind, **(words | {"names": listed(items)})) for kind, items in sets.items() if items]


def _covering(family: Family, dataset: str, arm: Arm, share: float) -> list[str | Link]:
    return [_calibration_row(family, dataset, arm), f" {share:.0%} on {family.set_title(dataset)}"]


def _calibration(family: Family, column: compare.Column) -> list[Sentence]:
    metric = "expected_calibration_error"
    means = {}
    for arm in family.of(PRIVATE, PRIVATE_YARDSTICK, column=column):
        found = [family.summary[d, arm, metric]["mean"] for d in family.datasets if (d, arm, metric) in family.summary]
        if found and len(found) == len(family.datasets):
            means[arm] = sum(found) / len(found)
    if len(means) < 2:
        return []
    return [_extremes("calibration", family, means, ("value", "worst"))]


def _cost(family: Family, column: compare.Column) -> list[Sentence]:
    spent = common_tables.costs(family)
    arms = family.of(PRIVATE, PRIVATE_YARDSTICK, column=column)
    whole = {a: [spent[d, a] for d in family.datasets] for a in arms if all((d, a) in spent for d in family.datasets)}
    # One clock for all that are compared: CPU time where every fit has it.
    clock = "cpu_seconds" if all(cell["cpu_seconds"][2] for found in whole.values() for cell in found) else "seconds"
    means = {a: sum(cell[clock][0] for cell in found) / len(found) for a, found in whole.items()}
    told = "CPU" if clock == "cpu_seconds" else "Wall"
    return [_extremes("cost", family, means, ("least", "most"), clock=told)] if len(means) > 1 else []


def _extremes(kind: str, family: Family, means: dict[Arm, float], names: tuple[str, str], **more: str) -> Sentence:
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    rows = (_calibration_row(family, family.datasets[0], a, _over_all(family, a)) for a in (low, high))
    values = dict(zip(names, (_n(means[low]), _n(means[high])), strict=True))
    return say(kind, **more, **values, **dict(zip(("first", "last"), rows, strict=True)))


def _failed(family: Family, column: compare.Column) -> list[Sentence]:
    items = []
    for arm in family.of(PRIVATE, PRIVATE_YARDSTICK, column=column):
        bad = [d for d in family.datasets if family.status.get((d, arm), ("ok", ""))[0] != "ok"]
        words = dict.fromkeys(family.status[d, arm][0].replace("_", " ") for d in bad)
        sets = listed([[_calibration_row(family, d, arm, family.set_title(d))] for d in bad])
        if bad:
            items.append([f"{name_of(arm, family.kind)} ({', '.join(words)} on ", *sets, ")"])
    return [say("failed", names=listed(items))] if items else []
