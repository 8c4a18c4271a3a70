"""Pooled effects: the typical difference of our runs from all published numbers of a source, per metric and reading.

    python -m reports.pooled

writes ``reports/reference/pooled.csv`` from the committed verdicts.

For a metric that is compared by ratio (an error, a norm or a divergence), the effect of one number is ours divided by
the published one. For any other metric it is ours minus the published one, in its unit. Ours is the mean of our runs,
or their median if a single run or a median is published. For a number of one run of a sampler, the effect is the chance
W that one of our runs is above one of theirs, which is 1/2 if both have the same distribution. The pooled effect is the
median over the distinct numbers with a verdict.

A median does not show numbers that are far off. So ``within`` is the share of numbers that differ from ours by at most
the margin of their metric (:func:`reports.verdict.margin`), and ``distance_90`` is the 90 % quantile of the distance:
|ratio - 1|, |difference| or |W - 1/2|.

The last columns say what "compatible" is worth. ``compatible`` counts these numbers. ``shift`` and ``shift_90`` are the
median and the 90 % quantile of the smallest shift that would have been refuted, infinite if no shift would have been.
The shift is a share of the published number for a ratio, and in the metric's unit for a difference. For W it is in
standard deviations of one of our runs. ``no_shift`` is the share of compatible numbers that no shift refutes, and
``quarter`` the share that a shift by a quarter of the published number does not refute (ratios only).

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
from reports.verdict import VERDICTS, margin
from workflow import papers
from workflow.program import stream

NAME = "pooled.csv"
RESAMPLES = 2000
#: smallest number of data sets that are resampled.
FEWEST = 5
COLUMNS = [
    *("source", "metric", "reading", "scale", "unit", "numbers", "left_out", "datasets", "effect", "low", "high"),
    *("joint_test", "joint_p", "within", "distance_90", "compatible", "shift", "shift_90", "no_shift", "quarter"),
]
RATIO, DIFFERENCE, CHANCE = "ratio", "difference", "chance"
#: metric of a number of one run of a sampler.
SAMPLER = "sampler_output"
#: columns of numbers that may be missing.
_EMPTY = {c: [""] for c in ("low", "high", "joint_p", "shift", "shift_90", "no_shift", "quarter")}
#: column of ``joint.csv`` -> the test that gave its p.
_TESTS = {"ks": "Kolmogorov-Smirnov, ranks of the published runs", "mean_square_z": "chi-squared, sum of squared z"}


def scale_of(metric: str) -> str:
    """How two values of a metric are compared: shares and log-likelihoods by difference, others by ratio."""
    if metric == SAMPLER:
        return CHANCE
    of = METRICS[metric].margin
    return RATIO if of.logarithmic or of is OF_ERROR else DIFFERENCE


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    """``rows`` of :func:`reports.scoreboard.rows` with numbers ``ours``, ``theirs`` and ``effect`` (NaN: left out).

    Further columns are ``scale``, ``distance`` of the effect from no effect, whether it is ``within`` the margin, and
    the smallest ``shift`` that would have been refuted. An accuracy is compared as an error, like in its verdict.
    """
    out = rows[rows["verdict"].isin(VERDICTS)].copy()
    number = {c: pd.to_numeric(out.get(c, pd.Series("", out.index))) for c in
              ("mean", "std", "median", "published_mean", "published_error", "chance", "detectable")}  # fmt: skip
    error = out["published_error"] != ""
    out.loc[error, "metric"] = ERROR_OF_ACCURACY
    out.loc[number["chance"].notna(), "metric"] = SAMPLER
    middle = (out["statistic"] == "median") | (out["n_published"] == "1")
    out["ours"] = number["median"].where(middle & number["median"].notna(), number["mean"])
    out["theirs"] = number["published_error"].where(error, number["published_mean"])
    out["scale"] = out["metric"].map(scale_of)
    ratio, chance = out["scale"] == RATIO, out["scale"] == CHANCE
    positive = (out["ours"] > 0) & (out["theirs"] > 0)
    difference = out["ours"] - out["theirs"]
    out["effect"] = np.select(
        [ratio, chance], [(out["ours"] / out["theirs"]).where(positive), number["chance"]], difference
    )
    out["distance"] = (out["effect"] - np.select([ratio, chance], [1.0, 0.5], 0.0)).abs()
    by_factor = out["metric"].map(lambda m: METRICS[m].margin.logarithmic).astype(bool)
    compared = np.select(
        [by_factor, ratio], [np.log(out["effect"].where(by_factor)).abs(), difference.abs()], out["distance"]
    )
    margins = [float(margin(m, t)) for m, t in zip(out["metric"], out["theirs"], strict=True)]
    out["within"] = (compared <= (1 + 1e-12) * np.array(margins)).astype(float)  # 1.1 - 1 is above .1 in binary
    unit = np.select([ratio, chance], [out["theirs"].abs(), number["std"]], 1.0)
    out["shift"] = number["detectable"] / unit
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
             "unit": METRICS[metric].unit.name if scale_of(metric) == DIFFERENCE else "", "numbers": len(group),
             "left_out": len(group) - len(known), "datasets": len(by_set),
             "effect": float(known["effect"].median()), "low": low, "high": high, "joint_test": test, "joint_p": p,
             "within": float(known["within"].mean()), "distance_90": float(known["distance"].quantile(0.9)),
             **worth(group)}
        )  # fmt: skip
    return pd.DataFrame(out, columns=COLUMNS)


def worth(rows: pd.DataFrame) -> dict[str, float]:
    """The last columns of the table, on the compatible numbers of ``rows`` of :func:`effects`. NaN if there is none."""
    mine = rows[rows["verdict"] == "compatible"]
    shift = mine["shift"].to_numpy()
    if not len(shift):
        return {"compatible": 0} | dict.fromkeys(("shift", "shift_90", "no_shift", "quarter"), math.nan)
    half, most = np.quantile(shift, [0.5, 0.9], method="inverted_cdf")  # a number of the list, which may be infinite
    quarter = float((shift > 0.25).mean()) if mine["scale"].iloc[0] == RATIO else math.nan
    return {"compatible": len(shift), "shift": half, "shift_90": most, "no_shift": float(np.isinf(shift).mean()),
            "quarter": quarter}  # fmt: skip


def read(folder: Path = reference.FOLDER) -> pd.DataFrame:
    """The committed table."""
    return pd.read_csv(folder / NAME, keep_default_na=False, na_values=_EMPTY)


def text(row) -> str:
    """An effect with its interval, such as "1.002 [0.972, 1.024]". A difference has a sign.

    It has three decimals, or as many (up to seven) as give the width of the interval two digits.
    """
    width = row["high"] - row["low"]
    digits = min(7, max(3, 1 - math.floor(math.log10(width)))) if width > 0 else 3
    form = f"+.{digits}f" if row["scale"] == DIFFERENCE else f".{digits}f"
    ends = "" if math.isnan(width) else f" [{row['low']:{form}}, {row['high']:{form}}]"
    return f"{row['effect']:{form}}{ends}"


def shift_text(row, column: str = "shift") -> str:
    """A quantile of the smallest shift that would have been refuted, with its unit; "none" if it is infinite."""
    size = row[column]
    if math.isnan(size) or math.isinf(size):
        return "" if math.isnan(size) else "none"
    if row["scale"] == RATIO:
        return f"{100 * size:.2g} %" if size < 1 else f"{100 * size:,.0f} %"
    return f"{size:.2g} {row['unit'] or 'sd of a run'}"


def shown(row) -> dict[str, object]:
    """A row of the table with what pages print of it.

    title : its measure.
    scale_text : the scale with its unit.
    text, within_text, far, shift_text, shift_90_text : the columns effect, within, distance_90, shift and shift_90.
    """
    title = METRICS[row["metric"]].title
    unit = f" ({row['unit']})" if row["unit"] else ""
    return {
        **row,
        "metric_title": f"{title}, chance that ours is above" if row["scale"] == CHANCE else title,
        "scale_text": row["scale"] + unit,
        "text": text(row),
        "within_text": f"{100 * row['within']:.0f} %",
        "far": f"{row['distance_90']:.2g}" if row["distance_90"] < 100 else f"{row['distance_90']:,.0f}",
        "shift_text": shift_text(row),
        "shift_90_text": shift_text(row, "shift_90"),
    }


def write() -> None:
    """Write the committed table again."""
    write_csv(reference.FOLDER / NAME, build(scoreboard.rows()))


if __name__ == "__main__":
    write()
