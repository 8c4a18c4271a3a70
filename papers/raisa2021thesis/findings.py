"""Findings on Räisä (2021), rendered by the suite's engine (``reports.findings``) from the paper's own tables."""

from __future__ import annotations

from pathlib import Path

from papers.raisa2021thesis import run
from papers.raisa2021thesis.tables import METHODS, METRICS, MODELS
from reports import findings
from reports.queries import Tables
from workflow.files import write_text

HERE = Path(__file__).parent / "findings"


def render(reference: Path, source: Path = HERE / "source") -> dict[str, str]:
    """id -> rendered Markdown."""
    tables = Tables(findings.read_below(reference))
    names = {
        "rows": tables.rows, "value": tables.value, "of": tables.of, "METHODS": METHODS, "MODELS": MODELS,
        "METRICS": METRICS, "config": run.config(),
    }  # fmt: skip
    return {found.id: found.text for found in findings.render(source, tables, **names)}


def write(reference: Path, out: Path) -> None:
    for name, text in render(reference).items():
        write_text(out / f"{name}.md", text)
