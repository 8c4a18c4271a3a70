"""Figures of NA-DPVI (Alrawajfeh, Jalko & Honkela 2025): coverage, calibration, coverage errors with their intervals,
and how they hang on the priors of the noise-aware model and on the reference points.

Drawn from scores, from verdicts (for the published numbers), and from the tables of ``checks``. A
figure is left out where there is nothing for it.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom

from evaluation.coverage import REDRAWS
from evaluation.summary import mean_std
from papers.alrawajfeh2024nadpvi_rebuttal.tables import INTERVAL, coverage_frame, label_of, rank, row_title
from reports import style
from reports.contents import Run
from reports.figure import Figure
from reports.tables import dataset_title, method_title

log = logging.getLogger(__name__)

SOURCE = "alrawajfeh2024nadpvi_rebuttal"
#: method -> (colour, marker); one look in every figure.
LOOK = {
    "exact_posterior": (style.BLACK, "."),
    "na_dpvi": (style.BLUE, "o"),
    "na_dpvi_nuts": (style.BLUE, "*"),
    "na_dpvi_laplace": (style.SKY, "P"),
    "dpvi_last_iterate": (style.RED, "s"),
    "dpvi": (style.RED, "<"),
    "dpvi_trace_average": (style.ORANGE, "v"),
    "dpvim": (style.PURPLE, "^"),
    "bernstein_sheldon_2018": (style.GREEN, "D"),
    "bernstein_sheldon_2018_released": (style.GREY, "X"),
    "bernstein_sheldon_2019": (style.GREEN, "D"),
    "bernstein_sheldon_2019_released": (style.GREY, "X"),
}
#: methods of figures 1, 2 and 3 (a method without scores there is left out).
SHOWN = (*("na_dpvi", "bernstein_sheldon_2018", "dpvi_last_iterate", "dpvim", "dpvi_trace_average", "exact_posterior"),)
SHOWN_LINEAR = (
    *("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "bernstein_sheldon_2019"),
    *("bernstein_sheldon_2019_released", "exact_posterior"),
)
SHOWN_ADULT = ("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "dpvim", "dpvi_trace_average")
SHOWN_EPSILON = ("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "dpvi_trace_average", "exact_posterior")
#: claimed epsilon of the headline cells of Table 1, which prints none (finding of the experiment).
HEADLINE = "0.1"
_DASHED = (0, (4, 2))
#: (dataset, our method, our setting) -> published number and its spread.
Printed = dict[tuple[str, str, str], tuple[float, float]]


class Line(NamedTuple):
    """One cell in a panel."""

    method: str
    setting: str
    words: str
    dashed: bool = False


class Column(NamedTuple):
    """One column of panels."""

    title: str
    dataset: str
    lines: Sequence[Line]


def build(run: Run) -> list[Figure]:
    """Draw every figure that this experiment has data for."""
    folder, config, verdicts, scores, extra = run.figures, run.config, run.verdicts, run.scores, run.extra
    drawn: list[Figure | None] = []
    cells = coverage_frame(scores, config["datasets"])
    cells = cells[cells["rmse"].notna()]
    if len(cells):
        families = list(dict.fromkeys(cells["dataset"]))
        # Table 1 has a column a family, Table 2 a column an epsilon.
        several = len(config["datasets"]) > 1
        epsilons = sorted({e for e in cells["claimed"] if e}, key=float)
        panels = [(dataset_title(d), d, HEADLINE) for d in families] if several else []
        panels = panels or [(f"epsilon = {e}", families[0], e) for e in epsilons]
        number, shown = ("1", SHOWN) if several else ("2", SHOWN_LINEAR)
        drawn.append(coverage(folder, f"{SOURCE}_figure{number}", cells, scores, panels, shown))
        drawn.append(errors(folder, f"{SOURCE}_table{number}_rmse", cells, verdicts, panels, number))
        if several:
            drawn.append(epsilons_of(folder, f"{SOURCE}_table1_epsilon", cells, verdicts))
    else:
        paid = config["model"].get("scaling") == "paid"
        name = f"{SOURCE}_figure3{'_paid' if paid else ''}"
        drawn.append(calibration(folder, name, scores, ", standardisation paid for" if paid else ""))
    if extra is not None:
        printed, stem = _published(verdicts), config["experiment"]
        drawn.append(priors(folder, f"{stem}_priors", _tables(extra, config, "priors"), printed))
        drawn.append(references(folder, f"{stem}_references", _tables(extra, config, "references"), printed))
        drawn.append(controls(folder, f"{stem}_controls", _tables(extra, config, "controls")))
    return [f for f in drawn if f is not None]


def curves(scores: pd.DataFrame) -> pd.DataFrame:
    """Coverage curves: dataset, method, setting, nominal (1 - alpha), coverage, redraws (sd over redraws)."""
    ok = scores[(scores["status"] == "ok") & (scores["split"] == "")]
    found = ok["metric"].str.extract(r"^tarp_coverage_(?P<nominal>\d\.\d+)(?P<what>_redraws)?$")
    keep = found["nominal"].notna()
    long = ok.loc[keep, ["dataset", "method", "setting"]].assign(
        nominal=found.loc[keep, "nominal"].astype(float),
        what=np.where(found.loc[keep, "what"].isna(), "coverage", "redraws"),
        value=ok.loc[keep, "value"].astype(float),
    )
    keys = ["dataset", "method", "setting", "nominal"]
    return long.pivot(index=keys, columns="what", values="value").reset_index().rename_axis(columns=None)


def band(nominal: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Central 95 % of the coverage that a calibrated method shows on ``n`` data sets, a level at a time."""
    return binom.ppf(0.025, n, nominal) / n, binom.ppf(0.975, n, nominal) / n


