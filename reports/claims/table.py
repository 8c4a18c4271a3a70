"""The claims of all papers, and the table of them: the verdict on each in every reading, with its numbers.

Claims are found by scanning for ``papers/<key>/claims.py``, so that a paper is removed with its folder. Such a file has
``CLAIMS``, a sequence of :class:`reports.claims.record.Claim`. (Objects of another type in it are the claims of a paper
that judges its own, and are left to it.)
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from reports import published as published_numbers
from reports.claims.record import (
    ANOTHER,
    COLUMNS,
    HOLDS,
    PROVED,
    REFUTED,
    UNTESTED,
    UNTOLD,
    Claim,
    Context,
    Data,
    HoldsIn,
    Outcome,
)  # fmt: skip
from reports.config import READINGS, ReportError
from reports.verdicts import finding_of, read_findings

HOME = Path(__file__).resolve().parents[2] / "papers"


@lru_cache(maxsize=4)
def load(home: Path = HOME) -> tuple[Claim, ...]:
    """The claims of the papers, by folder and in the order of each file.

    Raises
    ------
    TypeError : a test is called with what it does not know; the message names file and claim.
    ReportError : a claim lacks what it must have, its id is not unique, or it is said to repeat one that is not in its
        file or repeats another itself.
    """
    found = [c for path in sorted(home.glob("*/claims.py")) for c in _claims(path)]
    ids = [c.id for c in found]
    for name in ids:
        if ids.count(name) > 1:
            raise ReportError(f"{home}: two claims with the id '{name}'")
    return tuple(found)


def evaluate(
    config: dict[str, Any],
    scores: pd.DataFrame,
    claims: Iterable[Claim] | None = None,
    published: pd.DataFrame | None = None,
    findings: pd.DataFrame | None = None,
    extra: Path | None = None,
) -> pd.DataFrame:
    """Verdict on every claim that the experiment settles, columns ``COLUMNS``.

    First those that its scores settle, then those that a table of this suite does (:class:`HoldsIn`); the sources in
    the order of the experiment's, the claims of one in the order of its file.

    ``extra``: folder of the tables that are no scores; None: there are none.

    A finding is attached where its index row names the method ``claim:<id>``.
    """
    numbers = published_numbers.load() if published is None else published
    index = (read_findings() if findings is None else findings).to_dict("records")
    index = [f for f in index if f["method"].startswith("claim:")]
    data = Data(config, scores[scores["experiment"] == config["experiment"]], numbers, extra)
    sources = config["sources"]
    mine = [
        c
        for c in (load() if claims is None else claims)
        if c.experiment == config["experiment"] and c.source in sources
    ]
    mine.sort(key=lambda c: (isinstance(c.test, HoldsIn), sources.index(c.source)))
    rows = []
    for claim in mine:
        outcomes = _outcomes(claim, data)
        asked = {"source": claim.source, "method": f"claim:{claim.id}", "reading": "*", "dataset": "*"}
        rows.append(
            claim.row()
            | {
                "verdict": _decide(outcomes, claim.proof),
                "margin": next((o.margin for o in outcomes.values() if o.margin), "none"),
                "figure": " | ".join(f"{reading}: {o.figure}" for reading, o in outcomes.items() if o.figure),
                "finding": finding_of(asked, [f | {"reading": "*", "dataset": "*"} for f in index]),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims that repeat no other one."""
    return frame[frame["same_as"] == ""]


def _outcomes(claim: Claim, data: Data) -> dict[str, Outcome]:
    """Reading -> outcome: the printed one, and each other that some cell of the claim really has."""
    outcomes = {}
    for reading in READINGS:
        context = Context(data, claim.source, reading)
        outcome = claim.test.outcome(context)
        if reading == "printed" or reading in context.used:
            outcomes[reading] = outcome
    return outcomes


def _decide(outcomes: dict[str, Outcome], proof: str = "") -> str:
    """The printed reading where the claim holds in it; else another in which it does.

    A claim that holds in none does not hold only where every reading that could be tested refutes it: one that leaves
    it open (the authors' program, say) leaves it ``not told apart``. A claim with a proof is ``by proof`` only as long
    as its check, in the printed reading, agrees.
    """
    if outcomes["printed"].state == HOLDS:
        return PROVED if proof else HOLDS
    states = {o.state for o in outcomes.values()}
    return next((word for state, word in ((HOLDS, ANOTHER), (UNTOLD, UNTOLD), (REFUTED, REFUTED)) if state in states),
                UNTESTED)  # fmt: skip


def _claims(path: Path) -> list[Claim]:
    found = [c for c in _read(path) if isinstance(c, Claim)]
    originals = {c.id for c in found if not c.same_as}
    for c in found:
        if c.same_as and c.same_as not in originals:
            raise ReportError(
                f"{path}: claim '{c.id}' is the same as '{c.same_as}', which is no claim of its own there"
            )
    return found


def _read(path: Path) -> tuple:
    """``CLAIMS`` of one file, run under a name of its own."""
    name = f"_claims_of_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (TypeError, ReportError) as error:
        if not (claim := _claim_at(path.parent, error)):
            raise
        raise type(error)(f"{path}: claim '{claim}': {error}") from error
    finally:
        del sys.modules[name]
    if not hasattr(module, "CLAIMS"):
        raise ReportError(f"{path} has no CLAIMS; give a tuple of Claim(...)")
    return tuple(module.CLAIMS)


def _claim_at(folder: Path, error: BaseException) -> str:
    """Id of the call ``Claim(...)`` in a file of the folder inside which the error arose; "" where it arose in none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (path := Path(frame.filename)).parent != folder or frame.lineno is None:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "Claim":
                continue
            ids = [k.value for k in node.keywords if k.arg == "id"]
            if node.lineno <= frame.lineno <= (node.end_lineno or 0) and ids and isinstance(ids[0], ast.Constant):
                return str(ids[0].value)
    return ""
