"""Figures: error against epsilon on each data set with the published error, and all published numbers in one figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.wang2018 import run
from papers.wang2018.tables import COMPARED, METHODS, RULES
from reports import palette, style
from reports.blocks import Figure
from reports.config import READING_TITLES
from workflow.program import read_scores
from workflow.published import KEY

READINGS = {r: READING_TITLES[r] for r in ("authors", "printed", "corrected")}
#: rows and columns of panels of one figure of errors.
PANELS = (5, 3)
BAND = (0.025, 0.975)


def bands(scores: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Published errors of the authors' reading, and median and central 95 % of our repetitions."""
    cells = verdicts[verdicts["reading"] == "authors"].copy()
    cells["epsilon"] = cells["setting"].str.extract(r"epsilon=([\d.]+)")[0].fillna("")
    ours = scores[(scores["reading"] == "authors") & (scores["status"] == "ok")]
    by = {k: (m, r) for *k, m, r in ours[["dataset", "method", "epsilon", "mean", "runs"]].itertuples(index=False)
          for k in [tuple(k)]}  # fmt: skip
    rows = []
    for cell in cells.itertuples(index=False):
        mean, runs = by.get((cell.dataset, cell.our_method, cell.epsilon), ("", ""))
        values = np.array((runs or mean or "nan").split(), dtype=np.float64)
        low, middle, high = np.quantile(values, [BAND[0], 0.5, BAND[1]])
        rows.append((cell.dataset, cell.our_method, cell.epsilon, float(cell.published_mean), low, middle, high))
    return pd.DataFrame(rows, columns=["dataset", "method", "epsilon", "published", "low", "median", "high"])


def errors(frame: pd.DataFrame, methods: list[str], stem: Path, title: str) -> list[Figure]:
    """One panel per data set: our median and central 95 % range, and the published numbers as marks."""
    names = sorted(frame["dataset"].unique())
    per, made = PANELS[0] * PANELS[1], []
    parts = [names[start : start + per] for start in range(0, len(names), per)]
    for part, shown in enumerate(parts):
        path = stem.with_name(f"{stem.name}_{part + 1}")
        with style.panels(len(shown), PANELS[1], panel=2.1) as (figure, axes):
            for ax, name in zip(axes.flat, shown, strict=False):
                rows = frame[frame["dataset"] == name]
                _panel(ax, rows, methods)
                ax.set_title(f"{name} (published alone)" if rows["median"].isna().any() else name)
            for ax in axes.flat[max(0, len(shown) - PANELS[1]) : len(shown)]:
                ax.set_xlabel("claimed epsilon (delta = 1e-6)")
            for ax in axes[:, 0]:
                ax.set_ylabel("MSE on test rows")
            _key(figure, methods)
            style.save(figure, path, frame[frame["dataset"].isin(shown) & frame["method"].isin(methods)])
        caption = (
            "Reading: authors' code. Mark: the published number, a single run (at the upper edge: above it); "
            "line and band: median and central 95 % of our runs on the same folds. Level lines: without privacy and "
            "the mean of the targets, published. Where the data cannot be had the published numbers stand alone."
        )
        made.append(Figure(path.name, f"{title}, {shown[0]} to {shown[-1]} ({part + 1} of {len(parts)})", caption))
    return made