# ------------------------------------------------------------------------------------------------ figures 1 and 2


def _columns(cells: pd.DataFrame, panels: Sequence[tuple[str, str, str]], shown: Sequence[str]) -> list[Column]:
    """Lines of each panel: every shown method at that claimed epsilon or without one; of settings that differ in more
    than a step size, the one that says least."""
    out = []
    for title, dataset, epsilon in panels:
        here = cells[(cells["dataset"] == dataset) & cells["claimed"].isin(("", epsilon))]
        lines = []
        for method in shown:
            settings = list(here.loc[here["method"] == method, "setting"])
            for k, step in enumerate(dict.fromkeys(label_of(s)["step"] for s in settings)):
                setting = min((s for s in settings if label_of(s)["step"] == step), key=len)
                words = method_title(method) + (f", step {step}" if step else "")
                lines.append(Line(method, setting, words, dashed=k > 0))
        out.append(Column(title, dataset, lines))
    return out


def coverage(
    folder: Path,
    name: str,
    cells: pd.DataFrame,
    scores: pd.DataFrame,
    panels: Sequence[tuple[str, str, str]],
    shown: Sequence[str],
) -> Figure | None:
    """Figures 1 and 2: coverage (top) and its error (bottom) against the nominal level, a column a panel."""
    columns = _columns(cells, panels, shown)
    if not any(c.lines for c in columns):
        return _skip(name, "no coverage score")
    table = curves(scores)
    counts = {(r["dataset"], r["method"], r["setting"]): r["n"] for r in cells.to_dict("records")}
    data = []
    with style.canvas(2, len(columns), panel=3.1) as (figure, axes):
        for (top, bottom), column in zip(axes.T, columns, strict=True):
            sizes = sorted({counts[column.dataset, line.method, line.setting] for line in column.lines})
            grid = np.linspace(0, 1, 401)
            for k, n in enumerate(sizes):  # fewest data sets first: the widest band lies below
                low, high = band(grid, n)
                shade = style.LIGHT if k == len(sizes) - 1 else "#efefef"
                for ax, base in ((top, 0.0), (bottom, grid)):
                    ax.fill_between(grid, low - base, high - base, color=shade, linewidth=0, zorder=1,
                                    label=f"calibrated, {n} data sets (95 %)")  # fmt: skip
            top.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.8, zorder=1.5)
            bottom.axhline(0, color=style.GREY, linewidth=0.8, zorder=1.5)
            for line in column.lines:
                keep = (table["dataset"] == column.dataset) & (table["method"] == line.method)
                points = table[keep & (table["setting"] == line.setting)].sort_values("nominal")
                points = points.assign(error=points["coverage"] - points["nominal"])
                n = counts[column.dataset, line.method, line.setting]
                low, high = band(points["nominal"].to_numpy(), n)
                colour, marker = LOOK[line.method]
                for ax, y in ((top, "coverage"), (bottom, "error")):
                    ax.errorbar(points["nominal"], points[y], yerr=points["redraws"], color=colour, marker=marker,
                                markersize=3.2, markevery=2, linewidth=1.1, elinewidth=0.7,
                                linestyle=_DASHED if line.dashed else "-", label=line.words)  # fmt: skip
                data.append(points.assign(panel=column.title, n=n, low=low, high=high))
            top.set_title(column.title)
            top.set_ylabel("coverage C(alpha) (share)")
            bottom.set_ylabel("error C(alpha) - (1 - alpha) (share)")
            for ax in (top, bottom):
                ax.set_xlabel("nominal level 1 - alpha (share)")
                ax.set_xlim(-0.02, 1.02)
            top.set_ylim(-0.02, 1.02)
        _same_limits(axes[1])
        _legend(figure, _shared(axes))
        style.save(figure, folder / name, pd.concat(data, ignore_index=True))
    number = name[-1]
    what = {"1": "exponential families, claimed epsilon " + HEADLINE, "2": "linear regression with 10 inputs"}[number]
    steps = " Solid and dashed: the two step sizes of the authors' program." if any(
        line.dashed for c in columns for line in c.lines) else ""  # fmt: skip
    return Figure(
        name,
        f"Figure {number} of NA-DPVI: coverage, {what}",
        "Share of simulated data sets whose true parameter is covered at each level, and its error. Bars: one standard "
        f"deviation over {REDRAWS} redraws of the reference points, as published; they leave out the finite number of "
        "data sets. Grey: where a calibrated method lies with that many data sets (95 %, a level at a time)." + steps,
    )


