"""Table and figure of :mod:`common_tasks.noise_aware`: when each noise-aware method has the right distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from common_tasks import noise_aware
from reports import palette, style
from reports.blocks import Block, Figure, Table, entry
from reports.tables import SCALE_BANNERS, method_title

MODELS = {
    "beta_bernoulli": "Beta-Bernoulli",
    "dirichlet_categorical": "Dirichlet-categorical",
    "gamma_exponential": "Gamma-exponential",
    noise_aware.ONE: "Linear regression, 1 input",
    noise_aware.TEN: "Linear regression, 10 inputs",
    "dp_pf_conjugate": "Regression of DP-PF, conjugate prior",
    "dp_pf_heavy": "Regression of DP-PF, heavy-tailed prior",
}
TITLES = {
    noise_aware.NAIVE: "Naive (noise ignored)",
    "dp_pf_authors": "DP-PF (authors' code)",
    "dp_pf_corrected": "DP-PF (corrected)",
}
#: colour and marker of entries that are not methods of the suite.
OTHERS = {
    noise_aware.NAIVE: (style.GREY, "x"),
    "dp_pf_authors": style.READING["authors"],
    "dp_pf_corrected": style.READING["corrected"],
}
#: the models that are in the figure.
DRAWN = tuple(m for m in MODELS if m != "dp_pf_heavy")
WORDS = {
    "same": "same distribution",
    "different": "another distribution",
    "open": "not decided",
    "not refuted": "coverage of 95 % not refuted",
    "covers less": "covers less than 95 %",
    "covers more": "covers more than 95 %",
    "no posterior": "no posterior",
}
NOTES = (
    f"A method has the same distribution if the interval of its sd lies within a factor of {noise_aware.SAME_RATIO:g} "
    f"of the exact one and the interval of the mean's error ends below {noise_aware.SAME_Z:g} exact sd. It has "
    "another distribution if one interval lies outside. All intervals are 95 %, for one row each, without a correction "
    "for the number of rows.",
    "Each method is judged by the exact posterior of its own release. A wide posterior can thus be right. The last "
    "columns show how wide both are compared with the prior.",
    "NA-DPVI releases a trace, for which no exact posterior is computed. Its rows have coverage and width only, with "
    "the settings of its paper for 5,000 rows. Its noise has some slack, so the epsilon of its ledger is a little "
    "below that of its row. Right coverage on average does not show a right posterior for each release.",
    "Truths are drawn from the prior of each model, and bounds and inputs are public. Other data were not tried. "
    "Chains of Bernstein & Sheldon have 1,000 sweeps, and their Monte Carlo error is part of the numbers.",
    "A row of DP-PF is about one release with fixed true parameters, and its interval is over runs of the filter. "
    "Rows of other methods have one release per data set.",
    "The release of the gamma-exponential is a noisy sum of the rows below a bound. Its mean is not monotone in the "
    "rate, so its exact posterior has a second mode, of little weight for most data sets. We infer that chains of "
    "Bernstein & Sheldon stay in one mode: the sd within the main mode agrees where we looked.",
    "The authors' code of Bernstein & Sheldon (2018) adds one number of noise to all counts. The counts add up to n, "
    "so its release gives them away, and its exact posterior is that of the rows. The release of the authors' code of "
    "2019 is judged by its noisy moments, without the exact fourth moments that it hands to its sampler.",
)


def read(extra: Path | None) -> pd.DataFrame | None:
    """All rows, including those of DP-PF. None if the table was not made."""
    path = extra / noise_aware.NAME if extra else None
    if path is None or not path.is_file():
        return None
    return pd.concat([pd.read_csv(path), noise_aware.filters()], ignore_index=True)


def title(method: str) -> str:
    return TITLES.get(method) or method_title(method)


def _interval(row: dict[str, Any], key: str) -> str:
    if pd.isna(row[key]):
        return "-"
    return f"{row[key]:.2f} [{row[f'{key}_low']:.2f}, {row[f'{key}_high']:.2f}]"


def table(long: pd.DataFrame, scale: str) -> tuple[Table, pd.DataFrame]:
    """One block per model and quantity, with rows by method and n times epsilon."""
    blocks = []
    for (model, quantity), here in long.groupby(["model", "quantity"], sort=False):
        rows = []
        order = {m: k for k, m in enumerate(dict.fromkeys(here["method"]))}
        here = here.assign(place=here["method"].map(order)).sort_values(["place", "n_epsilon", "n"])
        for r in here.to_dict("records"):
            sets = f"{r['sets']}" if not r["without"] else f"{r['sets']} of {r['sets'] + r['without']}"
            numbers = [f"{r['n_epsilon']:g}", f"{r['n']}", f"{r['epsilon']:g}", sets, WORDS[r["word"]]]
            numbers += [_interval(r, k) for k in ("ratio", "z", "coverage")]
            numbers += ["-" if pd.isna(r[k]) else f"{r[k]:.2f}" for k in ("width", "exact_width")]
            rows.append((title(r["method"]), [entry(t) for t in numbers]))
        heads = ["n times epsilon", "n", "epsilon", "data sets or runs", "judgement", "sd over exact sd"]
        heads += [
            "error of the mean in exact sd",
            "coverage of 95 % intervals",
            "sd over prior sd",
            "exact, over prior sd",
        ]
        blocks.append(Block(f"{MODELS[str(model)]}: {quantity}", "Method", heads, rows))
    return Table("common_noise_aware", TITLE, SCALE_BANNERS[scale], blocks, NOTES), long.assign(scale=scale)


TITLE = "Noise-aware methods and the exact posterior of their release"


def figure(folder: Path, long: pd.DataFrame) -> Figure:
    """Ratio of sds, error of the mean and coverage against n times epsilon, one column of panels per model."""
    name = "common_noise_aware"
    first = long.drop_duplicates(["model", "method", "n", "epsilon"])  # the first quantity of each model
    models = [m for m in DRAWN if m in set(first["model"])]
    rows = (("ratio", "sd over exact sd"), ("z", "error of the mean, exact sd"), ("coverage", "coverage, share"))
    own = [m for m in dict.fromkeys(first["method"]) if m not in OTHERS]
    looks = {m: look.dot() for m, look in palette.looks(own).items()}
    looks |= {m: {"color": c, "marker": mark, "linestyle": "none"} for m, (c, mark) in OTHERS.items()}
    handles: dict[str, Any] = {}
    methods: dict[str, str] = {}
    with style.canvas(len(rows), len(models), panel=2.2) as (drawn, axes):
        for i, (key, label) in enumerate(rows):
            for ax, model in zip(axes[i], models, strict=True):
                _panel(ax, first[first["model"] == model], key, looks, handles, methods)
                ax.set_xscale("log")
                ax.set_xlim(0.5, 12_000)
                ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
                ax.minorticks_off()
                ax.tick_params(labelsize=6.5)
                if ax is axes[i, 0]:
                    ax.set_ylabel(label, fontsize=8)
                if i == 0:
                    ax.set_title(MODELS[model].replace(", ", ",\n").replace(" of ", "\nof "), fontsize=7)
                if key == "coverage" or (key == "z" and first.loc[first["model"] == model, "coverage"].isna().all()):
                    ax.set_xlabel("n times epsilon", fontsize=7.5)
        style.legend(drawn, handles, methods, size=7.5)
        style.save(drawn, folder / name, first)
    return Figure(
        name,
        TITLE,
        "Intervals are 95 %, over data sets (of DP-PF: over runs on one release). Grey bands are the tolerances within "
        "which a posterior counts as the same. The line of the bottom row is 95 %. Drawn is the first parameter of "
        "each model. DP-PF with the heavy-tailed prior is left out, because the page has no room for another column of "
        "panels. The table has it, all parameters and the limits.",
    )


def _panel(
    ax: Any, here: pd.DataFrame, key: str, looks: dict, handles: dict[str, Any], methods: dict[str, str]
) -> None:
    if key == "ratio":
        ax.axhspan(1 / noise_aware.SAME_RATIO, noise_aware.SAME_RATIO, color=style.LIGHT, linewidth=0)
        ax.set_yscale("log")
        ax.set_ylim(0.04, 4)
        ax.set_yticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    elif key == "z":
        ax.set_yscale("log")
        ax.axhspan(0.01, noise_aware.SAME_Z, color=style.LIGHT, linewidth=0)
        ax.set_ylim(0.01, 30)
    else:
        ax.axhline(0.95, color=style.BLACK, linewidth=0.8)
        ax.set_ylim(-0.03, 1.03)
    ax.minorticks_off()
    ax.set_visible(bool(here[key].notna().any()))
    present = [m for m in looks if m in set(here["method"])]
    for k, method in enumerate(present):
        part = here[(here["method"] == method) & here[key].notna()].sort_values("n_epsilon")
        if part.empty:
            continue
        at = part["n_epsilon"] * 1.18 ** (k - (len(present) - 1) / 2)
        bars = [(part[key] - part[f"{key}_low"]).clip(lower=0), (part[f"{key}_high"] - part[key]).clip(lower=0)]
        dots = ax.errorbar(at, part[key], yerr=bars, elinewidth=0.7, markersize=3.6, **looks[method])
        words = title(method)
        if method not in OTHERS:
            methods[words] = method
        handles.setdefault(words, dots)
