"""The report's first page: one self-contained HTML file that opens from disk without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

import datasets
from reports import claims, glossary
from reports.blocks import Table
from reports.figure import Figure
from reports.findings import Finding
from reports.published import SOURCE_TITLES
from reports.verdict import FAMILY
from workflow import verified
from workflow.files import write_text

TEMPLATES = Path(__file__).parent / "templates"
#: a sign beside each word, so that no verdict hangs on colour alone.
SIGNS = {
    "reproduced": "=",
    "compatible": "≈",
    "better": "+",
    "worse": "−",
    "inconclusive": "?",
    "no_data": "∅",
    "failed": "×",
    "timeout": "×",
    "diverged": "×",
    "no data": "∅",
    "holds": "=",
    "holds in another reading": "~",
    "holds but for the leaks": "~",
    "does not hold": "−",
    "not told apart": "?",
    "not testable here": "∅",
    "by proof": "∎",
}


@dataclass(frozen=True)
class Page:
    """Everything that the page shows. Tables are drawn in the order given."""

    title: str
    scale: str
    banner: str
    scoreboard: pd.DataFrame
    distinct: int
    tables: Sequence[Table]
    privacy: Sequence[Table]
    figures: Sequence[Figure]
    claims: pd.DataFrame
    findings: Sequence[Finding]
    datasets: Sequence[Table]
    methods: Sequence[Table]
    credits: Sequence[dict[str, str]]
    manifest: dict[str, Any]
    #: rows of ``workflow.verified`` by pair
    pairs: dict[verified.Pair, verified.Row]
    #: is there a page ``which_method.html`` beside it?
    which: bool = False
    #: files of methods that cannot be imported, and why
    broken: Sequence[str] = ()
    #: titles of sources beside ``reports.published.SOURCE_TITLES``, by key
    titles: Mapping[str, str] = field(default_factory=dict)


def render(page: Page) -> str:
    """The HTML text."""
    return fill(
        "index.html",
        page=page,
        board=page.scoreboard.to_dict("records"),
        claims=_claims(page.claims),
        sources={**SOURCE_TITLES, **page.titles},
        manifest=flat({k: v for k, v in page.manifest.items() if k != "pairs"}),
        unverified=[r for r in page.pairs.values() if r["status"] != verified.VERIFIED],
        verified=sum(r["status"] == verified.VERIFIED for r in page.pairs.values()),
        known={f.id for f in page.findings},
        family=FAMILY,
        words=glossary.load(),
    )


def _claims(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The claims in two parts, measured and proved: heading, rows, verdict -> number of distinct ones."""
    parts = (
        ("Measured", [v for v in claims.VERDICTS if v != claims.PROVED]),
        ("By proof: algebra, or true by construction; the numbers are a check of it", [claims.PROVED]),
    )
    made = []
    for heading, words in parts:
        rows = frame[frame["verdict"].isin(words)]
        counts = claims.distinct(rows)["verdict"].value_counts()
        if len(rows):
            shown = {w: int(counts[w]) for w in words if w in counts}
            made.append({"heading": heading, "rows": rows.to_dict("records"), "counts": shown})
    return made


def fill(template: str, **values: Any) -> str:
    """A template of ``reports/templates`` with its values and the shared style."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["sign"] = lambda word: SIGNS.get(word, "·")
    environment.filters["slug"] = lambda word: word.replace(" ", "_")
    css = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(css=css, **values)


def credits(names: Sequence[str]) -> list[dict[str, str]]:
    """What the report owes to the makers of its data: name, title, size, target, licence, doi. No synthetic sets."""
    found = [datasets.get(n) for n in dict.fromkeys(names) if n in datasets.names("table")]
    return [
        {
            "name": d.name,
            "title": d.title,
            "size": f"{d.n_rows} x {d.n_inputs}",
            "target": d.target + (f" ({d.unit})" if d.unit else ""),
            "licence": d.licence or "none stated",
            "doi": d.doi,
        }
        for d in found
    ]


def flat(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested dicts as (dotted key, text) pairs."""
    if isinstance(value, dict):
        return [pair for k, v in value.items() for pair in flat(v, f"{prefix}.{k}" if prefix else str(k))]
    if isinstance(value, list):
        return [(prefix, ", ".join(map(str, value)))]
    return [(prefix, str(value))]


def write(path: Path, page: Page) -> None:
    write_text(path, render(page))