# ------------------------------------------------------------------------------------------------------- figure 3


def reliability(scores: pd.DataFrame) -> pd.DataFrame:
    """Calibration curves: a row a cell and bin.

    Columns: dataset, method, setting, bin, runs (those that have rows in the bin), predicted, fraction, fraction_sd,
    error (fraction - predicted), error_sd; means and standard deviations (ddof = 1) over the runs.
    """
    ok = scores[scores["status"] == "ok"]
    found = ok["metric"].str.extract(r"^calibration_(?P<what>predicted|fraction)_(?P<bin>\d+)$")
    keep = found["what"].notna()
    long = ok.loc[keep, ["dataset", "method", "setting", "split"]].assign(
        what=found["what"], bin=found.loc[keep, "bin"].astype(int), value=ok.loc[keep, "value"].astype(float)
    )
    keys = ["dataset", "method", "setting", "bin"]
    wide = long.pivot(index=[*keys, "split"], columns="what", values="value").reset_index()
    rows = []
    for key, group in wide.groupby(keys, sort=False):
        predicted, _, runs = mean_std(group["predicted"])
        fraction, fraction_sd, _ = mean_std(group["fraction"])
        error, error_sd, _ = mean_std(group["fraction"] - group["predicted"])
        values = {"runs": runs, "predicted": predicted, "fraction": fraction, "fraction_sd": fraction_sd}
        rows.append(dict(zip(keys, key, strict=True)) | values | {"error": error, "error_sd": error_sd})
    columns = [*keys, "runs", "predicted", "fraction", "fraction_sd", "error", "error_sd"]
    return pd.DataFrame(rows, columns=columns)


