"""Tables of experiments whose methods run over a grid of budgets, and of the checks of the logistic sampler."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import summarise
from reports import sampler_tables
from reports.blocks import Block, Entry, Footnotes, Table, entry, number
from reports.contents import Run, Tables
from reports.ledger import leaks_under
from reports.tables import SCALE_BANNERS, dataset_title, method_title

_BUDGET = re.compile(r"(?:(?P<label>.*);)?(?P<budget>order=[^;]+;epsilon=[^;]+)")
#: metric -> (words, decimals).
_METRICS = {
    "test_error": ("error", 4),
    "test_log_likelihood": ("log-likelihood", 4),
    "heldout_nll": ("minus log-likelihood", 2),
}


def build(run: Run) -> Tables:
    """Scores by budget, and the checks of the sampler that draws."""
    named = run.config.get("extra_full", [])
    told = sampler_tables.distance_note(run.extra, named)
    name = f"{run.name}_all_methods"
    methods = []
    if len(run.real):
        methods = [budget_table(run.real, name, run.scale, run.title, run.config["model"], told)]
    checks = [f(run.extra, named, run.scale) for f in (sampler_table, sampler_tables.distance_table) if run.extra]
    return Tables(methods, [c for c in checks if c is not None])


def budget_table(
    scores: pd.DataFrame, name: str, scale: str, title: str, model: Mapping[str, Any], notes: Sequence[str] = ()
) -> tuple[Table, pd.DataFrame]:
    """Scores by budget, and epsilon at the ledger's delta.

    There is one block per data set, one row per budget, and one column per method and label.

    Methods without a budget have a row of their own. Leaks of a method under this ``model`` of a config are footnotes
    of its column. ``notes`` are added after the table's own.
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
        "Mean ± standard deviation over splits, with one posterior sample each. The numbers are the share of wrong "
        "labels and the log-likelihood per test row, or minus the log-likelihood of all held-out trials (nats). Below "
        "is the epsilon of the sample at delta = 1e-5 by its ledger, for replacing one record. Every guarantee is for "
        "exact samples. Samples of logistic posteriors are ends of Markov chains (see the check of the sampler)."
    )
    return Table(name, title, SCALE_BANNERS[scale], blocks, (about, *notes), footnotes.texts), long.assign(scale=scale)


def _split(setting: str) -> tuple[str, str]:
    found = _BUDGET.fullmatch(setting)
    return (found["label"] or "", found["budget"]) if found else (setting, "")


def _order(budget: str) -> tuple:
    """Sort key of a budget: its order, then its epsilon, "epsilon=e^-5" by its logarithm."""
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
    """The check of the logistic sampler against long chains, one block per data set. None if there is no check."""
    long = sampler_tables.stacked(extra, [n for n in names if n.startswith("rdp_sampler_")])
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
        "The guarantees of these methods are for exact samples. They release the end of a Markov chain, and its "
        "distance from the posterior is not counted in any epsilon. The check compares mean, variance and energy of "
        f"{draws} independent draws ({gradients:.0f} gradients each) with long chains of the No-U-Turn sampler, in "
        "standard errors. The first two are the largest over all coordinates. The limit is for equal distributions "
        "with normal tails (1 / 1000 per posterior). A posterior above it is checked again with ten times the draws, "
        "and an error grows then.",
    )
    table = Table(
        "rdp_sampler_check", "Are the released draws from the posterior?", SCALE_BANNERS[scale], blocks, notes
    )
    return table, long.assign(scale=scale)
