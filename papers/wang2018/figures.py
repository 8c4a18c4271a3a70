"""Figures: error against epsilon on each table with our band beside the published error, and all cells in one
picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.wang2018 import run
from papers.wang2018.tables import COMPARED, METHODS, RULES
from papers.wang2018.verdicts import runs_of
from reports import style
from reports.own_program import read_scores

#: method -> (colour, marker), the same in all figures.
LOOK = {
    "ssp": (style.ORANGE, "v"),
    "adassp": (style.BLUE, "o"),
    "adaops": (style.RED, "s"),
    "ops_balanced": (style.GREEN, "D"),
    "ops_balanced_unshown": (style.GREEN, "d"),
    "objpert": (style.PURPLE, "^"),
    "ops_diffused": (style.SKY, "X"),
    "ops_worstcase": (style.BLACK, "P"),
    "ops_concentrated": (style.GREY, "h"),
}
READINGS = {"authors": "as the program runs", "printed": "as it is meant", "corrected": "corrected"}
#: panels of one figure of errors: rows, columns.
PANELS = (5, 3)
BAND = (0.025, 0.975)


def bands(scores: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row a published cell of the authors' reading: published error, median and central 95 % of our repetitions."""
    cells = verdicts[verdicts["reading"] == "authors"].copy()
    cells["epsilon"] = cells["setting"].str.extract(r"epsilon=([\d.]+)")[0].fillna("")
    ours = scores[(scores["reading"] == "authors") & (scores["status"] == "ok")]
    by = {k: (m, r) for *k, m, r in ours[["dataset", "method", "epsilon", "mean", "runs"]].itertuples(index=False)
          for k in [tuple(k)]}  # fmt: skip
    rows = []
    for cell in cells.itertuples(index=False):
        mean, runs = by.get((cell.dataset, cell.our_method, cell.epsilon), ("", ""))
        low, middle, high = np.quantile(runs_of(runs), [BAND[0], 0.5, BAND[1]]) if runs else [float(mean or "nan")] * 3
        rows.append((cell.dataset, cell.our_method, cell.epsilon, float(cell.published_mean), low, middle, high))
    return pd.DataFrame(rows, columns=["dataset", "method", "epsilon", "published", "low", "median", "high"])


def errors(frame: pd.DataFrame, methods: tuple[str, ...], stem: Path) -> list[Path]:
    """One panel a table: our band and median, the published numbers as marks. Returns the stems of the figures."""
    names = sorted(frame["dataset"].unique())
    per, made = PANELS[0] * PANELS[1], []
    for part, start in enumerate(range(0, len(names), per)):
        shown = names[start : start + per]
        with style.canvas(*PANELS, panel=2.1) as (figure, axes):
            for ax, name in zip(axes.flat, shown, strict=False):
                rows = frame[frame["dataset"] == name]
                _panel(ax, rows, methods)
                ax.set_title(f"{name} (published alone)" if rows["median"].isna().any() else name)
            for ax in axes.flat[len(shown) :]:
                ax.set_visible(False)
            for ax in axes.flat[max(0, len(shown) - PANELS[1]) : len(shown)]:
                ax.set_xlabel("claimed epsilon (delta = 1e-6)")
            for ax in axes[:, 0]:
                ax.set_ylabel("MSE on test rows")
            _key(figure, methods)
            made.append(stem.with_name(f"{stem.name}_{part + 1}"))
            style.save(figure, made[-1], frame[frame["dataset"].isin(shown) & frame["method"].isin(methods)])
    return made


def _panel(ax, rows: pd.DataFrame, methods) -> None:
    # Beyond a hundred times the mean's error nothing is to be seen; SSP goes on to 1e6.
    trivial = rows.loc[rows["method"] == "trivial", "published"].iloc[0]
    own = rows[rows["method"].isin([*methods, *run.NOISE_FREE])]
    least = min(own["published"].min(), own["low"].min())
    top = min(1.4 * own[["high", "published"]].max().max(), 100 * trivial)
    for method in methods:
        g = rows[rows["method"] == method]
        epsilon, (colour, mark) = g["epsilon"].astype(float), LOOK[method]
        ax.fill_between(epsilon, g["low"], g["high"], color=colour, alpha=0.2, linewidth=0)
        ax.plot(epsilon, g["median"], color=colour, linewidth=1)
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
        ax.plot(
            epsilon, g["published"].clip(upper=top), mark, color=colour, markersize=4.5, clip_on=False, zorder=3, **edge
        )
    for method, line in zip(run.NOISE_FREE, ("--", ":"), strict=True):
        level = rows.loc[rows["method"] == method, "published"].iloc[0]
        ax.axhline(level, color=style.GREY, linestyle=line, linewidth=1)
    ax.set(xscale="log", yscale="log", ylim=(0.7 * least, top))
    ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    ax.yaxis.set_minor_formatter("")


