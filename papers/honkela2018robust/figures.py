"""Figures: scores by budget and by number of rows as in the authors' plots, and scores after more updates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.honkela2018robust import published
from papers.honkela2018robust.tables import METHODS
from reports import style
from reports.blocks import Figure

READINGS = {"published": (style.PUBLISHED, "o", "published"),
            "authors": (style.READING["authors"][0], "s", "ours, authors' code"),
            "printed": (style.READING["printed"][0], "^", "ours, posterior mean"),
            "corrected": (style.READING["corrected"][0], "D", "ours, corrected")}  # fmt: skip
AXES = {"synth_A": ("epsilon", "epsilon (500 private rows)"), "synth_B": ("n", "private rows (epsilon = 2)")}


def points(judged: pd.DataFrame) -> pd.DataFrame:
    """Score by table, method, reading, epsilon and n, with ``published`` among the readings."""
    own = judged[judged["table"].isin(AXES)]
    told = own["setting"].map(published.fields)
    keys = own[["table", "method"]].assign(epsilon=[t["epsilon"] for t in told], n=[t["n"] for t in told])
    theirs = keys.assign(reading="published", score=own["published_mean"].astype(float))
    ours = keys.assign(reading=own["reading"], score=own["mean"].astype(float))
    return pd.concat([theirs[(own["reading"] == "authors").to_numpy()], ours[ours["score"].notna()]], ignore_index=True)


def scores(frame: pd.DataFrame, stem: Path) -> Figure:
    with style.canvas(2, 3, panel=2.6) as (figure, axes):
        for i, (table, (column, label)) in enumerate(AXES.items()):
            for j, method in enumerate(("lr", "rlr", "rplr")):
                ax, cell = axes[i, j], frame[(frame["table"] == table) & (frame["method"] == method)]
                for reading, (colour, mark, words) in READINGS.items():
                    g = cell[cell["reading"] == reading].sort_values(column)
                    # a ring, so that ours can be seen inside
                    look = {"ls": "none", "ms": 9, "mfc": "none"} if reading == "published" else {"ls": "-", "ms": 4}
                    ax.plot(g[column], g["score"], mark, color=colour, lw=1, label=words, **look)
                ax.set_title(METHODS[method])
                ax.set_xlabel(label)
                if column == "epsilon":
                    ax.set_xscale("log")
                    ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        style.legend(figure, style.labels(axes))
        figure.supylabel("Spearman's rank correlation, mean over 50 folds")
        style.save(figure, stem, frame)
    return Figure(
        stem.name,
        "Scores by budget and by number of private rows",
        "A mean over 50 folds. Without privacy and with clipping only, epsilon is a label, or enters by the clipping "
        "multiples. The posterior mean is shown if all folds have a posterior.",
    )


def updates(found: pd.DataFrame, stem: Path) -> Figure:
    with style.canvas(1, 1, panel=3.2) as (figure, axes):
        ax = axes[0, 0]
        lines = found.groupby(["method", "setting"], sort=False)
        for ((method, setting), g), (colour, mark) in zip(lines, style.SERIES, strict=False):
            words = "not private" if method == "lr" else f"private, epsilon = {published.fields(setting)['epsilon']:g}"
            ax.plot(g["updates"], g["score"], f"{mark}-", color=colour, ms=4, lw=1, label=words)
        ax.axvline(4999, color=style.GREY, ls=":", lw=1)
        ax.set(xscale="log", xlabel="updates of the optimiser (dotted: where the authors' code stops)",
               ylabel="Spearman's rank correlation")  # fmt: skip
        ax.set_xticks(sorted(set(found["updates"])), [f"{v:,}" for v in np.unique(found["updates"])])
        ax.set_xticks([], minor=True)
        style.legend(figure, style.labels(axes))
        style.save(figure, stem, found)
    return Figure(
        stem.name,
        "Scores after more and after fewer updates of the same optimiser",
        "500 private rows, mean over 50 folds, score of the mean of the variational distribution. The same noise and "
        "the same random numbers for all points of a line.",
    )


def build(reference: Path, out: Path) -> list[Figure]:
    """All figures under ``out``, from the tables of ``reference``."""
    judged = pd.read_csv(reference / "verdicts.csv.gz", dtype={"published_mean": str})
    return [scores(points(judged), out / "honkela2018_scores"),
            updates(pd.read_csv(reference / "updates.csv"), out / "honkela2018_updates")]  # fmt: skip
