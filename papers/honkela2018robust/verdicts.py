"""Verdicts on the published numbers by the suite's rule (``reports.verdict``), as their own multiplicity family.

* ``authors``: a mean over folds or fits. Each took one of three streams, and it is not known which. So the distribution
  of the mean is known (``reports.evidence.streams``). A clipping multiple is compared by equality.
* ``printed``: the mean of the exact posteriors has no noise. The published number has that of 5,000 draws, which move
  it by less than ``DRAWS``.
* ``corrected``: another algorithm with its own noise. The published number is one run on the same folds.

The published standard deviation is over folds, and is not an error of a rerun. ``spreads`` compares it separately.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import chi2

from papers.honkela2018robust import PAPER, published, run
from reports.evidence import Printed, Runs, exact, single, streams, unit_of
from reports.program import NOT_RUN, Numbers, said
from reports.verdict import Verdict
from workflow import program
from workflow.published import KEY

#: bound on the change of a number by its posterior draws. One fit has three published values, at most 0.0017 apart.
DRAWS = 0.002
NO_DATA = (
    "DrugResponse.csv, the drug responses of the Genomics of Drug Sensitivity in Cancer project as the authors "
    "prepared them, is not at hand; remedy: add it as a data set, and run the same fits on it"
)
#: number of random choices of the streams, for the standard deviation over folds.
CHOICES = 4_000
#: number of means that represent the runs of a number whose streams are not known.
SHOWN = 200


def values_of(row: dict) -> np.ndarray:
    """Scores (parts, streams) of a row."""
    return np.array(row["runs"].split(), dtype=np.float64).reshape(int(row["parts"]), int(row["streams"]))


def runs_of(cell: dict, row: dict) -> Runs:
    """The published number, our values and the kind of evidence."""
    values = values_of(row)
    paper = Printed(float(cell["mean"]), unit_of(cell["mean"]), math.nan, 1)
    if cell["metric"] == "clipping_multiple":
        return Runs(paper, values[0], cell["metric"], exact)
    if row["reading"] == "printed":
        return Runs(paper, [float(values.mean())], cell["metric"], partial(exact, rounding=DRAWS))
    if row["reading"] == "corrected":
        return Runs(paper, values[:, 0], cell["metric"], single)
    return Runs(paper, values, cell["metric"], streams)


def columns(cell: dict, row: dict, found: Verdict) -> dict:
    """The columns of the verdict on one number that was run."""
    values = values_of(row)
    out = {"mean": float(values.mean()), "std": math.nan, "n": len(values)} | said(found)
    if row["reading"] == "corrected":
        return out | {"std": float(values.std(ddof=1))}
    if values.shape[1] > 1:  # of the mean over folds or fits, by its streams
        return out | {"std": error_of(values), "z": -found.difference / error_of(values)}
    return out


def shown(key: tuple[str, ...], row: dict) -> np.ndarray | None:
    """Our runs of the corrected reading. For the authors' code, means for random choices of the streams.

    The random choices depend on the key of the number.
    """
    values = values_of(row)
    if key[-1] == "corrected":
        return values[:, 0]
    return chosen_means(values, SHOWN, program.stream("runs", *key))[0] if values.shape[1] > 1 else None


NUMBERS = Numbers(
    paper=PAPER,
    protocol="honkela_folds",
    cells=published.numbers,
    names=KEY[1:],
    readings=lambda cell: ["authors"] if cell["dataset"] == "gdsc" else run.readings_of(cell),
    judged=runs_of,
    columns=columns,
    named=lambda cell: {"published_fold_std": cell["std"]},
    absent=lambda cell: ("no_data", NO_DATA) if cell["dataset"] == "gdsc" else NOT_RUN,
    shown=shown,
)
cases, runs = NUMBERS.cases, NUMBERS.runs


def error_of(values: np.ndarray) -> float:
    """Standard deviation of the mean of ``values`` (parts, streams), if each part takes one of its streams."""
    return float(np.sqrt(values.var(axis=1).sum()) / len(values))


def spreads(scores: pd.DataFrame) -> pd.DataFrame:
    """Published standard deviations over folds, and those of ``CHOICES`` random choices of streams, per number."""
    rows = []
    for cell, reading, row in NUMBERS.matched(scores):
        if reading != "authors" or cell["table"] not in run.TABLES or not row or row["status"] != "ok":
            continue
        values = values_of(row)
        rng = program.stream("spread", *(cell[k] for k in KEY))
        chosen = chosen_means(values, CHOICES, rng)[1]
        rows.append(
            {k: cell[k] for k in ("table", "method", "setting")}
            | {"published": float(cell["std"]), "centre": chosen.mean(), "error": chosen.std(ddof=1),
               "low": chosen.min(), "high": chosen.max(),
               "z": (float(cell["std"]) - chosen.mean()) / chosen.std(ddof=1)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def chosen_means(values: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations over the parts for ``count`` random choices of a stream per part."""
    drawn = values[np.arange(len(values)), rng.integers(values.shape[1], size=(count, len(values)))]
    return drawn.mean(axis=1), drawn.std(axis=1, ddof=1)


def joint(verdicts: pd.DataFrame, spread: pd.DataFrame) -> pd.DataFrame:
    """Joint test of all numbers of a table by the authors' code, and of the standard deviations over folds.

    z = (published - centre) / standard error of the centre. A mean over 25 or 50 independent choices is nearly normal,
    so the sum of z^2 is nearly chi-squared. p is its upper tail. The published values of one fit have different draws,
    so they count separately.
    """
    told = verdicts[verdicts["z"].notna()]
    groups = [(table, g["z"].astype(float)) for table, g in told.groupby("table", sort=False)]
    groups += [("standard deviations", spread["z"]), ("all", told["z"].astype(float))]
    return pd.DataFrame(
        [{"reading": "authors", "table": table, "cells": len(z), "mean_z": z.mean(),
          "mean_square_z": float((z**2).mean()), "largest_z": float(z.abs().max()),
          "p": float(chi2.sf((z**2).sum(), len(z)))} for table, z in groups]
    )  # fmt: skip
