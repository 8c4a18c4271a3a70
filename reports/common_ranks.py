"""Table of average ranks on the common tasks, with their confidence sets."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from evaluation.ranking import Rank
from reports import common_comparisons as compare
from reports.blocks import Block, Entry, Table, entry
from reports.common_scores import METRIC_WORDS, PRIVATE, PRIVATE_YARDSTICK, Arm, Family, column_words, label, title
from reports.tables import SCALE_BANNERS

NAME = "common_ranks"


def row_id(family: Family, arm: Arm) -> str:
    """Anchor of a method's row."""
    return "-".join(filter(None, (NAME, family.task, arm.method, label(arm).replace(" ", "_"))))


def ranks_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """A block a family; rows private methods, columns metric and epsilon; None without a private score."""
    blocks, long = [], []
    for f in families:
        found = {(m, c): compare.mean_ranks(f, m, c) for m in f.metrics for c in f.columns}
        found = {key: ranks for key, ranks in found.items() if ranks}
        if not found:
            continue
        at: dict[tuple[str, str], dict[tuple, tuple[Rank, str]]] = {}
        first: dict[tuple[str, str], Arm] = {}
        for key, ranks in found.items():
            datasets = compare.ranked_on(f, *key)
            for arm, rank in ranks.items():
                mark = f.mark_over(datasets, arm)
                at.setdefault((arm.method, label(arm)), {})[key] = rank, mark
                first.setdefault((arm.method, label(arm)), arm)
                metric, (epsilon, tuned) = key
                what = {"experiment": f.experiment, "metric": metric, "epsilon": epsilon, "tuned": tuned}
                what |= {"method": arm.method, "setting": arm.setting, "rank": rank.rank, "low": rank.low}
                what |= {"high": rank.high, "among": rank.among, "datasets": len(datasets)}
                long.append(what | {"defaults": sum(bool(f.mark(d, arm)) for d in datasets)})
        rows: list[tuple[str, list[Entry]]] = []
        ids: list[str] = []
        for role in (PRIVATE, PRIVATE_YARDSTICK):
            part = [a for a in first.values() if a.role == role]
            rows += [(role, [])] if part else []
            ids += [""] if part else []
            for arm in part:
                mine = at[arm.method, label(arm)]
                name = ", ".join(filter(None, (title(arm.method, f.kind), label(arm))))
                rows.append((name, [_entry(*mine.get(key, (None, ""))) for key in found]))
                ids.append(row_id(f, arm))
        heads = [f"{METRIC_WORDS[m]}, {column_words(c)}" for m, c in found]
        blocks.append(Block(f.title.partition(":")[0], "Method", heads, rows, ids=ids))
    if not blocks:
        return None
    notes = (
        "Average rank over the data sets among the private methods of that column (how many), 1 is best; below it the "
        "confidence set, each at 95 % by itself: pairwise intervals over splits, Bonferroni over pairs and data sets "
        "(Mogstad, Romano, Shaikh and Wilhelm 2024). A method that failed ranks last; one that does not run on all "
        "data sets is left out. In a tuned column 'default' is said of a method that stands there with its default "
        "settings, because the tuning chose them or there was nothing to choose from, and on how many data sets.",
    )
    table = Table(NAME, "Common tasks: average ranks at the same budget", SCALE_BANNERS[scale], blocks, notes)
    return table, pd.DataFrame(long).assign(scale=scale)


def _entry(rank: Rank | None, mark: str) -> Entry:
    if rank is None:
        return entry("-")
    words = ", ".join(filter(None, (f"{rank.rank:.3g} of {rank.among}", mark)))
    return entry(words, after=(f"{rank.low:.3g} to {rank.high:.3g}",))
