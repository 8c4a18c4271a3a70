"""Findings: short texts whose every number is read from a committed table when they are rendered.

``findings/source/<id>.md``, of a paper or of ``reports/``, is a text with front matter (:mod:`reports.front_matter`),
``findings/<id>.md`` the same rendered, ``findings/index.csv`` says of which cells the texts speak. Queries name the CSV
files of all references (``workflow.papers.find``). A scores file, ``scores/<experiment>.csv``, has the columns of its
cells too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from datasets.files import ROOT
from reports import front_matter
from reports.queries import QueryError, Read, Tables
from workflow import committed, papers

HERE = Path(__file__).parent / "findings"
REFERENCE = papers.REFERENCE


class FindingError(ValueError):
    """A text that cannot be rendered; names its file."""


@dataclass(frozen=True)
class Finding:
    """``text``: Markdown with every number and table in its place."""

    id: str
    title: str
    text: str


def read_committed(folder: Path = REFERENCE, have: Mapping[str, pd.DataFrame] | None = None) -> Read:
    """Reads the tables of a reference by name (``papers.find``). Raises FileNotFoundError for one that it has not.

    ``have``: scores by experiment that were read from it already.
    """

    def read(name: str) -> pd.DataFrame:
        experiment = name.removeprefix("scores/").removesuffix(".csv")
        scores = name.startswith("scores/")
        if scores and have and experiment in have:
            return have[experiment]
        found = papers.find(f"scores/{experiment}{committed.SUFFIX}" if scores else name, folder)
        if found is None or not any(found.resolve().is_relative_to(home) for home in papers.homes(folder)):
            raise FileNotFoundError(f"no such file in the reference of any paper, nor below {Path(folder).name}/")
        return (
            committed.read(found.parents[1], experiment)
            if scores
            else pd.read_csv(found, dtype=str, keep_default_na=False)
        )

    return read


def read_below(folder: Path) -> Read:
    """Reads ``<name>.csv`` or ``<name>.csv.gz`` of one folder, by name. Raises FileNotFoundError."""

    def read(name: str) -> pd.DataFrame:
        found = next((p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"no {name}.csv in {folder.name}/")
        return pd.read_csv(found, dtype=str, keep_default_na=False)

    return read


def fill(path: Path, tables: Tables, **names: object) -> str:
    """The text of a file, rendered. ``names``: what it may use besides. Raises :class:`FindingError`."""
    try:
        return front_matter.render(path.read_text(encoding="utf-8"), tables, **names)
    except QueryError as e:
        raise FindingError(f"{path.name}: {e}") from None


def folders() -> list[Path]:
    """The folders of the findings on experiments: ``reports/findings`` and those of the papers."""
    return [HERE, *(p.home / "findings" for p in papers.of_experiments())]


def sources() -> list[Path]:
    """The texts of all findings, sorted by id."""
    return sorted((path for home in folders() for path in (home / "source").glob("*.md")), key=lambda p: p.stem)


def home_of(finding: str) -> str:
    """The folder of a finding's rendered text, relative to the root; ``reports/findings`` for an unknown one."""
    found = next((p.parent.parent for p in sources() if p.stem == finding), HERE)
    return str(found.relative_to(ROOT))


def render(folder: Path | None = None, tables: Tables | None = None, **names: object) -> list[Finding]:
    """All texts of ``folder`` (default: :func:`sources`), sorted by id.

    ``tables``: those of the committed reference unless given; ``names``: what the texts may use besides. Raises
    :class:`FindingError`.
    """
    tables = tables or Tables(read_committed())
    paths = sources() if folder is None else sorted(Path(folder).glob("*.md"))
    texts = {path.stem: fill(path, tables, **names) for path in paths}
    return [Finding(name, _heading(text) or name, text) for name, text in texts.items()]


def title_of(path: Path) -> str:
    """The first heading of a file that is not rendered, "" without one. Raises :class:`FindingError`."""
    try:
        return _heading(front_matter.split(path.read_text(encoding="utf-8"))[1])
    except QueryError as e:
        raise FindingError(f"{path.name}: {e}") from None


def _heading(text: str) -> str:
    return next((line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), "")


def about(found: list[Finding], index: pd.DataFrame, sources: set[str], datasets: set[str]) -> list[Finding]:
    """Findings that speak of one of those sources, by the index; a row for any source needs one of the data sets."""
    rows = index.to_dict("records")
    chosen = {
        r["finding"]
        for r in rows
        if r["source"] in sources or (r["source"] == "*" and datasets & set(r["dataset"].split("|")))
    }
    return [f for f in found if f.id in chosen]
