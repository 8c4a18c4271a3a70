"""Cells of this paper recomputed for a spot check: every method and reading at one budget on a small table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from papers.wang2018 import data, run
from workflow.regression import DIFFERS, EQUAL, NOT_RUN, OwnCell, Row, own_tolerance, word

KEY = "wang2018"
#: the table with the fewest numbers, and a budget in the middle of the published ones.
TABLE, EPSILON = "servo", "1"
#: CPU seconds of a cell there, the root of an equation of the corrected readings included.
SECONDS = 0.2


def _id(name: str, method: str, reading: str, epsilon: str) -> str:
    return "-".join([KEY, name, method, reading, *([f"epsilon_{epsilon}"] if epsilon else [])])


def id_of(verdict: dict[str, str]) -> str:
    """The cell that a committed verdict is of."""
    epsilon = verdict["setting"].partition(";")[0].removeprefix("epsilon=")
    return _id(*(verdict[k] for k in ("dataset", "method", "reading")), epsilon)


def every(
    names: Sequence[str] | None = None, epsilons: Sequence[str] | None = None
) -> dict[str, tuple[str, str, str, str]]:
    """Id -> table, method, reading, epsilon; of all tables and budgets, or of these."""
    names, epsilons = names or data.names(), epsilons or run.config()["epsilons"]
    out = {}
    for name in names:
        for method, readings in run.config()["readings"].items():
            for reading in readings:
                for epsilon in [""] if method in run.NOISE_FREE else epsilons:
                    out[_id(name, method, reading, epsilon)] = name, method, reading, epsilon
    return out


def cells() -> list[OwnCell]:
    return [OwnCell(i, method, name, SECONDS) for i, (name, method, _, _) in every([TABLE], [EPSILON]).items()]


def recompute(ids: Sequence[str], mirror: str | None, raw: str) -> list[Row]:
    """Them beside their committed numbers. Raises KeyError for an id that is none."""
    known = every()
    return [r for i in ids for r in _rows(i, *known[i], mirror, raw)]


def _rows(i: str, name: str, method: str, reading: str, epsilon: str, mirror: str | None, raw: str) -> list[Row]:
    path = Path(__file__).parent / "reference" / "scores" / f"{name}.csv.gz"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    mine = (table["method"] == method) & (table["reading"] == reading) & (table["epsilon"] == epsilon)
    was = table[mine].iloc[0]
    head = i, KEY, method, name
    found = next(run.rows(name, "full", mirror, raw, only=(method, reading, epsilon)))
    if found["status"] == "no_data":
        return [Row(*head, "mse", was["mean"], "", NOT_RUN, found["reason"])]
    if was["status"] != found["status"]:
        return [Row(*head, "status", was["status"], found["status"], DIFFERS, found["reason"])]
    out = []
    for measure, column in (("mse", "mean"), ("sd of mse", "std"), ("epsilon", "ledger_epsilon")):
        old, new = was[column], str(found[column])
        if old:
            allowed, how = own_tolerance(float(old))
            verdict = EQUAL if old == new else word(float(new), float(old), allowed)
            why = f"delta {found['delta']}" if measure == "epsilon" else f"{found['repeats']} repetitions of ten folds"
            out.append(Row(*head, measure, old, new, verdict, why + ("" if verdict == EQUAL else f"; {how}")))
    return out
