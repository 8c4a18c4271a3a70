"""Verdicts on the 87 published cells by the suite's rule (``reports.verdict``), in a family of their own.

The published metric is accuracy; it is judged as the error 1 - accuracy, which the rule knows (margin: 10 % of it).
The published spread is sqrt(var / n) with ddof = 0, and enters as the rule turns a standard error into one. Ours: the
repetitions, on the same split.

Of ten cells all single runs are published, and judged by them (``reports.evidence.all_runs``); p and word by mean and
spread alone are next to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

from papers.jalko2017dpvi import PAPER, run
from papers.jalko2017dpvi.run import HERE, KEY
from reports.evidence import Printed, Runs, all_runs, means, printed, rank_test
from reports.verdict import Case, judge
from workflow.program import read_scores
from workflow.published import read

PROTOCOL, METRIC = "first_rows_train", "test_error"
NOT_RUN = {"status": "not_run", "reason": "no score file of this table"}


def published(folder: Path = HERE) -> pd.DataFrame:
    """Numbers and annotations, strings, in the order of the numbers."""
    both = pd.DataFrame(read(folder))
    if (both["n_runs"] != both["n_published"]).any():
        raise ValueError(f"{folder}: n_runs of published.csv and n_published of annotations.csv differ")
    return both


def single_runs(folder: Path = HERE) -> dict[tuple[str, str], np.ndarray]:
    """(table, setting) -> the published errors of all runs."""
    rows = pd.read_csv(folder / "single_runs.csv", dtype={"value": str})
    return {
        key: np.array([float(1 - Decimal(v)) for v in g["value"]])
        for key, g in rows.groupby(["table", "setting"], sort=False)
    }


def errors_of(row: dict) -> np.ndarray:
    """Test errors of a cell's repetitions."""
    return 1 - np.array(row["runs"].split(), dtype=np.float64) / int(row["n_test"])


def compared(cell: dict, ours: np.ndarray, theirs: np.ndarray | None, family: int) -> dict:
    """The columns of one cell. ``theirs``: its single runs, where they are published."""
    mean, paper = str(1 - Decimal(cell["mean"])), _paper(cell)
    found = judge(Runs(paper, ours, METRIC), family=family)
    out = {
        "published_error": mean, "mean": ours.mean(), "std": ours.std(ddof=1), "n": len(ours),
        "difference": found.difference, "low": found.low, "high": found.high, "p": found.p, "p_kind": found.p_kind,
        "detectable": found.detectable, "verdict": found.verdict, "reason": found.reason,
        "z": (ours.mean() - paper.mean) / (ours.std(ddof=1) * math.sqrt(1 / paper.n + 1 / len(ours))),
    }  # fmt: skip
    if theirs is None:
        return out
    each = judge(Runs(replace(paper, runs=tuple(theirs)), ours, METRIC, all_runs), family=family)
    by_mean = {"rule_p": found.p, "rule_verdict": found.verdict, "rank_z": rank_test(ours, theirs)[1]}
    return out | by_mean | {"p": each.p, "p_kind": each.p_kind, "verdict": each.verdict}


def cases(reference: Path) -> Iterator[Case]:
    """The cells by the authors' code, for the ceiling."""
    names = ["table", "dataset", "method", "reading", "setting"]
    scores = {tuple(row[n] for n in names): row for row in read_scores(reference / "scores").to_dict("records")}
    singles, family = single_runs(), PAPER.family
    for cell in published().to_dict("records"):
        found = scores.get(tuple((cell | {"reading": "authors"})[n] for n in names), NOT_RUN)
        if found["status"] != "ok":
            continue
        paper = _paper(cell)
        theirs = singles.get((cell["table"], cell["setting"]))
        kind = means if theirs is None else all_runs
        paper = paper if theirs is None else replace(paper, runs=tuple(theirs))
        yield Case((*(cell[k] for k in KEY), "authors"), Runs(paper, errors_of(found), METRIC, kind), family)


def _paper(cell: dict) -> Printed:
    return printed(str(1 - Decimal(cell["mean"])), int(cell["n_published"]), cell["std"], cell["std_kind"])


def build(scores: pd.DataFrame, family: int) -> pd.DataFrame:
    """One row a published cell and reading that the configuration names for its method."""
    known, singles, out = ["table", "dataset", "method", "reading", "setting"], single_runs(), []
    by = {tuple(row[c] for c in known): row for row in scores.to_dict("records")}
    for cell in published().to_dict("records"):
        for reading in run.config()["readings"][cell["method"]]:
            found = by.get((cell["table"], cell["dataset"], cell["method"], reading, cell["setting"]), NOT_RUN)
            row = {k: cell[k] for k in KEY} | {
                "reading": reading,
                "protocol": PROTOCOL,
                # a program of this paper: not the method of the suite with that name
                "our_method": f"jalko2017dpvi/{cell['method']}",
                "n_published": cell["n_published"],
                "published_mean": cell["mean"],
                "published_std": cell["std"],
            }
            if found["status"] == "ok":
                said = compared(cell, errors_of(found), singles.get((cell["table"], cell["setting"])), family)
            else:
                said = {"verdict": found["status"], "p_kind": "", "reason": found["reason"]}
            out.append(row | said | {"headline": "yes" if reading == "authors" else "no"})
    return pd.DataFrame(out)


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """All private cells of a table and reading together.

    z = difference of means over our spread times sqrt(1/N + 1/n): under one distribution the sum of z^2 is nearly
    chi-squared (each mean is one of at least five runs of light tails; the spread is known from 40, which makes 1.05 of
    1). p: of that sum, upper tail. spread_ratio: published variance (N - 1) over ours, pooled; 1 under one
    distribution.
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
