"""Verdicts on the published box plots: could this box plot have come from our implementation?

A box plot summarises N = 20 chains by median, quartiles, whiskers and the number of points beyond them. Ours are n = 20
chains with the same data and the same starts. The evidence is that of a box plot (``reports.evidence.box``), whose p is
calibrated by simulation (``checks.calibration``). Shared starts make the two sides move together, which lowers the rate
of false verdicts. ``checks.rates`` measures by how much.

Lower counts as better for MMD and for the share of clipped ratios, higher for the acceptance rate. For the last two
this is a convention. The margin is that of an error (10 %) for MMD, and that of a share (25 %) for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from papers.raisa2021thesis import PAPER, run
from reports.evidence import AGREE, Box, Runs, box
from reports.program import Numbers, said
from reports.verdict import Case, Verdict
from workflow.published import KEY

#: one unit of the last digit of a number in a box plot.
UNIT = 1e-5
#: number of published chains per box plot.
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
    """The box plot of a row of ``published.csv``."""
    numbers = {k: float(str(cell[k])) for k in ("median", "q1", "q3", "whisker_low", "whisker_high")}
    return Box(**numbers, outliers=int(str(cell["outliers"])), unit=UNIT, n=N)


def values_of(row: Mapping[str, str]) -> np.ndarray:
    """Our chains' numbers (n,) in a score row."""
    return np.array(row["runs"].split(), dtype=np.float64)


def columns(cell: Mapping[str, str], row: Mapping[str, str], found: Verdict) -> dict[str, float | str]:
    """The columns of the verdict on one box plot that was run."""
    values = values_of(row)
    return {
        "mean": values.mean(), "median": float(np.median(values)), "std": values.std(ddof=1), "n": len(values),
    } | said(found)  # fmt: skip


def numbers(checks: Path) -> Numbers:
    """The box plots and how they are judged. p is calibrated by ``checks.calibration`` from the folder ``checks``."""
    calibration = pd.read_csv(checks / "calibration.csv")
    kind = partial(box, calibration=[*zip(calibration["p"], calibration["bound"], strict=True)])
    return Numbers(
        paper=PAPER,
        protocol="one_generated_table",
        cells=lambda: run.published().assign(mean=lambda f: f["median"], n_published=lambda f: f["n_runs"]),
        names=KEY[1:],
        readings=lambda cell: ("authors",),
        judged=lambda cell, row: Runs(box_of(cell), values_of(row), cell["metric"], kind),
        columns=columns,
        named=lambda cell: {"statistic": "median"},
        absent=lambda cell: ("not_run", REASONS.get(cell["method"], NO_FILE)),
    )


def cases(reference: Path) -> Iterator[Case]:
    """The box plots that were run, for the ceiling."""
    return numbers(reference).cases(reference)


def runs(reference: Path) -> dict[tuple[str, ...], np.ndarray]:
    """(a box plot's six keys, reading) -> our chains."""
    return numbers(reference).runs(reference)


def joint(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Counts of box plots by method and metric, and over all methods.

    Columns: boxes with a score, how many have p <= 5 %, those whose interval excludes 0, and those where our median is
    above the published one. Box plots of one model and method share chains here, so these are not independent trials.
    """
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
