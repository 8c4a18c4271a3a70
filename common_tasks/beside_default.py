"""Settings of a method other than its defaults: those tuned on public surrogate data, and ablations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from common_tasks import comparisons as compare
from common_tasks.scores import Arm, Family, label, title
from evaluation.metrics import METRICS
from reports.blocks import Block, Entry, Table, entry
from reports.tables import SCALE_BANNERS, dataset_title

COLUMNS = (
    *("experiment", "dataset", "method", "title", "setting", "epsilon_claimed", "metric", "status", "reason"),
    *(
        "mean",
        "std",
        "n",
        "default_setting",
        "default_mean",
        "default_std",
        "better_by",
        "low",
        "high",
        "rows_low",
        "rows_high",
        "pairs",
        "compared",
        "scale",
    ),
)


#: words for the 95 % interval of a difference.
COMPARED = ("better", "worse", "not separated")
Row = dict[str, Any]


def build(families: Sequence[Family], scale: str) -> list[tuple[Table, pd.DataFrame]]:
    """Both tables that have rows, with their data frames."""
    return [pair for pair in (tuned_table(families, scale), ablations_table(families, scale)) if pair is not None]


def tuned_rows(families: Sequence[Family]) -> list[tuple[str, list[Row]]]:
    """(title of the family, rows of its tuned arms)."""
    return [(f.title, rows_of(f, [a for a in f.arms if a.tuned and a.epsilon])) for f in families]


def tuned_frame(families: Sequence[Family]) -> pd.DataFrame:
    """One row per tuned setting, data set and metric: the committed tuned column, for findings."""
    rows = [r for _, group in tuned_rows(families) for r in group]
    return pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("title", "reason", "scale")])


def tuned_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """One row per tuned setting, data set and metric, next to the default; None if nothing is tuned."""
    rows = tuned_rows(families)
    count = dict.fromkeys(COMPARED, 0)
    for r in (r for _, group in rows for r in group if r.get("compared")):
        count[r["compared"]] += 1
    counted = ", ".join(f"{words} in {n}" for words, n in count.items())
    notes = (
        "As many settings of every method were tried on synthetic rows of the data set's shape. "
        "The table has the best one if it gained enough there. If none did, the default was chosen, and is in the "
        "tuned columns of the tables of scores. Tuned settings are compared with the default on the real data, by 95 % "
        f"intervals about the distribution of the data, one per comparison: {counted}.",
    )
    return _table("common_tuned", "Tuned on synthetic surrogate data, compared with the default", rows, notes, scale)


def ablations_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """One row per ablation, data set and metric, next to the default; None without ablations."""
    notes = (
        "Each setting was tried after test scores had raised a question, and a finding answers it. So it shows why a "
        "method does what it does, and not how good it can be. No other table of scores and no figure has it. If the "
        "default was not run at an epsilon, the default at its largest epsilon is shown.",
    )
    rows = [(f.title, rows_of(f, f.ablations)) for f in families]
    return _table("common_ablations", "Ablations of the common tasks", rows, notes, scale)


def _table(name: str, title: str, rows: Sequence[tuple[str, list[Row]]], notes: tuple[str, ...], scale: str):
    heads = ["data set", "metric", "epsilon", "this setting", "default"]
    heads += ["better than it by (95 %, distribution of the data)", "95 % on these rows (splits that both have)"]
    rows = [(words, group) for words, group in rows if group]
    if not rows:
        return None
    blocks = [Block(words, "Method", heads, [(r["title"], _entries(r)) for r in group]) for words, group in rows]
    what = (
        "Mean ± standard deviation over splits (their number), and the paired difference with two intervals. One is "
        "corrected for splits that share rows (Nadeau and Bengio 2003), and is about the distribution of the data. The "
        "plain one is about these rows, over all their splits and all privacy noise."
    )
    long = pd.DataFrame([r | {"scale": scale} for _, group in rows for r in group], columns=COLUMNS)
    return Table(name, title, SCALE_BANNERS[scale], blocks, (what, *notes)), long


def rows_of(family: Family, arms: Sequence[Arm]) -> list[Row]:
    """One row per arm, data set and metric, with those of ``COLUMNS`` that are known."""
    return [r for a in arms for d in family.datasets for r in _rows(family, d, a)]


def default_of(family: Family, dataset: str, arm: Arm) -> Arm | None:
    """The method's arm with default settings at the same epsilon, or at its largest; None without a score."""
    metric = family.metrics[-1]
    plain = [a for a in family.arms if a.method == arm.method and not a.tuned and not label(a)]
    plain = [a for a in plain if (dataset, a, metric) in family.values]
    same = [a for a in plain if a.epsilon == arm.epsilon]
    return same[0] if same else max(plain, key=lambda a: float(a.epsilon or 0), default=None)


def _rows(family: Family, dataset: str, arm: Arm) -> list[Row]:
    if (dataset, arm) not in family.status or (dataset, arm) in family.defaults:
        return []
    status, reason = family.status[dataset, arm]
    default, out = default_of(family, dataset, arm), []
    for metric in family.metrics:
        key = {"experiment": family.experiment, "dataset": dataset, "method": arm.method, "setting": arm.setting}
        words = ", ".join(filter(None, (title(arm.method, family.kind), label(arm))))
        row = key | {
            "title": words,
            "epsilon_claimed": arm.epsilon,
            "metric": metric,
            "status": status,
            "reason": reason,
        }
        mine = family.summary.get((dataset, arm, metric))
        row |= {k: mine[k] for k in ("mean", "std", "n")} if mine else {"mean": math.nan, "std": math.nan, "n": 0}
        if default is not None:
            other = family.summary[dataset, default, metric]
            row |= {"default_setting": default.setting, "default_mean": other["mean"], "default_std": other["std"]}
            both = compare.both_gaps(family, dataset, metric, arm, default) if mine else None
            if both is not None:
                difference, rows = both
                row |= {"better_by": difference.difference, "low": difference.low, "high": difference.high}
                row |= {"rows_low": rows.low, "rows_high": rows.high, "pairs": rows.n}
                row["compared"] = COMPARED[(difference.low <= 0) + (difference.low <= 0 <= difference.high)]
        out.append(row)
    return out


def _entries(row: Row) -> list[Entry]:
    what = [dataset_title(row["dataset"]), METRICS[row["metric"]].heading]
    score = _score(row["mean"], row["std"], f" ({row['n']})") if row["n"] else row["status"]
    default, gap, rows = "-", "-", "-"
    if "default_mean" in row:
        asked = row["default_setting"].removeprefix("epsilon=")
        elsewhere = "" if asked == row["epsilon_claimed"] else f", at epsilon = {asked}"
        default = _score(row["default_mean"], row["default_std"], elsewhere)
    if "better_by" in row:
        gap = f"{row['better_by']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
        rows = f"{row['rows_low']:.3g} to {row['rows_high']:.3g} ({row['pairs']})"
    return [entry(words) for words in (*what, row["epsilon_claimed"] or "-", score, default, gap, rows)]


def _score(mean: float, std: float, after: str) -> str:
    return f"{mean:.4g}" + (f" ± {std:.2g}" if math.isfinite(std) else "") + after
