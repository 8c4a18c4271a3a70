"""What the folders of ``papers/`` give to the page: a line of the scoreboard a reading, and findings. Read as files.

A paper that judges its own numbers has ``papers/<key>/paper.yaml`` (title, family, how it is judged, the finding to
name first, and "module:name" of its ``figures``, of the ``runs`` behind its numbers and of ``titles`` of its methods),
``reference/verdicts.csv.gz`` (the key of a published cell, reading, verdict) and ``findings/*.md``, rendered. Removing
the folder removes it from the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from reports import claims
from reports.findings import Finding
from reports.verdict import VERDICTS
from workflow.papers import resolve

HOME = Path(__file__).resolve().parents[1] / "papers"


@dataclass(frozen=True)
class Paper:
    """``board``: rows with the columns of ``reports.verdicts.scoreboard``; ``first``: the finding to name first."""

    key: str
    title: str
    board: list[dict]
    findings: list[Finding]
    first: Finding
    #: how its cells are judged, half a sentence.
    judged: str
    #: its verdicts, every column text, and its claims with the columns of ``reports.claims``.
    verdicts: pd.DataFrame
    claims: pd.DataFrame
    #: its committed tables.
    reference: Path
    #: "module:function": (reference, folder) -> figures, drawn there; (reference) -> {(keys of a cell, reading): runs}.
    figures: str = ""
    runs: str = ""
    #: "module:name": name of a method in its tables -> how it is written.
    titles: str = ""


def load(home: Path = HOME) -> list[Paper]:
    """All papers with a committed reference, by key."""
    found = []
    for path in sorted(Path(home).glob("*/paper.yaml")):
        reference = path.parent / "reference" / "verdicts.csv.gz"
        if not reference.is_file():
            continue
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
        verdicts = pd.read_csv(reference, dtype=str, keep_default_na=False)
        rows = [_row(path.parent.name, reading, g, told) for reading, g in verdicts.groupby("reading", sort=False)]
        texts = _findings(path.parent / "findings")
        first = {f.id: f for f in texts}.get(told["finding"])
        if first is None:
            raise ValueError(f"{path}: no finding '{told['finding']}'; there are {', '.join(f.id for f in texts)}")
        said = _claims(path.parent / "reference" / "claims.csv")
        own = {"reference": reference.parent, **{k: told[k] for k in ("figures", "runs", "titles") if k in told}}
        found.append(Paper(path.parent.name, told["title"], rows, texts, first, told["judged"], verdicts, said, **own))
    return found


def stale(home: Path = HOME) -> dict[str, list[str]]:
    """Key -> committed tables that are not what the committed scores give, of each paper with a program of its own."""
    keys = [path.parent.name for path in sorted(Path(home).glob("*/paper.yaml"))]
    return {key: resolve(f"papers.{key}.build:PROGRAM").check() for key in keys}


def _row(source: str, reading: str, rows: pd.DataFrame, told: dict) -> dict:
    counts = rows["verdict"].value_counts()
    judged = {v: int(counts.get(v, 0)) for v in VERDICTS}
    first = {"source": source, "reading": reading, "family": int(told["family"]), "cells": len(rows)}
    rest = {v: int(counts.get(v, 0)) for v in ("no_data", "not_run")}
    # no other method was tried on a cell of such a source, so nothing is called distinctive
    return first | judged | {"of_these_distinctive": 0, "no_score": len(rows) - sum(judged.values())} | rest


def _claims(path: Path) -> pd.DataFrame:
    """Its claims, a row a claim and reading; none where it has no file of them."""
    if not path.is_file():
        return pd.DataFrame(columns=claims.COLUMNS)
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    made = [
        dict.fromkeys(claims.COLUMNS, "")
        | {"id": f"{r['claim']}-{r['reading']}", "verdict": r["verdict"], "quote": r["quote"], "margin": "none"}
        | {"statement": r.get("statement", ""), "figure": f"{r['reading']}: {r['evidence']}", "place": r["place"]}
        | {"source": path.parents[1].name}
        for r in rows
    ]
    out = pd.DataFrame(made, columns=claims.COLUMNS)
    # a paper may test one sentence in several places; each row has an address of its own
    again = out.groupby("id").cumcount()
    out["id"] = [f"{i}-{n + 1}" if n else i for i, n in zip(out["id"], again, strict=True)]
    return out


def _findings(folder: Path) -> list[Finding]:
    out = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        out.append(Finding(path.stem, text.splitlines()[0].lstrip("# ").strip(), text))
    return out
