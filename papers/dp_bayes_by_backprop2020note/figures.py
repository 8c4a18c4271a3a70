"""Figures of DP Bayes by backprop on MNIST: test error against epsilon, reliability, learning curves.

The first is drawn from scores, the others from the tables of ``classifier_curves``. A figure without data is left out.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.paired import half_width
from evaluation.summary import mean_std
from reports import palette, style
from reports.blocks import Figure
from reports.contents import Run

STEM = "bbb_mnist"
PUBLISHED = Path(__file__).parent / "mnist_classifiers.csv"
NOTE = "dp_bayes_by_backprop"
#: (method, label) -> (words, 1 for another setting of the same method), in the order of all figures.
PRIVATE = {
    (NOTE, "as printed"): ("note, as printed", 0),
    (NOTE, "kl once an epoch"): ("note, KL once an epoch", 1),
    ("dp_bayes_by_backprop_corrected", ""): ("DP Bayes by backprop", 0),
    ("dp_bayes_by_backprop_corrected", "rho_start=-3"): ("DP Bayes by backprop, wide start", 1),
    ("dp_sgd", ""): ("DP-SGD", 0),
}
FREE = {
    ("bayes_by_backprop", "gaussian prior"): ("Bayes by backprop, Gaussian prior", 0),
    ("bayes_by_backprop", "scale-mixture prior"): ("Bayes by backprop, scale mixture", 1),
    ("classifier_sgd", ""): ("SGD", 0),
}
METHODS = {words: method for found in (PRIVATE, FREE) for (method, _), (words, _) in found.items()}
#: published method -> the key of ours in FREE.
BLUNDELL = {
    "SGD": ("classifier_sgd", ""),
    "Bayes by backprop (Gaussian prior)": ("bayes_by_backprop", "gaussian prior"),
    "Bayes by backprop (scale-mixture prior)": ("bayes_by_backprop", "scale-mixture prior"),
}
#: smallest number of predictions, over all seeds, at which a bin is drawn.
FEWEST = 50
_SETTING = re.compile(r"(?:(?P<label>.*);)?epsilon=(?P<epsilon>[^;]+)")
#: ticks of an axis of percents: the first row if three of its ticks are in range, else both rows.
COARSE = (1, 2, 5, 10, 20, 50, 100)
FINE = (1.2, 1.4, 1.6, 1.8, 2.5, 3, 4, 6, 7, 8, 12, 14, 16, 18, 25, 30, 40, 60, 80)


def split_setting(setting: str) -> tuple[str, float]:
    """(label, epsilon of the budget or NaN if there is none)."""
    found = _SETTING.fullmatch(setting)
    return (found["label"] or "", float(found["epsilon"])) if found else (setting, math.nan)


def build(run: Run) -> list[Figure]:
    """Draw every figure for which this experiment has data."""
    folder, extra, scores = run.figures, run.extra, run.scores
    drawn = [accuracy(folder, scores)]
    if extra is not None:
        drawn += [reliability(folder, extra / "bbb_reliability.csv"), curves(folder, extra / "bbb_learning_curves.csv")]
    return [f for f in drawn if f is not None]


def means(scores: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One row per cell: method, label, epsilon of budget and ledger, mean, sd, n, half width of the interval."""
    ok = scores[(scores["status"] == "ok") & (scores["metric"] == metric)]
    rows = []
    for (method, setting), group in ok.groupby(["method", "setting"], sort=False):
        label, budget = split_setting(setting)
        mean, sd, n = mean_std(group["value"].astype(float))
        spent = pd.to_numeric(group["epsilon"], errors="coerce").max()
        rows.append({"method": method, "label": label, "budget": budget, "epsilon": spent, "mean": mean, "sd": sd,
                     "n": n, "half_width": half_width(sd, n, 0.0)})  # fmt: skip
    columns = ["method", "label", "budget", "epsilon", "mean", "sd", "n", "half_width"]
    return pd.DataFrame(rows, columns=columns)


