"""Figures of NA-DPVI (Alrawajfeh, Jalko & Honkela 2025): coverage and calibration, and all others by :func:`build`.

They are drawn from scores, from verdicts (for the published numbers), and from the tables of ``checks``. A figure
without data is left out. :mod:`error_figures` has coverage errors with their intervals, and :mod:`check_figures` the
effects on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom

from evaluation.coverage import REDRAWS
from evaluation.summary import mean_std
from papers.alrawajfeh2024nadpvi_rebuttal.check_figures import controls, priors, references, tables_of
from papers.alrawajfeh2024nadpvi_rebuttal.error_figures import epsilons_of, errors, published
from papers.alrawajfeh2024nadpvi_rebuttal.panels import (
    HEADLINE,
    same_limits,
)
from papers.alrawajfeh2024nadpvi_rebuttal.tables import coverage_frame, label_of
from reports import palette, style
from reports.blocks import Figure
from reports.contents import Run
from reports.tables import dataset_title, method_title

SOURCE = "alrawajfeh2024nadpvi_rebuttal"
#: methods of figures 1, 2 and 3. A method without scores is left out.
SHOWN = palette.ordered(
    ("na_dpvi", "bernstein_sheldon_2018", "dpvi_last_iterate", "dpvim", "dpvi_trace_average", "exact_posterior")
)
SHOWN_LINEAR = palette.ordered(
    (
        *("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "bernstein_sheldon_2019_corrected"),
        *("bernstein_sheldon_2019_authors", "exact_posterior"),
    )
)
SHOWN_ADULT = palette.ordered(("na_dpvi", "na_dpvi_laplace", "dpvi_last_iterate", "dpvim", "dpvi_trace_average"))


class Line(NamedTuple):
    """One cell in a panel."""

    method: str
    setting: str
    words: str
    variant: int = 0


class Column(NamedTuple):
    """One column of panels."""

    title: str
    dataset: str
    lines: Sequence[Line]


def build(run: Run) -> list[Figure]:
    """Draw every figure for which this experiment has data."""
    folder, config, verdicts, scores, extra = run.figures, run.config, run.verdicts, run.scores, run.extra
    drawn: list[Figure | None] = []
    cells = coverage_frame(scores, config["datasets"])
    cells = cells[cells["rmse"].notna()]
    if len(cells):
        families = list(dict.fromkeys(cells["dataset"]))
        # Table 1 has one column per model, Table 2 one per epsilon.
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
        drawn.append(calibration(folder, name, scores, ", standardisation charged to the budget" if paid else ""))
    if extra is not None:
        printed, stem = published(verdicts), config["experiment"]
        drawn.append(priors(folder, f"{stem}_priors", tables_of(extra, config, "priors"), printed))
        drawn.append(references(folder, f"{stem}_references", tables_of(extra, config, "references"), printed))
        drawn.append(controls(folder, f"{stem}_controls", tables_of(extra, config, "controls")))
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
    """Central 95 % of the coverage of a calibrated method on ``n`` data sets, at each nominal level separately."""
    return binom.ppf(0.025, n, nominal) / n, binom.ppf(0.975, n, nominal) / n


def _columns(cells: pd.DataFrame, panels: Sequence[tuple[str, str, str]], shown: Sequence[str]) -> list[Column]:
    """Lines of each panel: every shown method at that claimed epsilon or without one, one line per step size.

    If several settings have the same step size, the line is that of the one with the shortest label.
    """
    out = []
    for title, dataset, epsilon in panels:
        here = cells[(cells["dataset"] == dataset) & cells["claimed"].isin(("", epsilon))]
        lines = []
        for method in shown:
            settings = list(here.loc[here["method"] == method, "setting"])
            for k, step in enumerate(dict.fromkeys(label_of(s)["step"] for s in settings)):
                setting = min((s for s in settings if label_of(s)["step"] == step), key=len)
                words = method_title(method) + (f", step {step}" if step else "")
                lines.append(Line(method, setting, words, variant=k))
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
    """Figures 1 and 2: coverage (top) and its error (bottom) against the nominal level, one column per panel."""
    columns = _columns(cells, panels, shown)
    if not any(c.lines for c in columns):
        return style.skip(name, "no coverage score")
    table = curves(scores)
    counts = {(r["dataset"], r["method"], r["setting"]): r["n"] for r in cells.to_dict("records")}
    data, methods = [], {}
    with style.canvas(2, len(columns), panel=3.1) as (figure, axes):
        for (top, bottom), column in zip(axes.T, columns, strict=True):
            sizes = sorted({counts[column.dataset, line.method, line.setting] for line in column.lines})
            grid = np.linspace(0, 1, 401)
            for k, n in enumerate(sizes):  # fewest data sets first, so the widest band is drawn below the others
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
                methods[line.words] = line.method
                look = palette.look(line.method).line(line.variant) | {"markersize": 3.6, "markevery": 2}
                for ax, y in ((top, "coverage"), (bottom, "error")):
                    ax.errorbar(points["nominal"], points[y], yerr=points["redraws"], linewidth=1.1, elinewidth=0.7,
                                label=line.words, **look)  # fmt: skip
                data.append(points.assign(panel=column.title, n=n, low=low, high=high))
            top.set_title(column.title)
            top.set_ylabel("coverage C(alpha) (share)")
            bottom.set_ylabel("error C(alpha) - (1 - alpha) (share)")
            for ax in (top, bottom):
                ax.set_xlabel("nominal level 1 - alpha (share)")
                ax.set_xlim(-0.02, 1.02)
            top.set_ylim(-0.02, 1.02)
        same_limits(axes[1])
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, folder / name, pd.concat(data, ignore_index=True))
    number = name[-1]
    what = {"1": "exponential families, claimed epsilon " + HEADLINE, "2": "linear regression with 10 inputs"}[number]
    steps = " Filled and hollow: the two step sizes of the authors' code." if any(
        line.variant for c in columns for line in c.lines) else ""  # fmt: skip
    return Figure(
        name,
        f"Figure {number} of NA-DPVI: coverage, {what}",
        "Share of simulated data sets whose true parameter is covered at each level, and its error. Bars: one standard "
        f"deviation over {REDRAWS} redraws of the reference points, as published; they leave out the finite number of "
        "data sets. Grey: where a calibrated method lies with that many data sets (95 %, a level at a time)." + steps,
    )


def reliability(scores: pd.DataFrame) -> pd.DataFrame:
    """Calibration curves, with one row per cell and bin.

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
        return style.skip(name, "no calibration score")
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
                look = palette.look(method).line() | {"markersize": 3.8, "linewidth": 1.1, "elinewidth": 0.7}
                x = line["predicted"] + 0.008 * (k - len(SHOWN_ADULT) // 2)
                for ax, y in ((top, "fraction"), (bottom, "error")):
                    ax.errorbar(x, line[y], yerr=line[f"{y}_sd"], label=method_title(method), **look)
            top.set_title(f"epsilon = {epsilon}")
            top.set_ylabel("fraction of positives (share)")
            bottom.set_ylabel("fraction - predicted (share)")
            top.set_ylim(-0.02, 1.02)
            for ax in (top, bottom):
                ax.set_xlabel("predicted probability")
                ax.set_xlim(-0.03, 1.03)
        same_limits(axes[1])
        style.legend(figure, style.labels(axes), {method_title(m): m for m in SHOWN_ADULT})
        style.save(figure, folder / name, table)
    runs = int(table["runs"].max())
    return Figure(
        name,
        f"Figure 3 of NA-DPVI: calibration on Adult{words}",
        "Test rows in ten bins of equal width of their predicted probability; mean and standard deviation over the "
        f"runs that have rows in a bin ({runs} run{'s' if runs > 1 else ''} at most; the CSV has the number). Points "
        "are shifted sideways so that they stay apart. Above the diagonal too few positives are predicted.",
    )
