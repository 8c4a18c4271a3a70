"""Figures of the effects of priors, reference points and posterior widths on NA-DPVI's coverage error.

They are drawn from the tables of ``checks``.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from papers.alrawajfeh2024nadpvi_rebuttal.panels import (
    DASHED,
    Printed,
    cross,
    dot,
    dot_handles,
    error_axis,
    same_x,
)
from papers.alrawajfeh2024nadpvi_rebuttal.tables import INTERVAL
from reports import palette, style
from reports.blocks import Figure
from reports.tables import dataset_title, method_title


def priors(folder: Path, name: str, table: pd.DataFrame, printed: Printed) -> Figure | None:
    """Coverage error of one trace under different priors, with one panel per data set and one row per variant."""
    if table.empty:
        return style.skip(name, "no table of priors")
    table = table.assign(method="na_dpvi", row=table["variant"])
    _rows(folder / name, table, printed, base=True)
    pairs = zip(table["dataset"], table["setting"], strict=True)
    cells = "; ".join(dict.fromkeys(f"{dataset_title(d)}: {s}" for d, s in pairs))
    return Figure(
        name,
        "How far the coverage of NA-DPVI hangs on its priors",
        f"The traces of one cell of NA-DPVI ({cells}) read again under other priors: optimum_sd, of the optimum phi*; "
        "slope, of A, which the authors centre on its least-squares estimate from the same trace; noise_sd, of the "
        "subsampling noise. Hollow: a prior that is not as published. Bars: 95 % interval by bootstrap over data "
        f"sets. {INTERVAL} Dashed: the priors as published; cross and dotted line: the published number. "
        "Grey: what a right posterior gets, up to its 95 % point.",
    )


def references(folder: Path, name: str, table: pd.DataFrame, printed: Printed) -> Figure | None:
    """Coverage error of the same posteriors for reference points around other centres."""
    if table.empty:
        return style.skip(name, "no table of reference points")
    words = zip(table["method"], table["setting"], table["centre"], strict=True)
    table = table.assign(row=[f"{method_title(m)},\n{s}, {c}" for m, s, c in words])
    _rows(folder / name, table, printed, base=False)
    return Figure(
        name,
        "What reference points do to a coverage error",
        "The same posteriors, with reference points about their own mean, the mean of the prior, or a draw from the "
        "prior. Every draw of a posterior much narrower than its error is nearer to its mean than the true parameter "
        "is: coverage near 0 at every level. From elsewhere the same posterior looks better. Cross and dotted line: "
        f"the published number. Bars: 95 % interval by bootstrap over data sets. {INTERVAL} Grey: what a right "
        "posterior gets, up to its 95 % point.",
    )


def controls(folder: Path, name: str, table: pd.DataFrame) -> Figure | None:
    """Coverage error of the exact posterior made too narrow and too wide, to show what the error can detect."""
    if table.empty:
        return style.skip(name, "no table of controls")
    sets = list(dict.fromkeys(table["dataset"]))
    look, words = palette.look("exact_posterior"), "exact posterior, its sd multiplied"
    with style.canvas(1, len(sets), panel=2.7) as (figure, axes):
        for ax, dataset in zip(axes.flat, sets, strict=True):
            here = table[table["dataset"] == dataset].sort_values("width")
            ax.axhspan(0, here["floor_upper"].max(), color=style.LIGHT, linewidth=0, label="right posterior (95 %)")
            ax.axhline(here["floor"].mean(), color=style.GREY, linewidth=0.8, label="right posterior (mean)")
            ax.vlines(here["width"], here["low"], here["high"], color=look.colour, linewidth=1.1)
            ax.plot(here["width"], here["rmse"], markersize=4, linewidth=1.1, label=words, **look.line())
            ax.set_xscale("log")
            ax.set_xticks(list(here["width"]), [f"{w:g}" for w in here["width"]])
            ax.set_xticks([], minor=True)
            ax.set_ylim(0, None)
            ax.set_xlabel("factor on the standard deviation")
            ax.set_ylabel("RMSE of the coverage (share)")
            ax.set_title(dataset_title(dataset))
        style.legend(figure, style.labels(axes), {words: "exact_posterior"})
        style.save(figure, folder / name, table)
    n = ", ".join(map(str, sorted(set(table["n"]))))
    return Figure(
        name,
        "What a coverage error can see",
        f"Controls of this suite: the exact posterior with its standard deviations multiplied, over {n} data sets. "
        f"Bars: 95 % interval by bootstrap over data sets. {INTERVAL}",
    )


def tables_of(extra: Path, config: dict[str, Any], what: str) -> pd.DataFrame:
    """The existing extra tables of one kind that the config names, concatenated."""
    names = [n for n in config.get("extra", []) if re.fullmatch(rf"na_dpvi_{what}_\w+\.csv", n)]
    parts = [pd.read_csv(extra / n, keep_default_na=False) for n in names if (extra / n).is_file()]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["dataset"])


def _rows(stem: Path, table: pd.DataFrame, printed: Printed, base: bool) -> None:
    """One panel per data set with a dot for each ``row`` and the published number of its cell, saved under ``stem``.

    ``base``: the first row is the one with which the others are compared.
    """
    cells = zip(table["dataset"], table["method"], table["setting"], strict=True)
    found = [printed.get(cell, (math.nan, math.nan)) for cell in cells]
    table = table.assign(published=[f[0] for f in found], published_redraws=[f[1] for f in found])
    sets, rows = (list(dict.fromkeys(table[c])) for c in ("dataset", "row"))
    with style.canvas(1, len(sets), panel=0.34 * len(rows) + 0.9) as (figure, axes):
        for ax, dataset in zip(axes.flat, sets, strict=True):
            here = table[table["dataset"] == dataset]
            for r in here.to_dict("records"):
                first = base and r["row"] == rows[0]
                dot(ax, rows.index(r["row"]), r, palette.look(r["method"]), variant=base and not first)
                if first:
                    ax.axvline(r["rmse"], color=style.GREY, linewidth=0.8, linestyle=DASHED, zorder=1.5)
                if first or not base:
                    cross(ax, rows.index(r["row"]), r["published"], r["published_redraws"])
            for value in set(here["published"].dropna()):
                ax.axvline(value, color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=1.5)
            # Long labels make a single panel too narrow for its title.
            ax.set_title(dataset_title(dataset), loc="right" if len(sets) == 1 else "center")
            ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows), fontsize=8)
            ax.set_ylim(len(rows) - 0.4, -0.6)
            error_axis(ax)
        same_x(axes[0])
        style.legend(figure, dot_handles())
        style.save(figure, stem, table)
