"""Verdicts on the 87 published numbers by the suite's rule (``reports.verdict``), as their own multiplicity family.

The published metric is accuracy. It is judged as the error 1 - accuracy, which the rule knows (margin: 10 % of it). The
published spread is sqrt(var / n) with ddof = 0. The rule converts it like a standard error. Ours are repetitions on the
same split.

For ten numbers all single runs are published, and the verdict uses them (``reports.evidence.all_runs``). Further
columns have p and verdict by mean and spread only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

from papers.jalko2017dpvi import PAPER, run
from papers.jalko2017dpvi.run import HERE
from reports.evidence import Runs, all_runs, means, printed, rank_test
from reports.program import Numbers, said
from reports.verdict import Verdict, judge
from workflow.published import read

METRIC = "test_error"


def published(folder: Path = HERE) -> pd.DataFrame:
    """The published numbers with their annotations, as strings, in the order of the numbers."""
    both = pd.DataFrame(read(folder))
    if (both["n_runs"] != both["n_published"]).any():
        raise ValueError(f"{folder}: n_runs of published.csv and n_published of annotations.csv differ")
    return both


@cache
def single_runs(folder: Path = HERE) -> dict[tuple[str, str], np.ndarray]:
    """(table, setting) -> the published errors of all runs."""
    rows = pd.read_csv(folder / "single_runs.csv", dtype={"value": str})
    return {
        key: np.array([float(1 - Decimal(v)) for v in g["value"]])
        for key, g in rows.groupby(["table", "setting"], sort=False)
    }


def errors_of(row: dict) -> np.ndarray:
    """Test errors of the repetitions of a score row."""
    return 1 - np.array(row["runs"].split(), dtype=np.float64) / int(row["n_test"])


def judged(cell: dict, row: dict) -> Runs:
    """The published number as an error, ours, and the kind of evidence."""
    theirs = single_runs().get((cell["table"], cell["setting"]))
    paper = printed(str(1 - Decimal(cell["mean"])), int(cell["n_published"]), cell["std"], cell["std_kind"])
    if theirs is None:
        return Runs(paper, errors_of(row), METRIC)
    return Runs(replace(paper, runs=tuple(theirs)), errors_of(row), METRIC, all_runs)


def columns(cell: dict, row: dict, found: Verdict) -> dict:
    """The columns of the verdict on one published number that was run."""
    runs = judged(cell, row)
    paper, ours = runs.published, np.asarray(runs.values)
    out = {
        "published_error": str(1 - Decimal(cell["mean"])), "mean": ours.mean(), "std": ours.std(ddof=1), "n": len(ours),
    } | said(found)  # fmt: skip
    out["z"] = (ours.mean() - paper.mean) / (ours.std(ddof=1) * math.sqrt(1 / paper.n + 1 / len(ours)))
    if not paper.runs:
        return out
    by_mean = judge(replace(runs, evidence=means), family=PAPER.family)
    z = rank_test(ours, np.asarray(paper.runs))[1]
    return out | {"rule_p": by_mean.p, "rule_verdict": by_mean.verdict, "rank_z": z}


NUMBERS = Numbers(
    paper=PAPER,
    protocol="first_rows_train",
    cells=published,
    names=("table", "dataset", "method", "setting"),
    readings=lambda cell: run.config()["readings"][cell["method"]],
    judged=judged,
    columns=columns,
    named=lambda cell: {"published_std": cell["std"]},
)
cases, runs = NUMBERS.cases, NUMBERS.runs


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Joint test of all private numbers of a table and reading.

    z is the difference of means over our spread times sqrt(1/N + 1/n). If both come from one distribution, the sum of
    z^2 is nearly chi-squared. Each mean is one of at least five runs with light tails. The spread is known from 40
    runs, which makes 1.05 of 1. ``p`` is the upper tail of that sum. ``spread_ratio`` is the published variance over
    ours, pooled with weights N - 1. It is 1 under one distribution.
    """
    rows = []
    told = verdicts[(verdicts["method"] == "dpvi") & verdicts["z"].notna()]
    groups = [*told.groupby(["reading", "table"], sort=False)]
    groups += [((reading, "all"), g) for reading, g in told.groupby("reading", sort=False)]
    for (reading, table), g in groups:
        z, n = g["z"].astype(float), g["n_published"].astype(int)
        variance = g["published_std"].astype(float) ** 2 * n**2 / (n - 1)
        rows.append(
            {"reading": reading, "table": table, "cells": len(g), "mean_z": z.mean(), "mean_square_z": (z**2).mean(),
             "p": chi2.sf((z**2).sum(), len(g)), "beyond_2.5": int((z.abs() > 2.5).sum()),
             "spread_ratio": float(((n - 1) * variance / g["std"].astype(float) ** 2).sum() / (n - 1).sum())}
        )  # fmt: skip
    return pd.DataFrame(rows)
