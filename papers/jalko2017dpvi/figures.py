"""Figures of Jälkö et al. (2017): accuracy against epsilon, with the published points and our band.

The band is that of a mean of as many of our runs. Further figures show single published runs and ours, DPVI and DP-SGLD
at printed and at true epsilons, and all published numbers together.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.jalko2017dpvi import run, tables, verdicts
from papers.jalko2017dpvi.checks import BY_BUDGET
from reports import palette, style
from reports.blocks import Figure
from reports.config import READING_TITLES
from workflow.published import KEY

READINGS = {r: (style.READING[r][0], f"ours, {READING_TITLES[r]}") for r in ("authors", "corrected")}
#: number of standard errors within which a mean of N runs lies in 95 % of cases.
CENTRAL = 1.96
TICKS = (0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 200)
PANELS = {
    "abalone_acc_vs_c": ("clip", "clip {:g}"),
    "adult_acc_vs_c": ("clip", "clip {:g}"),
    "adult_acc_vs_q": ("kappa", "sampling rate {:g}"),
}


#: the table of the source's fourth figure.
NOISES = "sgld_vs_advi_abalone"


def clips(frame: pd.DataFrame, table: str, lines: dict[str, float], stem: Path) -> Figure:
    """One panel per clipping norm or sampling rate: accuracy against the printed epsilon."""
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
    return Figure(
        stem.name,
        f"Accuracy against epsilon: {tables.FIGURES[table]}",
        f"Dots: published means of {n} runs with one standard error. Line and band: our mean, and where 95 % of means "
        f"of {n} of our runs fall. The level line is the published accuracy without privacy.",
    )


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


def sampling(frame: pd.DataFrame, sgld: pd.DataFrame, bounds: pd.DataFrame, line: float, stem: Path) -> Figure:
    """The fourth figure, at the printed epsilons and at epsilons that are proved."""
    rows = frame[frame["table"] == NOISES].copy()
    rows["sigma"] = rows["sigma"].map("{:.5g}".format)
    sgld, bounds = (t.assign(sigma=pd.to_numeric(t["sigma"]).map("{:.5g}".format)) for t in (sgld, bounds))
    bounds = bounds[(bounds["dataset"] == "abalone_coded") & (bounds["T"] == 1000) & (bounds["delta"] > 1e-4)]
    printed = sgld[sgld["variant"] == "program"].set_index("sigma")["epsilon"]
    with style.canvas(1, 2, panel=3.6) as (figure, axes):
        left, right = axes[0]
        data = []
        dpvi, chain = palette.look("dpvi"), palette.look("dp_sgld")
        theirs = {"color": style.PUBLISHED, "marker": "o"}
        for reading, look, label in (("published", theirs, "DPVI, published"),
                                     ("authors", dpvi.line(), "DPVI, our runs")):  # fmt: skip
            g = rows[rows["reading"] == reading].set_index("sigma")
            _curve(left, printed.reindex(g.index), g["accuracy"], g["se"], look, label, data)
        g = sgld[sgld["variant"] == "program"]
        _curve(left, g["epsilon"], g["accuracy"], g["sd"] / np.sqrt(g["repeats"]), chain.line(),
               "DP-SGLD as programmed, our runs", data)  # fmt: skip
        plain = sgld.loc[sgld["variant"] == "program, without privacy noise", "accuracy"].iloc[0]
        left.axhline(plain, color=chain.colour, ls=(0, (8, 3)), lw=1, label="DP-SGLD as programmed, no noise")
        left.set(title="as the comparison prints it", xlabel="epsilon by advanced composition (delta = 1e-3)")
        for k, (reading, rule, relation, name) in enumerate((
            ("authors", "replace-one, with replacement: bound", "replace_one", "replace-one"),
            ("corrected", "add/remove, Poisson: dp_accounting_pld", "add_remove", "add/remove"),
        )):  # fmt: skip
            own = bounds[bounds["rule"] == rule].set_index("sigma")["epsilon"]
            g = rows[rows["reading"] == reading].set_index("sigma")
            _curve(right, own.reindex(g.index), g["accuracy"], g["se"], dpvi.line(k), f"DPVI, {name}", data)
            g = sgld[(sgld["variant"] == BY_BUDGET) & (sgld["relation"] == relation) & (sgld["delta"] > 1e-4)]
            error = g["sd"] / np.sqrt(g["repeats"])
            _curve(right, g["epsilon"], g["accuracy"], error, chain.line(k), f"sound DP-SGLD, {name}", data)
        right.set(title="at a budget that holds", xlabel="epsilon that holds (delta = 1e-3)")
        for ax in (left, right):
            ax.axhline(line, color=style.GREY, ls=":", lw=1, label="published, without privacy")
            ax.set(xscale="log", ylim=(0.55, 0.79))
            _ticks(ax, pd.Series(ax.get_xlim()))
        left.set_ylabel("test accuracy")
        own = ("DPVI, our", "DPVI, replace", "DPVI, add")
        methods = {k: "dp_sgld" for k in style.labels(axes) if "SGLD" in k}
        methods |= {k: "dpvi" for k in style.labels(axes) if k.startswith(own)}
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, stem, pd.concat(data))
    return Figure(
        stem.name,
        "DPVI compared with DP-SGLD: as the comparison prints it, and at budgets that hold",
        "Mean accuracy with one standard error. Left: the source's comparison. Right: epsilon by this suite's ledger "
        "(filled: replace-one; hollow: add/remove), DP-SGLD with noise that its claim needs.",
    )


def _curve(ax, epsilon, accuracy, se, look, label, data) -> None:
    ax.errorbar(epsilon.to_numpy(), accuracy.to_numpy(), se.to_numpy(), ms=4, lw=1, label=label, **look)
    data.append(pd.DataFrame({"series": label, "epsilon": epsilon.to_numpy(), "accuracy": accuracy.to_numpy(),
                              "se": se.to_numpy()}))  # fmt: skip


def single_runs(frame: pd.DataFrame, reference: Path, stem: Path) -> Figure:
    """Numbers whose single runs are all published: their runs and ours, one dot per run, the mean as a bar."""
    rows = frame[(frame["table"] == NOISES) & (frame["reading"] == "authors")]
    epsilon = {f"{r.sigma:.5g}": r.epsilon for r in rows.itertuples()}
    theirs = {("published", setting): found for (table, setting), found in verdicts.single_runs().items()
              if table == NOISES}  # fmt: skip
    ours = {(key[-1], key[KEY.index("setting")]): found for key, found in verdicts.runs(reference).items()
            if key[KEY.index("table")] == NOISES}  # fmt: skip
    looks = {"published": (style.PUBLISHED, "o", "published")}
    looks |= {r: (colour, style.READING[r][1], words) for r, (colour, words) in READINGS.items()}
    data, handles = [], {}
    with style.canvas(1, 1, panel=3.4) as (figure, axes):
        figure.set_figwidth(8.0)
        ax = axes[0, 0]
        for (reading, setting), errors in (theirs | ours).items():
            x = epsilon[f"{run.fields(setting)['sigma']:.5g}"]
            place = sorted(epsilon.values()).index(x)
            colour, mark, words = looks[reading]
            at = place + 0.25 * (list(looks).index(reading) - 1)
            handles[f"{words}, {len(errors)} runs each"] = ax.plot(
                np.full(len(errors), at), 1 - errors, mark, color=colour, ms=3, alpha=0.35, mew=0
            )[0]
            ax.plot([at - 0.1, at + 0.1], [1 - errors.mean()] * 2, color=colour, lw=2)
            data += [{"reading": reading, "epsilon": x, "setting": setting, "run": k, "accuracy": 1 - e}
                     for k, e in enumerate(errors)]  # fmt: skip
        ax.set(xlabel="epsilon as printed (delta = 1e-3)", ylabel="test accuracy")
        ax.set_xticks(range(len(epsilon)), [f"{e:.3g}" for e in sorted(epsilon.values())])
        style.legend(figure, handles)
        style.save(figure, stem, pd.DataFrame(data))
    return Figure(
        stem.name,
        "Abalone: every single run, published and ours",
        "The ten noises of the source's fourth figure, of which all runs are published. A dot is a run, a bar their "
        "mean; the readings of one noise stand side by side.",
    )


def all_cells(judged: pd.DataFrame, stem: Path) -> Figure:
    """Our accuracy against the published one for all private numbers, and their standardised differences."""
    told = judged[(judged["method"] == "dpvi") & judged["z"].notna()]
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
            ax.set(xlabel="difference over its standard error (curve: one distribution)", xlim=(-4, 4))
        style.legend(figure, style.labels(axes[:1]))
        axes[0, 0].set_ylabel("our accuracy")
        axes[1, 0].set_ylabel("cells")
        style.save(figure, stem, told[["table", "setting", "reading", "published_mean", "mean", "z"]])
    return Figure(
        stem.name,
        f"All {len(told[told['reading'] == 'authors'])} private numbers at once, by reading",
        "Above: our mean accuracy against the published one; on the line they are equal. Below: their differences in "
        "standard errors, with the curve that they follow if both come from one distribution.",
    )


def build(reference: Path, out: Path) -> list[Figure]:
    """All figures under ``out``, from the tables of ``reference``."""
    judged = pd.read_csv(
        reference / "verdicts.csv.gz", dtype={"published_mean": str, "published_std": str, "setting": str}
    )
    judged["published_std"] = judged["published_std"].fillna("")
    frame = tables.accuracies(judged)
    plain = frame[(frame["method"] == "vi") & (frame["reading"] == "published")].set_index("dataset")["accuracy"]
    lines = {t: plain["abalone_coded" if t.startswith("abalone") else "adult_coded"] for t in PANELS}
    sgld, bounds = (pd.read_csv(reference / f"{name}.csv") for name in ("sgld", "epsilons"))
    return [
        all_cells(judged, out / "jalko2017dpvi_all_cells"),
        *(clips(frame, table, lines, out / f"jalko2017dpvi_{table}") for table in PANELS),
        single_runs(frame, reference, out / "jalko2017dpvi_single_runs"),
        sampling(frame, sgld, bounds, plain["abalone_coded"], out / "jalko2017dpvi_sgld"),
    ]
