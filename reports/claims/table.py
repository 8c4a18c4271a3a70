"""The claims of all papers, and the table of their verdicts in every reading, with numbers.

Claims are found by scanning for ``papers/<key>/claims.py``, so that a paper is removed with its folder. Such a file has
``CLAIMS``, a sequence of :class:`reports.claims.record.Claim`. Objects of another type in it are claims that the
paper's own code judges, and are ignored here.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from reports import published
from reports.claims.judging import decide
from reports.claims.record import COLUMNS, UNTESTED, Claim, Context, Data, HoldsIn, Outcome
from reports.config import READINGS, ReportError
from reports.verdicts import finding_of, read_findings

HOME = Path(__file__).resolve().parents[2] / "papers"


@lru_cache(maxsize=4)
def load(home: Path = HOME) -> tuple[Claim, ...]:
    """The claims of the papers, by folder and in the order of each file.

    Raises
    ------
    TypeError : a test has a wrong argument. The message names file and claim.
    ReportError : a claim lacks a required field, its id is not unique, or it repeats a claim that is not in its file or
        is itself a repetition.
    """
    all_claims = [c for path in sorted(home.glob("*/claims.py")) for c in _claims(path)]
    ids = [c.id for c in all_claims]
    for name in ids:
        if ids.count(name) > 1:
            raise ReportError(f"{home}: two claims with the id '{name}'")
    return tuple(all_claims)


def evaluate(
    config: dict[str, Any],
    scores: pd.DataFrame,
    claims: Iterable[Claim] | None = None,
    findings: pd.DataFrame | None = None,
    extra: Path | None = None,
    ledger: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The verdict on every claim that the experiment decides, columns ``COLUMNS``.

    Claims that its scores decide come first, then those that a table of this suite decides (:class:`HoldsIn`). Sources
    are in the order of the experiment, and the claims of a source in the order of its file.

    ``extra`` is the folder of further tables, or None. ``ledger`` has rows of ``reports.ledger``, which say which
    readings are private. If it is None, every reading counts as private. A finding is attached if its index row names
    the method ``claim:<id>``.
    """
    index = (read_findings() if findings is None else findings).to_dict("records")
    index = [f for f in index if f["method"].startswith("claim:")]
    data = Data(config, scores[scores["experiment"] == config["experiment"]], published.load(), extra, ledger)
    sources = config["sources"]
    mine = [
        c
        for c in (load() if claims is None else claims)
        if c.experiment == config["experiment"] and c.source in sources
    ]
    mine.sort(key=lambda c: (isinstance(c.test, HoldsIn), sources.index(c.source)))
    rows = []
    for claim in mine:
        outcomes, privacy = _outcomes(claim, data)
        asked = {"source": claim.source, "method": f"claim:{claim.id}", "reading": "*", "dataset": "*"}
        rows.append(
            claim.row()
            | summary(outcomes, privacy, bool(claim.proof))
            | {"finding": finding_of(asked, [f | {"reading": "*", "dataset": "*"} for f in index])}
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def summary(
    outcomes: Mapping[str, Outcome], privacy: Mapping[str, tuple[str, str]], proof: bool = False
) -> dict[str, str]:
    """The verdict, margin and figure of a claim, from ``outcomes`` and ``privacy`` by reading.

    For ``privacy`` see ``decide`` and ``Context.privacy``. A reading that is left out is within its claim.
    """
    cost = {r: privacy[r][1] if r in privacy and o.state != UNTESTED else "" for r, o in outcomes.items()}
    return {
        "verdict": decide({r: o.state for r, o in outcomes.items()}, {r: p[0] for r, p in privacy.items()}, proof),
        "margin": next((o.margin for o in outcomes.values() if o.margin), "none"),
        "figure": " | ".join(
            f"{r}: {'; '.join(filter(None, (o.figure, cost[r])))}" for r, o in outcomes.items() if o.figure
        ),
    }


def own_row(
    claim: Any, outcomes: Mapping[str, Outcome], privacy: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, str]:
    """The row of ``claims.csv`` of a claim that its paper's own code judges.

    ``claim`` is any object with ``id``, ``place``, ``quote`` and ``statement``. The other arguments are those of
    :func:`summary`.
    """
    row = {"claim": claim.id, "place": claim.place, "quote": claim.quote, "statement": claim.statement}
    return row | summary(outcomes, privacy or {})


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims that repeat no other one."""
    return frame[frame["same_as"] == ""]


def read_off(frame: pd.DataFrame) -> pd.Series:
    """True for each claim that is read off a table or figure, and not a sentence of the source."""
    return frame["quote"].str.startswith("read off")


def counted(frame: pd.DataFrame) -> str:
    """The numbers of distinct claims of the text, and of those read off tables and figures, in words."""
    read = read_off(distinct(frame))
    parts = ((int((~read).sum()), "of its text"), (int(read.sum()), "read off its tables and figures"))
    parts_with_counts = [f"{n} {where}" for n, where in parts if n]
    return f"{len(read)} claim{'' if len(read) == 1 else 's'}" + (
        f": {', '.join(parts_with_counts)}" if parts_with_counts else ""
    )


def _outcomes(claim: Claim, data: Data) -> tuple[dict[str, Outcome], dict[str, tuple[str, str]]]:
    """Reading -> outcome, and reading -> privacy, for the printed reading and all others of the claim's cells."""
    outcomes, privacy = {}, {}
    for reading in READINGS:
        context = Context(data, claim.source, reading)
        outcome = claim.test.outcome(context)
        if reading == "printed" or reading in context.used:
            outcomes[reading], privacy[reading] = outcome, context.privacy()
    return outcomes, privacy


def _claims(path: Path) -> list[Claim]:
    claims = [c for c in _read(path) if isinstance(c, Claim)]
    originals = {c.id for c in claims if not c.same_as}
    for c in claims:
        if c.same_as and c.same_as not in originals:
            raise ReportError(
                f"{path}: claim '{c.id}' is the same as '{c.same_as}', which is no claim of its own there"
            )
    return claims


def _read(path: Path) -> tuple:
    """``CLAIMS`` of one file, which is run as a module with its own name."""
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
    """The ``id`` of the call, in a file of the folder, in which the error arose; "" if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (path := Path(frame.filename)).parent != folder or frame.lineno is None:
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
        for node in calls:
            ids = [k.value for k in node.keywords if k.arg == "id"]
            if node.lineno <= frame.lineno <= (node.end_lineno or 0) and ids and isinstance(ids[0], ast.Constant):
                return str(ids[0].value)
    return ""
