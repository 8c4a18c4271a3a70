"""Figures: MMD by epsilon, with published and our box plots for each model and method, and the effect of the start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.raisa2021thesis import tables
from papers.raisa2021thesis.tables import METHODS, MODELS
from reports import style
from reports.blocks import Figure
from workflow.program import read_scores

LOOKS = {"published": (style.PUBLISHED, "o", "published"), "authors": (style.READING["authors"][0], "s", "ours")}
STARTS = {"published": "-", "paid for": "-", "ten deviations off": "--", "mean of the prior": ":"}


def boxes(medians: pd.DataFrame, metric: str, stem: Path, exact: pd.DataFrame | None = None) -> Figure:
    """Medians and quartiles of all box plots of one metric that were run."""
    own = medians[medians["metric"] == metric]
    ran = own.loc[own["reading"] == "authors", ["dataset", "method"]].drop_duplicates()
    own = own.merge(ran, on=["dataset", "method"])
    models = [m for m in MODELS if m in set(own["dataset"])]
    methods = [m for m in METHODS if m in set(own["method"])]
    with style.canvas(len(models), len(methods), panel=1.9) as (figure, axes):
        for i, model in enumerate(models):
            for j, method in enumerate(methods):
                ax, cell = axes[i, j], own[(own["dataset"] == model) & (own["method"] == method)]
                for k, (reading, (colour, mark, words)) in enumerate(LOOKS.items()):
                    g = cell[cell["reading"] == reading].sort_values("epsilon")
                    x = g["epsilon"] + 0.24 * (k - 0.5)
                    ax.vlines(x, g["q1"], g["q3"], color=colour, lw=3, alpha=0.35)
                    ax.plot(x, g["median"], mark, color=colour, ms=3.5, label=words)
                if exact is not None:
                    ax.axhline(exact.set_index("dataset").loc[model, "published"], color=style.GREY, ls=":", lw=1,
                               label="exact draws, published")  # fmt: skip
                ax.set_title(f"{METHODS[method]}\n{MODELS[model]}", fontsize=8)
                ax.set_xticks(range(1, 7))
                ax.set_ylim(bottom=0)
        for ax in axes[-1]:
            ax.set_xlabel("epsilon (delta = 0.1 / n)")
        style.legend(figure, style.labels(axes))
        figure.supylabel(tables.METRICS[metric])
        style.save(figure, stem, own)
    return Figure(
        stem.name,
        f"{tables.METRICS[metric]} by epsilon: published and our boxes",
        "Median and quartiles of 20 chains. Our boxes of one panel are of the same chains, read at the length that "
        "each epsilon allows.",
    )


def starts(found: pd.DataFrame, stem: Path) -> Figure:
    """MMD by epsilon for chains with other starts."""
    methods = list(found["method"].unique())
    with style.canvas(1, len(methods), panel=3.0) as (figure, axes):
        for ax, method in zip(axes[0], methods, strict=True):
            for (place, dashes), (colour, mark) in zip(STARTS.items(), style.SERIES, strict=False):
                g = found[(found["method"] == method) & (found["start"] == place)]
                error = np.abs(g[["q1", "q3"]].to_numpy().T - g["median"].to_numpy())
                ax.errorbar(
                    g["epsilon"], g["median"], error, color=colour, marker=mark, ls=dashes, ms=4, lw=1, label=place
                )
            ax.set(title=METHODS[method], xlabel="epsilon (delta = 1e-6)", ylim=(0, None))
            ax.set_xticks(sorted(found["epsilon"].unique()))
        axes[0, 0].set_ylabel("MMD")
        style.legend(figure, style.labels(axes))
        style.save(figure, stem, found)
    return Figure(
        stem.name,
        "Flat banana, d = 2: MMD by where the chains start",
        "Median and quartiles of 20 chains. Published: at the truth plus one posterior deviation. Paid for: "
        "at the noisy mean of the rows, which takes a tenth of the same budget.",
    )


def build(reference: Path, out: Path) -> list[Figure]:
    """All figures under ``out``, from the tables of ``reference``."""
    medians = tables.medians(read_scores(reference / "scores"))
    exact = pd.read_csv(reference / "exact.csv")
    return [
        boxes(medians, "mmd", out / "raisa2021thesis_mmd", exact),
        boxes(medians, "acceptance", out / "raisa2021thesis_acceptance"),
        boxes(medians, "clipped_ratios", out / "raisa2021thesis_clipped_ratios"),
        starts(pd.read_csv(reference / "starts.csv"), out / "raisa2021thesis_starts"),
    ]
