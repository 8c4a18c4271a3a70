"""Papers with their own code: tables, findings and figures from their scores, and their content of the site.

    python -m reports.papers KEY --results results
    python -m reports.papers KEY

The first command makes the tables of ``papers/KEY/reference`` and the rendered findings from a run at full scale, the
second from the committed scores. ``--out DIR`` writes tables and findings elsewhere, ``--figures DIR`` draws.
``workflow.papers.Program`` says what the paper has to provide.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from datasets.files import write_text
from reports import claims, findings
from reports.findings import Finding
from reports.frames import Frames
from workflow.papers import Paper as Folder
from workflow.papers import Program, programs, resolve
from workflow.program import read_scores, write

#: name of the table of verdicts.
VERDICTS = "verdicts.csv.gz"


@dataclass(frozen=True)
class Paper:
    """The content of a paper with its own code for the site."""

    key: str
    title: str
    findings: list[Finding]
    #: its verdicts, every column text, and its claims with the columns of ``reports.claims``.
    verdicts: pd.DataFrame
    claims: pd.DataFrame
    #: its tables, committed or of a run.
    reference: Path
    program: Program

    @property
    def judged(self) -> str:
        """A sentence on how its numbers are judged, without the full stop."""
        return self.program.judged


def load(results: Path | None = None) -> list[Paper]:
    """All papers with their own code and a committed reference, by key.

    ``results``: folder of a run. Papers that it holds at full scale are read from there.
    """
    keys = []
    for key, (paper, program) in programs().items():
        tables, texts = paper.reference, paper.home / "findings"
        if results and _is_full(results / key / "tables"):
            tables, texts = results / key / "tables", results / key / "findings"
        if not (tables / VERDICTS).is_file():
            continue
        verdicts = pd.read_csv(tables / VERDICTS, dtype=str, keep_default_na=False)
        found = _findings(texts, paper.home / "findings" / "source")
        said = _claims(tables / "claims.csv", key)
        keys.append(Paper(key, paper.title, found, verdicts, said, tables, program))
    return keys


def build(key: str, scores: Path, checks: Path, out: Path, seal: bool = False) -> None:
    """Write the tables of a paper and their inputs below ``out``.

    ``scores``, ``checks``: folders of its score files and small tables. ``seal``: also write checksums, as in a run.
    Raises ValueError for a reference below full scale, FileNotFoundError if a file is missing.
    """
    paper, program = programs()[key]
    out.mkdir(parents=True, exist_ok=True)
    scores_read = read_scores(scores)
    wrong = set(scores_read["scale"]) - {"full"}
    if wrong and out.resolve() == paper.reference.resolve():
        raise ValueError(f"{scores}: scores of scale {sorted(wrong)}; only full may become reference")
    for name in program.checks:
        _copy(checks / f"{name}.csv", out / f"{name}.csv")
    for name, frame in resolve(program.tables)(scores_read, out).items():
        write(out / name, frame, seal=seal)
    (out / "scores").mkdir(exist_ok=True)
    for path in sorted(scores.glob("*.csv.gz")):
        _copy(path, out / "scores" / path.name)


def _is_full(tables: Path) -> bool:
    """Whether a folder has the tables of a paper, from scores of scale full."""
    return (tables / VERDICTS).is_file() and set(read_scores(tables / "scores")["scale"]) == {"full"}


def render(key: str, reference: Path) -> dict[str, str]:
    """Id -> rendered Markdown of the findings of a paper, from the tables of ``reference``."""
    paper, _ = programs()[key]
    rendered = findings.render(paper.home / "findings" / "source", Frames(findings.read_below(reference)))
    return {f.id: f.text for f in rendered}


def write_findings(key: str, reference: Path, out: Path | None = None) -> None:
    """Render the findings of a paper into the folder ``out`` (default: the findings folder of the paper)."""
    home = out or programs()[key][0].home / "findings"
    for name, text in render(key, reference).items():
        write_text(home / f"{name}.md", text)


def remake(key: str) -> None:
    """Make the committed tables of a paper again from its committed scores."""
    reference = programs()[key][0].reference
    build(key, reference / "scores", reference, reference)


@dataclass(frozen=True)
class Checked:
    """The committed tables of a paper compared with those from its committed scores.

    ``stale``: names of tables that differ. ``rows``, ``agree``: numbers of verdicts by source, and of those that are
    the same in every column.
    """

    stale: list[str]
    rows: dict[str, int]
    agree: dict[str, int]


def checked(*keys: str) -> dict[str, Checked]:
    """Key -> the check of these papers (default: of all)."""
    return {key: _checked(programs()[key][0]) for key in keys or programs()}


def _checked(paper: Folder) -> Checked:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        build(paper.key, paper.reference / "scores", paper.reference, out)
        made = sorted(p.name for p in out.glob("*.csv*"))
        tables = {n: (_text(paper.reference / n), _text(out / n)) for n in made}
    stale = [n for n, (told, found) in tables.items() if not told.equals(found)]
    told, found = tables.get(VERDICTS, (pd.DataFrame({"source": []}),) * 2)
    same = [a == b for a, b in zip(told.to_dict("records"), found.to_dict("records"), strict=False)]
    rows, agree = Counter(told["source"]), Counter(told["source"][: len(same)][same])
    return Checked(stale, dict(rows), {source: agree[source] for source in rows})


def _copy(source: Path, target: Path) -> None:
    if source.resolve() != target.resolve():
        shutil.copyfile(source, target)


def _text(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _claims(path: Path, source: str) -> pd.DataFrame:
    """The claims of a paper. There are none if it has no file of them."""
    if not path.is_file():
        return pd.DataFrame(columns=claims.COLUMNS)
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    made = [
        dict.fromkeys(claims.COLUMNS, "")
        | {("id" if k == "claim" else k): v for k, v in r.items()}
        | {"source": source}
        for r in rows
    ]
    return pd.DataFrame(made, columns=claims.COLUMNS)


def _findings(folder: Path, sources: Path) -> list[Finding]:
    out = []
    for path in sorted(folder.glob("*.md")):
        front_matter, _ = findings.split(sources / path.name)
        out.append(Finding(path.stem, front_matter["title"], path.read_text(encoding="utf-8"), front_matter["summary"]))
    return out


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reports.papers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("key", choices=sorted(programs()), help="folder of the paper")
    parser.add_argument("--results", type=Path, help="folder of a run (default: the committed scores)")
    parser.add_argument("--out", type=Path, help="folder of the tables (default: papers/KEY/reference)")
    parser.add_argument("--figures", type=Path, help="draw the figures into this folder")
    options = parser.parse_args(argv)
    paper, program = programs()[options.key]
    out = options.out or paper.reference
    run = options.results / paper.key if options.results else None
    scores, checks = (run / "scores", run / "checks") if run else (paper.reference / "scores", paper.reference)
    build(paper.key, scores, checks, out, seal=bool(options.out))  # not in the reference
    own = out.resolve() == paper.reference.resolve()
    write_findings(paper.key, out, None if own else out.parent / "findings")
    if options.figures:
        resolve(program.figures)(out, options.figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
