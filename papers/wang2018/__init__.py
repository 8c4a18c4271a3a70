"""Wang (2018), Revisiting differentially private linear regression: AdaSSP, AdaOPS and their baselines."""

import csv
from pathlib import Path

from workflow.papers import Paper, Program

with open(Path(__file__).parent / "datasets.csv", encoding="utf-8") as lines:
    TABLES = tuple(row["dataset"] for row in csv.DictReader(lines))

PAPER = Paper(
    key="wang2018",
    title="Wang 2018 (UAI)",
    sources={"wang2018adaptive": "Wang 2018 (UAI)"},
    family=2668,
    program=Program(
        __name__,
        scores=TABLES,
        checks=("counterexample", "counterexample_adaops", "cap", "targets", "scaling", "noise", "penalties"),
        # the table with the fewest numbers, and a budget in the middle of the published ones
        samples={"wang2018-servo-*-epsilon=1": 0.2, "wang2018-servo-*-authors-": 0.2},
        measures={"{metric}": "mean", "sd of {metric}": "std", "epsilon": "ledger_epsilon"},
        judged="The numbers are single runs, and are judged by a rule of their own. The findings say how often that "
        "rule is wrong",
    ),
)
