"""Every method of the suite and every common task: whether the method runs, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from common_tasks.scores import (
    BARE,
    Arm,
    Family,
    adapter,
    title,
)
from models.kind import kind as kind_of
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.tables import SCALE_BANNERS

#: number of rows of the synthetic task with which each method is asked whether it fits.
_ROWS = 20
_UNRANKED = "it claims an epsilon that its ledger does not bear out, and is compared with no other method"


def reason_of(method: str, kind: str) -> str:
    """Why a method does not fit a kind of model, in its own words; "" if it does."""
    from methods import contract

    method_class = adapter(method, kind)
    if method_class is None:
        return "there is no such method any more"
    if kind not in method_class.models:
        return contract.fits(method_class)
    said = method_class.supports(kind_of(kind).tiny[kind](_ROWS, 0))
    return "" if said is None else said.removeprefix(f"{method} ")  # the table names the method, too


def matrix_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame]:
    """A table with one row per method of ``methods/`` and of the scores, and one column per family."""
    from methods import contract

    known = {*contract.names(), *(n for f in families for n in contract.names(f.kind))}
    known |= {a.method for f in families for a in f.arms}
    footnotes, long = Footnotes(), []
    rows: dict[bool, list[tuple[str, list[Entry]]]] = {True: [], False: []}
    for method in sorted(known, key=lambda m: _title(m, families).lower()):
        entries = []
        for f in families:
            text, reason = _entry(f, method)
            runs = any(a.method == method for a in f.arms)
            constants = _constants(f, method) if runs else ""
            entries.append(entry(*text, after=(constants,), marks=footnotes(reason)))
            cell_row = {"method": method, "title": _title(method, families), "task": f.task, "entry": "; ".join(text)}
            long.append(cell_row | {"constants": constants, "reason": reason, "runs": runs})
        rows[any(row["runs"] for row in long[-len(families) :])].append((_title(method, families), entries))
    lines: list[tuple[str, list[Entry]]] = []
    for runs, head in ((True, "Methods that run on a common task"), (False, "Methods that run on none")):
        lines += [(head, []), *rows[runs]] if rows[runs] else []
    notes = (
        "Does a method have a score on the task? The second line has where its default settings come from, by the "
        "method's own statement. Reasons are the methods' own.",
    )
    blocks = [Block("", "Method", [f.title.partition(":")[0] for f in families], lines)]
    table = Table(
        "common_matrix", "Every method, every common task", SCALE_BANNERS[scale], blocks, notes, footnotes.texts
    )
    return table, pd.DataFrame(long).assign(scale=scale)


def _title(method: str, families: Sequence[Family]) -> str:
    titles = [title(method, f.kind) for f in families]
    return next((t for t in titles if t != method), method)


def _entry(family: Family, method: str) -> tuple[list[str], str]:
    """(lines, reason): the status with its reason, or why the method does not run. It is never empty."""
    arms = [a for a in family.arms if a.method == method]
    statuses = [_status(family, a) for a in arms]
    reason = next((r for s, r in statuses if s != "ok" and r), "")
    if arms:
        words = dict.fromkeys(s for s, _ in statuses)
        scored = "ok" in words
        reason = _UNRANKED if scored and all(a.role == BARE for a in arms) else "" if scored else reason
        return ["scored" if scored else ", ".join(words).replace("_", " ")], reason
    said = reason_of(method, family.kind)
    return ["does not run"], said or _left_out(family, method)


def _constants(family: Family, method: str) -> str:
    method_class = adapter(method, family.kind)
    return "" if method_class is None else "; ".join(method_class.constants)


def _status(family: Family, arm: Arm) -> tuple[str, str]:
    """The status of an arm over the data sets: ok if one of them has a score."""
    statuses = [family.status[d, arm] for d in family.datasets if (d, arm) in family.status]
    return next((f for f in statuses if f[0] == "ok"), statuses[0] if statuses else ("not run", ""))


def _left_out(family: Family, method: str) -> str:
    """Why a method that could fit this model has no cell in this experiment."""
    method_class = adapter(method, family.kind)
    relation = method_class.privacy
    if relation is None:
        return "fits this model without privacy; this experiment names its configurations and has others"
    if str(relation) != "add_remove":
        return f"its guarantee is for {str(relation).replace('_', ' ')}; it is not converted to add/remove"
    return "fits this model; no cell at this scale"
