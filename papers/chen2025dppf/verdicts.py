"""Verdicts on the published numbers by the suite's rule (``reports.verdict``), as their own multiplicity family.

Each number is a mean over single runs, which are published. ``reports.evidence.chances`` compares them with ours. Means
that pool three numbers of particles have no published runs, so they are compared with our mean (:func:`pooled`). Each
run of DP-DA-MCMC has its own release, with known noise. Its posterior means are compared run by run with the exact
posterior of that release (``reports.evidence.run_by_run``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtr

from papers.chen2025dppf import PAPER, published, run
from papers.chen2025dppf.published import FIXED, POOLED, REAL
from reports.evidence import Found, Printed, Runs, chances, means, printed, run_by_run
from reports.program import Numbers, said
from reports.verdict import Verdict
from workflow.published import KEY

METRIC = "sampler_output"
NO_DATA = (
    "the census rows of Victoria as the source cleaned them are not part of this suite; one run is published, on the "
    "median of 100 releases; remedy: add the rows as a data set, and derive the posterior of that release"
)
NOT_RUN = "was not run here; remedy: name the setting in `run` of papers/chen2025dppf/program.yaml"


def absent(cell: dict) -> tuple[str, str]:
    """Status and reason of a published number that was not run."""
    if cell["table"] == REAL:
        return "no_data", NO_DATA
    cost = run.config()["cost"].get(cell["table"], "not measured")
    what = "the filter on the synthetic release" if cell["table"] in FIXED else "the filter"
    return "not_run", f"{what} (cost here: {cost}) {NOT_RUN}"


def values_of(row: dict) -> np.ndarray:
    """Our runs (n,) of a score row."""
    return np.array(row["runs"].split(), dtype=np.float64)


def pooled(paper: Printed, values: Sequence[float], metric: str, level: float) -> Found:
    """The evidence of :func:`reports.evidence.means`, with a ``bound`` that is a chance like the metric's margin.

    Bound and chance that one of ours is above one of theirs are by the smaller of both spreads, as if the runs were
    normal.
    """
    found = means(paper, values, metric, level)
    error = math.sqrt(2) * min(float(np.std(values, ddof=1)), paper.spread)
    return replace(found, bound=float(ndtr(found.bound / error)) - 0.5, chance=float(ndtr(found.difference / error)))


def runs_of(cell: dict, row: dict) -> Runs:
    """The published runs, ours, and the kind of evidence. A pooled mean has no published single runs."""
    if cell["table"] == POOLED:
        return Runs(printed(cell["mean"], int(cell["n_published"]), cell["std"], "sd"), values_of(row), METRIC, pooled)
    theirs = published.runs_of(cell["table"], cell["setting"], cell["metric"])
    ours = values_of(row)
    if row["kind"] == "run by run":
        theirs = theirs[: len(ours)]
    paper = Printed(float(cell["mean"]), 0.0, float("nan"), len(theirs), tuple(theirs))
    if row["kind"] == "run by run":
        return Runs(paper, ours, METRIC, partial(run_by_run, errors=np.array(row["errors"].split(), dtype=float)))
    return Runs(paper, ours, METRIC, chances)


def columns(cell: dict, row: dict, found: Verdict) -> dict:
    """The columns of the verdict on one number that was run."""
    ours = values_of(row)
    return {
        "mean": float(ours.mean()), "std": float(ours.std(ddof=1)) if len(ours) > 1 else float("nan"), "n": len(ours),
        "chance": found.chance,
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
