"""The claimed epsilon of every private run of the common tasks, its epsilon by the ledger, and their conversion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

import datasets
from common_tasks.scores import CONDITIONAL_NOTE, Family, column_words, name_of
from methods._shared.frames import SHARE
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.ledger import TOTAL, leaks_of
from reports.tables import SCALE_BANNERS, dataset_title

COLUMNS = (
    *("experiment", "dataset", "method", "title", "setting", "cell", "epsilon_claimed", "tuned", "epsilon", "delta"),
    *("relation", "accountant", "epsilon_ledger", "claim", "conversion", "leaks", "status", "reason"),
)


def privacy_frame(families: Sequence[Family], ledger: pd.DataFrame) -> pd.DataFrame:
    """One row per private cell, and per cell without budget whose ledger is infinite, with columns ``COLUMNS``.

    * ``epsilon``: from the score rows, the largest over splits.
    * ``epsilon_ledger``: from ``ledger`` (``reports.ledger.build``), recomputed from the events of the fits.

    Both come from the ledger of the run, by different code.
    """
    totals = ledger[(ledger["event"] == TOTAL) & ledger["reason"].astype(str).str.contains("taken as the answer")]
    found = {c: float(e) for c, e in zip(totals["cell"], totals["epsilon"], strict=True) if e != ""}
    rows = []
    for f in families:
        of = _rows(f)
        for dataset in f.datasets:
            for arm in f.every_arm:
                here = of.get((dataset, arm.method, arm.setting), [])
                costs = [r for r in here if r["epsilon"] != ""]
                worst = max(costs, key=lambda r: float(r["epsilon"]), default=None)
                if not here or not (arm.epsilon or (worst and math.isinf(float(worst["epsilon"])))):
                    continue
                status, reason = f.status[dataset, arm]
                epsilon = float(worst["epsilon"]) if worst else math.nan
                facts = {k: worst[k] if worst else "" for k in ("delta", "relation", "accountant")}
                leaks = leaks_of(arm.method, dataset, f.kind)
                rows.append(
                    {"experiment": f.experiment, "dataset": dataset, "method": arm.method, "setting": arm.setting}
                    | {"title": name_of(arm, f.kind), "cell": here[0]["cell"], "epsilon_claimed": arm.epsilon}
                    | {"tuned": arm.tuned, "epsilon": epsilon, **facts}
                    | {"epsilon_ledger": found.get(here[0]["cell"], math.nan)}
                    | {"claim": claim(arm.epsilon, epsilon, bool(leaks), status), "leaks": "; ".join(leaks)}
                    | {"conversion": conversion(arm.method, f.kind), "status": status, "reason": reason}
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(family: Family) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """(data set, method, setting) -> its score rows, one per split and epsilon."""
    key = ["dataset", "method", "setting"]
    out: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for r in family.scores.drop_duplicates([*key, "split", "epsilon"]).to_dict("records"):
        out.setdefault(tuple(r[k] for k in key), []).append(r)
    return out


def claim(claimed: str, epsilon: float, leaks: bool, status: str) -> str:
    """Whether a claim holds, holds except for named leaks, or is not shown. Without a score, the cell's status.

    An epsilon by the ledger above the claim is an upper bound, which shows nothing against the claim.
    """
    if not claimed:
        return "no claim"
    if math.isnan(epsilon):
        return "no ledger" if status == "ok" else status.replace("_", " ")
    if epsilon > float(claimed) * (1 + 1e-9):
        return "not shown"
    return "holds except for named leaks" if leaks else "holds"


def conversion(method: str, kind: str) -> str:
    """How the published guarantee was converted to add/remove one row; "" if it is already of that form."""
    from methods import contract

    try:
        published, here = contract.get(method).privacy, contract.get(method, kind)
    except KeyError:
        return ""
    if here.privacy is None or published == here.privacy:
        return ""
    was = "a guarantee that is not shown" if published is None else str(published).replace("_", " ")
    now = str(here.privacy).replace("_", " ")
    where = contract.module_of(method, kind)
    return (
        f"published for {was}; here for {now}, the number of rows public: the sensitivity is derived anew, and the "
        f"noise calibrated to it ({where})"
    )


def privacy_table(
    families: Sequence[Family], ledger: pd.DataFrame, scale: str, more: Sequence[str] = ()
) -> tuple[Table, pd.DataFrame] | None:
    """One block per family, methods at their claimed epsilon in rows, data sets in columns. ``more``: notes."""
    frame = privacy_frame(families, ledger)
    if frame.empty:
        return None
    footnotes, blocks = Footnotes(), []
    for f in families:
        mine = frame[frame["experiment"] == f.experiment]
        if mine.empty:
            continue
        rows: list[tuple[str, list[Entry]]] = []
        columns = sorted({a.column for a in f.every_arm if a.epsilon}, key=lambda c: (float(c[0]), c[1]))
        for column in [*columns, ("", False), ("", True)]:
            part = mine[(mine["epsilon_claimed"] == column[0]) & (mine["tuned"] == column[1])]
            if part.empty:
                continue
            rows.append((f"claimed {column_words(column)}" if column[0] else "no claim", []))
            for (_, name), group in part.groupby(["method", "title"], sort=False):
                at = {r["dataset"]: r for r in group.to_dict("records")}
                entries = [_entry(at.get(d), footnotes) for d in f.datasets]
                rows.append((name, [*entries, *_once(group, f.kind, footnotes)]))
        heads = [*map(f.set_title, f.datasets), "delta", "neighbours", "accountant", "converted", "leaks"]
        blocks.append(Block(f.title.partition(":")[0], "Method", heads, rows))
    notes = (
        "Each data set has the epsilon by the ledger of the run (the largest over all splits), and whether the claim "
        "covers it. Columns without a documented range are scaled by moments that are estimated "
        "from the same epsilon (table common_ranges). If the mechanism releases a posterior sample, its bound is "
        "written and proved. Leaks are ways around the ledger that no epsilon counts.",
        *([CONDITIONAL_NOTE] if any(f.conditional for f in families) else []),
        *more,
    )
    title = "Common tasks: claimed epsilon, and epsilon by the ledger"
    table = Table("common_privacy", title, SCALE_BANNERS[scale], blocks, notes, footnotes.texts)
    return table, frame.assign(scale=scale)


def ranges_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame]:
    """Which ranges of a data set are documented, and so cost nothing, and which are estimated. One row per data set."""
    used: dict[str, list[str]] = {}
    for f in families:
        for dataset in f.datasets:
            used.setdefault(dataset, []).append(f.task.replace("_", " "))
    rows, ids, long = [], [], []
    for dataset, tasks in used.items():
        about = datasets.get(dataset)
        known = sum(r is not None for r in about.x_bounds)
        target = "no target" if about.task == "density" else "documented" if about.y_bounds else "estimated privately"
        target = "two classes" if about.task == "classification" else target
        inputs = f"{known} documented, {len(about.x_bounds) - known} estimated privately"
        own = list(about.conditional(with_target=about.task == "regression"))
        cited = about.bounds_citation or "nowhere"
        shown = ", ".join(own) or "none"
        rows.append((dataset_title(dataset), [entry(t) for t in (", ".join(tasks), inputs, target, shown, cited)]))
        ids.append(range_id(dataset))
        long.append({"dataset": dataset, "tasks": " ".join(tasks), "inputs": len(about.x_bounds), "documented": known,
                     "target": target, "extremes": "; ".join(own), "citation": about.bounds_citation})  # fmt: skip
    heads = ["tasks", "ranges of the inputs", "range of the target", "of these, minimum and maximum of the table"]
    heads.append("documented in")
    notes = (
        "A documented range costs a private method nothing. For all other columns it estimates a histogram of "
        f"magnitudes and two moments before it fits, and charges {SHARE:.0%} of mu squared of its budget (Gaussian DP) "
        "for it (methods/_shared/frames.py). The methods of the network do this by themselves (privacy/scaling.py). "
        "Without privacy, a column without a documented range is scaled by the moments of the training rows. Ranges "
        "that are the minimum and maximum of the table itself follow from the private rows, and are not public "
        "knowledge, although they are printed. They are used here, and what rests on them is marked as conditional.",
    )
    block = Block("", "Data set", heads, rows, ids=ids)
    table = Table("common_ranges", "Common tasks: which ranges are public", SCALE_BANNERS[scale], [block], notes)
    return table, pd.DataFrame(long).assign(scale=scale)


def range_id(dataset: str) -> str:
    """Anchor of a data set's row in the table of ranges."""
    return f"common_ranges-{dataset}"


