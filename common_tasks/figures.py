"""Figures of the common tasks: score against epsilon, coverage, reliability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from common_tasks.scores import (
    BARE,
    FREE_YARDSTICK,
    PRIVATE,
    PRIVATE_YARDSTICK,
    REFERENCE,
    Family,
    higher,
    name_of,
)
from evaluation.intervals import binomial_band
from evaluation.metrics import METRICS
from evaluation.paired import half_width
from reports import palette, style
from reports.blocks import Figure

#: background of text that is drawn over lines.
PLATE = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.6}
#: the axis extends beyond the worst baseline by this share of its distance from the best score, ...
BEYOND = 0.6
#: ... but not further than needed to show this share of the private scores, plus this margin.
SHOWN, MORE = 0.85, 1.3
#: epsilon -> look in the figure of coverage.
EPSILON_LOOKS = ((style.RED, "s"), (style.BLUE, "o"), (style.GREEN, "D"), (style.ORANGE, "v"))
NOMINAL = 0.90
#: table of ``common_tasks.reliability``, and the smallest number of predictions of a bin that is drawn.
RELIABILITY = "common_reliability.csv"
FEWEST = 50


def build(folder: Path, families: Sequence[Family], sizes: pd.DataFrame, extra: Path | None = None) -> list[Figure]:
    """Every figure for which the families have scores.

    ``sizes``: columns dataset, n (rows), from ``tables.data_info``; ``extra``: folder of the tables that are not
    scores.
    """
    drawn: list[Figure | None] = []
    for family in families:
        drawn += [curves(folder, family, metric) for metric in family.metrics]
    drawn += [coverage(folder, family, sizes) for family in families]
    if extra and (extra / RELIABILITY).is_file():
        table = pd.read_csv(extra / RELIABILITY, keep_default_na=False)
        drawn += [reliability(folder, family, table) for family in families]
    return [f for f in drawn if f is not None]


def points(family: Family, metric: str) -> pd.DataFrame:
    """One row per data set and arm with a score: mean, sd, n, and half width of the 95 % interval of the mean."""
    rows = []
    for (dataset, arm, m), r in family.summary.items():
        if m == metric and arm in family.arms:
            key = {"dataset": dataset, "method": arm.method, "setting": arm.setting, "title": name_of(arm, family.kind)}
            key |= {"group": arm.role, "epsilon": arm.epsilon, "tuned": arm.tuned, "metric": metric}
            numbers = {k: r[k] for k in ("mean", "std", "n")}
            rows.append({**key, **numbers, "half_width": half_width(r["std"], r["n"])})
    columns = ["dataset", "method", "setting", "title", "group", "epsilon", "tuned", "metric", "mean", "std", "n"]
    return pd.DataFrame(rows, columns=[*columns, "half_width"])


def limits(table: pd.DataFrame, metric: str) -> tuple[float, float]:
    """Limits of a panel, from the best score to a little beyond the worst baseline (or the median of all scores).

    They are closer if most private scores are close, so that a few distant ones do not compress the others.
    """
    values, bars = table["mean"], table["half_width"].fillna(0.0)
    sign = METRICS[metric].direction
    good = float((sign * values).max())
    marks = table[table["group"].isin([PRIVATE_YARDSTICK, FREE_YARDSTICK, REFERENCE])]
    marks = marks[marks["group"] != PRIVATE_YARDSTICK] if (marks["group"] == FREE_YARDSTICK).any() else marks
    bad = float((sign * marks["mean"]).min()) if len(marks) else float((sign * values).median())
    reach = good - bad if good > bad else max(abs(good), 1.0) * 0.1
    worst = float((sign * values - bars).min())
    private = sign * values[table["epsilon"] != ""]
    most = good - MORE * (good - float(private.quantile(1 - SHOWN))) if len(private) else -math.inf
    end = max(bad - BEYOND * reach, worst - 0.08 * reach, most if most < good else -math.inf)
    ends = sorted((sign * (good + 0.08 * (good - end)), sign * end))
    return ends[0], ends[1]


def curves(folder: Path, family: Family, metric: str) -> Figure | None:
    """Score against epsilon, one panel per data set. Tuned settings are only in tables."""
    name = f"common_{family.task}_{metric}"
    table = points(family, metric)
    table = table[~table["tuned"].astype(bool)]
    if not (table["group"] == PRIVATE).any():
        return style.skip(name, "no score of a private method")
    sets = [d for d in family.datasets if (table["dataset"] == d).any()]
    handles: dict[str, Any] = {}
    methods: dict[str, str] = {}
    with style.panels(len(sets), panel=3.3) as (figure, axes):
        for ax, dataset in zip(axes.flat, sets, strict=False):
            here = table[table["dataset"] == dataset]
            _panel(ax, here, metric, handles, methods)
            ax.set_title(family.set_title(dataset))
            ax.set_ylabel(METRICS[metric].heading, fontsize=8)
            ax.set_xlabel("epsilon (delta = 1e-5)", fontsize=8)
        style.legend(figure, handles, methods, size=7.5)
        style.save(figure, folder / name, table)
    return Figure(
        name,
        f"{METRICS[metric].title.capitalize()} against epsilon: {family.title.partition(':')[0]}",
        f"Mean over splits with 95 % intervals, default settings, points shifted sideways so that they stay apart; "
        f"{'higher' if higher(metric) else 'lower'} is better. Lines without markers have no privacy, bands "
        "are references among them. An arrow at the edge is a score beyond it, its number in the table. Splits move "
        "all methods together: the table has the paired comparisons, and the bars do not show them.",
    )


def _panel(ax: Any, here: pd.DataFrame, metric: str, handles: dict[str, Any], methods: dict[str, str]) -> None:
    low, high = limits(here, metric)
    look = palette.looks(here["method"])
    free = here[(here["epsilon"] == "") & here["group"].isin([REFERENCE, FREE_YARDSTICK])]
    for r in free.to_dict("records"):
        own = look[r["method"]]
        if r["group"] == REFERENCE and math.isfinite(r["half_width"]):
            ends = r["mean"] - r["half_width"], r["mean"] + r["half_width"]
            ax.axhspan(*ends, color=own.colour, alpha=0.15, linewidth=0)
        words = f"{r['title']} (no privacy)"
        methods[words] = r["method"]
        handles[words] = ax.axhline(r["mean"], color=own.colour, linestyle=own.dashes, linewidth=1.1)
    for k, r in enumerate(free[~free["mean"].between(low, high)].to_dict("records")):
        below = r["mean"] < low
        height, sign = (0.12 + 0.055 * k, "below") if below else (0.88 - 0.055 * k, "above")
        ax.text(0.98, height, f"{r['title']}: {r['mean']:.3g}, {sign}", transform=ax.transAxes, ha="right",
                va="bottom" if below else "top", fontsize=6.5, color=style.GREY, bbox=PLATE)  # fmt: skip
    private = here[here["epsilon"] != ""].assign(at=lambda t: t["epsilon"].astype(float))
    lines = list(private.groupby(["method", "title", "group"], sort=False))
    lines.sort(key=lambda pair: (palette.place(pair[0][0]), pair[0][1]))
    before: dict[str, int] = {}
    for k, ((method, words, group), line) in enumerate(lines):
        line = line.sort_values("at")
        at = line["at"] * 1.05 ** (k - (len(lines) - 1) / 2)  # side by side
        kind = look[method].line(variant=before.get(method, 0)) | {"linewidth": 1.0}
        before[method] = 1  # a second line of a method has another setting
        words += {BARE: " (no guarantee)", PRIVATE_YARDSTICK: " (baseline)"}.get(group, "")
        methods[words] = method
        bars = line["half_width"].where(line["mean"].between(low, high)).fillna(0.0)
        drawn = ax.errorbar(at, line["mean"], yerr=bars, elinewidth=0.7, markersize=4.2, **kind)
        for bar in drawn.lines[2]:
            bar.set_alpha(0.35)
        handles.setdefault(words, drawn)
        for x, y in zip(at, line["mean"], strict=True):
            if not low <= y <= high:
                _beyond(ax, x, low if y < low else high, y < low, kind)
    ax.set_xscale("log")
    ticks = sorted(private["at"].unique())
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_ylim(low, high)
    ax.tick_params(labelsize=8)


def _beyond(ax: Any, x: float, edge: float, below: bool, kind: dict[str, Any]) -> None:
    """A marker with an arrow at the edge of a panel, for a score beyond the axis."""
    from matplotlib.transforms import offset_copy

    inside = (0, 11) if below else (0, -11)
    ax.annotate(
        "", xy=(x, edge), xytext=inside, textcoords="offset points",
        arrowprops={"arrowstyle": "-|>", "color": kind["color"], "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    at = offset_copy(ax.transData, ax.figure, *inside, units="points")
    ax.plot([x], [edge], transform=at, markersize=4.2, **kind | {"linestyle": "none"})


def coverage(folder: Path, family: Family, sizes: pd.DataFrame) -> Figure | None:
    """Coverage of 90 % predictive intervals by method and epsilon, one panel per data set."""
    name, metric = f"common_{family.task}_coverage", f"coverage_{round(100 * NOMINAL)}"
    table = points(family, metric)
    table = table[~table["tuned"].astype(bool)]
    sets = [d for d in family.datasets if (table["dataset"] == d).any()]
    if not sets:
        return None  # a family without intervals
    arms = sorted(family.arms, key=lambda a: (palette.place(a.method), a.setting))
    order = list(dict.fromkeys(name_of(a, family.kind) for a in arms))
    order = [t for t in order if (table["title"] == t).any()]
    columns = min(3, len(sets))
    handles: dict[str, Any] = {}
    rows_of = dict(zip(sizes["dataset"], sizes["n"], strict=True))
    with style.panels(len(sets), columns, panel=0.9 + 0.15 * len(order)) as (figure, axes):
        for k, (ax, dataset) in enumerate(zip(axes.flat, sets, strict=False)):
            if str(n := rows_of.get(dataset, "")).isdigit():
                low, high = binomial_band(NOMINAL, held_out(int(n)))
                handles["95 % of right test sets"] = ax.axvspan(low, high, color=style.LIGHT, linewidth=0)
            ax.axvline(NOMINAL, color=style.BLACK, linewidth=0.8)
            _coverage_panel(ax, family, table[table["dataset"] == dataset], order, handles)
            ax.set_yticks(range(len(order)), order if k % columns == 0 else [""] * len(order), fontsize=7)
            ax.set_title(family.set_title(dataset))
        style.legend(figure, handles)
        style.save(figure, folder / name, table)
    return Figure(
        name,
        f"Coverage of 90 % predictive intervals: {family.title.partition(':')[0]}",
        "Mean over splits of the share of test targets inside the central 90 % interval, default settings. Line: "
        "90 %; grey band: where 95 % of all test sets of that size would lie if every interval were right (binomial). "
        "Left of it intervals are too narrow. A method without privacy shows what the model itself can do: its error "
        "is no noise of privacy.",
    )


def held_out(n: int) -> int:
    """Number of test rows in a 90/10 split of n rows (``datasets.protocols.splits.literature``)."""
    return n - (18 * n + 10) // 20


def _coverage_panel(ax: Any, family: Family, here: pd.DataFrame, order: list[str], handles: dict[str, Any]) -> None:
    for k, epsilon in enumerate(["", *family.epsilons]):
        part = here[here["epsilon"] == epsilon]
        colour, marker = (style.BLACK, "x") if not epsilon else EPSILON_LOOKS[(k - 1) % len(EPSILON_LOOKS)]
        height = [
            order.index(t) + (0.16 * (k - (len(family.epsilons) + 1) / 2) if epsilon else 0) for t in part["title"]
        ]
        words = f"epsilon = {epsilon}" if epsilon else "without privacy"
        (drawn,) = ax.plot(part["mean"], height, color=colour, marker=marker, markersize=4, linestyle="none")
        handles.setdefault(words, drawn)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("share of test targets", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)


def reliability(folder: Path, family: Family, table: pd.DataFrame) -> Figure | None:
    """Share of correct labels against confidence: one row of panels per data set, one panel per epsilon.

    ``table``: from ``common_tasks.reliability``. None for a family without rows there.
    """
    name = f"common_{family.task}_reliability"
    cells = set(family.scores["cell"])
    table = table[table["cell"].isin(cells) & (table["count"] >= FEWEST)]
    if table.empty or not family.epsilons:
        return None
    sets = [d for d in family.datasets if (table["dataset"] == d).any()]
    handles: dict[str, Any] = {}
    methods: dict[str, str] = {}
    with style.canvas(len(sets), len(family.epsilons), panel=3.3) as (figure, axes):
        for dataset, line_of_axes in zip(sets, axes, strict=True):
            for epsilon, ax in zip(family.epsilons, line_of_axes, strict=True):
                ax.plot([0.5, 1], [0.5, 1], color=style.LIGHT, linewidth=2.5)
                arms = [*family.of(REFERENCE, column=("", False)), *family.of(PRIVATE, column=(epsilon, False))]
                for arm in sorted(arms, key=lambda a: palette.place(a.method)):
                    here = table[(table["method"] == arm.method) & (table["setting"] == arm.setting)]
                    here = here[here["dataset"] == dataset].sort_values("bin")
                    if len(here):
                        words = name_of(arm, family.kind) + ("" if arm.epsilon else " (no privacy)")
                        methods[words] = arm.method
                        kind = palette.look(arm.method).line()
                        kind |= (
                            {"linewidth": 0.9, "markersize": 3.2} if arm.epsilon else {"linewidth": 2.2, "marker": ""}
                        )
                        (drawn,) = ax.plot(here["confidence"], here["accuracy"], **kind)
                        handles.setdefault(words, drawn)
                ax.set_xlim(0.49, 1.01)
                ax.set_ylim(0.35, 1.02)
                ax.set_title(f"{family.set_title(dataset)}, epsilon = {epsilon}", fontsize=9)
                ax.set_xlabel("confidence", fontsize=8)
                ax.set_ylabel("share of right labels", fontsize=8)
                ax.tick_params(labelsize=8)
        style.legend(figure, handles, methods, size=7.5)
        style.save(figure, folder / name, table)
    return Figure(
        name,
        f"Reliability of class probabilities: {family.title.partition(':')[0]}",
        "Test predictions of all splits in 15 bins of equal width by the probability of the more probable class, "
        "default settings. On the grey line probabilities are true, below it they are too sure, above it too timid. "
        f"Bins of fewer than {FEWEST} predictions are left out; the error of calibration in the table has them all.",
    )
