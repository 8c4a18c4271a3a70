"""Findings on Wang (2018), rendered by the suite's engine (``reports.findings``) from the paper's own tables.

A text may use, besides: ``rows``, ``value`` and ``of`` of ``reports.queries.Tables``, and the names of :func:`render`.
"""

from __future__ import annotations

from pathlib import Path

from datasets.files import write_text
from papers.wang2018 import data, run
from papers.wang2018.tables import METHODS, RULES
from reports import findings
from reports.queries import Tables

HERE = Path(__file__).parent / "findings"
SHOWN = ("0.01", "0.1", "1", "2", "5", "10")


def render(reference: Path, source: Path = HERE / "source") -> dict[str, str]:
    """id -> rendered Markdown."""
    tables = Tables(findings.read_below(reference))
    names = {
        "rows": tables.rows, "value": tables.value, "of": tables.of, "METHODS": METHODS, "RULES": RULES,
        "EPSILONS": run.config()["epsilons"], "SHOWN": SHOWN, "family": run.config()["family"],
        "WHY": {name: recipe.why for name, recipe in data.RECIPES.items() if recipe.why},
    }  # fmt: skip
    return {found.id: found.text for found in findings.render(source, tables, **names)}


def write(reference: Path, out: Path) -> None:
    for name, text in render(reference).items():
        write_text(out / f"{name}.md", text)
