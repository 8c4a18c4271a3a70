"""Findings on Räisä (2021), rendered by the suite's engine (``reports.findings``) from the paper's own tables."""

from __future__ import annotations

from pathlib import Path

from datasets.files import write_text
from papers.raisa2021thesis import run
from papers.raisa2021thesis.tables import METHODS, METRICS, MODELS, epsilon_of
from reports import findings
from reports.queries import Tables

HERE = Path(__file__).parent / "findings"


def render(reference: Path, source: Path = HERE / "source") -> dict[str, str]:
    """id -> rendered Markdown."""
    tables = Tables(findings.read_below(reference))

    def paid(method: str, against: str) -> str:
        """Median MMD from a paid start less that from the published one, by epsilon; ``against``: starts or boxes."""
        told = run.config()["starts"]
        at = {(r["start"], int(r["epsilon"])): float(r["median"]) for r in tables.rows("starts", method=method)}
        theirs = {e: at["published", e] for e in told["epsilons"]}
        if against == "boxes":
            rows = tables.rows("verdicts", dataset=told["model"], method=method, metric="mmd")
            theirs = {epsilon_of(r["setting"]): float(r["median"]) for r in rows}
        return ", ".join(f"{at['paid for', e] - theirs[e]:+.2f}" for e in told["epsilons"])

    names = {
        "paid": paid,
        "rows": tables.rows, "value": tables.value, "of": tables.of, "METHODS": METHODS, "MODELS": MODELS,
        "METRICS": METRICS, "config": run.config(),
    }  # fmt: skip
    return {found.id: found.text for found in findings.render(source, tables, **names)}


def write(reference: Path, out: Path) -> None:
    for name, text in render(reference).items():
        write_text(out / f"{name}.md", text)
