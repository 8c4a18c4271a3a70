"""All data of the suite for download: ``python -m reports.downloads --out DIR [--results results]``.

========================================== =========================================================================
``scores``, ``verdicts``, ``claims``,      tidy tables, each as ``.csv.gz`` and ``.parquet``; ``verdicts`` also as JSON
``ledger``, ``settings``
``dictionary.csv``, ``dictionary.md``      every column of every table: type, unit, meaning
========================================== =========================================================================

By default the tables are those of the committed reference. With ``--results``, scores, verdicts, claims and ledger are
those of that run, except for papers with their own code. The same input gives the same bytes.

Parquet is written by fastparquet, which has 4 MB instead of pyarrow's 55. If pyarrow is installed, pandas also changes
its type of strings and imports it in every process.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import math
import resource
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import ROOT, csv_text, replacing, sheet_text, write_bytes, write_text
from dpbayes_bench import tables
from evaluation.summary import read_scores
from reports import claims
from workflow import experiments, papers

TABLES = ("scores", "verdicts", "claims", "ledger", "settings")


def scores(results: Path | None = None) -> pd.DataFrame:
    """All scores of the reference or of a run. Raises FileNotFoundError if the run has none."""
    if results is None:
        return tables.scores(ROOT)
    files = sorted((results / "scores").glob("*/*.csv"))
    rows = read_scores(files or results / "scores")
    rows = rows.rename(columns={"metric": "measure"})
    rows["paper"] = rows["experiment"].map(papers.key_of)
    rows["epsilon_asked"] = tables.epsilon_asked(rows["setting"])
    own = [tables.scores_of(path) for path in tables.score_files(ROOT) if tables.paper_of(path) in papers.programs()]
    return tables.typed_scores([rows, *own])


def claim_rows(results: Path | None = None) -> pd.DataFrame:
    """Every claim of every paper with its verdict."""
    said = {c.id: c for c in claims.load()}
    rows = tables.text((results or papers.REFERENCE) / "claims.csv").rename(columns={"figure": "evidence"})
    known = [said.get(name) for name in rows["id"]]
    rows["paper"] = [papers.key_of(c.experiment) if c else "" for c in known]
    for column in ("source", "place", "statement", "repair"):
        rows[column] = [getattr(c, column) if c else "" for c in known]
    frames = [rows[[c for c in rows if c not in ("test", "proof")]]]
    for key in papers.programs():
        own = tables.text(ROOT / "papers" / key / "reference" / "claims.csv").rename(columns={"claim": "id"})
        frames.append(own.rename(columns={"figure": "evidence"}).assign(paper=key, source=_source(key)))
    return tables.typed(pd.concat(frames, ignore_index=True), "claims")


def _source(paper: str) -> str:
    """Bibliography key of a paper with one source."""
    return next(source for source, key in tables.sources(ROOT).items() if key == paper)


def settings() -> pd.DataFrame:
    """Every parameter of every cell at full scale, with defaults: one row per parameter, with its value as JSON."""
    rows = []
    for name, path in papers.experiments().items():
        for cell in experiments.cells(path, "full"):
            same = {"paper": papers.key_of(name), "experiment": name, "cell": cell.id}
            same |= {k: getattr(cell, k) for k in ("dataset", "protocol", "method", "setting")}
            groups: dict[str, dict[str, Any]] = {
                "model": dict(cell.model),
                "settings": dataclasses.asdict(cell.build_settings()),
                "budget": dataclasses.asdict(cell.build_budget()) if cell.budget else {},
                "run": {"splits": cell.splits},
            }
            rows += [
                same | {"group": group, "name": key, "value": _json(value)}
                for group, values in groups.items()
                for key, value in values.items()
            ]
    rows += [row for path in tables.score_files(ROOT) for row in _own_settings(path)]
    return tables.typed(pd.DataFrame(rows), "settings")


def _own_settings(path: Path) -> list[dict[str, str]]:
    """The parameters of the cells of a paper with its own score files: those in their setting, and the repetitions."""
    frame, paper = tables.text(path), tables.paper_of(path)
    if "runs" not in frame:
        return []
    named = ("paper", "experiment", "cell", "dataset", "protocol", "method", "setting")
    frame = tables.own_cells(frame, paper).assign(protocol=tables.protocol_of(path.parent.parent))
    rows = []
    for row in frame.to_dict("records"):
        parts = [part.replace("~", "=").partition("=") for part in row["setting"].split(";") if part]
        values = [("settings", key, value) for key, _, value in parts]
        values += [("settings", "reading", json.dumps(row["reading"]))]
        values += [("run", "repeats", row["repeats"])] if row["repeats"] else []
        rows += [{k: row[k] for k in named} | {"group": g, "name": n, "value": v} for g, n, v in values]
    return rows


def _json(value: Any) -> str:
    """The value as JSON, with an infinity as text, because JSON has none."""
    return json.dumps(str(value) if isinstance(value, float) and not math.isfinite(value) else value, default=str)


def build(results: Path | None = None) -> dict[str, pd.DataFrame]:
    """The tables by name, with the columns of the dictionary. Raises FileNotFoundError if one is missing."""
    home = (ROOT, results and results / "verdicts.csv"), (ROOT, results and results / "ledger.csv")
    return {
        "scores": scores(results),
        "verdicts": tables.verdicts(*home[0]),
        "claims": claim_rows(results),
        "ledger": tables.ledger(*home[1]),
        "settings": settings(),
    }


def write(out: Path, results: Path | None = None) -> list[Path]:
    """Write all files atomically and return their paths."""
    made = []
    for name, frame in build(results).items():
        write_bytes(out / f"{name}.csv.gz", gzip.compress(sheet_text(frame).encode(), compresslevel=6, mtime=0))
        write_parquet(out / f"{name}.parquet", frame)
        made += [out / f"{name}.csv.gz", out / f"{name}.parquet"]
        if name == "verdicts":
            write_text(out / "verdicts.json", as_json(frame))
            made.append(out / "verdicts.json")
    dictionary = tables.dictionary()
    write_text(out / "dictionary.csv", csv_text(dictionary))
    write_text(out / "dictionary.md", as_markdown(dictionary))
    return [*made, out / "dictionary.csv", out / "dictionary.md"]


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write one Parquet file with Zstandard compression."""
    import fastparquet

    texts = frame.columns[[str(t) == "str" for t in frame.dtypes]]
    frame = frame.astype({c: "category" for c in texts if frame[c].nunique() < len(frame) / 2})
    with replacing(path) as f:  # fastparquet writes by name; f is the temporary file
        fastparquet.write(f.name, frame, compression="ZSTD", write_index=False, object_encoding="utf8", stats=False)


