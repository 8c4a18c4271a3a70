"""From scores to what is committed and shown: ``python -m papers.wang2018.build --scores DIR --checks DIR --out DIR``.

Writes verdicts, joint tests, ledger, counts, comparisons and claims below ``--out`` (the committed ones stand in
``reference/``), the rendered findings and the figures. ``--check`` compares the committed tables with what the
committed scores give.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import pandas as pd

from papers.wang2018 import claims, run, tables, verdicts
from papers.wang2018.checks import CHECKS
from papers.wang2018.verdicts import write

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"


def build(scores_folder: Path, checks: Path, out: Path) -> None:
    """All tables of ``reference/`` under ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    scores, family = verdicts.read_scores(scores_folder), int(run.config()["family"])
    wrong = set(scores["scale"]) - {"full"}
    if wrong and out.resolve() == REFERENCE.resolve():
        raise ValueError(f"{scores_folder}: scores of scale {sorted(wrong)}; only full may become reference")
    judged = verdicts.build(scores, family)
    errors = pd.concat([tables.published_means(judged), tables.medians(scores)], ignore_index=True)
    wins, ledger = tables.wins(errors), tables.ledger(scores)
    shown = pd.read_csv(checks / "counterexample_adaops.csv", dtype=str)
    made = {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "leave_one_out.csv": verdicts.leave_one_out(scores, family),
        "counts.csv": tables.counts(judged),
        "ledger.csv": ledger,
        "wins.csv": wins,
        "orders.csv": tables.orders(scores),
        "effects.csv": tables.effects(errors),
        "claims.csv": claims.build(claims.Tables(wins, ledger, shown, judged)),
    }
    for name, frame in made.items():
        write(out / name, frame)
    (out / "scores").mkdir(exist_ok=True)
    for path in scores_folder.glob("*.csv.gz"):
        _copy(path, out / "scores" / path.name)
    for name in CHECKS:
        _copy(checks / f"{name}.csv", out / f"{name}.csv")


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
    parser = argparse.ArgumentParser(prog="python -m papers.wang2018.build", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scores", type=Path, help="folder of the score files: make the tables of --out anew")
    parser.add_argument("--checks", type=Path, default=REFERENCE, help="folder of the tables of papers.wang2018.checks")
    parser.add_argument("--out", type=Path, default=REFERENCE)
    parser.add_argument("--figures", type=Path, help="draw the figures of --out into this folder")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    if options.check:
        stale = check()
        print(f"wang2018: {', '.join(stale) or 'nothing'} differs from the committed tables", file=sys.stderr)
        return bool(stale)
    if options.scores:
        build(options.scores, options.checks, options.out)
    from papers.wang2018 import findings

    own = options.out.resolve() == REFERENCE.resolve()
    findings.write(options.out, HERE / "findings" if own else options.out.parent / "findings")
    if options.figures:
        from papers.wang2018 import figures

        figures.build(options.out, options.figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
