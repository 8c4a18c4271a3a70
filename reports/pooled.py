"""Pooled effects: the typical difference of our runs from all published numbers of a source, per metric and reading.

    python -m reports.pooled

writes ``reports/reference/pooled.csv`` from the committed verdicts.

For a metric that is compared by ratio (an error, a norm or a divergence), the effect of one number is ours divided by
the published one. For any other metric it is ours minus the published one, in its unit. Ours is the mean of our runs,
or their median if a single run or a median is published. The pooled effect is the median over the distinct numbers with
a verdict.

``low`` and ``high`` are its 95 % interval. Whole data sets are resampled 2,000 times, because numbers of one data set
may share runs. If there are fewer than five data sets, there is no interval. ``left_out`` counts numbers without a
ratio, because one of the two is not above 0. ``joint_test`` and ``joint_p`` are for all numbers of the source and
reading together, from its ``joint.csv``, if there is one.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from datasets.files import write_csv
from evaluation.metrics import ERROR_OF_ACCURACY, METRICS, OF_ERROR
from reports import reference, scoreboard
from reports.verdict import VERDICTS
from workflow import papers
from workflow.program import stream

NAME = "pooled.csv"
RESAMPLES = 2000
#: smallest number of data sets that are resampled.
FEWEST = 5
COLUMNS = [
    *("source", "metric", "reading", "scale", "unit", "numbers", "left_out", "datasets", "effect", "low", "high"),
    *("joint_test", "joint_p"),
]
RATIO, DIFFERENCE = "ratio", "difference"
#: column of ``joint.csv`` -> the test that gave its p.
_TESTS = {"ks": "Kolmogorov-Smirnov, ranks of the published runs", "mean_square_z": "chi-squared, sum of squared z"}


def scale_of(metric: str) -> str:
    """How two values of a metric are compared: shares and log-likelihoods by difference, others by ratio."""
    margin = METRICS[metric].margin
    return RATIO if margin.logarithmic or margin is OF_ERROR else DIFFERENCE


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` of :func:`reports.scoreboard.rows` with numbers ``ours``, ``theirs`` and ``effect`` (NaN: left out).

    An accuracy is compared as an error, like in its verdict. A number of one run of a sampler is not a metric and has
    no effect.
    """
    out = rows[rows["verdict"].isin(VERDICTS)].copy()
    error = out["published_error"] != ""
    out.loc[error, "metric"] = ERROR_OF_ACCURACY
    known = out["metric"].isin(METRICS)
    out, error = out[known].copy(), error[known]
    number = {c: pd.to_numeric(out[c]) for c in ("mean", "median", "published_mean", "published_error")}
    middle = (out["statistic"] == "median") | (out["n_published"] == "1")
    out["ours"] = number["median"].where(middle & number["median"].notna(), number["mean"])
    out["theirs"] = number["published_error"].where(error, number["published_mean"])
    ratio = out["metric"].map(scale_of) == RATIO
    positive = (out["ours"] > 0) & (out["theirs"] > 0)
    out["effect"] = np.where(ratio, (out["ours"] / out["theirs"]).where(positive), out["ours"] - out["theirs"])
    return out


def interval(values: dict[str, np.ndarray], rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the median over all ``values`` (data set -> effects) by resampling data sets."""
    if len(values) < FEWEST:
        return math.nan, math.nan
    sets = list(values.values())
    chosen = rng.integers(len(sets), size=(RESAMPLES, len(sets)))
    medians = [np.median(np.concatenate([sets[i] for i in row])) for row in chosen]
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(low), float(high)


def joint(source: str, reading: str) -> tuple[str, float]:
    """The joint test of a source and its p, or "" and NaN if there is none."""
    for paper, _ in papers.programs().values():
        path = paper.reference / "joint.csv"
        if source in paper.sources and path.is_file():
            told = pd.read_csv(path)
            of = next((c for c in ("method", "table") if c in told), "")
            name = next((t for column, t in _TESTS.items() if column in told), "")
            if name and {"reading", "p"} <= set(told):
                found = told.loc[(told["reading"] == reading) & (told[of] == "all"), "p"]
                return (name, float(found.item())) if len(found) else ("", math.nan)
    return "", math.nan


def build(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per source, metric and reading that can be a reproduction, columns ``COLUMNS``."""
    out = []
    told = effects(rows[rows["reading"].isin(scoreboard.ORDER)])
    for (source, metric, reading), group in told.groupby(["source", "metric", "reading"], sort=False):
        known = group[group["effect"].notna()]
        by_set = {d: g["effect"].to_numpy() for d, g in known.groupby("dataset", sort=True)}
        low, high = interval(by_set, stream("pooled", source, metric, reading))
        test, p = joint(source, reading)
        out.append(
            {"source": source, "metric": metric, "reading": reading, "scale": scale_of(metric),
             "unit": "" if scale_of(metric) == RATIO else METRICS[metric].unit.name, "numbers": len(group),
             "left_out": len(group) - len(known), "datasets": len(by_set),
             "effect": float(known["effect"].median()), "low": low, "high": high, "joint_test": test, "joint_p": p}
        )  # fmt: skip
    return pd.DataFrame(out, columns=COLUMNS)


def read(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """The committed table."""
    return pd.read_csv(folder / NAME, keep_default_na=False, na_values={c: [""] for c in ("low", "high", "joint_p")})


def text(row) -> str:
    """An effect with its interval, such as "1.002 [0.972, 1.024]". A difference has a sign.

    It has three decimals, or as many (up to seven) as give the width of the interval two digits.
    """
    width = row["high"] - row["low"]
    digits = min(7, max(3, 1 - math.floor(math.log10(width)))) if width > 0 else 3
    form = f".{digits}f" if row["scale"] == RATIO else f"+.{digits}f"
    ends = "" if math.isnan(width) else f" [{row['low']:{form}}, {row['high']:{form}}]"
    return f"{row['effect']:{form}}{ends}"


def write() -> None:
    """Write the committed table again."""
    write_csv(reference.FOLDER / NAME, build(scoreboard.rows()))


if __name__ == "__main__":
    write()
