"""Verdicts on the published numbers by the suite's rule (``reports.verdict``), in a family of their own.

Each number is a mean over single runs, which are published. ``reports.evidence.chances`` compares them with ours. The
runs of DP-DA-MCMC have a release each, with a noise that is known, so their posterior means are compared run by run
with the exact posterior of that release (``reports.evidence.run_by_run``).
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd

from papers.chen2025dppf import PAPER, published, run
from papers.chen2025dppf.published import FIXED, POOLED, REAL
from reports.evidence import Printed, Runs, chances, run_by_run
from reports.program import Numbers, said
from reports.verdict import Verdict
from workflow.published import KEY

METRIC = "sampler_output"
NO_DATA = (
    "the census rows of Victoria as the source cleaned them are not part of this suite; one run is published, on the "
    "median of 100 releases; remedy: add the rows as a data set, and derive the posterior of that release"
)
NOT_RUN = "was not run here; remedy: name the setting in `run` of papers/chen2025dppf/program.yaml"
POOLED_RUNS = (
    "the mean pools runs with 100, 200 and 400 particles; remedy: run all three numbers of particles, and judge their "
    "pooled mean"
)


@cache
def seconds() -> dict[tuple[str, str], str]:
    """(table, setting) -> mean seconds of a run of the authors' code, as published."""
    f = pd.read_csv(published.HERE / "published.csv", dtype=str)
    f = f[f["metric"] == "seconds"]
    return dict(zip(zip(f["table"], f["setting"], strict=True), f["mean"], strict=True))


def duration(seconds: float) -> str:
    """Its order in words, so that settings of one cost have one reason."""
    bounds = ((1, "less than a second"), (60, "1 to 60 seconds"), (600, "1 to 10 minutes"))
    return next((words for most, words in bounds if seconds < most), "more than 10 minutes")


def absent(cell: dict) -> tuple[str, str]:
    """Status and reason of a number that was not run."""
    table = cell["table"]
    if table == REAL:
        return "no_data", NO_DATA
    if table == POOLED:
        return "not_run", POOLED_RUNS
    what = {"dp_reject_abc": "the rejection sampler", "dp_da_mcmc": "the chain"}.get(cell["method"], "the filter")
    if table in FIXED:
        what = "the filter on the synthetic release"
    time = seconds().get((table, cell["setting"]))
    cost = f" (one run takes {duration(float(time))} in the authors' code)" if time else ""
    return "not_run", f"{what}{cost} {NOT_RUN}"


def values_of(row: dict) -> np.ndarray:
    """Our runs (n,) of a score row."""
    return np.array(row["runs"].split(), dtype=np.float64)


def runs_of(cell: dict, row: dict) -> Runs:
    """The published runs, ours, and the kind of evidence."""
    theirs = published.runs_of(cell["table"], cell["setting"], cell["metric"])
    ours = values_of(row)
    if row["kind"] == "run by run":
        theirs = theirs[: len(ours)]
    paper = Printed(float(cell["mean"]), 0.0, float("nan"), len(theirs), tuple(theirs))
    if row["kind"] == "run by run":
        return Runs(paper, ours, METRIC, partial(run_by_run, errors=np.array(row["errors"].split(), dtype=float)))
    return Runs(paper, ours, METRIC, chances)


def columns(cell: dict, row: dict, found: Verdict) -> dict:
    """The columns of one number that was run."""
    ours = values_of(row)
    return {
        "mean": float(ours.mean()), "std": float(ours.std(ddof=1)) if len(ours) > 1 else float("nan"), "n": len(ours),
    } | said(found)  # fmt: skip


NUMBERS = Numbers(
    paper=PAPER,
    protocol="chen_releases",
    cells=published.numbers,
    names=KEY[1:],
    readings=lambda cell: run.readings_of(cell) if run.is_run(cell) else ["authors"],
    judged=runs_of,
    columns=columns,
    named=lambda cell: {"published_std": cell["std"]},
    absent=absent,
)
cases, runs = NUMBERS.cases, NUMBERS.runs
