"""Boxes of this paper recomputed for a spot check: all of a cheap model and method, one file a method."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from papers.raisa2021thesis import SCORES, run
from workflow.regression import EQUAL, OwnCell, Row, own_tolerance, word

KEY = "raisa2021thesis"
#: a cheap model of each method -> CPU seconds of its file.
CHEAP = {
    "correlated_gauss_2d.dp_penalty": 6.0,
    "flat_banana_2d.dp_hmc": 20.0,
    "flat_banana_2d.dp_penalty_ocu_gwmh": 6.0,
}
MEASURES = {"median": "median", "mean": "mean", "ledger_epsilon": "epsilon"}


def id_of(verdict: dict[str, str]) -> str:
    """The file that a committed verdict is of; "" for a box that was not run."""
    if verdict["method"] not in run.config()["settings"]:
        return ""
    return _id(f"{verdict['dataset']}.{verdict['method']}")


def _id(name: str) -> str:
    return f"{KEY}-" + re.sub(r"[^a-z0-9.]+", "_", name)


def every() -> dict[str, str]:
    """Id -> name of its score file."""
    return {_id(name): name for name in SCORES if _path(name).is_file()}


def _path(name: str) -> Path:
    return Path(__file__).parent / "reference" / "scores" / f"{name}.csv.gz"


def cells() -> list[OwnCell]:
    made = [(name, cost) for name, cost in CHEAP.items() if _path(name).is_file()]
    return [OwnCell(_id(name), name.split(".")[1], name.split(".")[0], cost) for name, cost in made]


def recompute(ids: Sequence[str], mirror: str | None, raw: str) -> list[Row]:
    """Them beside their committed numbers. Raises KeyError for an id that is none."""
    known, out = every(), []
    for i in ids:
        name = known[i]
        model, method = name.split(".")
        old = pd.read_csv(_path(name), dtype=str, keep_default_na=False).to_dict("records")
        for was, now in zip(old, run.rows(name, "full"), strict=True):
            for column, measure in MEASURES.items():
                a, b = was[column], str(now[column])
                allowed, how = own_tolerance(float(a))
                verdict = EQUAL if a == b else word(float(b), float(a), allowed)
                why = f"{was['metric']}, {was['setting']}" + ("" if verdict == EQUAL else f"; {how}")
                out.append(Row(i, KEY, method, model, f"{measure} of {was['metric']}", a, b, verdict, why))
    return out
