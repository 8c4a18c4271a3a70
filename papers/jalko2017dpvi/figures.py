"""Figures as in the source: accuracy against epsilon, with the band in which a mean of so many of our runs falls, and
the published points; DPVI beside DP-SGLD at printed and at true budgets; all cells in one picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.jalko2017dpvi import tables
from papers.jalko2017dpvi.checks import BY_BUDGET
from reports import style

READINGS = {"authors": (style.BLUE, "ours, as the program runs"), "corrected": (style.ORANGE, "ours, corrected")}
#: a mean of N runs lies within so many standard errors in 95 % of cases.
CENTRAL = 1.96
TICKS = (0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 200)
PANELS = {
    "abalone_acc_vs_c": ("clip", "clip {:g}"),
    "adult_acc_vs_c": ("clip", "clip {:g}"),
    "adult_acc_vs_q": ("kappa", "sampling rate {:g}"),
}


def clips(frame: pd.DataFrame, table: str, lines: pd.DataFrame, stem: Path) -> None:
    """One panel a clip (or sampling rate): accuracy against the printed epsilon."""
    column, title = PANELS[table]
    rows = frame[frame["table"] == table]
    with style.canvas(2, 3, panel=2.5) as (figure, axes):
        for ax, (value, g) in zip(axes.flat, rows.groupby(column), strict=False):
            n = int(g.loc[g["reading"] == "published", "n"].iloc[0])
            for reading, (colour, _) in READINGS.items():
                own = g[g["reading"] == reading].sort_values("epsilon")
                half = CENTRAL * own["spread"] / np.sqrt(n)
                ax.fill_between(
                    own["epsilon"], own["accuracy"] - half, own["accuracy"] + half, color=colour, alpha=0.22, lw=0
                )
                ax.plot(own["epsilon"], own["accuracy"], color=colour, lw=1, ls="-" if reading == "authors" else "--")
            own = g[g["reading"] == "published"]
            ax.errorbar(own["epsilon"], own["accuracy"], own["se"], fmt="o", color=style.PUBLISHED, ms=3.5, lw=1)
            ax.axhline(lines[table], color=style.GREY, ls=":", lw=1)
            ax.set(xscale="log", title=title.format(value))
            _ticks(ax, own["epsilon"])
        low, high = rows["accuracy"].min(), max(rows["accuracy"].max(), lines[table])
        for ax in axes.flat:
            ax.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
        axes.flat[-1].set_visible(False)
        _key(figure, axes.flat[-1], n)
        figure.supxlabel("epsilon as printed (delta = 1e-3)")
        figure.supylabel("test accuracy")
        style.save(figure, stem, rows)


def _ticks(ax, epsilon: pd.Series) -> None:
    """Few plain numbers below a logarithmic axis."""
    shown = [t for t in TICKS if 0.8 * epsilon.min() <= t <= 1.25 * epsilon.max()]
    ax.set_xticks(shown, [f"{t:g}" for t in shown])
    ax.set_xticks([], minor=True)


def _key(figure, ax, n: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = [
        Line2D([], [], color=c, ls="-" if r == "authors" else "--", label=label) for r, (c, label) in READINGS.items()
    ]
    entries += [
        Patch(color=style.GREY, alpha=0.3, label=f"95 % of means of {n} of our runs"),
        Line2D([], [], color=style.PUBLISHED, marker="o", ms=4, label="published, one standard error"),
        Line2D([], [], color=style.GREY, ls=":", label="published, without privacy"),
    ]
    place = ax.get_subplotspec().get_position(figure)
    middle = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2 + 0.04
    figure.legend(handles=entries, loc="center", bbox_to_anchor=middle, fontsize=8)


def sampling(frame: pd.DataFrame, sgld: pd.DataFrame, bounds: pd.DataFrame, line: float, stem: Path) -> None:
    """The fourth figure: as the source draws it, and at budgets that hold."""
    rows = frame[frame["table"] == "sgld_vs_advi_abalone"].copy()
    rows["sigma"] = rows["sigma"].map("{:.5g}".format)
    sgld, bounds = (t.assign(sigma=pd.to_numeric(t["sigma"]).map("{:.5g}".format)) for t in (sgld, bounds))
    bounds = bounds[(bounds["dataset"] == "abalone_coded") & (bounds["T"] == 1000) & (bounds["delta"] > 1e-4)]
    printed = sgld[sgld["variant"] == "program"].set_index("sigma")["epsilon"]
    with style.canvas(1, 2, panel=3.6) as (figure, axes):
        left, right = axes[0]
        data = []
        for reading, colour, mark, label in (("published", style.PUBLISHED, "o", "DPVI, published"),
                                             ("authors", style.BLUE, "s", "DPVI, our runs")):  # fmt: skip
            g = rows[rows["reading"] == reading].set_index("sigma")
            _curve(left, printed.reindex(g.index), g["accuracy"], g["se"], colour, mark, label, data)
        g = sgld[sgld["variant"] == "program"]
        _curve(left, g["epsilon"], g["accuracy"], g["sd"] / np.sqrt(g["repeats"]), style.RED, "v",
               "DP-SGLD as programmed, our runs", data)  # fmt: skip
        plain = sgld.loc[sgld["variant"] == "program, without privacy noise", "accuracy"].iloc[0]
        left.axhline(plain, color=style.RED, ls="--", lw=1, label="the same without privacy noise")
        left.set(title="as the comparison prints it", xlabel="epsilon by advanced composition (delta = 1e-3)")
        for reading, rule, relation, (colour, mark), chains, name in (
            ("authors", "replace-one, with replacement: bound", "replace_one", (style.BLUE, "s"), (style.RED, "^"),
             "replace-one"),
            ("corrected", "add/remove, Poisson: dp_accounting_pld", "add_remove", (style.ORANGE, "D"),
             (style.PURPLE, "v"), "add/remove"),
        ):  # fmt: skip
            own = bounds[bounds["rule"] == rule].set_index("sigma")["epsilon"]
            g = rows[rows["reading"] == reading].set_index("sigma")
            _curve(right, own.reindex(g.index), g["accuracy"], g["se"], colour, mark, f"DPVI, {name}", data)
            g = sgld[(sgld["variant"] == BY_BUDGET) & (sgld["relation"] == relation) & (sgld["delta"] > 1e-4)]
            error, (colour, mark) = g["sd"] / np.sqrt(g["repeats"]), chains
            _curve(right, g["epsilon"], g["accuracy"], error, colour, mark, f"sound DP-SGLD, {name}", data, "--")
        right.set(title="at a budget that holds", xlabel="epsilon that holds (delta = 1e-3)")
        for ax in (left, right):
            ax.axhline(line, color=style.GREY, ls=":", lw=1, label="published, without privacy")
            ax.set(xscale="log", ylim=(0.55, 0.79))
            _ticks(ax, pd.Series(ax.get_xlim()))
            ax.legend(fontsize=7.5, loc="lower right")
        left.set_ylabel("test accuracy")
        style.save(figure, stem, pd.concat(data))


def _curve(ax, epsilon, accuracy, se, colour, mark, label, data, line="-") -> None:
    ax.errorbar(
        epsilon.to_numpy(), accuracy.to_numpy(), se.to_numpy(), color=colour, fmt=mark + line, ms=4, lw=1, label=label
    )
    data.append(pd.DataFrame({"series": label, "epsilon": epsilon.to_numpy(), "accuracy": accuracy.to_numpy(),
                              "se": se.to_numpy()}))  # fmt: skip


def all_cells(verdicts: pd.DataFrame, stem: Path) -> None:
    """Ours against the published accuracy of all private cells, and their standardised differences."""
    told = verdicts[(verdicts["our_method"] == "dpvi") & verdicts["z"].notna()]
    with style.canvas(2, 2, panel=3.0) as (figure, axes):
        for column, (reading, (_, title)) in enumerate(READINGS.items()):
            rows = told[told["reading"] == reading]
            ax = axes[0, column]
            for (table, g), (colour, mark) in zip(rows.groupby("table", sort=False), style.SERIES, strict=False):
                ax.plot(
                    1 - g["published_error"].astype(float),
                    1 - g["mean"],
                    mark,
                    color=colour,
                    ms=4,
                    label=tables.FIGURES[table],
                )
            ends = [0.725, 0.82]
            ax.plot(ends, ends, color=style.BLACK, lw=0.8)
            ax.set(title=f"{title}: {len(rows)} cells", xlabel="published accuracy", xlim=ends, ylim=ends)
            ax = axes[1, column]
            ax.hist(rows["z"], bins=np.arange(-4, 4.01, 0.5), color=style.SKY, edgecolor="white")
            z = np.linspace(-4, 4, 161)
            ax.plot(z, len(rows) * 0.5 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), color=style.BLACK, lw=1)
            ax.set(xlabel="difference over its standard error (curve: one law)", xlim=(-4, 4))
        axes[0, 0].legend(fontsize=8)
        axes[0, 0].set_ylabel("our accuracy")
        axes[1, 0].set_ylabel("cells")
        style.save(figure, stem, told[["table", "setting", "reading", "published_mean", "mean", "z"]])


def build(reference: Path, out: Path) -> list[Path]:
    """All figures under ``out``, from the tables of ``reference``."""
    verdicts = pd.read_csv(
        reference / "verdicts.csv.gz", dtype={"published_mean": str, "published_std": str, "setting": str}
    )
    verdicts["published_std"] = verdicts["published_std"].fillna("")
    frame = tables.accuracies(verdicts)
    plain = frame[(frame["method"] == "vi") & (frame["reading"] == "published")].set_index("dataset")["accuracy"]
    lines = {t: plain["abalone_coded" if t.startswith("abalone") else "adult_coded"] for t in PANELS}
    stems = [out / f"jalko2017dpvi_{table}" for table in PANELS]
    for table, stem in zip(PANELS, stems, strict=True):
        clips(frame, table, lines, stem)
    sgld, bounds = (pd.read_csv(reference / f"{name}.csv") for name in ("sgld", "epsilons"))
    sampling(frame, sgld, bounds, plain["abalone_coded"], out / "jalko2017dpvi_sgld")
    all_cells(verdicts, out / "jalko2017dpvi_all_cells")
    return [*stems, out / "jalko2017dpvi_sgld", out / "jalko2017dpvi_all_cells"]
