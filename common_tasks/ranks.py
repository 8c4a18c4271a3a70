"""Table of average ranks on the common tasks, with their confidence sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from common_tasks import comparisons as compare
from common_tasks.scores import (
    CONDITIONAL_NOTE,
    PRIVATE,
    PRIVATE_YARDSTICK,
    Arm,
    Family,
    column_words,
    label,
    title,
)
from evaluation.metrics import METRICS
from evaluation.paired import RATIO_90_10, THESE_ROWS
from evaluation.ranking import Rank
from reports.blocks import Block, Entry, Table, entry
from reports.tables import SCALE_BANNERS

NAME = "common_ranks"


@dataclass(frozen=True)
class Standing:
    """Average ranks of one column by one metric, best first: ``law`` has their sets under the law of the data, ``rows``
    those on these rows; ``datasets``: that they rest on; ``pairs``: fewest and most splits that two methods share;
    ``left_out``: methods with a score on some of the data sets, but not on all, which have no rank."""

    law: dict[Arm, Rank]
    rows: dict[Arm, Rank]
    datasets: list[str]
    pairs: tuple[int, int]
    left_out: list[Arm]


@cache
def standing(
    family: Family, metric: str, column: compare.Column, among: tuple[str, ...] | None = None
) -> Standing | None:
    """None without a score. ``among``: data sets, all where it is left out."""
    law, rows = (compare.mean_ranks(family, metric, column, r, among) for r in (RATIO_90_10, THESE_ROWS))
    if not law:
        return None
    on = compare.ranked_on(family, metric, column, among)
    others = [a for a in compare.competitors(family, column) if a not in law]
    left_out = [a for a in others if any((d, a, metric) in family.values for d in on)]
    return Standing(law, rows, on, compare.pairs(family, on, metric, list(law)), left_out)


def row_id(family: Family, arm: Arm) -> str:
    """Anchor of a method's row."""
    return "-".join(filter(None, (NAME, family.task, arm.method, label(arm).replace(" ", "_"))))


def subsets(family: Family) -> list[tuple[str, tuple[str, ...]]]:
    """(words, data sets) of the blocks: all of them, and those that are not conditional where some are and some not."""
    out: list[tuple[str, tuple[str, ...]]] = [("", family.datasets)]
    if family.conditional and family.unconditional:
        out.append((f"without {', '.join(map(family.set_title, family.conditional))}", family.unconditional))
    return out


def ranks_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """A block a family, and one without its conditional data sets; rows private methods, columns metric and epsilon;
    None without a private score."""
    blocks, long = [], []
    for f in families:
        for words, among in subsets(f):
            found = {(m, c): standing(f, m, c, among) for m in f.metrics for c in f.columns}
            found = {key: s for key, s in found.items() if s}
            if found:
                blocks.append(_block(f, found, words))
                long += [_long(f, key, s, words, a) for key, s in found.items() for a in s.law]
    if not blocks:
        return None
    notes = (
        "Average rank over the data sets among the private methods of that column (how many), 1 is best; below it two "
        "confidence sets, each at 95 % by itself: pairwise intervals over the splits that both methods have, "
        "Bonferroni over pairs and data sets (Mogstad, Romano, Shaikh and Wilhelm 2024). \"Law\": by intervals that "
        "are corrected for splits that share rows (Nadeau and Bengio 2003); would it be so with other rows of the same "
        "law? \"Rows\": by plain paired t intervals; is it so on these rows, over all their splits and all privacy "
        "noise? A method that failed ranks last; one that does not run on all data sets is left out. In a tuned column "
        "'default' is said of a method that stands there with its default settings, because the tuning chose them or "
        "there was nothing to choose from, and on how many data sets.",
        *([CONDITIONAL_NOTE] if any(f.conditional for f in families) else []),
    )  # fmt: skip
    table = Table(NAME, "Common tasks: average ranks at the same budget", SCALE_BANNERS[scale], blocks, notes)
    return table, pd.DataFrame(long).assign(scale=scale)


def _block(f: Family, found: dict[tuple[str, compare.Column], Standing], words: str) -> Block:
    """Rows have anchors where all data sets are counted."""
    first: dict[tuple[str, str], Arm] = {}
    for s in found.values():
        for arm in s.law:
            first.setdefault((arm.method, label(arm)), arm)
    rows: list[tuple[str, list[Entry]]] = []
    ids: list[str] = []
    for role in (PRIVATE, PRIVATE_YARDSTICK):
        part = [a for a in first.values() if a.role == role]
        rows += [(role, [])] if part else []
        ids += [""] if part else []
        for arm in part:
            name = ", ".join(filter(None, (title(arm.method, f.kind), label(arm))))
            rows.append((name, [_entry(f, s, arm) for s in found.values()]))
            ids.append("" if words else row_id(f, arm))
    heads = [f"{METRICS[m].title}, {column_words(c)}" for m, c in found]
    return Block(", ".join(filter(None, (f.title.partition(":")[0], words))), "Method", heads, rows, ids=ids)


def _entry(f: Family, s: Standing, arm: Arm) -> Entry:
    mine = next((a for a in s.law if (a.method, label(a)) == (arm.method, label(arm))), None)
    if mine is None:
        return entry("-")
    law, rows = s.law[mine], s.rows[mine]
    words = ", ".join(filter(None, (f"{law.rank:.3g} of {law.among}", f.mark_over(s.datasets, mine))))
    return entry(words, after=tuple(f"{k} {r.low:.3g} to {r.high:.3g}" for k, r in (("law", law), ("rows", rows))))


def _long(f: Family, key: tuple[str, compare.Column], s: Standing, words: str, arm: Arm) -> dict[str, Any]:
    metric, (epsilon, tuned) = key
    law, rows = s.law[arm], s.rows[arm]
    what = {"experiment": f.experiment, "metric": metric, "epsilon": epsilon, "tuned": tuned}
    what |= {"without_conditional": bool(words)}
    what |= {"method": arm.method, "setting": arm.setting, "rank": law.rank, "low": law.low, "high": law.high}
    what |= {"rows_low": rows.low, "rows_high": rows.high, "among": law.among, "datasets": len(s.datasets)}
    what |= {"pairs_least": s.pairs[0], "pairs_most": s.pairs[1]}
    return what | {"defaults": sum(bool(f.mark(d, arm)) for d in s.datasets)}
