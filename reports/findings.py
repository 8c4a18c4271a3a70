"""Findings: short texts whose every number is read from a committed table when they are rendered.

``findings/source/<id>.md``, of a paper or of ``reports/``, has front matter and then a template
(:mod:`reports.frames`):

    ---
    title: ...        # the finding, at most 18 words
    summary: ...      # at most 25 words
    title_holds: ...  # what shows the title (tests/reports/title_checks.py)
    ---

``findings/<id>.md`` is the rendered text. A function ``my_finding(rows)`` of ``findings/queries.py`` returns further
names for the text of ``my-finding.md``, and ``shared(rows)`` returns names for all texts of its folder.
``findings/index.csv`` says which published numbers the texts are about. Tables are the CSV files of all references
(``workflow.papers.find``). A scores file, ``scores/<experiment>.csv``, also has the columns of its cells.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd
import yaml

from datasets.files import ROOT
from reports import frames
from reports.frames import FrameError, Frames, Read
from workflow import committed, papers

HERE = Path(__file__).parent / "findings"
REFERENCE = papers.REFERENCE
#: keys of the front matter. ``privacy_claims`` names the rows of ``privacy_claims.csv`` on which a word against a
#: published epsilon or delta rests, as "source method reading", or a table of the paper with lower bounds of its own.
KEYS = ("title", "summary", "title_holds", "privacy_claims")


class FindingError(ValueError):
    """A text cannot be rendered. The message names its file."""


@dataclass(frozen=True)
class Finding:
    """A rendered finding. ``text`` is Markdown with all numbers and tables filled in."""

    id: str
    title: str
    text: str
    summary: str = ""


class _Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
    """A YAML loader that reads every scalar as text and refuses repeated keys."""

    def construct_mapping(self, node, deep=False):
        keys = [str(key.value) for key, _ in node.value]
        twice = sorted({k for k in keys if keys.count(k) > 1})
        if twice:
            raise yaml.YAMLError(f"'{twice[0]}' stands twice in {', '.join(keys)}")
        return super().construct_mapping(node, deep)


def split(path: Path) -> tuple[dict, str]:
    """The front matter of a finding, as texts, and its template. Raises :class:`FindingError`."""
    start, front, body = "", "", ""
    parts = path.read_text(encoding="utf-8").split("---\n", 2)
    if len(parts) == 3:
        start, front, body = parts
    try:
        front_matter = yaml.load(front, _Loader)
    except yaml.YAMLError as e:
        raise FindingError(f"{path.name}: front matter: {e}") from None
    if (
        start
        or not isinstance(front_matter, dict)
        or set(front_matter) - set(KEYS)
        or not {"title", "summary"} <= set(front_matter)
    ):
        raise FindingError(f"{path.name}: it must begin with a line '---', the keys {', '.join(KEYS)}, and '---'")
    return front_matter, body


def read_committed(folder: Path = REFERENCE, have: Mapping[str, pd.DataFrame] | None = None) -> Read:
    """A reader of the tables of a reference by name (``papers.find``). It raises FileNotFoundError for a missing one.

    ``ledger.csv`` has the rows of all experiments. ``have``: scores by experiment that have been read already.
    """

    def read(name: str) -> pd.DataFrame:
        if name == "ledger.csv":
            return committed.ledgers(folder)
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
    """A reader of ``<name>.csv`` or ``<name>.csv.gz`` in one folder. It raises FileNotFoundError."""

    def read(name: str) -> pd.DataFrame:
        found = next((p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"no {name}.csv in {folder.name}/")
        return pd.read_csv(found, dtype=str, keep_default_na=False)

    return read


def folders() -> list[Path]:
    """The folders of the findings on experiments: ``reports/findings`` and those of the papers."""
    return [HERE, *(p.home / "findings" for p in papers.of_experiments())]


def sources() -> list[Path]:
    """The texts of all findings, sorted by id."""
    return sorted((path for home in folders() for path in (home / "source").glob("*.md")), key=lambda p: p.stem)


def home_of(finding: str) -> str:
    """The folder of a finding's rendered text, relative to the root. It is ``reports/findings`` for an unknown one."""
    home = next((p.parent.parent for p in sources() if p.stem == finding), HERE)
    return str(home.relative_to(ROOT))


def render(folder: Path | None = None, tables: Frames | None = None) -> list[Finding]:
    """Render all texts of ``folder`` (default: :func:`sources`), sorted by id.

    ``tables`` are by default those of the committed reference. Raises :class:`FindingError`.
    """
    tables = tables or Frames(read_committed())
    return [fill(path, tables) for path in (sources() if folder is None else sorted(Path(folder).glob("*.md")))]


def fill(path: Path, tables: Frames) -> Finding:
    """Render one finding. Raises :class:`FindingError`, which names its file."""
    told, body = split(path)
    queries = path.parent.parent / "queries.py"
    try:
        functions = vars(module(queries)) if queries.is_file() else {}
        names: dict[str, object] = {}
        for name in ("shared", path.stem.replace("-", "_")):
            names |= functions[name](tables.rows) if name in functions else {}
        text = frames.render(body, tables, **names)
    except FrameError as e:
        raise FindingError(f"{path.name}: {e}") from None
    head = f"# {told['title']}\n\n**Summary.** {told['summary']}\n\n"
    return Finding(path.stem, told["title"], head + text.strip() + "\n", told["summary"])


def module(path: Path) -> ModuleType:
    """Load a Python file in a findings folder. Raises :class:`FindingError` if it does not exist."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_{path.parent.parent.name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FindingError(f"{path.parent.parent.name}: no {path.name} beside the folder of its findings' sources")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def about(found: list[Finding], index: pd.DataFrame, sources: set[str], datasets: set[str]) -> list[Finding]:
    """The findings on one of these sources, by the index. An index row for any source needs one of the data sets."""
    rows = index.to_dict("records")
    chosen = {
        r["finding"]
        for r in rows
        if r["source"] in sources or (r["source"] == "*" and datasets & set(r["dataset"].split("|")))
    }
    return [f for f in found if f.id in chosen]
