"""Makes the tables of a paper that are not scores.

    python -m workflow.extra KEY TABLE --scale full --results results

KEY is the folder of a paper (or ``common_tasks``), and TABLE the file name of one of its tables. All tables that the
same call makes are written to RESULTS/extra, and their names to RESULTS/done for Snakemake. ``--from-tables`` makes
only the tables that follow from others there.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
from datasets.files import write_sealed, write_text
from workflow import on_demand, papers, store
from workflow.experiments import SCALES, Cell, cells
from workflow.papers import Extra, Paper


@dataclass(frozen=True)
class Request:
    """The argument of a maker of tables. ``out``: folder of the tables; ``results``: folder of the run."""

    extra: Extra
    scale: str
    results: Path
    out: Path
    from_tables: bool = False

    @property
    def config(self) -> Path:
        """The file of its experiment."""
        return papers.experiments()[self.extra.experiment]

    @property
    def fits(self) -> Path:
        """The folder of the stored fits."""
        return self.results / "fits"

    def cells(self, scale: str = "") -> list[Cell]:
        """The cells of its experiment at a scale (default: that of the run)."""
        return cells(self.config, scale or self.scale)

    def data(self, dataset: str = "") -> datasets.Data:
        """The rows of a data set of the run (default: the first that it reads)."""
        return datasets.load(self.results / "data" / f"{dataset or (self.extra.datasets or ('',))[0]}.npz")


def text_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], digits: int = 17) -> str:
    """A table as CSV, with floats at that many significant digits."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{v:.{digits}g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    return buffer.getvalue()


def kept(out: Path, head: dict, makers: Sequence[Callable[[], dict]]) -> list[dict]:
    """The row of each maker. Rows that an interrupted run has finished are read from a file next to ``out``."""
    partial = out.with_suffix(".partial")
    lines = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    done = lines[1:] if lines[:1] == [head] else []
    if not done:
        write_text(partial, json.dumps(head) + "\n")
    for k, make in enumerate(makers):
        if k < len(done):
            continue
        done.append(make())
        with partial.open("a", encoding="utf-8") as f:
            f.write(json.dumps(done[-1]) + "\n")
        said = f"row {k + 1} of {len(makers)}, {done[-1]['seconds']:.1f} CPU seconds"
        print(f"{out.name}: {said}", file=sys.stderr, flush=True)
    return done


def resumed(
    request: Request, name: str, head: dict, makers: Sequence[Callable[[], dict]], columns: Sequence[str]
) -> str:
    """A table of rows as CSV with ten digits. Rows that an interrupted run has finished are not made again.

    ``head``: hashes of the code and data of the rows. Rows of other code or data are made again.
    """
    out = request.out / name
    text = text_of(columns, kept(out, head, makers), 10)
    out.with_suffix(".partial").unlink()
    return text


def about(key: str, table: str) -> tuple[Paper, Extra]:
    """The paper of a key, and how its table is made. Raises ValueError that lists the known ones."""
    known = {p.key: p for p in papers.papers()}
    if key not in known:
        raise ValueError(f"no paper '{key}'; there are {', '.join(known)}")
    for extra in known[key].extra:
        if table in extra.tables:
            return known[key], extra
    every = ", ".join(t for e in known[key].extra for t in e.tables)
    raise ValueError(f"{key} has no table '{table}'; it has {every or 'none'}")


def write(request: Request) -> None:
    """Make the tables and write them. Raises ValueError if the maker gives other tables than it declared."""
    made = papers.resolve(request.extra.make)(request)
    unknown, missing = set(made) - set(request.extra.tables), set(request.extra.tables) - set(made)
    if unknown or (missing and not request.from_tables):
        raise ValueError(f"{request.extra.make} made {sorted(made)}, its paper names {sorted(request.extra.tables)}")
    of_the_run = request.out == request.results / "extra"  # whose files a plan checks
    for name, text in made.items():
        (write_sealed if of_the_run else write_text)(request.out / name, text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("key", help="folder of the paper")
    parser.add_argument("table", help="file name of one of the tables")
    parser.add_argument("--scale", default="full", choices=SCALES)
    parser.add_argument("--results", default=Path("results"), type=Path, help="folder of the run")
    parser.add_argument("--out", type=Path, help="folder of the tables (default: RESULTS/extra)")
    parser.add_argument("--attempt", type=int, help="number of this attempt, see workflow.store")
    parser.add_argument("--from-tables", action="store_true", help="only what follows from the tables that are there")
    args = parser.parse_args(argv)
    try:
        _, extra = about(args.key, args.table)
    except ValueError as e:
        parser.error(str(e))
    on_demand.for_module(extra.make.partition(":")[0])
    write(Request(extra, args.scale, args.results, args.out or args.results / "extra", args.from_tables))
    if args.attempt is not None:
        store.write_attempt(args.results, f"{extra.name}.extra", args.attempt)
    if args.out is None:
        write_text(args.results / "done" / f"{extra.name}.extra", "".join(f"{t}\n" for t in extra.tables))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
