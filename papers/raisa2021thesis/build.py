"""From scores to what is committed and shown: ``python -m papers.raisa2021thesis.build --scores DIR --checks DIR --out
DIR``. ``--check`` compares the committed tables with what the committed scores give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from papers.raisa2021thesis import claims, findings, run, tables, verdicts
from papers.raisa2021thesis.checks import CHECKS
from reports.own_program import Program


def made(scores: pd.DataFrame, folder: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows."""
    judged, medians = verdicts.build(scores, int(run.config()["family"])), tables.medians(scores)
    return {
        "verdicts.csv.gz": judged,
        "joint.csv": verdicts.joint(judged),
        "counts.csv": tables.counts(judged),
        "iterations.csv": tables.iterations(),
        "ledger.csv": tables.ledger(scores),
        "claims.csv": claims.build(medians),
    }


def drawn(reference: Path, out: Path) -> None:
    from papers.raisa2021thesis import figures

    figures.build(reference, out)


PROGRAM = Program("raisa2021thesis", made, tuple(CHECKS), findings.write, drawn)

if __name__ == "__main__":
    raise SystemExit(PROGRAM.main())
