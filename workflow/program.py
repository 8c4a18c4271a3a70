"""One file of a paper's own code (``workflow.papers.Program``): the score rows of one name, or a small table.

    python -m workflow.program KEY scores NAME --out FILE.csv.gz
    python -m workflow.program KEY checks NAME --out FILE.csv

With ``--chunk K`` only a range of the cells of a score file is run, and its rows are left for the call without it. A
cell is what :func:`dpbayes_bench.tables.own_cell` names: a method in one reading at one setting.

Each row is appended to ``results/partial/`` with its checksum, as by a fit (``workflow.store``). After a kill, the same
call makes only the rows that are missing. :func:`stream` gives each run its own random numbers, so neither ranges nor
kills change a number. ``reports.papers`` makes what follows from these files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from datasets.files import locked, write_bytes, write_sealed, write_text
from dpbayes_bench.tables import own_cell
from workflow import environment, papers, store
from workflow.imports import code_hash
from workflow.published import NUMBERS, table

#: column of a score row, which ``rows`` of a paper does not write.
CPU_SECONDS = "cpu_seconds"


def stream(*key: str) -> np.random.Generator:
    """The random numbers of one cell. Its words are the seed, so that other cells do not change them.

    With secret noise (``workflow.environment``) nobody can repeat them.
    """
    digest = hashlib.sha256("|".join(key).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(environment.mixed([int.from_bytes(digest[:16], "big")])))


@cache
def config(home: Path) -> dict:
    """The ``program.yaml`` of the paper in that folder."""
    return yaml.safe_load((home / "program.yaml").read_text(encoding="utf-8"))


def facts(ledger: Iterable, names: Sequence[str]) -> str:
    """A ledger as JSON: the named fields of its events, with six digits of the noise multiplier."""
    return json.dumps([{n: _told(n, getattr(e, n)) for n in names} for e in ledger])


def _told(name: str, value: object) -> object:
    if name == "noise_multiplier":
        return float(f"{value:.6g}")
    return value if name in ("sampling_rate", "steps") else str(value)


def published(home: Path) -> pd.DataFrame:
    """The published numbers of the paper in that folder, as strings, because digits are data."""
    return pd.DataFrame(table(home / NUMBERS))


def read_scores(folder: Path) -> pd.DataFrame:
    """All score files of a folder as one table of strings. Raises FileNotFoundError if there are none."""
    files = sorted(Path(folder).glob("*.csv.gz"))
    if not files:
        raise FileNotFoundError(f"{folder}: no scores; run the paper's program first")
    return pd.concat([pd.read_csv(f, dtype=str, keep_default_na=False) for f in files], ignore_index=True)


def write(path: Path, frame: pd.DataFrame, float_format: str | None = "%.9g", seal: bool = False) -> None:
    """Write CSV, by default with at most nine digits. A name in gz gives gzip without a date: same data, same file.

    ``seal``: write a checksum next to it, as for a table of a run.
    """
    text = frame.to_csv(index=False, float_format=float_format, lineterminator="\n").encode()
    content = gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
    (write_sealed if seal else write_bytes)(path, content)


def timed(rows: Iterable[dict]) -> Iterator[dict]:
    """The rows with their CPU seconds. Work that several rows share is counted for the first of them."""
    begin = time.process_time()
    for row in rows:
        end = time.process_time()
        yield row | {CPU_SECONDS: f"{end - begin:.3g}"}
        begin = end


def chunk_of(cells: Iterable[str], number: int, count: int) -> list[str]:
    """The cells of range ``number`` (from 1) of ``count``, in the order of their first rows."""
    cells = list(dict.fromkeys(cells))
    start, end = (len(cells) * k // count for k in (number - 1, number))
    return cells[start:end]


def score_rows(
    key: str, name: str, scale: str, mirror: str | None, results: Path, chunk: int = 0
) -> list[dict[str, str]]:
    """The score rows of one name in their order, as text, or those of one range of its cells (``chunk``, from 1).

    Rows that an earlier call has left in ``results/partial`` are not made again. They stay there.
    """
    program = papers.programs()[key][1]
    rows = partial(papers.resolve(program.rows), name, scale, mirror, results / "raw")
    count, cells = program.chunks.get(name, 1), []
    if count > 1:  # no row is wanted, so that none is made
        list(rows(lambda row: cells.append(own_cell(row, key))))
    out = []
    for number in [chunk] if chunk else range(1, count + 1):
        path = partial_of(results, key, name, number)
        head = head_of(key, name, scale) | {"chunk": [number, count]}
        wanted = set(chunk_of(cells, number, count)) if count > 1 else None
        with locked(path.with_suffix(".lock"), path.stem):
            out += _resumed(path, head, rows, key, wanted)
    return out


def partial_of(results: Path, key: str, name: str, chunk: int) -> Path:
    """The file that keeps the rows of a range until the score file is written."""
    return store.partial_of(results, f"{key}-{name}.chunk{chunk}")


def head_of(key: str, name: str, scale: str) -> dict:
    """The facts that identify stored rows. Rows of other code, settings, published numbers or noise are not used."""
    paper, program = papers.programs()[key]
    inputs = hashlib.sha256(b"".join(p.read_bytes() for p in paper.inputs)).hexdigest()
    code = code_hash("workflow.program", program.rows.partition(":")[0])
    facts = {"program": key, "scores": name, "scale": scale, "noise": environment.noise_of_run()}
    return {**facts, "code_hash": code, "inputs": inputs}


def _resumed(path: Path, head: dict, rows: Callable, key: str, cells: set[str] | None) -> list[dict[str, str]]:
    """The rows of these cells (None: of all), of which the stored ones are the first."""
    stored, kept = store.read_partial(path, head, ("no_data",)), []
    while row := stored.get((key, len(kept))):
        kept.append({column: value for column, value in row.items() if column != "split"})
    there = {(own_cell(row, key), row.get("metric")) for row in kept}
    if there:
        store.say(path.stem, f"resumes: {len(kept)} rows are there")
    store.begin(path, head)

    def wanted(row: Mapping) -> bool:
        cell = own_cell(row, key)
        return (cells is None or cell in cells) and (cell, row.get("metric")) not in there

    for row in timed(rows(wanted if cells is not None or there else None)):
        texts = {column: _text(value) for column, value in row.items()}
        store.keep_row(path, key, texts | {"split": len(kept)})
        kept.append(texts)
    return kept


def _text(value: object) -> str:
    """A value as a CSV file has it."""
    return "" if value is None or value != value else str(value)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.program", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("key", choices=sorted(papers.programs()), help="folder of the paper")
    parser.add_argument("what", choices=("scores", "checks"))
    parser.add_argument("name", help="one of its score files, or of its small tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", default="full", choices=("full", "quick", "tiny"))
    parser.add_argument("--chunk", default=0, type=int, help="of scores: number of a range of cells, from 1")
    parser.add_argument("--reuse", action="store_true", help="of checks: restore the committed table")
    parser.add_argument("--results", default=Path("results"), type=Path, help="folder of fetched files and kept rows")
    parser.add_argument("--mirror", default=os.environ.get("DPBAYES_MIRROR") or None)
    options = parser.parse_args(argv)
    paper, program = papers.programs()[options.key]
    known = program.scores if options.what == "scores" else program.checks
    if options.name not in known:
        parser.error(f"{options.key} has no {options.what} '{options.name}'; there are {', '.join(known)}")
    if options.what == "scores":
        names = options.key, options.name
        rows = score_rows(*names, options.scale, options.mirror, options.results, options.chunk)
        if options.chunk:  # for Snakemake: which cells are there
            write_text(options.out, "".join(f"{cell}\n" for cell in dict.fromkeys(own_cell(r, names[0]) for r in rows)))
            return 0
        write(options.out, pd.DataFrame(rows), float_format=None, seal=True)
        for number in range(1, program.chunks.get(options.name, 1) + 1):
            store.drop(partial_of(options.results, *names, number))
    elif options.reuse:
        write_sealed(options.out, (paper.reference / f"{options.name}.csv").read_bytes())
        store.say(options.key, f"restored {options.name}.csv from the committed reference")
    else:
        write(options.out, papers.resolve(program.check)[options.name](options.mirror), seal=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