def calibration(folder: Path, name: str, scores: pd.DataFrame, words: str) -> Figure | None:
    """Figure 3: fraction of positives (top) and its error (bottom) against predicted probability, by epsilon."""
    table = reliability(scores)
    table = table[table["method"].isin(SHOWN_ADULT)]
    if table.empty:
        return _skip(name, "no calibration score")
    table = table.assign(claimed=[label_of(s)["epsilon"] for s in table["setting"]])
    epsilons = sorted(set(table["claimed"]), key=float)
    with style.canvas(2, len(epsilons), panel=3.1) as (figure, axes):
        for (top, bottom), epsilon in zip(axes.T, epsilons, strict=True):
            top.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.8, zorder=1.5)
            bottom.axhline(0, color=style.GREY, linewidth=0.8, zorder=1.5)
            for k, method in enumerate(SHOWN_ADULT):
                line = table[(table["claimed"] == epsilon) & (table["method"] == method)].sort_values("bin")
                if line.empty:
                    continue
                colour, marker = LOOK[method]
                x = line["predicted"] + 0.008 * (k - len(SHOWN_ADULT) // 2)
                for ax, y in ((top, "fraction"), (bottom, "error")):
                    ax.errorbar(x, line[y], yerr=line[f"{y}_sd"], color=colour, marker=marker, markersize=3.6,
                                linewidth=1.1, elinewidth=0.7, label=method_title(method))  # fmt: skip
            top.set_title(f"epsilon = {epsilon}")
            top.set_ylabel("fraction of positives (share)")
            bottom.set_ylabel("fraction - predicted (share)")
            top.set_ylim(-0.02, 1.02)
            for ax in (top, bottom):
                ax.set_xlabel("predicted probability")
                ax.set_xlim(-0.03, 1.03)
        _same_limits(axes[1])
        _legend(figure, _shared(axes))
        style.save(figure, folder / name, table)
    runs = int(table["runs"].max())
    return Figure(
        name,
        f"Figure 3 of NA-DPVI: calibration on Adult{words}",
        "Test rows in ten bins of equal width of their predicted probability; mean and standard deviation over the "
        f"runs that have rows in a bin ({runs} run{'s' if runs > 1 else ''} at most; the CSV has the number). Points "
        "are shifted sideways so that they stay apart. Above the diagonal too few positives are predicted.",
    )


# ---------------------------------------------------------------------------------------- errors with their intervals


def _published(verdicts: pd.DataFrame) -> Printed:
    """(dataset, our method, our setting) -> (number, its spread) of the published cells that it answers; those that are
    answered as a repair of ours (``corrected``) are left out."""
    rows = verdicts[verdicts["reading"].isin(("printed", "released")) & (verdicts["metric"] == "tarp_coverage_rmse")]
    return {
        (r["dataset"], r["our_method"], r["our_setting"]): (float(r["published_mean"]), float(r["published_std"]))
        for r in rows.to_dict("records")
    }


def errors(
    folder: Path,
    name: str,
    cells: pd.DataFrame,
    verdicts: pd.DataFrame,
    panels: Sequence[tuple[str, str, str]],
    number: str,
) -> Figure | None:
    """Tables 1 and 2 as dots: every method with its bootstrap interval, the published number, and a right posterior."""
    printed = _published(verdicts)
    most, names, shown = cells["planned"].max(), {}, []
    for title, dataset, epsilon in panels:
        here = cells[(cells["dataset"] == dataset) & cells["claimed"].isin(("", epsilon))].to_dict("records")
        for r in here:
            few = f" (n = {r['planned']})" if r["planned"] < most else ""
            r |= {"panel": title, "row": row_title(r["method"], r["setting"]) + few}
            names[r["row"]] = rank(r["method"], label_of(r["setting"])["words"])
        shown.append(here)
    rows = sorted(names, key=names.get)
    if not rows:
        return _skip(name, "no coverage score")
    data = []
    with style.canvas(1, len(panels), panel=0.3 * len(rows) + 0.9) as (figure, axes):
        for ax, (title, dataset, _), here in zip(axes.flat, panels, shown, strict=True):
            for r in here:
                y = rows.index(r["row"])
                _dot(ax, y, r, *LOOK.get(r["method"], (style.GREY, "o")))
                value, spread = printed.get((dataset, r["method"], r["setting"]), (math.nan, math.nan))
                _cross(ax, y, value, spread)
                data.append(r | {"published": value, "published_redraws": spread})
            ax.set_title(title)
            ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows), fontsize=7.5)
            ax.set_ylim(len(rows) - 0.4, -0.6)
            _error_axis(ax)
        _same_x(axes[0])
        _legend(figure, _dot_handles())
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
    """Coverage error against the claimed epsilon, a panel a family, beside the published numbers, which name none."""
    kept = cells[cells["method"].isin(SHOWN_EPSILON) & cells["setting"].map(lambda s: not label_of(s)["words"])]
    epsilons = sorted({e for e in kept["claimed"] if e}, key=float)
    if len(epsilons) < 2:
        return _skip(name, "fewer than two epsilons")
    printed = _published(verdicts)
    families = list(dict.fromkeys(kept["dataset"]))
    data = []
    with style.canvas(1, len(families), panel=3.2) as (figure, axes):
        for ax, dataset in zip(axes.flat, families, strict=True):
            here = kept[kept["dataset"] == dataset]
            ax.axhspan(0, here["floor_upper"].max(), color=style.LIGHT, linewidth=0, label="right posterior (95 %)")
            for k, method in enumerate(SHOWN_EPSILON):
                line = here[here["method"] == method].assign(x=lambda f: f["claimed"].map(_float)).sort_values("x")
                colour, marker = LOOK[method]
                if method == "exact_posterior":
                    for r in line.to_dict("records"):
                        ax.axhline(r["rmse"], color=colour, linewidth=1, label=method_title(method))
                    continue
                x = line["x"] * 1.03 ** (k - 1.5)
                ax.vlines(x, line["low"], line["high"], color=colour, linewidth=0.8)
                ax.plot(x, line["rmse"], color=colour, marker=marker, markersize=4, linewidth=1.1,
                        label=method_title(method))  # fmt: skip
                for (d, m, _), (value, spread) in printed.items():
                    if (d, m) == (dataset, method):
                        ax.axhline(value, color=colour, linewidth=1, linestyle=(0, (1, 1.5)),
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
        _legend(figure, _shared(axes))
        style.save(figure, folder / name, pd.DataFrame(data))
    return Figure(
        name,
        "Which epsilon has Table 1 of NA-DPVI?",
        "The table prints none. Coverage error of what is made from one run of DPVI at the paper's values, with "
        "95 % intervals by bootstrap over data sets; dotted: the published number of the method of that colour.",
    )


# ------------------------------------------------------------------------------------------------ priors and controls


def _tables(extra: Path, config: dict[str, Any], what: str) -> pd.DataFrame:
    """The extra tables of one kind that the config names and that are there, one below the other."""
    names = [n for n in config.get("extra", []) if re.fullmatch(rf"na_dpvi_{what}_\w+\.csv", n)]
    parts = [pd.read_csv(extra / n, keep_default_na=False) for n in names if (extra / n).is_file()]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["dataset"])