def _panel(ax, rows: pd.DataFrame, methods) -> None:
    # Errors above a hundred times that of the mean are cut off. SSP reaches 1e6.
    trivial = rows.loc[rows["method"] == "trivial", "published"].iloc[0]
    own = rows[rows["method"].isin([*methods, *run.NOISE_FREE])]
    least = min(own["published"].min(), own["low"].min())
    top = min(1.4 * own[["high", "published"]].max().max(), 100 * trivial)
    for method in methods:
        g = rows[rows["method"] == method]
        epsilon, look = g["epsilon"].astype(float), palette.look(method)
        ax.fill_between(epsilon, g["low"], g["high"], color=look.colour, alpha=0.2, linewidth=0)
        ax.plot(epsilon, g["median"], color=look.colour, linestyle=look.dashes, linewidth=1)
        kind = look.dot() | {"markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
        ax.plot(epsilon, g["published"].clip(upper=top), clip_on=False, zorder=3, **kind)
    for method, look in palette.looks(run.NOISE_FREE).items():
        level = rows.loc[rows["method"] == method, "published"].iloc[0]
        ax.axhline(level, color=look.colour, linestyle=look.dashes, linewidth=1)
    ax.set(xscale="log", yscale="log", ylim=(0.7 * least, top))
    ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    ax.yaxis.set_minor_formatter("")


def _key(figure, methods) -> None:
    """One key below the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    own = {METHODS[m]: Line2D([], [], markersize=5, **palette.look(m).line()) for m in methods}
    free = {
        METHODS[m]: Line2D([], [], color=k.colour, linestyle=k.dashes) for m, k in palette.looks(run.NOISE_FREE).items()
    }
    words = {
        "mark: published (at the top: above)": Line2D([], [], color=style.GREY, marker="o", linestyle="", markersize=5),
        "line: our median": Line2D([], [], color=style.GREY),
        "band: central 95 % of ours": Patch(color=style.GREY, alpha=0.3),
    }
    style.legend(figure, own | free | words, {METHODS[m]: m for m in (*methods, *run.NOISE_FREE)})


def all_cells(verdicts: pd.DataFrame, stem: Path) -> Figure:
    """Our errors against the published ones, and the ranks of the published numbers among ours, by reading."""
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

        private = [m for m in METHODS if m in set(told["our_method"]) and m not in run.NOISE_FREE]
        entries = {METHODS[m]: Line2D([], [], markersize=5, **palette.look(m).dot()) for m in private}
        entries["without noise"] = Line2D([], [], color=style.BLACK, marker=".", linestyle="")
        style.legend(figure, entries, {METHODS[m]: m for m in private})
        style.save(
            figure,
            stem,
            told[["dataset", "our_method", "setting", "reading", "published_mean", "mean", "median", "ratio", "rank"]],
        )
    return Figure(
        stem.name,
        f"All {verdicts.drop_duplicates(KEY).shape[0]:,} published numbers at once, by reading",
        "Above: the median of our runs over the published error, one mark per number that has a score. On the line "
        "they are equal. Below: where the published number lies among our runs. If both come from one distribution, "
        "every bar has the height 1, and the grey band holds 95 % of such bars.",
    )


def _scatter(ax, rows: pd.DataFrame, spans) -> None:
    for method, g in rows.groupby("our_method", sort=False):
        look = palette.look(method)
        colour, mark = (style.BLACK, ".") if method in run.NOISE_FREE else (look.colour, look.marker)
        x = g["published_mean"].astype(float)
        ax.scatter(x, g["ratio"], s=12, color=colour, marker=mark, alpha=0.6, edgecolors="none")
    ax.axhline(1, color=style.BLACK, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="published error", xlim=spans[0], ylim=spans[1])
    ax.xaxis.set_minor_formatter("")


def _ranks(ax, rows: pd.DataFrame) -> None:
    """Published numbers per 20th of the ranks, over the number of uniform ranks, with its central 95 %."""
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


def build(reference: Path, out: Path) -> list[Figure]:
    """All figures under ``out``, from the tables of ``reference``."""
    scores = read_scores(reference / "scores")
    verdicts = pd.read_csv(reference / "verdicts.csv.gz", dtype={"published_mean": str, "setting": str})
    verdicts["setting"] = verdicts["setting"].fillna("")
    frame = bands(scores, verdicts)
    drawn = [all_cells(verdicts, out / "wang2018_all_cells")]
    drawn += errors(frame, palette.ordered(COMPARED), out / "wang2018_errors", "Error against epsilon, private methods")
    drawn += errors(frame, palette.ordered(RULES), out / "wang2018_rules", "Error against epsilon, rules of OPS")
    return drawn