def accuracy(folder: Path, scores: pd.DataFrame) -> Figure | None:
    """Test error against epsilon with Abadi et al. 2016, and non-private test error with Blundell et al. 2015."""
    name = f"{STEM}_error"
    table = means(scores, "test_error")
    table[["mean", "sd", "half_width"]] *= 100.0
    private = table[table["budget"].notna()]
    if private.empty:
        return style.skip(name, "no score of a private method")
    published = pd.read_csv(PUBLISHED, keep_default_na=False)
    with style.canvas(1, 2, panel=4.2) as (figure, axes):
        left, right = axes.flat
        methods = dict(METHODS)
        for k, (key, (words, variant)) in enumerate(PRIVATE.items()):
            line = _of(private, key).sort_values("budget")
            if line.empty:
                continue
            look = palette.look(key[0]).line(variant) | {"yerr": line["half_width"], "markersize": 5, "linewidth": 1.0}
            if key[0] != NOTE:
                left.errorbar(line["budget"] * 1.1 ** (k - 3), line["mean"], **look, label=words)  # side by side
                continue
            methods |= {f"{words}: {what}": NOTE for what in ("claimed", "real")}
            faint = look | {"alpha": 0.55, "linestyle": (0, (1, 2.5))}
            left.errorbar(line["budget"], line["mean"], **faint, label=f"{words}: claimed")
            left.errorbar(line["epsilon"], line["mean"], **look, label=f"{words}: real")
        theirs = published[(published["source"] == "abadi2016deep") & (published["epsilon"] != "")]
        left.errorbar(theirs["epsilon"].astype(float), theirs["test_error_percent"].astype(float), color=style.BLACK,
                      marker="x", markersize=7, linestyle="none", label="Abadi et al. 2016, DP-SGD")  # fmt: skip
        left.set_xscale("log")
        left.set_xlabel("epsilon (delta = 1e-5)")
        left.set_title("with privacy")
        ticks = [e for e in (0.5, 1.2, 2, 3, 8, 30, 100, 300) if e <= 1.2 * max(private["epsilon"].max(), 8)]
        left.set_xticks(ticks, [f"{e:g}" for e in ticks])
        left.minorticks_off()
        _free(right, table[table["budget"].isna()], published)
        for ax in (left, right):
            ax.set_ylabel("test error (%)")
            _percent_axis(ax)
        style.legend(figure, style.labels(axes), methods)
        both = pd.concat([table.assign(what="ours"), published.assign(what="published")], ignore_index=True)
        style.save(figure, folder / name, both)
    seeds = _counts(private)
    return Figure(
        name,
        "Test error against epsilon (accuracy is 100 % less it), MNIST",
        f"Networks of two layers of 400 units on the official split; mean over runs with 95 % intervals ({seeds}). The "
        "note's method stands twice: at the epsilon that it claims (pale) and at the one that its ledger holds, for "
        "replacing one record; the others for adding or removing one. Crosses: published, another network (60 "
        "principal components, 1000 units). Right: without privacy, 60 epochs; black lines: Blundell et al. 2015, "
        "table 1, the same widths, 600 epochs. Points are shifted sideways so that they stay apart.",
    )


def _free(ax: Any, table: pd.DataFrame, published: pd.DataFrame) -> None:
    """Non-private methods, one below the other, and the published number as a line."""
    names = []
    for k, (key, (words, variant)) in enumerate(FREE.items()):
        names.append(words.replace("by backprop, ", "by\nbackprop,\n"))
        line = _of(table, key)
        if len(line):
            ax.errorbar([k], line["mean"], line["half_width"], markersize=6, **palette.look(key[0]).dot(variant))
        found = published[published["method"].map(BLUNDELL.get) == key]
        for value in found.loc[found["source"] == "blundell2015weight", "test_error_percent"].astype(float):
            ax.plot([k - 0.3, k + 0.3], [value, value], color=style.BLACK, linewidth=1.4, label="Blundell et al. 2015")
    ax.set_xticks(range(len(names)), names, fontsize=7.5)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_title("without privacy")


