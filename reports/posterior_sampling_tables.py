"""Tables of experiments whose methods run over a grid of budgets, and of the checks of the logistic sampler."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import summarise
from reports.blocks import Block, Entry, Footnotes, Table, entry, number
from reports.ledger import leaks_under
from reports.tables import SCALE_BANNERS, dataset_title, method_title

_BUDGET = re.compile(r"(?:(?P<label>.*);)?(?P<budget>order=[^;]+;epsilon=[^;]+)")
#: metric -> (words, decimals).
_METRICS = {
    "test_error": ("error", 4),
    "test_log_likelihood": ("log-likelihood", 4),
    "heldout_nll": ("minus log-likelihood", 2),
}


def has_grid(config: dict[str, Any]) -> bool:
    return any("family" in arm for arm in config["arms"])


def budget_table(
    scores: pd.DataFrame, name: str, scale: str, title: str, model: Mapping[str, Any], notes: Sequence[str] = ()
) -> tuple[Table, pd.DataFrame]:
    """A block per data set, a row per budget, a column per method and label: scores, and epsilon at the ledger's delta.

    Methods without a budget stand in a row of their own. Leaks of a method under this ``model`` of a config are
    footnotes of its column. ``notes`` come behind its own.
    """
    long = summarise(scores)
    parts = long["setting"].map(_split)
    long = long.assign(label=[p[0] for p in parts], budget=[p[1] for p in parts])
    footnotes = Footnotes()
    blocks = []
    for dataset, here in long.groupby("dataset", sort=False):
        columns = list(dict.fromkeys(zip(here["method"], here["label"], strict=True)))
        heads = []
        for method, label in columns:
            signs = " ".join(f"[{k}]" for k in footnotes(*leaks_under(model, method, dataset)))
            heads.append(f"{method_title(method)}{f', {label}' if label else ''} {signs}".rstrip())
        budgets = sorted(dict.fromkeys(here["budget"]), key=_order)
        rows = []
        for budget in budgets:
            cells = []
            for method, label in columns:
                found = here[(here["budget"] == budget) & (here["method"] == method) & (here["label"] == label)]
                cells.append(_scores(found.to_dict("records"), footnotes))
            rows.append((budget.replace(";", ", ") or "no budget", cells))
        blocks.append(Block(dataset_title(dataset), "Renyi budget", heads, rows))
    about = (
        "Mean ± standard deviation over splits, one released draw each: share of wrong labels and log-likelihood a "
        "test row, or minus log-likelihood of all held-out trials (nats). Below: epsilon of the draw at delta = 1e-5 "
        "by its ledger, for replacing one record. Every guarantee is for exact samples: draws of logistic posteriors "
        "are ends of Markov chains (see the check of the sampler)."
    )
    return Table(name, title, SCALE_BANNERS[scale], blocks, (about, *notes), footnotes.texts), long.assign(scale=scale)


def _split(setting: str) -> tuple[str, str]:
    found = _BUDGET.fullmatch(setting)
    return (found["label"] or "", found["budget"]) if found else (setting, "")


def _order(budget: str) -> tuple:
    """Budgets by order, then by epsilon; "epsilon=e^-5" by its logarithm."""
    if not budget:
        return (-1.0, -math.inf)
    order, epsilon = (part.partition("=")[2] for part in budget.split(";"))
    log = float(epsilon.removeprefix("e^")) if epsilon.startswith("e^") else math.log(float(epsilon))
    return float(order), log


def _scores(rows: list[dict[str, Any]], footnotes: Footnotes) -> Entry:
    if not rows:
        return entry("-")
    if rows[0]["status"] != "ok":
        return entry(verdict=rows[0]["status"].replace("_", " "), marks=footnotes(rows[0]["reason"]))
    lines = []
    for metric, (words, digits) in _METRICS.items():
        for r in rows:
            if r["metric"] == metric:
                lines.append(f"{words} {number(r['mean'], digits)} ± {number(r['std'], digits)}")
    epsilon = rows[0]["epsilon"]
    return entry(
        *lines, after=(f"epsilon {float(epsilon):.4g}" if epsilon else "",), marks=footnotes(rows[0]["reason"])
    )


def sampler_table(extra: Path, names: list[str], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The check of the logistic sampler against long chains, a block per data set; None where there is none."""
    long = _stacked(extra, [n for n in names if n.startswith("rdp_sampler_")])
    if long is None:
        return None
    blocks = []
    for dataset, here in long.groupby("dataset", sort=False):
        rows = []
        for r in here.to_dict("records"):
            told = [
                f"{r['rhat']:.4f}",
                f"{r['ess_min']:.0f} / {r['ess_square_min']:.0f} / {r['ess_energy']:.0f}",
                f"{r['acceptance']:.3f}",
                f"{r['mean_z']:.2f}",
                f"{r['variance_z']:.2f}",
                f"{r['energy_z']:.2f}",
                f"{r['limit_z']:.2f}",
            ]
            setting = f" [{r['setting']}]" if r["setting"] else ""
            again = f", {r['draws']} other draws" if r["draws"] != here["draws"].iloc[0] else ""
            rows.append((f"{method_title(r['method'])}{setting}{again}", [entry(t) for t in told]))
        heads = ["R-hat of the chains", "their smallest ESS: mean / variance / energy", "acceptance of the draws"]
        heads += ["mean", "variance", "energy", "limit"]
        n, d = int(here["n"].iloc[0]), int(here["d"].iloc[0])
        blocks.append(Block(f"{dataset_title(dataset)} ({n} rows, {d} weights)", "Posterior", heads, rows))
    draws, gradients = int(long["draws"].iloc[0]), long["gradients_a_draw"].median()
    notes = (
        "The guarantees of these methods are for exact samples. What they release is the end of a Markov chain; its "
        "distance from the posterior is not counted in any epsilon. The check: mean, variance and energy of "
        f"{draws} independent draws ({gradients:.0f} gradients each) against long chains of the No-U-Turn sampler, in "
        "standard errors; the first two are the largest over all coordinates. The limit is for equal laws with normal "
        "tails (1 / 1000 a posterior); what is above it is checked again with ten times the draws, where an error "
        "grows.",
    )
    table = Table(
        "rdp_sampler_check", "Are the released draws from the posterior?", SCALE_BANNERS[scale], blocks, notes
    )
    return table, long.assign(scale=scale)