def priors(folder: Path, name: str, table: pd.DataFrame, printed: Printed) -> Figure | None:
    """Coverage error of one trace read under other priors, a panel a data set, a row a variant."""
    if table.empty:
        return _skip(name, "no table of priors")
    table = table.assign(method="na_dpvi", row=table["variant"])
    _rows(folder / name, table, printed, base=True)
    pairs = zip(table["dataset"], table["setting"], strict=True)
    cells = "; ".join(dict.fromkeys(f"{dataset_title(d)}: {s}" for d, s in pairs))
    return Figure(
        name,
        "How far the coverage of NA-DPVI hangs on its priors",
        f"The traces of one cell of NA-DPVI ({cells}) read again under other priors: optimum_sd, of the optimum phi*; "
        "slope, of A, which the authors centre on its least-squares estimate from the same trace; noise_sd, of the "
        f"subsampling noise. Bars: 95 % interval by bootstrap over data sets. {INTERVAL} Dashed: the priors as "
        "published; cross and dotted line: the published number. Grey: what a right posterior gets, up to its 95 % "
        "point.",
    )


def references(folder: Path, name: str, table: pd.DataFrame, printed: Printed) -> Figure | None:
    """Coverage error of the same posteriors from reference points about other centres."""
    if table.empty:
        return _skip(name, "no table of reference points")
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