def reliability(folder: Path, path: Path) -> Figure | None:
    """Share of correct labels against confidence, pooled over seeds: one panel per epsilon and one non-private."""
    name = f"{STEM}_reliability"
    table = _table(path)
    if table.empty:
        return style.skip(name, f"no rows in {path.name}")
    rows = []
    for (method, label, budget, k), group in table.groupby(
        ["method", "label", "budget", "bin"], dropna=False, sort=False
    ):
        weight = group["count"] / group["count"].sum()
        rows.append({"method": method, "label": label, "budget": budget, "bin": k, "count": int(group["count"].sum()),
                     "confidence": float(weight @ group["confidence"]),
                     "accuracy": float(weight @ group["accuracy"])})  # fmt: skip
    pooled = pd.DataFrame(rows)
    panels = _panels(pooled)
    with style.panels(len(panels), 2 if len(panels) == 4 else 3, panel=3.0) as (figure, axes):
        for ax, (title, keys, here) in zip(axes.flat, panels, strict=False):
            ax.plot([0, 1], [0, 1], color=style.LIGHT, linewidth=1.2)
            for key, (words, variant) in keys.items():
                line = _of(here, key).sort_values("bin")
                line = line[line["count"] >= FEWEST]
                if len(line):
                    look = palette.look(key[0]).line(variant)
                    ax.plot(line["confidence"], line["accuracy"], markersize=3.8, linewidth=1.1, label=words, **look)
            ax.set_xlim(0, 1.03)
            ax.set_ylim(0, 1.03)
            ax.set_title(title)
            ax.set_xlabel("confidence")
            ax.set_ylabel("share of right labels")
        style.legend(figure, style.labels(axes), METHODS)
        style.save(figure, folder / name, pooled)
    return Figure(
        name,
        "Reliability: are the probabilities true?",
        "Test predictions in 15 bins of equal width by the probability of the most probable class; all runs together. "
        "On the grey line probabilities are true; below it they are too high. Bins of fewer than "
        f"{FEWEST} predictions are left out.",
    )


def curves(folder: Path, path: Path) -> Figure | None:
    """Test error of the weights, or of their means, against epochs, one line per seed.

    The note as printed learns nothing. Its lines are left out, because they would compress the others.
    """
    name = f"{STEM}_learning_curves"
    table = _table(path)
    if table.empty:
        return style.skip(name, f"no rows in {path.name}")
    flat = _of(table, (NOTE, "as printed"))
    panels = _panels(table.drop(flat.index))
    with style.panels(len(panels), 2 if len(panels) == 4 else 3, panel=3.0) as (figure, axes):
        for ax, (title, keys, here) in zip(axes.flat, panels, strict=False):
            for key, (words, variant) in keys.items():
                look = palette.look(key[0]).line(variant) | {"linewidth": 0.8, "markersize": 3.4}
                for k, (_, line) in enumerate(_of(here, key).groupby("split", sort=True)):
                    line = line.sort_values("epoch")
                    ax.plot(line["epoch"], 100.0 * line["test_error"], label=words if k == 0 else None, **look)
            ax.set_xscale("log")
            ticks = sorted(set(here["epoch"]))
            ax.set_xticks(ticks, [str(t) for t in ticks])
            ax.minorticks_off()
            ax.set_title(title)
            ax.set_xlabel("epochs")
            ax.set_ylabel("test error (%)")
            _percent_axis(ax)
        style.legend(figure, style.labels(axes), METHODS)
        style.save(figure, folder / name, table)
    rest = f" Not drawn: the note as printed, never below {100 * flat['test_error'].min():.0f} %." if len(flat) else ""
    return Figure(
        name,
        "Learning curves",
        "Test error of the weights, or of the means of the posterior, in the course of training; one line a run. No "
        f"method saw it.{rest}",
    )


def _table(path: Path) -> pd.DataFrame:
    """A table of ``classifier_curves`` with label and budget in separate columns, empty if there is none."""
    if not path.is_file():
        return pd.DataFrame()
    table = pd.read_csv(path, keep_default_na=False)
    parts = [split_setting(s) for s in table["setting"]]
    return table.assign(label=[p[0] for p in parts], budget=[p[1] for p in parts])


def _panels(table: pd.DataFrame) -> list[tuple[str, dict, pd.DataFrame]]:
    """(title, looks, rows) of each panel: one per epsilon, then the non-private one."""
    found = [
        (f"epsilon = {e:g}", PRIVATE, table[table["budget"] == e]) for e in sorted(table["budget"].dropna().unique())
    ]
    free = table[table["budget"].isna()]
    return found + ([("without privacy", FREE, free)] if len(free) else [])


def _of(table: pd.DataFrame, key: tuple[str, str]) -> pd.DataFrame:
    return table[(table["method"] == key[0]) & (table["label"] == key[1])]


def _counts(table: pd.DataFrame) -> str:
    parts = []
    for key, (words, _) in PRIVATE.items():
        n = sorted(set(_of(table, key)["n"]))
        parts += [f"{words}: {' or '.join(f'{v:g}' for v in n)}"] if n else []
    return "; ".join(parts)


def _percent_axis(ax: Any) -> None:
    """Make the axis logarithmic with ticks at round percents."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    coarse = [t for t in COARSE if low <= t <= high]
    ticks = coarse if len(coarse) >= 3 else sorted(t for t in COARSE + FINE if low <= t <= high)
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
