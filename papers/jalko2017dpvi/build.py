"""From scores to what is committed and shown: ``python -m papers.jalko2017dpvi.build --scores DIR --checks DIR --out
DIR``.

Writes verdicts, joint tests, counts, ledger and claims below ``--out`` (the committed ones stand in ``reference/``),
the rendered findings and the figures. ``--check`` compares the committed tables with what the committed scores give.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import pandas as pd

from papers.jalko2017dpvi import claims, run, tables, verdicts
from papers.jalko2017dpvi.checks import CHECKS
from papers.jalko2017dpvi.verdicts import write

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"


def build(scores_folder: Path, checks: Path, out: Path) -> None:
    """All tables of ``reference/`` under ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    scores = verdicts.read_scores(scores_folder)
    wrong = set(scores["scale"]) - {"full"}
    if wrong:
        raise ValueError(f"{scores_folder}: scores of scale {sorted(wrong)}; only full may become reference")
    judged = verdicts.build(scores, int(run.config()["family"]))
    for name in CHECKS:
        _copy(checks / f"{name}.csv", out / f"{name}.csv")
    made = {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "counts.csv": tables.counts(judged),
        "ledger.csv": tables.ledger(scores, out),
        "claims.csv": claims.build(claims.Tables(tables.accuracies(judged), pd.read_csv(out / "sgld.csv"))),
    }
    for name, frame in made.items():
        write(out / name, frame)
    (out / "scores").mkdir(exist_ok=True)
    for path in Path(scores_folder).glob("*.csv.gz"):
        _copy(path, out / "scores" / path.name)


def _copy(source: Path, target: Path) -> None:
    if source.resolve() != target.resolve():
        shutil.copyfile(source, target)


def check() -> list[str]:
    """Names of committed tables that are not what the committed scores and the code give."""
    with tempfile.TemporaryDirectory() as folder:
        build(REFERENCE / "scores", REFERENCE, Path(folder) / "out")
        made = sorted(p.name for p in (Path(folder) / "out").glob("*.csv*"))
        read = {"dtype": str, "keep_default_na": False}
        return [
            n
            for n in made
            if not pd.read_csv(REFERENCE / n, **read).equals(pd.read_csv(Path(folder) / "out" / n, **read))
        ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m papers.jalko2017dpvi.build", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scores", type=Path, help="folder of the score files: make the tables of --out anew")
    parser.add_argument("--checks", type=Path, default=REFERENCE, help="folder of the tables of .checks")
    parser.add_argument("--out", type=Path, default=REFERENCE)
    parser.add_argument("--figures", type=Path, help="draw the figures of --out into this folder")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    if options.check:
        stale = check()
        print(f"jalko2017dpvi: {', '.join(stale) or 'nothing'} differs from the committed tables", file=sys.stderr)
        return bool(stale)
    if options.scores:
        build(options.scores, options.checks, options.out)
    from papers.jalko2017dpvi import findings

    own = options.out.resolve() == REFERENCE.resolve()
    findings.write(options.out, HERE / "findings" if own else options.out.parent / "findings")
    if options.figures:
        from papers.jalko2017dpvi import figures

        figures.build(options.out, options.figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
