"""From scores to what is committed and shown: ``python -m papers.wang2018.build --scores DIR --checks DIR --out DIR``.

Writes verdicts, joint tests, ledger, counts, comparisons and claims below ``--out`` (the committed ones stand in
``reference/``), the rendered findings and the figures. ``--check`` compares the committed tables with what the
committed scores give.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from papers.wang2018 import claims, findings, run, tables, verdicts
from papers.wang2018.checks import CHECKS
from reports.own_program import Program


def made(scores: pd.DataFrame, folder: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the checks in ``folder``."""
    family = int(run.config()["family"])
    judged = verdicts.build(scores, family)
    errors = pd.concat([tables.published_means(judged), tables.medians(scores)], ignore_index=True)
    wins, ledger = tables.wins(errors), tables.ledger(scores)
    shown = pd.read_csv(folder / "counterexample_adaops.csv", dtype=str)
    return {
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


def drawn(reference: Path, out: Path) -> None:
    from papers.wang2018 import figures

    figures.build(reference, out)


PROGRAM = Program("wang2018", made, tuple(CHECKS), findings.write, drawn)

if __name__ == "__main__":
    raise SystemExit(PROGRAM.main())
