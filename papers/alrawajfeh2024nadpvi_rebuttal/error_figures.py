"""Figures of coverage errors of NA-DPVI with their intervals: tables 1 and 2, and against the claimed epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from papers.alrawajfeh2024nadpvi_rebuttal.panels import (
    HEADLINE,
    Printed,
    cross,
    dot,
    dot_handles,
    error_axis,
    same_x,
)
from papers.alrawajfeh2024nadpvi_rebuttal.tables import INTERVAL, label_of, rank, row_title
from reports import palette, style
from reports.blocks import Figure
from reports.tables import dataset_title, method_title

SHOWN_EPSILON = palette.ordered(
    ("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "dpvi_trace_average", "exact_posterior")
)


def errors(
    folder: Path,
    name: str,
    cells: pd.DataFrame,
    verdicts: pd.DataFrame,
    panels: Sequence[tuple[str, str, str]],
    number: str,
) -> Figure | None:
    """Tables 1 and 2 as dots: methods with bootstrap intervals, published numbers, and a calibrated posterior."""
    printed = published(verdicts)
    most, names, shown = cells["planned"].max(), {}, []
    for title, dataset, epsilon in panels:
        here = cells[(cells["dataset"] == dataset) & cells["claimed"].isin(("", epsilon))].to_dict("records")
        for r in here:
            few = f" (n = {r['planned']})" if r["planned"] < most else ""
            r |= {"panel": title, "row": row_title(r["method"], r["setting"]) + few}
            names[r["row"]] = palette.place(r["method"])[:2], rank(r["method"], label_of(r["setting"])["words"])
        shown.append(here)
    rows = sorted(names, key=names.get)
    if not rows:
        return style.skip(name, "no coverage score")
    data = []
    with style.canvas(1, len(panels), panel=0.3 * len(rows) + 0.9) as (figure, axes):
        for ax, (title, dataset, _), here in zip(axes.flat, panels, shown, strict=True):
            for r in here:
                y = rows.index(r["row"])
                dot(ax, y, r, palette.look(r["method"]))
                value, spread = printed.get((dataset, r["method"], r["setting"]), (math.nan, math.nan))
                cross(ax, y, value, spread)
                data.append(r | {"published": value, "published_redraws": spread})
            ax.set_title(title)
            ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows), fontsize=7.5)
            ax.set_ylim(len(rows) - 0.4, -0.6)
            error_axis(ax)
        same_x(axes[0])
        style.legend(figure, dot_handles())
        style.save(figure, folder / name, pd.DataFrame(data))
    words = f", claimed epsilon {HEADLINE}" if number == "1" else ""
    return Figure(
        name,
        f"Table {number} of NA-DPVI with intervals{words}",
        f"Root mean square error of the coverage. Bars: 95 % interval by bootstrap over data sets. {INTERVAL} Crosses: "
        "the published number with its spread, which is over redraws of the reference points only. Grey: what a right "
        "posterior gets from as many data sets, up to its 95 % point (line: its mean): a dot in it is no evidence "
        "against a posterior. n: data sets, where fewer than for the other rows.",
    )


def epsilons_of(folder: Path, name: str, cells: pd.DataFrame, verdicts: pd.DataFrame) -> Figure | None:
    """Coverage error against the claimed epsilon with one panel per model. The published numbers name no epsilon."""
    kept = cells[cells["method"].isin(SHOWN_EPSILON) & cells["setting"].map(lambda s: not label_of(s)["words"])]
    epsilons = sorted({e for e in kept["claimed"] if e}, key=float)
    if len(epsilons) < 2:
        return style.skip(name, "fewer than two epsilons")
    printed = published(verdicts)
    families = list(dict.fromkeys(kept["dataset"]))
    data = []
    with style.canvas(1, len(families), panel=3.2) as (figure, axes):
        for ax, dataset in zip(axes.flat, families, strict=True):
            here = kept[kept["dataset"] == dataset]
            ax.axhspan(0, here["floor_upper"].max(), color=style.LIGHT, linewidth=0, label="right posterior (95 %)")
            for k, method in enumerate(SHOWN_EPSILON):
                line = here[here["method"] == method].assign(x=lambda f: f["claimed"].map(_float)).sort_values("x")
                look = palette.look(method)
                if method == "exact_posterior":
                    for r in line.to_dict("records"):
                        ax.axhline(r["rmse"], color=look.colour, linewidth=1, label=method_title(method))
                    continue
                x = line["x"] * 1.03 ** (k - 1.5)
                ax.vlines(x, line["low"], line["high"], color=look.colour, linewidth=0.8)
                ax.plot(x, line["rmse"], markersize=4, linewidth=1.1, label=method_title(method), **look.line())
                for (d, m, _), (value, spread) in printed.items():
                    if (d, m) == (dataset, method):
                        ax.axhline(value, color=look.colour, linewidth=1, linestyle=(0, (1, 1.5)),
                                   label=f"published: {method_title(method)}")  # fmt: skip
                        data.append({"dataset": d, "method": m, "what": "published", "rmse": value, "redraws": spread})
            data += here.assign(what="ours").to_dict("records")
            ax.set_title(dataset_title(dataset))
            ax.set_xscale("log")
            ax.set_xticks([float(e) for e in epsilons], epsilons)
            ax.set_xticks([], minor=True)
            ax.set_ylim(0, None)
            ax.set_xlabel("claimed epsilon")
            ax.set_ylabel("RMSE of the coverage (share)")
        style.legend(figure, style.labels(axes), {method_title(m): m for m in SHOWN_EPSILON})
        style.save(figure, folder / name, pd.DataFrame(data))
    return Figure(
        name,
        "Which epsilon has Table 1 of NA-DPVI?",
        "The table prints none. Coverage error of what is made from one run of DPVI at the paper's values, with "
        "95 % intervals by bootstrap over data sets; dotted: the published number of the method of that colour.",
    )


def published(verdicts: pd.DataFrame) -> Printed:
    """(dataset, our method, our setting) -> (number, its spread) of the published numbers that our cell answers.

    Numbers that only our corrected method answers (``corrected``) are left out.
    """
    rows = verdicts[verdicts["reading"].isin(("printed", "authors")) & (verdicts["metric"] == "tarp_coverage_rmse")]
    return {
        (r["dataset"], r["our_method"], r["our_setting"]): (float(r["published_mean"]), float(r["published_std"]))
        for r in rows.to_dict("records")
    }


def _float(text: str) -> float:
    return float(text) if text else math.nan