def _key(figure, methods) -> None:
    """One key below the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = [Line2D([], [], color=LOOK[m][0], marker=LOOK[m][1], markersize=5, label=METHODS[m]) for m in methods]
    entries += [
        Line2D(
            [],
            [],
            color=style.GREY,
            marker="o",
            linestyle="",
            markersize=5,
            label="mark: published (at the top: above)",
        ),
        Line2D([], [], color=style.GREY, label="line: our median"),
        Patch(color=style.GREY, alpha=0.3, label="band: central 95 % of ours"),
        Line2D([], [], color=style.GREY, linestyle="--", label=METHODS["trivial"]),
        Line2D([], [], color=style.GREY, linestyle=":", label=METHODS["non_private"]),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=8)


def all_cells(verdicts: pd.DataFrame, stem: Path) -> None:
    """Ours against published, and the ranks of the published numbers among ours, by reading."""
    told = verdicts[verdicts["mean"].notna()].copy()
    told["ratio"] = told["median"] / told["published_mean"].astype(float)
    spans = [(0.7 * v.min(), 1.4 * v.max()) for v in (told["published_mean"].astype(float), told["ratio"])]
    with style.canvas(2, 3, panel=3.1) as (figure, axes):
        for column, (reading, title) in enumerate(READINGS.items()):
            rows = told[told["reading"] == reading]
            _scatter(axes[0, column], rows, spans)
            axes[0, column].set_title(f"{title}: {len(rows):,} cells")
            _ranks(axes[1, column], rows)
        axes[0, 0].set_ylabel("our median over published error")
        axes[1, 0].set_ylabel("cells over number expected")
        from matplotlib.lines import Line2D

        shown = [m for m in LOOK if m in set(told["our_method"])]
        entries = [
            Line2D([], [], color=LOOK[m][0], marker=LOOK[m][1], linestyle="", markersize=5, label=METHODS[m])
            for m in shown
        ]
        entries += [Line2D([], [], color=style.BLACK, marker=".", linestyle="", label="without noise")]
        figure.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=8)
        style.save(
            figure,
            stem,
            told[["dataset", "our_method", "setting", "reading", "published_mean", "mean", "median", "ratio", "rank"]],
        )


def _scatter(ax, rows: pd.DataFrame, spans) -> None:
    for method, g in rows.groupby("our_method", sort=False):
        colour, mark = LOOK.get(method, (style.BLACK, "."))
        x = g["published_mean"].astype(float)
        ax.scatter(x, g["ratio"], s=12, color=colour, marker=mark, alpha=0.6, edgecolors="none")
    ax.axhline(1, color=style.BLACK, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="published error", xlim=spans[0], ylim=spans[1])
    ax.xaxis.set_minor_formatter("")


def _ranks(ax, rows: pd.DataFrame) -> None:
    """Cells in each of 20 bins of the rank over the number that uniform ranks give, with its central 95 %."""
    noisy = rows[rows["rank"].notna()]
    edges = np.linspace(0, 1, 21)
    found = np.histogram((noisy["rank"] + 0.5) / (noisy["n"] + 1), edges)[0]
    per_n = noisy["n"].value_counts()
    expected = sum(c * np.histogram((np.arange(n + 1) + 0.5) / (n + 1), edges)[0] / (n + 1) for n, c in per_n.items())
    ax.bar(edges[:-1], found / expected, width=0.05, align="edge", color=style.SKY, edgecolor="white")
    spread = 1.96 * np.sqrt(1 / expected.mean())
    ax.axhspan(1 - spread, 1 + spread, color=style.GREY, alpha=0.3, linewidth=0)
    ax.axhline(1, color=style.BLACK, linewidth=0.8)
    ax.set(xlabel="share of our runs below the published one", xlim=(0, 1))


def build(reference: Path, out: Path) -> list[Path]:
    """All figures under ``out``, from the tables of ``reference``."""
    scores = read_scores(reference / "scores")
    verdicts = pd.read_csv(reference / "verdicts.csv.gz", dtype={"published_mean": str, "setting": str})
    verdicts["setting"] = verdicts["setting"].fillna("")
    frame = bands(scores, verdicts)
    stems = errors(frame, COMPARED, out / "wang2018_errors") + errors(frame, RULES, out / "wang2018_rules")
    all_cells(verdicts, out / "wang2018_all_cells")
    return [*stems, out / "wang2018_all_cells"]