def _stacked(extra: Path, names: Sequence[str]) -> pd.DataFrame | None:
    parts = [pd.read_csv(extra / n, keep_default_na=False) for n in names if (extra / n).is_file()]
    parts = [p for p in parts if len(p)]
    return pd.concat(parts, ignore_index=True) if parts else None


def _distances(extra: Path | None, names: Sequence[str]) -> pd.DataFrame | None:
    """What ``workflow.sampler_distance`` found, of the files that a config names."""
    return None if extra is None else _stacked(extra, [n for n in names if re.match("sampler_(separable|common)", n)])


def distance_note(extra: Path | None, names: Sequence[str]) -> tuple[str, ...]:
    """One sentence for the notes of a table that shows epsilons: how far draws were from exact ones; () without files.

    ``names``: of the tables that the config has beside its scores.
    """
    long = _distances(extra, names)
    if long is None:
        return ()
    worst = long.loc[long["tv_high"].astype(float).idxmax()]
    return (
        "The epsilon of a released draw from a logistic posterior is that of an exact draw. Measured on "
        f"{len(long)} posteriors, the draws' total variation from an exact one is at least "
        f"{_few(long['tv_low'].min())} to {_few(long['tv_low'].max())} and at most {_few(long['tv_high'].min())} to "
        f"{_few(long['tv_high'].max())} ({method_title(worst['method'])}, {worst['setting']}, {worst['n']} rows). A "
        "total variation t adds (1 + e^epsilon) t to delta, or leaves no bound where that is above 1: with what was "
        f"measured at most, it stays below 1e-5 on {int((long['delta_added_high'] < 1e-5).sum())} of them "
        f"(table sampler_distance_{long['task'].iloc[0]}).",
    )


def _few(v: float) -> str:
    return "0" if v == 0 else f"{v:.2g}"


def distance_table(extra: Path, names: Sequence[str], scale: str) -> tuple[Table, pd.DataFrame] | None:
    """How far released draws are from exact ones, and what that adds to delta; None where no such file is there."""
    long = _distances(extra, names)
    if long is None:
        return None
    task, blocks = str(long["task"].iloc[0]), []
    for (dataset, level), here in long.groupby(["dataset", "level"], sort=False):
        rows = []
        for r in here.to_dict("records"):
            cells = [f"{r['epsilon']:.4g} at {r['delta']:g}"]
            cells += [f"{r[k]:.2%} ({r[f'{k}_low']:.2%} to {r[f'{k}_high']:.2%})" for k in ("below", "above")]
            cells += [" to ".join(_few(r[f"{k}_{end}"]) for end in ("low", "high")) for k in _INTERVALS]
            if task == "separable":
                cells += [_pair(r, "delta", ".1e"), _pair(r, "epsilon", ".4g")]
            else:
                cells += [f"{r['reference']}, worth {float(r['reference_size']):.0f} draws"]
            name = f"{method_title(r['method'])} [{r['setting']}], {r['n']} rows, precision {r['precision']:.3g}"
            rows.append((name, [entry(c) for c in cells]))
        heads = ["epsilon of an exact draw, at delta", f"draws below the exact {level:g} quantile"]
        heads += [f"above the {1 - level:g} quantile", "Kolmogorov distance", "total variation", "added to delta"]
        heads += _LAST[task]
        title = dataset_title(dataset) if dataset else "Separable rows, one weight"
        blocks.append(Block(f"{title} ({int(here['draws'].iloc[0])} draws)", "Posterior", heads, rows))
    notes = (
        "The guarantees are for exact draws; what is released is the end of a Markov chain. Intervals are 95 %. Added "
        "to delta: (1 + e^epsilon) t for the total variation t of this posterior, at most 1, where no bound is left; "
        "a guarantee would need the largest t over all data sets, which nobody has measured.",
        _HOW[task],
    )
    title = "How far are the released draws from exact ones?"
    table = Table(f"sampler_distance_{task}", title, SCALE_BANNERS[scale], blocks, notes)
    return table, long.assign(scale=scale)


_INTERVALS = ("kolmogorov", "tv", "delta_added")
_LAST = {
    "separable": ["delta at that epsilon: exact, drawn", "epsilon at that delta: exact, drawn"],
    "common": ["reference"],
}
_HOW = {
    "separable": (
        "All rows and classes are equal, so that one side of the posterior is a wall. Its law and, where the "
        "integration follows, that of the draws are known by quadrature: total variation is that number and its error "
        "there, else it lies between the draws' Kolmogorov distance and the distance of the run's start. The last two "
        "columns are what a flipped label can show at most of exact draws and of the program's."
    ),
    "common": (
        "Draws are compared along the log ratio of the run's start (the Laplace approximation) to the posterior, which "
        "tells the two apart best. Total variation lies between the Kolmogorov distance along it and that of the start."
    ),
}


def _pair(r: Mapping[str, Any], name: str, form: str) -> str:
    return ", ".join(
        format(float(r[f"{name}_{k}"]), form) if r[f"{name}_{k}"] != "" else "-" for k in ("exact", "drawn")
    )