def _rows(stem: Path, table: pd.DataFrame, printed: Printed, base: bool) -> None:
    """A panel a data set, a dot for each ``row``, with the published number of its cell; saved under ``stem``.

    ``base``: the first row is what the others are compared with.
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
                _dot(ax, rows.index(r["row"]), r, style.BLACK if first else style.BLUE, "D" if first else "o")
                if first:
                    ax.axvline(r["rmse"], color=style.GREY, linewidth=0.8, linestyle=_DASHED, zorder=1.5)
                if first or not base:
                    _cross(ax, rows.index(r["row"]), r["published"], r["published_redraws"])
            for value in set(here["published"].dropna()):
                ax.axvline(value, color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=1.5)
            # Long labels leave one panel too narrow for its own title.
            ax.set_title(dataset_title(dataset), loc="right" if len(sets) == 1 else "center")
            ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows), fontsize=8)
            ax.set_ylim(len(rows) - 0.4, -0.6)
            _error_axis(ax)
        _same_x(axes[0])
        _legend(figure, _dot_handles())
        style.save(figure, stem, table)


def controls(folder: Path, name: str, table: pd.DataFrame) -> Figure | None:
    """Coverage error of the exact posterior made too narrow and too wide: what the error can see."""
    if table.empty:
        return _skip(name, "no table of controls")
    sets = list(dict.fromkeys(table["dataset"]))
    with style.canvas(1, len(sets), panel=2.7) as (figure, axes):
        for ax, dataset in zip(axes.flat, sets, strict=True):
            here = table[table["dataset"] == dataset].sort_values("width")
            ax.axhspan(0, here["floor_upper"].max(), color=style.LIGHT, linewidth=0, label="right posterior (95 %)")
            ax.axhline(here["floor"].mean(), color=style.GREY, linewidth=0.8, label="right posterior (mean)")
            ax.vlines(here["width"], here["low"], here["high"], color=style.BLUE, linewidth=1.1)
            ax.plot(here["width"], here["rmse"], color=style.BLUE, marker="o", markersize=4, linewidth=1.1,
                    label="exact posterior, its sd multiplied")  # fmt: skip
            ax.set_xscale("log")
            ax.set_xticks(list(here["width"]), [f"{w:g}" for w in here["width"]])
            ax.set_xticks([], minor=True)
            ax.set_ylim(0, None)
            ax.set_xlabel("factor on the standard deviation")
            ax.set_ylabel("RMSE of the coverage (share)")
            ax.set_title(dataset_title(dataset))
        _legend(figure, _shared(axes))
        style.save(figure, folder / name, table)
    n = ", ".join(map(str, sorted(set(table["n"]))))
    return Figure(
        name,
        "What a coverage error can see",
        f"Controls of this suite: the exact posterior with its standard deviations multiplied, over {n} data sets. "
        f"Bars: 95 % interval by bootstrap over data sets. {INTERVAL}",
    )


# --------------------------------------------------------------------------------------------------------- small parts


def _dot(ax: Any, y: float, r: dict[str, Any], colour: str, marker: str) -> None:
    """One error with its interval at height ``y``, in front of what a right posterior gets."""
    ax.fill_betweenx([y - 0.42, y + 0.42], 1e-6, r["floor_upper"], color=style.LIGHT, linewidth=0, zorder=1)
    ax.plot([r["floor"]] * 2, [y - 0.42, y + 0.42], color=style.GREY, linewidth=0.8, zorder=1.2)
    ax.plot([max(r["low"], 1e-6), r["high"]], [y, y], color=colour, linewidth=1.4, zorder=3)
    ax.plot([r["rmse"]], [y], color=colour, marker=marker, markersize=5, linestyle="none", zorder=5)


def _cross(ax: Any, y: float, value: float, spread: float) -> None:
    """The published number with its spread, a little below height ``y``; nothing where there is none."""
    if math.isfinite(value):
        ax.errorbar(value, y + 0.28, xerr=spread, color=style.PUBLISHED, marker="x", markersize=4.5, elinewidth=0.8,
                    linestyle="none", zorder=4)  # fmt: skip


def _dot_handles() -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return {
        "ours, 95 % over data sets": Line2D([], [], color=style.BLUE, marker="o", linewidth=1.4),
        "published ± sd over redraws": Line2D([], [], color=style.PUBLISHED, marker="x", linewidth=0.8),
        "right posterior (95 %)": Patch(color=style.LIGHT),
    }


def _error_axis(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="x")
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="x", labelsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("RMSE of the coverage (share)", fontsize=8)


def _same_x(axes: Sequence[Any]) -> None:
    """One axis for all panels, around dots and right posterior: an interval that reaches 0 leaves to the left."""
    lines = [line.get_xdata() for ax in axes for line in ax.lines]
    points = np.concatenate([x for x in lines if len(x) == 1 or x[0] == x[1] != 0])
    for ax in axes:
        ax.set_xlim(0.4 * points.min(), min(1.0, 1.3 * points.max()))


def _same_limits(axes: Sequence[Any]) -> None:
    low, high = min(ax.get_ylim()[0] for ax in axes), max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)


def _float(text: str) -> float:
    return float(text) if text else math.nan


def _shared(axes: Any) -> dict[str, Any]:
    """Label -> handle of all panels, each label once."""
    return {t: h for ax in axes.flat for h, t in zip(*ax.get_legend_handles_labels(), strict=True)}


def _legend(figure: Any, found: dict[str, Any]) -> None:
    """One legend below all panels, as many columns as fit."""
    columns = int(figure.get_figwidth() / (0.55 + 0.065 * max(map(len, found))))  # inches at this size of letters
    handles, labels = list(found.values()), list(found)
    figure.legend(handles, labels, loc="outside lower center", ncols=min(max(columns, 1), len(labels)), fontsize=8)


def _skip(name: str, why: str) -> None:
    log.info("figure %s is left out: %s", name, why)
