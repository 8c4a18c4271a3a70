"""Every method of the suite x every common task: how it ranks at epsilon = 1, or why it is not there."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from common_tasks import comparisons as compare
from common_tasks.scores import (
    BARE,
    FREE,
    FREE_YARDSTICK,
    REFERENCE,
    Arm,
    Family,
    adapter,
    higher,
    title,
)
from evaluation.metrics import METRICS
from evaluation.ranking import Rank, average_ranks
from models.kind import kind as kind_of
from reports.blocks import Block, Entry, Footnotes, Table, entry
from reports.tables import SCALE_BANNERS

#: the epsilon at which private methods are ranked here; where there is none, the smallest that there is.
EPSILON = "1"
#: rows of the made-up task on which a method says whether it fits.
_ROWS = 20
_UNRANKED = "it claims an epsilon that its ledger does not bear out, and is ranked with nobody"


def reason_of(method: str, kind: str) -> str:
    """Why a method does not fit a kind of model, in its own words; "" where it says that it does."""
    from methods import contract

    found = adapter(method, kind)
    if found is None:
        return "there is no such method any more"
    if kind not in found.models:
        return contract.fits(found)
    said = found.supports(kind_of(kind).tiny[kind](_ROWS, 0))
    return "" if said is None else said.removeprefix(f"{method} ")  # the table names the method, too


def matrix_table(families: Sequence[Family], scale: str) -> tuple[Table, pd.DataFrame]:
    """Rows: every method of ``methods/`` and of every kind, and those of the scores; columns: the families."""
    from methods import contract

    known = {*contract.names(), *(n for f in families for n in contract.names(f.kind))}
    known |= {a.method for f in families for a in f.arms}
    standing = {f.experiment: _standing(f) for f in families}
    footnotes, long = Footnotes(), []
    rows: dict[bool, list[tuple[str, list[Entry]]]] = {True: [], False: []}
    for method in sorted(known, key=lambda m: _title(m, families).lower()):
        entries = []
        for f in families:
            text, reason = _entry(f, method, standing[f.experiment])
            runs = any(a.method == method for a in f.arms)
            constants = _constants(f, method) if runs else ""
            entries.append(entry(*text, after=(constants,), marks=footnotes(reason)))
            told = {"method": method, "title": _title(method, families), "task": f.task, "entry": "; ".join(text)}
            long.append(told | {"constants": constants, "reason": reason, "runs": runs})
        rows[any(row["runs"] for row in long[-len(families) :])].append((_title(method, families), entries))
    lines: list[tuple[str, list[Entry]]] = []
    for runs, head in ((True, "Methods that run on a common task"), (False, "Methods that run on none")):
        lines += [(head, []), *rows[runs]] if rows[runs] else []
    notes = (
        f"Entry: average rank over the data sets by each metric, among how many: private methods and yardsticks at "
        f"epsilon = {EPSILON} among each other, methods without privacy among each other, all with default settings; "
        "below it where these come from, by the methods' own statement. The tables and figures of each task have the "
        "scores, the tuned columns and the confidence sets of the ranks. Reasons are the methods' own.",
    )
    blocks = [Block("", "Method", [f.title.partition(":")[0] for f in families], lines)]
    table = Table(
        "common_matrix", "Every method, every common task", SCALE_BANNERS[scale], blocks, notes, footnotes.texts
    )
    return table, pd.DataFrame(long).assign(scale=scale)


def _title(method: str, families: Sequence[Family]) -> str:
    found = [title(method, f.kind) for f in families]
    return next((t for t in found if t != method), method)


def _standing(family: Family) -> dict[str, dict[str, Rank]]:
    """metric -> method -> average rank, private ones at ``EPSILON`` and the others apart; default settings."""
    at = EPSILON if EPSILON in family.epsilons else next(iter(family.epsilons), "")
    out: dict[str, dict[str, Rank]] = {}
    free = [a for a in family.of(REFERENCE, FREE, FREE_YARDSTICK) if not a.tuned]
    for metric in family.metrics:
        private = compare.mean_ranks(family, metric, (at, False)) if at else {}
        fields = [family.field(d, metric, free) for d in family.datasets]
        fields = [f for f in fields if any(f.values())]
        others = average_ranks(fields, higher(metric)) if fields else {}
        out[metric] = {}
        for arm, rank in {**private, **others}.items():
            out[metric].setdefault(arm.method, rank)
    return out


def _entry(family: Family, method: str, standing: dict[str, dict[str, Rank]]) -> tuple[list[str], str]:
    """(lines, reason): ranks; or the status with its reason; or that it does not run and why. Never empty."""
    arms = [a for a in family.arms if a.method == method]
    ranked = {m: ranks[method] for m, ranks in standing.items() if method in ranks}
    told = [_status(family, a) for a in arms]
    reason = next((r for s, r in told if s != "ok" and r), "")
    if ranked and any(s == "ok" for s, _ in told):
        lines = [f"{METRICS[m].title}: {r.rank:.3g} of {r.among}" for m, r in ranked.items()]
        return lines, ""
    if arms:
        words = dict.fromkeys(s for s, _ in told)
        bare = _UNRANKED if all(a.role == BARE for a in arms) and "ok" in words else reason
        return [("scored; not ranked" if "ok" in words else ", ".join(words)).replace("_", " ")], bare
    said = reason_of(method, family.kind)
    return ["does not run"], said or _left_out(family, method)


def _constants(family: Family, method: str) -> str:
    found = adapter(method, family.kind)
    return "" if found is None else "; ".join(found.constants)


def _status(family: Family, arm: Arm) -> tuple[str, str]:
    """Status of an arm over the data sets: ok where any of them has a score."""
    found = [family.status[d, arm] for d in family.datasets if (d, arm) in family.status]
    return next((f for f in found if f[0] == "ok"), found[0] if found else ("not run", ""))


def _left_out(family: Family, method: str) -> str:
    """Why a method that could fit this model has no cell of this experiment."""
    found = adapter(method, family.kind)
    relation = found.privacy
    if relation is None:
        return "fits this model without privacy; this experiment names its arms and has others"
    if str(relation) != "add_remove":
        return f"its guarantee is for {str(relation).replace('_', ' ')}; it is not converted to one row more or less"
    return "fits this model; no cell at this scale"
