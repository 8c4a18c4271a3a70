"""Figures of the networks on UCI data.

Each is drawn only from verdicts and scores, and left out if they have no data.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import datasets
from evaluation.metrics import METRICS
from evaluation.paired import half_width
from evaluation.summary import summarise
from reports import palette, style
from reports.blocks import Figure
from reports.config import READING_TITLES
from reports.published import METHOD_TITLES
from reports.tables import dataset_title, method_title, natural

SOURCE = "vinaroz2023dpsep"
COLUMNS = ("ep", "sep", "clipped_sep", "dp_sep", "vi", "dp_vi")
BASELINES = ("ridge", "predict_mean")
#: reference lines of the curve over settings: the method with its own schedule, and private and non-private linear
#: regression.
CURVE_LINES = ("dp_sep_corrected", "adassp", "ridge")
#: ratio of largest to smallest value from which a panel has a logarithmic axis. With negative values, one must also
#: exceed FAR in absolute value.
LOG_FROM, FAR = 8.0, 50.0
_INTERVAL = (
    "Bars: 95 % intervals of the mean over splits, corrected for splits that share rows (Nadeau and Bengio 2003); "
    "a single run has none."
)


def build(
    folder: Path, config: dict[str, Any], verdicts: pd.DataFrame, scores: pd.DataFrame, every: pd.DataFrame
) -> list[Figure]:
    """Draw every figure for which this experiment has data, into ``folder``. ``every``: scores of all experiments."""
    drawn = []
    for draw, source in ((rmse, scores), (clip, scores), (corrected_curve, every)):
        figure = draw(folder, config, verdicts, source)
        if figure is not None:
            drawn.append(figure)
    return drawn


def rmse(folder: Path, config: dict, verdicts: pd.DataFrame, scores: pd.DataFrame) -> Figure | None:
    """Published RMSE of table 3 and ours by reading, one panel per data set, with the two baselines."""
    name = "dpsep_uci_rmse"
    if SOURCE not in config["sources"]:
        return None
    rows = _published(verdicts, "3")
    ours = rows[np.isfinite(rows["mean"].astype(float))]
    sets = [d for d in dict.fromkeys(rows["dataset"]) if d in set(ours["dataset"])]
    if not sets:
        return style.skip(name, "no score for table 3")
    lines = _means(scores, "rmse")
    lines = lines[lines["method"].isin(BASELINES)]
    data = []
    with style.panels(len(sets)) as (figure, axes):
        for ax, d in zip(axes.flat, sets, strict=False):
            here, panel = rows[rows["dataset"] == d], []
            for k, method in enumerate(COLUMNS):
                part = here[here["method"] == method]
                if len(part):
                    panel += _panel_column(ax, k, part, width=0.8)
            for method in BASELINES:
                found = lines[(lines["dataset"] == d) & (lines["method"] == method)]
                if len(found):  # the authors' splits if both exist: most published columns use them
                    r = found.sort_values("protocol").iloc[0]
                    ax.axhline(r["mean"], linewidth=1.1, zorder=1, **_level(method))
                    keep = ("dataset", "method", "protocol", "mean", "std", "n")
                    panel.append({**{c: r[c] for c in keep}, "what": "baseline"})
            data += panel
            ax.set_title(dataset_title(d))
            ax.set_xticks(range(len(COLUMNS)), [METHOD_TITLES[m] for m in COLUMNS], rotation=35, ha="right")
            ax.set_ylabel(f"test RMSE{_unit(d)}")
            _scale(ax, *_reached(panel))
        _legend(figure, [*_marks(ours), *_baseline_marks()])
        style.save(figure, folder / name, pd.DataFrame(data))
    return Figure(
        name,
        "Test RMSE: published and ours",
        "Black line and grey band: the published mean and one published standard deviation. Dots: ours, by reading. "
        f"{_INTERVAL} Dashed: linear regression (ridge); dotted: the training mean. Lower is better.",
    )


def clip(folder: Path, config: dict, verdicts: pd.DataFrame, scores: pd.DataFrame) -> Figure | None:
    """Published RMSE and log-likelihood of tables 8 and 9 against the clipping norm, and ours."""
    name = "dpsep_uci_clip"
    if SOURCE not in config["sources"]:
        return None
    both = [(t, m, _published(verdicts, t)) for t, m in (("8", "test RMSE"), ("9", "test log-likelihood"))]
    kept = [(t, m, r[r["reading"].isin(("printed", "authors"))]) for t, m, r in both]
    scored = {d for _, _, r in kept for d in r.loc[np.isfinite(r["mean"].astype(float)), "dataset"]}
    sets = [d for d in dict.fromkeys(d for _, _, r in kept for d in r["dataset"]) if d in scored]
    if not sets:
        return style.skip(name, "no score for tables 8 and 9")
    data = []
    # Data sets go down and the two metrics across: six small rows stay readable at the width of a page.
    with style.canvas(len(sets), 2, panel=2.0) as (figure, axes):
        for i, d in enumerate(sets):
            for j, (_, metric, rows) in enumerate(kept):
                ax, here, panel = axes[i, j], rows[rows["dataset"] == d], []
                norms = sorted({_clip(s) for s in here["setting"]}, key=natural)
                for k, norm in enumerate(norms):
                    part = here[[_clip(s) == norm for s in here["setting"]]]
                    panel += _panel_column(ax, k, part, width=0.7)
                data += panel
                first = here.drop_duplicates("setting")
                trend = {_clip(s): float(m) for s, m in zip(first["setting"], first["published_mean"], strict=True)}
                ax.plot(range(len(norms)), [trend[n] for n in norms], color=style.PUBLISHED, linewidth=0.8, zorder=2)
                ax.set_xticks(range(len(norms)), norms)
                ax.set_xlabel("clipping norm C")
                ax.set_ylabel(f"{metric}{_unit(d) if metric == 'test RMSE' else ' (nats)'}")
                ax.set_title(dataset_title(d))
                _scale(ax, *_reached(panel))
        used = pd.concat([r[np.isfinite(r["mean"].astype(float))] for _, _, r in kept])
        _legend(figure, _marks(used))
        style.save(figure, folder / name, pd.DataFrame(data))
    return Figure(
        name,
        "DP-SEP against the clipping norm C",
        f"Black: the published trend of tables 8 and 9 with one published standard deviation. Dots: ours. {_INTERVAL}",
    )


def corrected_curve(folder: Path, config: dict, verdicts: pd.DataFrame, scores: pd.DataFrame) -> Figure | None:
    """RMSE of the corrected method over two of its settings, read from labels such as ``damping=0.01;clip=1``."""
    name = "dpsep_corrected_curve"
    if config["experiment"] != name:
        return None
    every = _means(scores, "rmse")
    cells = every[every["experiment"] == name]
    grid = [{**r, "at": at} for r in cells.to_dict("records") if len(at := settings_of(r["setting"])) == 2]
    keys = {tuple(r["at"]) for r in grid}
    if len(keys) != 1:
        return style.skip(name, "no score with two settings in its label")
    along, apart = sorted(keys.pop(), key=lambda k: -len({r["at"][k] for r in grid}))
    series = sorted({r["at"][apart] for r in grid})
    sets = list(dict.fromkeys(r["dataset"] for r in grid))
    others = every[(every["experiment"] != name) & (every["setting"] == "") & every["protocol"].isin(cells["protocol"])]
    lines = others[others["method"].isin(CURVE_LINES)].drop_duplicates(["dataset", "method", "protocol"])
    data: list[dict[str, Any]] = []
    methods: dict[str, str] = {}
    with style.canvas(1, len(sets)) as (figure, axes):
        for ax, d in zip(axes.flat, sets, strict=True):
            panel: list[dict[str, Any]] = []
            for k, value in enumerate(series):
                colour, marker = style.SERIES[k % len(style.SERIES)]
                part = sorted((r for r in grid if r["dataset"] == d and r["at"][apart] == value),
                              key=lambda r: r["at"][along])  # fmt: skip
                bars = np.nan_to_num([half_width(r["std"], r["n"]) for r in part])
                x = [r["at"][along] for r in part]
                ax.errorbar(x, [r["mean"] for r in part], yerr=bars, color=colour, marker=marker, markersize=4,
                            linewidth=1.1, elinewidth=0.9, label=f"{apart} = {value:g}")  # fmt: skip
                panel += [{"dataset": d, "method": r["method"], **r["at"], "mean": r["mean"], "std": r["std"],
                           "n": r["n"], "what": "ours", "low": r["mean"] - b, "high": r["mean"] + b}
                          for r, b in zip(part, bars, strict=True)]  # fmt: skip
            for k, method in enumerate(CURVE_LINES):
                for r in lines[(lines["dataset"] == d) & (lines["method"] == method)].to_dict("records"):
                    label = method_title(method) + (", by its schedule" if k == 0 else "")
                    methods[label] = method
                    ax.axhline(r["mean"], linewidth=1.1, zorder=1, label=label, **_level(method))
                    panel.append({"dataset": d, "method": method, "mean": r["mean"], "std": r["std"], "n": r["n"],
                                  "what": "line"})  # fmt: skip
            data += panel
            ax.set_xscale("log")
            ticks = sorted({r["at"][along] for r in grid})
            ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
            ax.set_xticks([], minor=True)
            ax.set_xlabel(along)
            ax.set_ylabel(f"test RMSE{_unit(d)}")
            ax.set_title(dataset_title(d))
            _scale(ax, *_reached(panel))
        # Some panels lack a line, so the legend has every label of any panel once.
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, folder / name, pd.DataFrame(data))
    titles = ", ".join(method_title(m) for m in CURVE_LINES if m in set(lines["method"]))
    return Figure(
        name,
        config.get("title", name),
        f"{_INTERVAL}" + (f" Level lines: {titles}." if titles else "") + " Lower is better. The best point of a curve "
        "was picked by its score: a bound on what an honest choice reaches, not a result.",
    )


def settings_of(label: str) -> dict[str, float]:
    """The numbers of ``damping=0.01;clip=1`` by name. Empty if a part is not ``name=number``."""
    out = {}
    for part in label.split(";"):
        key, _, value = part.partition("=")
        try:
            out[key.strip()] = float(value)
        except ValueError:
            return {}
    return out


def _published(verdicts: pd.DataFrame, table: str) -> pd.DataFrame:
    keep = (verdicts["source"] == SOURCE) & (verdicts["table"] == table) & (verdicts["headline"] == "yes")
    return verdicts[keep]


def _means(scores: pd.DataFrame, metric: str) -> pd.DataFrame:
    summary = summarise(scores)
    return summary[(summary["metric"] == metric) & (summary["status"] == "ok")]


def _panel_column(ax, k: int, part: pd.DataFrame, width: float) -> list[dict[str, Any]]:
    """Draw the published number and ours at place ``k`` of the x axis; returns the rows drawn."""
    first = part.iloc[0]
    value, spread = float(first["published_mean"]), float(first["published_std"] or "nan")
    half = width / 2
    if math.isfinite(spread):
        ax.fill_between([k - half, k + half], value - spread, value + spread, color=style.LIGHT, linewidth=0, zorder=1)
    ax.plot([k - half, k + half], [value, value], color=style.PUBLISHED, linewidth=1.8, zorder=3)
    rows = [
        {"dataset": first["dataset"], "method": first["method"], "setting": first["setting"],
         "metric": first["metric"], "what": "published", "mean": value, "std": spread, "n": first["n_published"]}
    ]  # fmt: skip
    readings = list(style.READING)
    for r in part.to_dict("records"):
        if not math.isfinite(r["mean"]):
            continue
        colour, marker = style.READING[r["reading"]]
        x = k + (readings.index(r["reading"]) - 1) * width / 3.2
        bar = half_width(r["std"], r["n"])
        low, high = r["mean"] - bar, r["mean"] + bar
        if math.isfinite(bar):
            # An interval of an error may reach below zero, which a logarithmic axis cannot show.
            bottom = low if METRICS[r["metric"]].scale == "real" else max(low, 1e-3 * r["mean"])
            ax.plot([x, x], [bottom, high], color=colour, linewidth=1.3, zorder=4)
        ax.plot([x], [r["mean"]], marker=marker, color=colour, markersize=5, linestyle="none", zorder=5)
        rows.append(
            {"dataset": r["dataset"], "method": r["method"], "setting": r["setting"], "metric": r["metric"],
             "what": r["reading"], "our_method": r["our_method"], "our_setting": r["our_setting"],
             "protocol": r["protocol"], "mean": r["mean"], "std": r["std"], "n": r["n"],
             "low": low, "high": high}
        )  # fmt: skip
    return rows


def _scale(ax, points: list[float], reach: list[float]) -> None:
    """Set axis and limits of a panel.

    ``points``: values that must be visible. ``reach``: ends of intervals, may be cut. Positive numbers with a large
    ratio get a logarithmic axis, and negative or mixed ones a symmetric logarithmic one. The logarithmic axis labels 1,
    2 and 5 of each power of ten if it spans less than three powers, else only the powers.
    """
    points = [p for p in points if math.isfinite(p)]
    low, high = min(points), max(points)
    if low > 0 and high > LOG_FROM * low:
        ax.set_yscale("log")
        to, back = math.log10, lambda v: 10.0**v
    elif low < 0 and max(-low, high) > FAR and -low > LOG_FROM * abs(high):
        ax.set_yscale("symlog", linthresh=1.0)
        to = lambda v: math.copysign(math.log10(1 + abs(v)), v)  # noqa: E731
        back = lambda v: math.copysign(10.0 ** abs(v) - 1, v)  # noqa: E731
    else:
        to = back = float
    if to is not float:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        if to is math.log10:
            few = math.log10(high / low) < 3
            ax.yaxis.get_major_locator().set_params(subs=(1, 2, 5) if few else (1,))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    bottom, top = to(low), to(high)
    span = top - bottom or abs(top) or 1.0
    ends = [to(v) for v in reach if math.isfinite(v) and (v > 0 or to is not math.log10)]
    first = max(min([bottom, *ends]), bottom - 0.5 * span) - 0.07 * span
    last = min(max([top, *ends]), top + 0.5 * span) + 0.07 * span
    if to is float and low >= 0:
        first = max(first, 0.0) if first < 0 else first
    ax.set_ylim(back(first), back(last))


def _reached(rows: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """(values that must be visible, ends of intervals) of the drawn rows."""
    points, ends = [], []
    for r in rows:
        points.append(r["mean"])
        if r["what"] == "published" and math.isfinite(r["std"]):
            points += [r["mean"] - r["std"], r["mean"] + r["std"]]
        ends += [r[k] for k in ("low", "high") if k in r]
    return points, ends


def _clip(setting: str) -> str:
    return dict(p.split("=", 1) for p in setting.split(";") if "=" in p).get("clip", "")


def _unit(dataset: str) -> str:
    try:
        found = datasets.get(dataset)
    except KeyError:
        return ""
    return f" ({found.unit or 'no unit'})"


def _marks(ours: pd.DataFrame) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    out = [
        Line2D([], [], color=style.PUBLISHED, linewidth=1.8, label="published"),
        Patch(color=style.LIGHT, label="published ± 1 sd"),
    ]
    for reading, (colour, marker) in style.READING.items():
        if reading in set(ours["reading"]):
            out.append(
                Line2D([], [], color=colour, marker=marker, linestyle="none", label=f"ours, {READING_TITLES[reading]}")
            )
    return out


def _baseline_marks() -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], linewidth=1.1, label=method_title(m), **_level(m)) for m in BASELINES]


def _legend(figure, handles: list[Any]) -> None:
    style.legend(figure, {h.get_label(): h for h in handles})


def _level(method: str) -> dict[str, Any]:
    """Look of a non-private method that is one horizontal line in a panel."""
    look = palette.look(method)
    return {"color": look.colour, "linestyle": look.dashes}
