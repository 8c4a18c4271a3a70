"""Findings on Jälkö et al. (2017), rendered by the suite's engine (``reports.findings``) from the paper's own tables.

A text may use, besides: ``rows``, ``value`` and ``of`` of ``reports.queries.Tables``, and the names of :func:`render`.
"""

from __future__ import annotations

from pathlib import Path

from datasets.files import write_text
from papers.jalko2017dpvi import run
from papers.jalko2017dpvi.tables import FIGURES, READINGS
from reports import findings
from reports.queries import Tables

HERE = Path(__file__).parent / "findings"


def render(reference: Path, source: Path = HERE / "source") -> dict[str, str]:
    """id -> rendered Markdown."""
    tables = Tables(findings.read_below(reference))

    def dpvi(reading: str, sigma: str) -> str:
        """Our accuracy on a cell of the fourth figure."""
        found = [r for r in tables.rows("verdicts", reading=reading, table="sgld_vs_advi_abalone")
                 if abs(run.fields(r["setting"])["sigma"] / float(sigma) - 1) < 1e-4]  # fmt: skip
        if len(found) != 1:
            raise ValueError(f"{len(found)} cells have sigma {sigma}")
        return format(1 - float(found[0]["mean"]), ".3f")

    names = {
        "rows": tables.rows, "value": tables.value, "of": tables.of, "READINGS": READINGS, "FIGURES": FIGURES,
        "dpvi": dpvi, "config": run.config(), "family": run.config()["family"],
    }  # fmt: skip
    return {found.id: found.text for found in findings.render(source, tables, **names)}


def write(reference: Path, out: Path) -> None:
    for name, text in render(reference).items():
        write_text(out / f"{name}.md", text)