def _entry(r: dict[str, Any] | None, footnotes: Footnotes) -> Entry:
    if r is None:
        return entry("-")
    if math.isnan(r["epsilon"]):
        return entry(verdict=r["claim"], marks=footnotes(r["reason"]))
    text = "inf" if math.isinf(r["epsilon"]) else f"{r['epsilon']:.4g}"
    return entry(text, verdict=r["claim"], marks=footnotes(r["accountant"].partition(": ")[2]))


def _once(group: pd.DataFrame, kind: str, footnotes: Footnotes) -> list[Entry]:
    """delta, relation, accountants, conversion and leaks of a row, the last two as footnotes."""

    def all_of(column: str) -> list[str]:
        return list(dict.fromkeys(t for t in group[column] if t))

    accountants = dict.fromkeys(a.partition(": ")[0].replace("_", " ") for a in all_of("accountant"))
    conversions = footnotes(*all_of("conversion"))
    pairs = zip(group["method"], group["dataset"], strict=True)
    leaks = footnotes(*dict.fromkeys(leak for m, d in pairs for leak in leaks_of(m, d, kind)))
    return [
        entry(" or ".join(all_of("delta")) or "-"),
        entry(" or ".join(t.replace("_", " ") for t in all_of("relation")) or "-"),
        entry(" or ".join(accountants) or "-"),
        entry("" if conversions else "no need", marks=conversions),
        entry("" if leaks else "none named", marks=leaks),
    ]
