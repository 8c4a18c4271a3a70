"""From scores to what is committed and shown: ``python -m papers.jalko2017dpvi.build --scores DIR --checks DIR --out
DIR``.

Writes verdicts, joint tests, counts, ledger and claims below ``--out`` (the committed ones stand in ``reference/``),
the rendered findings and the figures. ``--check`` compares the committed tables with what the committed scores give.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from papers.jalko2017dpvi import claims, findings, run, tables, verdicts
from papers.jalko2017dpvi.checks import CHECKS
from reports.own_program import Program


def made(scores: pd.DataFrame, folder: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the checks in ``folder``."""
    judged = verdicts.build(scores, int(run.config()["family"]))
    return {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "counts.csv": tables.counts(judged),
        "ledger.csv": tables.ledger(scores, folder),
        "claims.csv": claims.build(claims.Tables(tables.accuracies(judged), pd.read_csv(folder / "sgld.csv"))),
    }


def drawn(reference: Path, out: Path) -> None:
    from papers.jalko2017dpvi import figures

    figures.build(reference, out)


PROGRAM = Program("jalko2017dpvi", made, tuple(CHECKS), findings.write, drawn)

if __name__ == "__main__":
    raise SystemExit(PROGRAM.main())
