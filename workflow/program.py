"""One file of a paper's own code (``workflow.papers.Program``): the score rows of one name, or a small table.

    python -m workflow.program KEY scores NAME --out FILE.csv.gz
    python -m workflow.program KEY checks NAME --out FILE.csv

``reports.papers`` makes what follows from these files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from datasets.files import write_bytes, write_sealed
from workflow import environment, papers
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


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.program", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("key", choices=sorted(papers.programs()), help="folder of the paper")
    parser.add_argument("what", choices=("scores", "checks"))
    parser.add_argument("name", help="one of its score files, or of its small tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", default="full", choices=("full", "quick", "tiny"))
    parser.add_argument("--raw", default="results/raw", help="folder of the fetched files")
    parser.add_argument("--mirror", default=os.environ.get("DPBAYES_MIRROR") or None)
    options = parser.parse_args(argv)
    _, program = papers.programs()[options.key]
    known = program.scores if options.what == "scores" else program.checks
    if options.name not in known:
        parser.error(f"{options.key} has no {options.what} '{options.name}'; there are {', '.join(known)}")
    if options.what == "scores":
        rows = papers.resolve(program.rows)(options.name, options.scale, options.mirror, options.raw)
        write(options.out, pd.DataFrame(timed(rows)), float_format=None, seal=True)
    else:
        write(options.out, papers.resolve(program.check)[options.name](options.mirror), seal=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
