"""Verdicts on the 2,668 published numbers: could this number be a run of our implementation?

A published number is one run: the mean over ten folds, with noise of unknown seed. Ours are repetitions of that run on
the same folds. So n_published = 1, and the spread is that of our repetitions (``reports.evidence.single``).

The published standard deviation is over folds, which both share. It is not a spread of runs, so it is not used
(``annotations.csv`` states the ten folds). Methods without noise are compared digit by digit
(``reports.evidence.exact``). If a table is a rounded copy (``ROUNDED``), a number within the margin is not refuted.

Words, margin and level are those of ``reports.verdict``. Numbers judged by ranks cannot be refuted one by one, so they
are tested together (:func:`joint`). ``leave_one_out`` measures the rate of false verdicts on our own runs.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kstest

from papers.wang2018 import PAPER, run
from reports.evidence import AGREE, Kind, Printed, Runs, exact, p_single, single, unit_of
from reports.program import Numbers, said
from reports.verdict import ANY_FALSE, Verdict, margin
from workflow.published import read

HERE = Path(__file__).parent
#: methods that are judged by ranks, because a hundred runs of them may hide heavy tails. SSP inverts a noisy matrix
#: that nothing keeps away from singular, so its error has no mean. AdaSSP has rare outliers. If one of a hundred runs
#: is one, the other ninety-nine look free of them, and a t test calls it different. (With a t test, ``leave_one_out``
#: had 13 of its 15 false verdicts in the printed reading from AdaSSP.)
HEAVY = frozenset({"ssp", "adassp"})
#: tables that are rounded copies of the authors' files; see ``files.csv``.
ROUNDED = {"gas": "computed from a copy of the table with five digits"}


def published(folder: Path = HERE) -> pd.DataFrame:
    """Published numbers with their annotations as strings, and ``epsilon`` of the setting. Each is one run."""
    both = pd.DataFrame(read(folder)).assign(n_published=1)
    both["epsilon"] = both["setting"].str.extract(r"epsilon=([\d.]+)")[0].fillna("")
    return both


def judged(values: np.ndarray, cell: dict[str, str]) -> Runs:
    """The verdict on one published number. ``values`` (R,): our repetitions, or the one noise-free number."""
    published, dataset = Printed(float(cell["mean"]), unit_of(cell["mean"]), math.nan, 1), cell["dataset"]
    if cell["method"] not in run.NOISE_FREE:
        kind: Kind = partial(single, heavy=cell["method"] in HEAVY)
    else:
        kind = partial(exact, rounding=float(margin("mse", published.mean)) if dataset in ROUNDED else 0.0)
    return Runs(published, values, "mse", kind)


def values_of(row: dict[str, str]) -> np.ndarray:
    """Our repetitions in a score row, or the one number of a method without noise."""
    return np.array((row["runs"] or row["mean"]).split(), dtype=np.float64)


def columns(cell: dict[str, str], row: dict[str, str], found: Verdict) -> dict[str, float | str]:
    """The columns of the verdict on one published number that was run."""
    values, noisy = values_of(row), cell["method"] not in run.NOISE_FREE
    out = {
        "mean": float(np.mean(values)), "median": float(np.median(values)),
        "std": float(values.std(ddof=1)) if noisy else 0.0, "n": len(values),
    } | said(found)  # fmt: skip
    del out["reason"]
    if noisy:
        return out | {"rank": int(np.sum(values < float(cell["mean"]))), "reason": ""}
    difference = float(row["std"]) - float(cell["std"])
    reason = ROUNDED.get(cell["dataset"], "")
    return out | {"p": math.nan, "fold_std_difference": difference, "reason": reason}


NUMBERS = Numbers(
    paper=PAPER,
    protocol="given_folds",
    cells=published,
    names=("dataset", "method", "epsilon"),
    readings=lambda cell: run.config()["readings"][cell["method"]],
    judged=lambda cell, row: judged(values_of(row), cell),
    columns=columns,
    named=lambda cell: {"our_method": cell["method"], "published_fold_std": cell["std"]},
)
cases, runs = NUMBERS.cases, NUMBERS.runs


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Joint test of all published numbers of a method and reading: are their ranks among our runs uniform?

    If both come from one distribution, the rank of the published run among R + 1 exchangeable ones is uniform on 0..R.
    The tests are Kolmogorov-Smirnov on (rank + 1/2) / (R + 1), and the share of numbers outside the central 95 %.
    Numbers of different tables and budgets have independent noise, so the test is exact up to the discreteness of the
    ranks.
    """
    rows = []
    noisy = verdicts[verdicts["rank"].notna()]
    groups = [*noisy.groupby(["reading", "method"], sort=False)]
    groups += [((reading, "all"), g) for reading, g in noisy.groupby("reading", sort=False)]
    for (reading, method), g in groups:
        share, found = _share(g), uniform(g)
        rows.append(
            {
                "reading": reading,
                "method": method,
                "cells": len(g),
                "ks": found.statistic,
                "p": found.pvalue,
                "outside_95": float(np.mean(_outside(share))),
                "expected": float(np.mean([np.mean(_outside((np.arange(n + 1) + 0.5) / (n + 1))) for n in g["n"]])),
                "below_median": float(np.mean(share < 0.5)),
            }
        )
    return pd.DataFrame(rows)


def uniform(rows: pd.DataFrame):
    """The Kolmogorov-Smirnov test of :func:`joint`, of the columns ``rank`` and ``n``."""
    return kstest(_share(rows), "uniform")


def _share(rows: pd.DataFrame) -> pd.Series:
    return (rows["rank"].astype(float) + 0.5) / (rows["n"].astype(float) + 1)


def _outside(share):
    return (share < 0.025) | (share > 0.975)


def leave_one_out(scores: pd.DataFrame, family: int) -> pd.DataFrame:
    """Rate of false verdicts if each of our runs takes the place of the published one, with the others as ours.

    One row per method and reading: number of trials, share of p <= 5 %, number of ``better`` or ``worse``, the number
    that the level allows, and the number that this rate implies for a multiplicity family of ``family`` such numbers.
    """
    rows = []
    noisy = scores[(scores["runs"] != "") & (scores["status"] == "ok")]
    for (reading, method), g in noisy.groupby(["reading", "method"], sort=False):
        trials = agree = false = 0
        for text in g["runs"]:
            p = _left_out(np.array(text.split(), dtype=np.float64), method in HEAVY)
            trials, agree, false = trials + len(p), agree + np.sum(p <= AGREE), false + np.sum(p <= ANY_FALSE / family)
        rows.append(
            {
                "reading": reading,
                "method": method,
                "trials": trials,
                "inconclusive_or_more": agree / trials,
                "better_or_worse": int(false),
                "allowed": trials * ANY_FALSE / family,
                "expected_false_in_family": false / trials * family,
            }
        )
    return pd.DataFrame(rows)


def _left_out(runs: np.ndarray, heavy: bool = False) -> np.ndarray:
    """p values (R,) of each run against the others, without a unit of the last digit."""
    others = runs[np.nonzero(~np.eye(len(runs), dtype=bool))[1].reshape(len(runs), -1)]
    return p_single(others, runs, 0.0, heavy)[0]
