"""Tables of regrets to the best private method, and of scores on a scale on which means over data sets can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from common_tasks import comparisons as compare
from common_tasks.advice.scale import mean, position
from common_tasks.scores import (
    CONDITIONAL_NOTE,
    Arm,
    Family,
    column_words,
    constants_of,
    name_of,
    title,
)
from evaluation.metrics import METRICS
from evaluation.paired import RATIO_90_10, THESE_ROWS, Difference
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.tables import SCALE_BANNERS

#: in the place of a data set: means over all that have a scale, and over those that are not conditional.
EVERY, UNCONDITIONAL = "(mean)", "(mean, without conditional)"
#: suffix of a column of the frame -> ratio of its interval.
KINDS = {"": RATIO_90_10, "_rows": THESE_ROWS}


@dataclass(frozen=True)
class Cell:
    """One arm on one data set, or a mean over data sets: each pair of values is (law of the data, these rows).

    ``scaled``: position on the scale; ``regret``: best private minus this, in the units of the score;
    ``scaled_regret``: the same on the scale. None where there is none.
    """

    scaled: compare.Both | None = None
    regret: compare.Both | None = None
    scaled_regret: float = math.nan


def cell(family: Family, dataset: str, metric: str, arm: Arm) -> Cell:
    """Of a private arm with a score on that data set."""
    first = compare.best(family, dataset, metric, arm.column)
    regret = compare.both_gaps(family, dataset, metric, first, arm)
    start, end, why = compare.ends(family, dataset, metric)
    if why:
        return Cell(None, regret)
    at = {a: family.values[dataset, a, metric] for a in (arm, first, start, end)}
    law, rows = (position(at[arm], at[start], at[end], compare.ALPHA, ratio) for ratio in KINDS.values())
    best = position(at[first], at[start], at[end])
    scaled = (law, rows) if law and rows else None
    return Cell(scaled, regret, best.difference - law.difference if scaled and best else math.nan)


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Mean over data sets, all of which have a scale."""
    law, rows = (mean([c.scaled[k] for c in cells]) for k in (0, 1))
    return Cell((law, rows), None, math.fsum(c.scaled_regret for c in cells) / len(cells))


def cells(family: Family, metric: str, column: compare.Column) -> dict[Arm, dict[str, Cell]]:
    """arm -> data set, ``EVERY`` and ``UNCONDITIONAL`` -> cell, for all arms of a column with a score.

    A mean is given where the arm has a score on every data set that has a scale: means over other data sets could not
    be compared.
    """
    scaled = [d for d in family.datasets if not compare.ends(family, d, metric)[2]]
    over = {EVERY: scaled}
    if family.conditional:
        over[UNCONDITIONAL] = [d for d in scaled if d in family.unconditional]
    out: dict[Arm, dict[str, Cell]] = {}
    for arm in compare.competitors(family, column):
        at = {d: cell(family, d, metric, arm) for d in family.datasets if (d, arm, metric) in family.values}
        for name, sets in over.items():
            if sets and all(d in at and at[d].scaled for d in sets):
                at[name] = mean_cell([at[d] for d in sets])
        if at:
            out[arm] = at
    return out


def table(family: Family, scale: str) -> tuple[Table, pd.DataFrame] | None:
    """A block a metric and column; rows private methods, columns data sets and means; None without a private score."""
    blocks, long, footnotes = [], [], Footnotes()
    for metric in family.metrics:
        heads = _heads(family, metric, footnotes)
        for column in family.columns:
            found = cells(family, metric, column)
            if not found:
                continue
            names = [*family.datasets, EVERY, *([UNCONDITIONAL] if family.conditional else [])]
            order = sorted(found, key=lambda a: -_mean_of(found[a]))
            rows = [(_name(family, a), [_entry(family, metric, found[a].get(d)) for d in names]) for a in order]
            words = f"{METRICS[metric].title}, {column_words(column)}"
            blocks.append(Block(words, "Method", heads, rows))
            long += [_long(family, metric, d, a, c) for a in order for d, c in found[a].items()]
    if not blocks:
        return None
    name, words = f"common_{family.task}_scale", f"{family.title}: regret, and scores on a scale"
    shown = Table(name, words, SCALE_BANNERS[scale], blocks, _notes(family), footnotes.texts)
    return shown, pd.DataFrame(long).assign(scale=scale)


