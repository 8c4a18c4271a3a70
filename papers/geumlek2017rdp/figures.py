"""Figures of RDP posterior sampling (Geumlek, Song & Chaudhuri 2017): Bernoulli trials and logistic regression.

The first kind is drawn from the tables of ``exponential_family``, the second from scores. A figure without data is left
out.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.protocols import overlap
from evaluation.metrics import METRICS
from evaluation.paired import half_width
from evaluation.summary import mean_std
from reports import palette, style
from reports.blocks import Figure
from reports.contents import Run
from reports.tables import dataset_title

SOURCE = "geumlek2017rdp"
#: method -> words, in the order of all figures.
FAMILY = {
    "posterior_sampling_direct": "direct posterior",
    "posterior_sampling_diffused": "diffused (algorithm 2)",
    "posterior_sampling_concentrated": "concentrated (algorithm 3)",
    "sufficient_statistics_perturbation": "Gaussian mechanism",
}
#: (method, label) -> words.
LOGISTIC = {
    ("posterior_sampling_glm_diffused", ""): "diffused (algorithm 6)",
    ("posterior_sampling_glm_concentrated", ""): "concentrated (algorithm 5)",
    ("posterior_sampling_ops", "as charged"): "OPS as the paper charges it",
    ("posterior_sampling_ops", "fair"): "OPS, fair charge",
}
DIRECT, ITSELF = "posterior_sampling_glm_direct", "posterior itself"


def build(run: Run) -> list[Figure]:
    """Draw every figure for which this experiment has data."""
    folder, config, scores, extra = run.figures, run.config, run.scores, run.extra
    drawn = []
    if extra is not None:
        for name, draw in (("rdp_figure1", curves), ("rdp_figure2_kl", divergence), ("rdp_figure2_heldout", heldout)):
            if f"{name}.csv" in config.get("extra", []):
                drawn.append(draw(folder, extra / f"{name}.csv", config["extra_settings"]))
    if "logistic" in config["experiment"]:
        public = config["experiment"].endswith("_public")
        end, words = ("_public", ", scaled by public ranges") if public else ("", "")
        drawn.append(logistic(folder, f"{SOURCE}_figure3{end}", scores, "test_error", "test error (share)", words))
        drawn.append(
            logistic(
                folder,
                f"{SOURCE}_figure6{end}",
                scores,
                "test_log_likelihood",
                "minus log-likelihood (nats per row)",
                words,
            )
        )
    return [f for f in drawn if f is not None]


# ------------------------------------------------------------------------------------------------- Bernoulli trials


def curves(folder: Path, path: Path, chosen: dict[str, Any]) -> Figure | None:
    """Figure 1: Renyi divergence that one draw costs against the order, for each r (diffused) or m (concentrated)."""
    name = f"{SOURCE}_figure1"
    if not path.is_file():
        return style.skip(name, f"no {path.name}")
    table = pd.read_csv(path)
    drawn = table[table["kind"] == "curve"]
    top = 1.0
    with style.canvas(1, 2, panel=3.6) as (figure, axes):
        for ax, panel in zip(axes.flat, ("diffused", "concentrated"), strict=True):
            here = drawn[drawn["panel"] == panel]
            for k, (weight, line) in enumerate(here.groupby("r_or_m", sort=True)):
                colour, _ = style.SERIES[k % len(style.SERIES)]
                line = line.sort_values("order")
                letter = "r" if panel == "diffused" else "m"
                ax.plot(line["order"], line["epsilon"], color=colour, linewidth=1.4, label=f"{letter} = {weight:g}")
                ax.axvline(line["asymptote"].iloc[0], color=colour, linewidth=0.8, linestyle=(0, (2, 2)))
            ax.set_xlim(1, 64)
            ax.set_ylim(0, top)
            ax.set_xlabel("Renyi order lambda")
            ax.set_ylabel("Renyi divergence epsilon (nats)")
            ax.set_title(f"{'a' if panel == 'diffused' else 'b'}: {panel} posterior")
            ax.legend(fontsize=7.5, loc="upper right")
        style.save(figure, folder / name, table)
    return Figure(
        name,
        "Figure 1 of RDP posterior sampling: what one posterior sample costs",
        f"{_prior(chosen)} prior (eta0 = {tuple(chosen['prior'])}), {chosen['n']} trials. Solid: exact supremum over "
        "neighbours. Dashed: the order "
        "lambda* = 1 + min(alpha0, beta0) / r (or / m) from which on the divergence is infinite. Above epsilon = 1 the "
        "curves are cut.",
    )


def divergence(folder: Path, path: Path, chosen: dict[str, Any]) -> Figure | None:
    """Figure 2 a, b: KL divergence of the posterior from the distribution of the release against epsilon."""
    name = f"{SOURCE}_figure2ab"
    if not path.is_file():
        return style.skip(name, f"no {path.name}")
    table = pd.read_csv(path, keep_default_na=False)
    orders = sorted(table["order"].unique())
    methods: dict[str, str] = {}
    with style.canvas(1, len(orders), panel=3.4) as (figure, axes):
        for ax, order, letter in zip(axes.flat, orders, "abcdef", strict=False):
            here = table[(table["order"] == order) & (table["epsilon"].astype(float) > 0)]
            for method, words in FAMILY.items():
                for reading, line in here[here["method"] == method].groupby("reading", sort=False):
                    line = _finite(line, "kl").sort_values("epsilon")
                    if len(line) < 2:
                        continue
                    dashed = reading not in ("", "order / (2 epsilon)")
                    look = palette.look(method).line(variant=dashed)
                    label = words + (f", sigma^2 = {reading}" if dashed else "")
                    methods[label] = method
                    ax.plot(line["epsilon"], line["kl"], markersize=3.2, linewidth=1.2, label=label, **look)
            ax.set_xscale("log")
            ax.set_ylim(0, 1.0)
            ax.set_xlabel("Renyi epsilon (nats)")
            ax.set_ylabel("KL(posterior || release) (nats)")
            ax.set_title(f"{letter}: lambda = {order:g}")
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, folder / name, table)
    return Figure(
        name,
        "Figure 2 a, b of RDP posterior sampling: distance of the release from the posterior",
        f"{_prior(chosen)} prior, {chosen['successes']} successes of {chosen['n']} trials, exact distributions. "
        f"Left: an order below lambda* = {1 + min(_beta(chosen)):g}, where both "
        "methods become the posterior itself; right: one above it, where they cannot. Hollow: the Gaussian mechanism "
        "with twice the variance, in case the paper's code used that.",
    )


def heldout(folder: Path, path: Path, chosen: dict[str, Any]) -> Figure | None:
    """Figure 2 c, d and the appendix: minus log-likelihood of held-out trials against epsilon, exact and simulated."""
    name = f"{SOURCE}_figure2cd"
    if not path.is_file():
        return style.skip(name, f"no {path.name}")
    table = pd.read_csv(path, keep_default_na=False)
    panels = list(table[["prior", "rho", "order"]].drop_duplicates().itertuples(index=False, name=None))
    methods: dict[str, str] = {}
    with style.panels(len(panels), panel=3.0) as (figure, axes):
        for ax, (prior, rho, order) in zip(axes.flat, panels, strict=False):
            here = table[(table["prior"] == prior) & (table["rho"] == rho) & (table["order"] == order)]
            for method, words in FAMILY.items():
                look = palette.look(method)
                line = here[(here["method"] == method) & ~here["reading"].str.contains("order / epsilon")]
                if method == "posterior_sampling_direct":
                    if len(line):
                        at = float(line["exact_mean"].iloc[0])
                        ax.axhline(at, color=look.colour, linewidth=1, linestyle=look.dashes, label=words)
                        methods[words] = method
                    continue
                line = _finite(line[line["epsilon"].astype(float) > 0], "exact_mean").sort_values("epsilon")
                labels = f"{words}, exact", f"{words}, {chosen['repetitions']:,} draws"
                methods |= dict.fromkeys(labels, method)
                kind = {"color": look.colour, "linestyle": look.dashes, "linewidth": 1.2}
                ax.plot(line["epsilon"], line["exact_mean"], label=labels[0], **kind)
                shown = line[line["repetitions"].astype(str) != ""].iloc[::3]
                mean, error = (shown[c].astype(float) for c in ("mean", "standard_error"))
                ax.errorbar(shown["epsilon"], mean, yerr=2 * error, markersize=3.8, label=labels[1], **look.dot())
            ax.set_xscale("log")
            eta = ", ".join(prior.split())
            ax.set_title(f"eta0 = ({eta}), rho = {float(rho):.3g}, lambda = {order:g}", fontsize=8)
            ax.set_xlabel("Renyi epsilon (nats)", fontsize=8)
            ax.set_ylabel("minus log-likelihood (nats)", fontsize=8)
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, folder / name, table)
    return Figure(
        name,
        f"Figure 2 c, d of RDP posterior sampling and its appendix: {chosen['n']} held-out trials",
        f"{chosen['n']} trials and as many held out, drawn anew each time. Lines: exact expectation; markers: mean of "
        f"{chosen['repetitions']:,} repetitions with two standard errors; the level line: a draw from the posterior "
        "itself. The last two panels have the "
        "uniform prior; the order of the paper's panel is not known, so both are shown.",
    )


# ----------------------------------------------------------------------------------------------- logistic regression


def logistic(folder: Path, name: str, scores: pd.DataFrame, metric: str, label: str, words: str) -> Figure | None:
    """Figures 3 and 6: score of one draw against epsilon, one panel per order (row) and data set (column)."""
    ok = scores[(scores["status"] == "ok") & (scores["metric"] == metric)]
    sign = -METRICS[metric].direction  # the paper draws minus the log-likelihood
    rows = []
    for (dataset, method, setting), group in ok.groupby(["dataset", "method", "setting"], sort=False):
        found = re.fullmatch(r"(?:(.*);)?order=([^;]+);epsilon=e\^([^;]+)", setting)
        mean, sd, n = mean_std(sign * group["value"].astype(float))
        at = {"label": "", "order": math.nan, "log_epsilon": math.nan}
        if found:
            at = {"label": found[1] or "", "order": float(found[2]), "log_epsilon": float(found[3])}
        elif method != DIRECT:
            continue
        rows.append({"dataset": dataset, "method": method, **at, "mean": mean, "sd": sd, "n": n,
                     "half_width": half_width(sd, n, overlap("thirds"))})  # fmt: skip
    table = pd.DataFrame(rows)
    if table.empty or table["order"].isna().all():
        return style.skip(name, "no score")
    sets = list(dict.fromkeys(table["dataset"]))
    orders = sorted(table["order"].dropna().unique())
    with style.canvas(len(orders), len(sets), panel=2.7 if len(orders) > 1 else 3.4) as (figure, axes):
        for (i, order), (j, dataset) in ((a, b) for a in enumerate(orders) for b in enumerate(sets)):
            ax = axes[i, j]
            direct = table[(table["dataset"] == dataset) & (table["method"] == DIRECT)]
            look = palette.look(DIRECT)
            for mean in direct["mean"]:
                ax.axhline(mean, color=look.colour, linewidth=1, linestyle=look.dashes, label=ITSELF)
            for k, ((method, kind), what) in enumerate(LOGISTIC.items()):
                look = palette.look(method).line(variant=kind == "fair")
                line = table[
                    (table["dataset"] == dataset) & (table["method"] == method) & (table["label"] == kind)
                    & (table["order"] == order)
                ].sort_values("log_epsilon")  # fmt: skip
                if len(line):
                    ax.errorbar(line["log_epsilon"] + 0.08 * (k - 1.5), line["mean"], yerr=line["half_width"],
                                markersize=3.8, linewidth=1.1, elinewidth=0.8, label=what, **look)  # fmt: skip
            ax.set_title(f"{dataset_title(dataset)}, lambda = {order:g}", fontsize=8.5)
            ax.set_xlabel("log epsilon (natural)", fontsize=8)
            ax.set_ylabel(label, fontsize=8)
        methods = {words: method for (method, _), words in LOGISTIC.items()} | {ITSELF: DIRECT}
        style.legend(figure, style.labels(axes), methods)
        style.save(figure, folder / name, table)
    counts = ", ".join(f"{dataset_title(d)}: {int(table.loc[table['dataset'] == d, 'n'].max())}" for d in sets)
    number = "3" if metric == "test_error" else "6"
    return Figure(
        name,
        f"Figure {number} of RDP posterior sampling: logistic regression{words}",
        f"Mean over random splits, a third of the rows to test ({counts} splits, one posterior sample each), with 95 % "
        "intervals corrected for splits that share rows (Nadeau and Bengio 2003). The budget is (lambda, epsilon)-RDP "
        "for replacing one record. Points are shifted sideways to be seen.",
    )


def _beta(chosen: dict[str, Any]) -> tuple[float, float]:
    """(alpha0, beta0) of the prior eta0 that the config's ``extra_settings`` state."""
    first, total = chosen["prior"]
    return first, total - first


def _prior(chosen: dict[str, Any]) -> str:
    return "Beta({:g}, {:g})".format(*_beta(chosen))


def _finite(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows whose ``column`` is a finite number, with that column and epsilon as numbers."""
    numbers = table.assign(**{c: pd.to_numeric(table[c], errors="coerce") for c in (column, "epsilon")})
    return numbers[numbers[column].map(math.isfinite) & numbers["epsilon"].map(math.isfinite)]