def as_json(frame: pd.DataFrame) -> str:
    """A JSON list of records. A missing number is null, an infinity is the text "inf" or "-inf"."""
    rows = [
        {k: (None if pd.isna(v) else str(v) if isinstance(v, float) and math.isinf(v) else v) for k, v in row.items()}
        for row in frame.to_dict("records")
    ]
    return json.dumps(rows, indent=0, allow_nan=False, ensure_ascii=False) + "\n"


def as_markdown(told: pd.DataFrame) -> str:
    """The dictionary in Markdown, with one table per table of data."""
    parts = ["# Data dictionary", "", "Each table is a `.csv.gz` and a `.parquet` file; an empty field is no value."]
    for name, rows in told.groupby("table", sort=False):
        parts += ["", f"## {name}", "", "| column | type | unit | meaning |", "|---|---|---|---|"]
        for row in rows.to_dict("records"):
            told_of = [str(row[c]).replace("|", "\\|") for c in ("type", "unit", "meaning")]
            parts.append(f"| `{row['column']}` | {' | '.join(told_of)} |")
    return "\n".join(parts) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reports.downloads", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    parser.add_argument("--results", type=Path, help="folder of a run; default: the committed reference")
    options = parser.parse_args(argv)
    try:
        made = write(options.out, options.results)
    except (OSError, ValueError) as error:
        print(f"reports.downloads: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in made)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{len(made)} files, {size / 1e6:.1f} MB, in {options.out} ({used.ru_utime + used.ru_stime:.0f} CPU s)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
