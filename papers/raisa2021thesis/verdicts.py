"""Verdicts on the published boxes: could this box have come from our program?

A box is what is left of N = 20 chains: median, quartiles, whiskers and the number of points beyond them. Ours are n =
20 chains with the same data and from the same starts.

**p.** The rank test of the suite's rule for runs of any law (``reports.verdict``, ``rank``), whose bound K(x) on the
number of theirs at or above x comes from the box. Their sorted values are y_1 <= .. <= y_20; NumPy and matplotlib
interpolate quantile q linearly at place 19 q from 0, so

    q1 = 1/4 y_5 + 3/4 y_6,    median = 1/2 y_10 + 1/2 y_11,    q3 = 3/4 y_15 + 1/4 y_16,

and each is at least its lower neighbour: y_5 <= q1, y_10 <= median, y_15 <= q3. The upper whisker is the largest value
within 1.5 boxes of q3; all values above it are among the points drawn as outliers. Hence for x by more than one unit of
the last digit (1e-5) beyond the number named

    K(x) = outliers    x > upper whisker (all of them may lie above)
           5           x > q3
           10          x > median
           15          x > q1
           19          x > lower whisker (which is itself one of their values)
           20          else

of what is passed the smallest. Theirs at or below x: the mirror image. Pairs with theirs at or above ours number at
most U = sum_i K(x_i), ties included, and P(Mann-Whitney(20, 20) <= U) bounds the chance of ours lying so far above
theirs; p is twice the smaller of this and its mirror image. Shared starts make the two sides move together, which
keeps p a bound (``checks.rates`` measures how far).

**Words.** As the rule's: better, worse at p <= 1 % / family; inconclusive at p <= 5 %; reproduced where p is above
and the two medians are shown to be equivalent (:func:`equivalent`); else compatible. Lower counts as better for MMD
and for the share of clipped ratios, higher for the acceptance rate; of the last two this is a convention. The margin
is that of an error (10 %) for MMD, and that of a share (0.02 or 25 % of it) for the others.

**Equivalence.** |difference of medians| - unit + t(.95; 19) 1.2533 s sqrt(1/20 + 1/20) <= margin, with s the larger
of both interquartile ranges over 1.349. It assumes that both laws are close to normal around their medians (then a
median's standard error is 1.2533 s / sqrt n); no word against a box rests on that. The same interval stands in the
columns low, high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import t as student

from evaluation.metrics import METRICS, UP
from papers.raisa2021thesis import run
from papers.raisa2021thesis.run import KEY
from reports.verdict import AGREE, ANY_FALSE, mann_whitney, margin

PROTOCOL = "one_generated_table"
UNIT = 1e-5
#: published chains of a box.
N = 20
#: standard error of a normal law's median in units of sd / sqrt n; interquartile range of it in units of sd.
MEDIAN, RANGE = math.sqrt(math.pi / 2), 1.3489795
REASONS = {
    "dp_penalty_minibatch": "not run here: minibatches, with an accountant that is not one of this suite",
    "dp_penalty_minibatch_ocu_gwmh": "not run here: minibatches, with an accountant that is not one of this suite",
    "dp_barker": "not run here: a minibatch test of its own (Heikkilä et al. 2019), not built",
}
NO_FILE = "no score file of this model and method"

Box = Mapping[str, float]


def box_of(cell: Mapping[str, str]) -> dict[str, float]:
    return {k: float(cell[k]) for k in ("median", "q1", "q3", "whisker_low", "whisker_high", "outliers")}


def most_above(x, box: Box) -> np.ndarray:
    """K(x): how many of their 20 values can lie at or above x."""
    steps = ((box["whisker_low"], 19), (box["q1"], 15), (box["median"], 10), (box["q3"], 5),
             (box["whisker_high"], int(box["outliers"])))  # fmt: skip
    out = np.full(np.shape(x), N)
    for at, most in steps:
        out = np.where(np.asarray(x) > at + UNIT, np.minimum(out, most), out)
    return out


def most_below(x, box: Box) -> np.ndarray:
    """How many of them can lie at or below x."""
    names = {"median": "median", "q1": "q3", "q3": "q1", "whisker_low": "whisker_high", "whisker_high": "whisker_low"}
    return most_above(-np.asarray(x), {k: -box[v] for k, v in names.items()} | {"outliers": box["outliers"]})


def p_rank(runs: np.ndarray, box: Box) -> tuple[float, float]:
    """One-sided bounds: P(ours so far above theirs), P(ours so far below theirs)."""
    null = mann_whitney(len(runs), N)
    return float(null[most_above(runs, box).sum()]), float(null[most_below(runs, box).sum()])


def spread(q1: float, q3: float) -> float:
    return (q3 - q1) / RANGE


def judge(runs: np.ndarray, box: Box, metric: str, family: int) -> dict[str, float | str]:
    """One box. ``runs``: (n,), finite."""
    median, (q1, q3) = float(np.median(runs)), np.quantile(runs, [0.25, 0.75])
    error = MEDIAN * max(spread(q1, q3), spread(box["q1"], box["q3"])) * math.sqrt(1 / len(runs) + 1 / N)
    difference = median - box["median"]
    above, below = p_rank(runs, box)
    p = min(1.0, 2 * min(above, below))
    gap = max(0.0, abs(difference) - UNIT)
    same = gap + student.isf(AGREE, N - 1) * error <= float(margin(metric, box["median"]))
    half = student.isf(AGREE / 2, N - 1) * error
    return {
        "mean": runs.mean(), "median": median, "std": runs.std(ddof=1), "n": len(runs), "difference": difference,
        "low": difference - half, "high": difference + half, "p": p, "p_kind": "rank",
        "verdict": word(p, above < below, same, metric, family),
    }  # fmt: skip


def word(p: float, higher: bool, same: bool, metric: str, family: int) -> str:
    if p <= ANY_FALSE / family:
        return "better" if higher == (METRICS[metric].direction is UP) else "worse"
    if p <= AGREE:
        return "inconclusive"
    return "reproduced" if same else "compatible"


def runs_of(row: Mapping[str, str]) -> np.ndarray:
    return np.array(row["runs"].split(), dtype=np.float64)


def build(scores: pd.DataFrame, family: int) -> pd.DataFrame:
    """One row a published box."""
    names, out = [k for k in KEY if k != "source"], []
    by = {tuple(row[k] for k in names): row for row in scores.to_dict("records")}
    for cell in run.published().to_dict("records"):
        found = by.get(tuple(cell[k] for k in names))
        row = {k: cell[k] for k in KEY} | {
            "reading": "authors",
            "protocol": PROTOCOL,
            # a program of this paper: not the method of the suite with that name
            "our_method": f"raisa2021thesis/{cell['method']}" if found else "",
            "n_published": cell["n_runs"],
            "published_mean": cell["median"],
            "statistic": "median",
        }
        if not found:
            row |= {"verdict": "not_run", "p_kind": "", "reason": REASONS.get(cell["method"], NO_FILE)}
        elif not np.isfinite(values := runs_of(found)).all():
            row |= {"verdict": "diverged", "p_kind": "", "reason": "a chain is too short for a score"}
        else:
            row |= judge(values, box_of(cell), cell["metric"], family) | {"reason": ""}
        out.append(row | {"headline": "yes"})
    return pd.DataFrame(out)


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """A row a method and metric, and a row for all: boxes with a score, how many at p <= 5 %, those whose interval
    leaves out 0, and those where our median is above theirs. Cells of one model and method share chains here, so
    these are no independent trials."""
    rows = []
    told = verdicts[verdicts["p_kind"] == "rank"]
    groups = [*told.groupby(["method", "metric"], sort=False)]
    groups += [(("all", metric), g) for metric, g in told.groupby("metric", sort=False)]
    for (method, metric), g in groups:
        off = (g["low"] > 0) | (g["high"] < 0)
        rows.append({"method": method, "metric": metric, "boxes": len(g), "p_5": int((g["p"] <= AGREE).sum()),
                     "interval_off": int(off.sum()), "ours_above": int((g["difference"] > 0).sum()),
                     "least_p": g["p"].min()})  # fmt: skip
    return pd.DataFrame(rows)
