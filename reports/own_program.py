"""Commands of a paper with a program of its own (``papers/<key>/paper.yaml``): its score files, checks and tables.

Such a paper judges its own numbers. Its ``run``, ``checks`` and ``build`` say what is computed; how they are called,
written, committed and compared is the same for all of them and stands here.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import ROOT, write_bytes


def stream(*key: str) -> np.random.Generator:
    """The random numbers of one cell: seeded by its words alone, so that no other cell moves them."""
    digest = hashlib.sha256("|".join(key).encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest[:16], "big")))


def published(home: Path) -> pd.DataFrame:
    """The published cells of the paper in that folder, strings: their digits are data."""
    return pd.read_csv(home / "published.csv", dtype=str, keep_default_na=False)


def read_scores(folder: Path) -> pd.DataFrame:
    """All score files of a folder below one another, strings. Raises FileNotFoundError where there is none."""
    files = sorted(Path(folder).glob("*.csv.gz"))
    if not files:
        raise FileNotFoundError(f"{folder}: no scores; run the tables first")
    return pd.concat([pd.read_csv(f, dtype=str, keep_default_na=False) for f in files], ignore_index=True)


def write(path: Path, frame: pd.DataFrame, float_format: str | None = "%.9g") -> None:
    """CSV, by default with at most nine digits; gzip without a date where the name ends in gz: same data, same file."""
    text = frame.to_csv(index=False, float_format=float_format, lineterminator="\n").encode()
    write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def score_command(
    module: str,
    told: str,
    names: Iterable[str],
    rows: Callable[[str, str, str | None, str], Iterable[dict]],
    columns: Sequence[str],
    argv: Sequence[str] | None = None,
) -> int:
    """``python -m MODULE NAME --out FILE.csv.gz``: the score rows of one table, ``rows(name, scale, mirror, raw)``."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=told)
    parser.add_argument("name", choices=tuple(names))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", default="full")
    parser.add_argument("--raw", default="results/raw", help="folder of the fetched files")
    parser.add_argument("--mirror", default=os.environ.get("DPBAYES_MIRROR") or None)
    options = parser.parse_args(argv)
    table = pd.DataFrame(rows(options.name, options.scale, options.mirror, options.raw), columns=list(columns))
    write(options.out, table, float_format=None)
    return 0


def check_command(
    module: str,
    told: str,
    checks: Mapping[str, Callable[[str | None], pd.DataFrame]],
    argv: Sequence[str] | None = None,
) -> int:
    """``python -m MODULE NAME --out FILE.csv``: one small table that findings rest on, ``checks[name](mirror)``."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=told)
    parser.add_argument("name", choices=sorted(checks))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mirror", default=os.environ.get("DPBAYES_MIRROR") or None)
    options = parser.parse_args(argv)
    write(options.out, checks[options.name](options.mirror))
    return 0


@dataclass(frozen=True)
class Program:
    """What is made from the scores of the paper ``key``.

    ``tables(scores, folder)``: its tables by file name, from all score rows and the folder of the tables of ``checks``.
    ``findings(reference, out)`` and ``figures(reference, out)`` write theirs.
    """

    key: str
    tables: Callable[[pd.DataFrame, Path], Mapping[str, pd.DataFrame]]
    checks: tuple[str, ...]
    findings: Callable[[Path, Path], None]
    figures: Callable[[Path, Path], object]

    @property
    def home(self) -> Path:
        return ROOT / "papers" / self.key

    @property
    def reference(self) -> Path:
        return self.home / "reference"

    def build(self, scores_folder: Path, checks: Path, out: Path) -> None:
        """All that stands in ``reference/``, below ``out``. Raises ValueError for a reference below full scale."""
        out.mkdir(parents=True, exist_ok=True)
        scores = read_scores(scores_folder)
        wrong = set(scores["scale"]) - {"full"}
        if wrong and out.resolve() == self.reference.resolve():
            raise ValueError(f"{scores_folder}: scores of scale {sorted(wrong)}; only full may become reference")
        for name in self.checks:
            _copy(checks / f"{name}.csv", out / f"{name}.csv")
        for name, frame in self.tables(scores, out).items():
            write(out / name, frame)
        (out / "scores").mkdir(exist_ok=True)
        for path in sorted(Path(scores_folder).glob("*.csv.gz")):
            _copy(path, out / "scores" / path.name)

    def check(self) -> list[str]:
        """Names of committed tables that are not what the committed scores and the code give."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            self.build(self.reference / "scores", self.reference, out)
            made = sorted(p.name for p in out.glob("*.csv*"))
            return [n for n in made if not _text(self.reference / n).equals(_text(out / n))]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """``python -m papers.KEY.build``; 1 where ``--check`` finds a table that differs."""
        parser = argparse.ArgumentParser(
            prog=f"python -m papers.{self.key}.build", description="from scores to what is committed and shown"
        )
        parser.add_argument("--scores", type=Path, help="folder of the score files: make the tables of --out anew")
        parser.add_argument("--checks", type=Path, default=self.reference, help="folder of the tables of .checks")
        parser.add_argument("--out", type=Path, default=self.reference)
        parser.add_argument("--figures", type=Path, help="draw the figures of --out into this folder")
        parser.add_argument(
            "--check", action="store_true", help="compare the committed tables with the committed scores"
        )
        options = parser.parse_args(argv)
        if options.check:
            stale = self.check()
            print(f"{self.key}: {', '.join(stale) or 'nothing'} differs from the committed tables", file=sys.stderr)
            return int(bool(stale))
        if options.scores:
            self.build(options.scores, options.checks, options.out)
        own = options.out.resolve() == self.reference.resolve()
        self.findings(options.out, self.home / "findings" if own else options.out.parent / "findings")
        if options.figures:
            self.figures(options.out, options.figures)
        return 0


def _copy(source: Path, target: Path) -> None:
    if source.resolve() != target.resolve():
        shutil.copyfile(source, target)


def _text(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)