def _notes(family: Family) -> tuple[str, ...]:
    means = (
        "Means are over the data sets that have a scale, and say nothing of others; one data set far below 0 rules a "
        "mean. A scaled score above 1 is no mistake: the reference is the model's, and a method with another model may "
        "be better.",
    )
    return (
        "First line: score on the scale of that data set. Below it its 95 % intervals: \"law\", corrected for splits "
        "that share rows (Nadeau and Bengio 2003), is about other rows of the same law, as many; \"rows\", the plain "
        "paired t interval, is about these rows, over all their splits and all privacy noise. Then the regret, by how "
        "much the best private method of the column, yardsticks included, is better, in the units of the score, with "
        "both intervals of that pair and the number of splits that both have. The best was found with the same scores: "
        "intervals of single pairs do not allow for that; \"separated\" in the table of scores does.",
        *(means if any(not compare.ends(family, d, m)[2] for d in family.datasets for m in family.metrics) else ()),
        *([CONDITIONAL_NOTE] if family.conditional else []),
    )  # fmt: skip


def _heads(family: Family, metric: str, footnotes: Footnotes) -> list[str]:
    """Data sets with the ends of their scale, or a mark that says why they have none."""
    heads = []
    for d in family.datasets:
        start, end, why = compare.ends(family, d, metric)
        if why:
            heads.append(f"{family.set_title(d)}: no scale [{footnotes(why)[0]}]")
            continue
        names = (title(a.method, family.kind) for a in (start, end))
        at = (family.summary[d, a, metric]["mean"] for a in (start, end))
        told = "; ".join(f"{k} = {n}, {v:.3g}" for k, n, v in zip((0, 1), names, at, strict=True))
        heads.append(f"{family.set_title(d)} ({told})")
    return [*heads, "mean", *(["mean without *"] if family.conditional else [])]


def _mean_of(at: dict[str, Cell]) -> float:
    """What a block is sorted by: the mean on the scale, else minus the mean regret."""
    if EVERY in at:
        return at[EVERY].scaled[0].difference
    regrets = [c.regret[0].difference for c in at.values() if c.regret]
    return -1e6 - (math.fsum(regrets) / len(regrets) if regrets else 1e6)


def _name(family: Family, arm: Arm) -> str:
    return ", ".join(filter(None, (name_of(arm, family.kind), family.mark_over(family.datasets, arm))))


def _entry(family: Family, metric: str, found: Cell | None) -> Entry:
    if found is None:
        return entry("-")
    first, after = "-", []
    if found.scaled:
        law, rows = found.scaled
        first = _n(law.difference)
        after = [f"law {_between(law)}", f"rows {_between(rows)}"]
    if found.regret:
        law, rows = found.regret
        after += [f"regret {_n(law.difference)}"]
        after += [f"law {_between(law)}", f"rows {_between(rows)} ({law.n})"] if law.difference or law.high else []
    elif not math.isnan(found.scaled_regret):
        after += [f"regret {_n(found.scaled_regret)}"]
    return entry(first, after=tuple(after))


def _n(value: float) -> str:
    return f"{value:.3g}"


def _between(d: Difference) -> str:
    return f"{_n(d.low)} to {_n(d.high)}"


def _long(family: Family, metric: str, dataset: str, arm: Arm, found: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {"experiment": family.experiment, "dataset": dataset, "metric": metric}
    row |= {
        "unit": METRICS[metric].unit.words,
        "method": arm.method,
        "title": name_of(arm, family.kind),
        "setting": arm.setting,
    }
    row |= {"group": arm.role, "epsilon_claimed": arm.epsilon, "tuned": arm.tuned}
    real = dataset in family.datasets
    start, end, why = compare.ends(family, dataset, metric) if real else (compare.zero(family), None, "")
    row |= {"constants": constants_of(family, dataset, arm) if real else ""}
    row |= {"conditional": dataset in family.conditional}
    row |= {"zero": start.method if start else "", "one": end.method if end else "", "no_scale": why}
    for k, suffix in enumerate(KINDS):
        for name, both in (("scaled", found.scaled), ("regret", found.regret)):
            d = both[k] if both else None
            row |= {} if suffix else {name: d.difference if d else math.nan}
            row |= {f"{name}{suffix}_low": d.low if d else math.nan, f"{name}{suffix}_high": d.high if d else math.nan}
    pairs = (found.regret or found.scaled or (Difference(0, 0, 0, 0, True),))[0].n
    return row | {"scaled_regret": found.scaled_regret, "pairs": pairs}
