"""Verdicts on the 2,668 published cells: could this number have come from our program?

A published number is one run: the mean over ten folds that are also ours, with noise of unknown seed. Ours are the
repetitions of that run on the same folds, so n_published = 1 and the spread is that of our repetitions. The published
standard deviation is over folds, which both share; it is no spread of runs and is not used (``annotations.csv``
states what the file holds: ten folds).

Where this departs from ``reports.verdict``, which refutes no single published run: there, our runs differ by their
splits too and are few. Here a hundred repetitions differ by nothing but noise whose law is known, and the test of a
single number is what the source allows. The words, the margin (10 % of an error), the level (1 % of any false
``better`` or ``worse`` in a family) and one unit of the last digit are the same.

``exact``  no noise: reproduced where the difference is at most one unit of the last digit. Where the table at hand is
           a rounded copy (``ROUNDED``), compatible within the margin.
``t``      the logarithms of our runs have light tails and a spread of at most 1/4 (a positive number's spread is then
           small against it): p = P(|t(R - 1)| >= gap / (s sqrt(1 + 1 / R))), on the logarithms, gap less one unit.
``rank``   else, and for the methods of ``HEAVY`` always: p = 2 (1 + number of our runs at or beyond it) / (R + 1). It
           is at least 2 / (R + 1), so that ranks alone refute no cell; they are tested together (:func:`joint`).

better, worse : p <= 1 % / family. inconclusive : p <= 5 %. reproduced : p above, and equivalent within the margin
(95 %). compatible : the rest. ``leave_one_out`` measures the rate of false words on our own runs.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from scipy.stats import kstest

from papers.wang2018 import run
from reports.verdict import AGREE, ANY_FALSE, Printed, equivalent, gap_of, light_tails, margin, unit_of

HERE = Path(__file__).parent
KEY = ["source", "table", "dataset", "method", "setting", "metric"]
PROTOCOL = "given_folds"
#: largest spread of the logarithms of runs that are judged by t.
NARROW = 0.25
#: methods that invert a noisy matrix with nothing that keeps it away from singular: their error has no mean, and light
#: tails of a hundred runs are luck.
HEAVY = frozenset({"ssp"})
#: tables of which a rounded copy stands in; see ``files.csv``.
ROUNDED = {"gas": "computed from a copy of the table with five digits"}
NOT_RUN = {"status": "not_run", "reason": "no score file of this table"}


def published(folder: Path = HERE) -> pd.DataFrame:
    """Numbers and annotations, strings, with ``epsilon`` of the setting."""
    numbers, notes = (
        pd.read_csv(folder / f, dtype=str, keep_default_na=False) for f in ("published.csv", "annotations.csv")
    )
    both = numbers.merge(notes.drop(columns="n_published"), on=KEY, how="outer", validate="1:1", indicator="where")
    if (both["where"] != "both").any() or both["mean"].isna().any():
        raise ValueError("published.csv and annotations.csv do not have the same cells")
    both["epsilon"] = both["setting"].str.extract(r"epsilon=([\d.]+)")[0].fillna("")
    order = {tuple(k): i for i, k in enumerate(numbers[KEY].to_numpy())}
    both["order"] = [order[tuple(k)] for k in both[KEY].to_numpy()]
    return both.sort_values("order", ignore_index=True).drop(columns=["where", "order"])


def judge(runs: np.ndarray, mean: float, unit: float, family: int, heavy: bool = False) -> dict[str, float | str]:
    """One cell with noise: ``runs`` (R,), R >= 2, positive; ``mean`` published; ``heavy``: by ranks in any case."""
    count, ours = len(runs), float(np.mean(runs))
    logs = np.log(runs)
    s = float(logs.std(ddof=1))
    if not heavy and bool(light_tails(logs)) and s <= NARROW:
        kind, error = "t", s * math.sqrt(1 + 1 / count)
        p = _two_sided(float(_log_gap(logs.mean(), mean, unit)), error, count)
        high = float(logs.mean()) > math.log(mean)
        ends = [mean - math.exp(float(logs.mean()) + w * _quantile(AGREE / 2, count) * error) for w in (1, -1)]
        reach = _quantile(ANY_FALSE / family / 2, count) * error
        detectable = mean * math.expm1(reach) + unit
    else:
        above, below = np.sum(runs >= mean - unit), np.sum(runs <= mean + unit)
        kind, p = "rank", min(1.0, 2 * (1 + int(min(above, below))) / (count + 1))
        high, detectable = above > below, math.inf
        ends = [mean - float(q) for q in np.quantile(runs, [1 - AGREE / 2, AGREE / 2])]
    paper = Printed(mean, unit, math.nan, 1)
    same = bool(equivalent(ours, float(runs.std(ddof=1)), count, paper, "mse"))
    # low, high: of ours less theirs
    return {
        "mean": ours, "median": float(np.median(runs)), "std": float(runs.std(ddof=1)), "n": count,
        "difference": ours - mean, "low": -ends[1], "high": -ends[0], "p": p, "p_kind": kind, "detectable": detectable,
        "verdict": word(p, high, same, family),
    }  # fmt: skip


def _log_gap(log_mean, mean, unit):
    """Distance of the logarithm of ours to those of mean - unit .. mean + unit."""
    low, high = np.log(np.maximum(mean - unit, 1e-300)), np.log(mean + unit)
    return np.maximum(0.0, np.maximum(low - log_mean, log_mean - high))


def _quantile(alpha: float, count: int) -> float:
    """t(1 - alpha; count - 1)."""
    return -float(stdtrit(count - 1, alpha))


def _two_sided(gap: float, error: float, count: int) -> float:
    return 1.0 if gap == 0 else float(2 * stdtr(count - 1, -gap / error)) if error > 0 else 0.0


def word(p: float, higher: bool, same: bool, family: int) -> str:
    """The word of a cell; ``higher``: ours is above, which for an error is worse."""
    if p <= ANY_FALSE / family:
        return "worse" if higher else "better"
    if p <= AGREE:
        return "inconclusive"
    return "reproduced" if same else "compatible"


def judge_exact(ours: float, mean: float, unit: float, dataset: str) -> dict[str, float | str]:
    """One cell without noise."""
    gap = float(gap_of(ours, mean, unit))
    said = "reproduced" if gap == 0 else "worse" if ours > mean else "better"
    if gap > 0 and dataset in ROUNDED:
        said = "compatible" if gap <= float(margin("mse", mean)) else said
    return {
        "mean": ours, "median": ours, "std": 0.0, "n": 1, "difference": ours - mean, "low": math.nan, "high": math.nan,
        "p": math.nan, "p_kind": "exact", "detectable": unit, "verdict": said,
    }  # fmt: skip


def runs_of(text: str) -> np.ndarray:
    return np.array(text.split(), dtype=np.float64)


def build(scores: pd.DataFrame, family: int) -> pd.DataFrame:
    """One row a published cell and reading that the configuration names for its method."""
    cells, out = published(), []
    columns = ["dataset", "method", "reading", "epsilon"]
    by = {tuple(row[c] for c in columns): row for row in scores.to_dict("records")}
    readings = run.config()["readings"]
    for cell in cells.to_dict("records"):
        for reading in readings[cell["method"]]:
            found = by.get((cell["dataset"], cell["method"], reading, cell["epsilon"]), NOT_RUN)
            row = {k: cell[k] for k in KEY} | {
                "reading": reading,
                "protocol": PROTOCOL,
                "our_method": cell["method"],
                "n_published": 1,
                "published_mean": cell["mean"],
                "published_fold_std": cell["std"],
            }
            mean, unit, reason = float(cell["mean"]), unit_of(cell["mean"]), found["reason"]
            if found["status"] in ("no_data", "not_run"):
                said = {"verdict": found["status"], "p_kind": ""}
            elif cell["method"] in run.NOISE_FREE:
                said = judge_exact(float(found["mean"]), mean, unit, cell["dataset"])
                said["fold_std_difference"] = float(found["std"]) - float(cell["std"])
                reason = ROUNDED.get(cell["dataset"], "")
            elif found["status"] != "ok":
                said = {"verdict": found["status"], "p_kind": ""}
            else:
                runs = runs_of(found["runs"])
                said = judge(runs, mean, unit, family, cell["method"] in HEAVY)
                said["rank"] = int(np.sum(runs < mean))
            out.append(row | said | {"reason": reason, "headline": "yes" if reading == "authors" else "no"})
    return pd.DataFrame(out)


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """All cells of a method and reading together: are the ranks of theirs among ours uniform?

    Under one law the rank of the published run among R + 1 exchangeable ones is uniform on 0..R. Kolmogorov-Smirnov
    on (rank + 1/2) / (R + 1), and the share of cells outside the central 95 %. Cells of different tables and budgets
    have independent noise, so the test is exact up to the ranks' steps.
    """
    rows = []
    noisy = verdicts[verdicts["rank"].notna()]
    groups = [*noisy.groupby(["reading", "method"], sort=False)]
    groups += [((reading, "all"), g) for reading, g in noisy.groupby("reading", sort=False)]
    for (reading, method), g in groups:
        share = (g["rank"] + 0.5) / (g["n"] + 1)
        found = kstest(share, "uniform")
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


def _outside(share):
    return (share < 0.025) | (share > 0.975)


def leave_one_out(scores: pd.DataFrame, family: int) -> pd.DataFrame:
    """Each of our runs in the place of the published one, the others as ours: how often is a word false?

    One row a method and reading: number of trials, share of p <= 5 %, number of ``better`` or ``worse``, the number
    that the level allows, and what the rate found would make of a family of cells like these.
    """
    rows = []
    noisy = scores[(scores["runs"] != "") & (scores["status"] == "ok")]
    for (reading, method), g in noisy.groupby(["reading", "method"], sort=False):
        trials = agree = false = 0
        for text in g["runs"]:
            p = _left_out(runs_of(text), method in HEAVY)
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
    """p of each run against the others (R,), without a unit of the last digit."""
    others = np.stack([np.delete(runs, i) for i in range(len(runs))])
    logs, count = np.log(others), len(runs) - 1
    s = logs.std(axis=1, ddof=1)
    tame = light_tails(logs) & (s <= NARROW) & (not heavy)
    z = np.abs(np.log(runs) - logs.mean(axis=1)) / (s * math.sqrt(1 + 1 / count))
    above, below = (np.sum(f(others, runs[:, None]), axis=1) for f in (np.greater_equal, np.less_equal))
    ranks = np.minimum(1.0, 2 * (1 + np.minimum(above, below)) / (count + 1))
    return np.where(tame, 2 * stdtr(count - 1, -z), ranks)
