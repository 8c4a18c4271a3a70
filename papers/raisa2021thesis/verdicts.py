"""Verdicts on the published boxes: could this box have come from our implementation?

A box is what is left of N = 20 chains: median, quartiles, whiskers and the number of points beyond them. Ours are n =
20 chains with the same data and from the same starts. Their evidence is that of a box plot (``reports.evidence.box``),
whose p is calibrated by simulation (``checks.calibration``). Shared starts make the two sides move together, which
lowers the rate of false words (``checks.rates`` measures how far).

Lower counts as better for MMD and for the share of clipped ratios, higher for the acceptance rate; of the last two this
is a convention. The margin is that of an error (10 %) for MMD, and that of a share (25 %) for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from papers.raisa2021thesis import PAPER, run
from papers.raisa2021thesis.run import KEY
from reports.evidence import AGREE, Box, Kind, Runs, box
from reports.verdict import Case, judge
from workflow.program import read_scores

PROTOCOL = "one_generated_table"
#: one unit of the last digit of a number of a box.
UNIT = 1e-5
#: published chains of a box.
N = 20
_MINIBATCHES = (
    "not run here: minibatches, with an accountant that is not one of this suite; remedy: an accountant of subsampled "
    "Gaussian noise on log-likelihood ratios, and chains on minibatches"
)
REASONS = {
    "dp_penalty_minibatch": _MINIBATCHES,
    "dp_penalty_minibatch_ocu_gwmh": _MINIBATCHES,
    "dp_barker": "not run here: a minibatch test of its own (Heikkilä et al. 2019), not built; remedy: that test, with "
    "its accountant",
}
NO_FILE = "no score file of this model and method"


def box_of(cell: Mapping[str, object]) -> Box:
    """The box of a row of ``published.csv``."""
    numbers = {k: float(str(cell[k])) for k in ("median", "q1", "q3", "whisker_low", "whisker_high")}
    return Box(**numbers, outliers=int(str(cell["outliers"])), unit=UNIT, n=N)


def kind_of(calibration: pd.DataFrame) -> Kind:
    """The evidence of a box, with p as ``checks.calibration`` has it."""
    pairs = list(zip(calibration["p"].astype(float), calibration["bound"].astype(float), strict=True))
    return partial(box, calibration=pairs)


def compared(values: np.ndarray, runs: Runs, family: int) -> dict[str, float | str]:
    """The columns of one box. ``values`` (n,): ours, finite."""
    found = judge(runs, family=family)
    return {
        "mean": values.mean(), "median": float(np.median(values)), "std": values.std(ddof=1), "n": len(values),
        "difference": found.difference, "low": found.low, "high": found.high, "p": found.p, "p_kind": found.p_kind,
        "verdict": found.verdict,
    }  # fmt: skip


def runs_of(row: Mapping[str, str]) -> np.ndarray:
    return np.array(row["runs"].split(), dtype=np.float64)


def build(scores: pd.DataFrame, family: int, calibration: pd.DataFrame) -> pd.DataFrame:
    """One row a published box. ``calibration``: of ``checks.calibration``."""
    kind = kind_of(calibration)
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
            row |= compared(values, Runs(box_of(cell), values, cell["metric"], kind), family) | {"reason": ""}
        out.append(row | {"headline": "yes"})
    return pd.DataFrame(out)


def cases(reference: Path) -> Iterator[Case]:
    """The boxes that were run, for the ceiling."""
    scores = {tuple(row[k] for k in KEY[1:]): row for row in read_scores(reference / "scores").to_dict("records")}
    kind, family = kind_of(pd.read_csv(reference / "calibration.csv")), PAPER.family
    for cell in run.published().to_dict("records"):
        found = scores.get(tuple(cell[k] for k in KEY[1:]))
        if found and np.isfinite(values := runs_of(found)).all():
            key = (*(cell[k] for k in KEY), "authors")
            yield Case(key, Runs(box_of(cell), values, cell["metric"], kind), family)


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
