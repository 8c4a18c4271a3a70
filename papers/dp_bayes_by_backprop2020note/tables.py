"""Tables of DP Bayes by backprop on MNIST: scores, and three guarantees of one noise level."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import summarise
from papers.dp_bayes_by_backprop2020note.figures import NOTE, PUBLISHED, STEM, split_setting
from reports.blocks import Block, Entry, Footnotes, Table, entry, number
from reports.contents import Run, Tables
from reports.ledger import leaks_of
from reports.tables import SCALE_BANNERS, dataset_title, method_title

#: metric -> (words, factor, decimals).
METRICS = {
    "test_error": ("error", 100.0, 2),
    "test_log_likelihood": ("log-likelihood", 1.0, 4),
    "expected_calibration_error": ("calibration error", 100.0, 2),
}


def build(run: Run) -> Tables:
    """Scores of all methods, and one noise level by three accountants."""
    methods = [scores_table(run.real, run.config, run.scale)] if len(run.real) else []
    noise = accounting_table(run.extra, run.scale) if run.extra else None
    return Tables(methods, [noise] if noise else [])


def scores_table(scores: pd.DataFrame, config: dict[str, Any], scale: str) -> tuple[Table, pd.DataFrame]:
    """A block of private methods with one row per epsilon, one of non-private methods, and one of published numbers."""
    kind = config["model"]["kind"]
    long = summarise(scores)
    parts = [split_setting(s) for s in long["setting"]]
    long = long.assign(label=[p[0] for p in parts], budget=[p[1] for p in parts])
    footnotes, blocks = Footnotes(), []
    for dataset, here in long.groupby("dataset", sort=False):
        private, free = here[here["budget"].notna()], here[here["budget"].isna()]
        columns = list(dict.fromkeys(zip(private["method"], private["label"], strict=True)))
        heads = [_head(m, label, footnotes(*leaks_of(m, dataset, kind))) for m, label in columns]
        rows = []
        for budget in sorted(private["budget"].unique()):
            at = private[private["budget"] == budget]
            rows.append((f"epsilon = {budget:g}", [_entry(_cell(at, *c), footnotes) for c in columns]))
        if rows:
            blocks.append(Block(f"{dataset_title(dataset)}, with privacy", "Budget, delta = 1e-5", heads, rows))
        rows = [
            (_head(m, label, footnotes(*leaks_of(m, dataset, kind))), [_entry(_cell(free, m, label), footnotes)])
            for m, label in dict.fromkeys(zip(free["method"], free["label"], strict=True))
        ]
        if rows:
            blocks.append(Block(f"{dataset_title(dataset)}, without privacy", "Method", ["scores"], rows))
    blocks.append(_published())
    notes = (
        "Mean ± standard deviation over runs (their number): test error in percent, log-likelihood a test row (nats), "
        "expected calibration error in percent (15 bins). Below: epsilon by the ledger. For the note, whose neighbours "
        "replace a record, first what it claims and then what holds; the others add or remove one.",
    )
    title = config.get("title", STEM)
    return Table(STEM, title, SCALE_BANNERS[scale], blocks, notes, footnotes.texts), long.assign(scale=scale)


def accounting_table(extra: Path, scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The epsilons of one noise level under DP-SGD's sampling and under the note's scheme, or None."""
    path = extra / "bbb_accounting.csv"
    if not path.is_file():
        return None
    long = pd.read_csv(path)
    columns = {
        "epsilon_dp_sgd": "Poisson batches (DP-SGD; the note's claim)",
        "epsilon_epochs_replace": "fixed batches, a record replaced (what holds for the note)",
        "epsilon_epochs_zero_out": "fixed batches, a record replaced by nothing",
    }
    rows = [
        (
            f"sigma {r['noise_multiplier']:.4g}, lot {r['lot']}, {r['epochs']} epochs ({r['case']})",
            [entry(number(r[c], 2)) for c in columns],
        )
        for r in long.to_dict("records")
    ]
    notes = (
        "Epsilon at delta = 1e-5 of clipped sums with noise of standard deviation sigma C. A record that is replaced "
        "moves a sum by 2 C. Composition over epochs alone is right for fixed batches, and then nothing is sampled, so "
        "nothing is amplified. Rows 'published': settings of DP-SGD's examples.",
    )
    block = Block("", "Noise", list(columns.values()), rows)
    table = Table(f"{STEM}_accounting", "DP Bayes by backprop: one noise, three guarantees", SCALE_BANNERS[scale],
                  [block], notes)  # fmt: skip
    return table, long.assign(scale=scale)


def _head(method: str, label: str, marks: tuple[int, ...]) -> str:
    signs = " ".join(f"[{k}]" for k in marks)
    return f"{method_title(method)}{f', {label}' if label else ''} {signs}".rstrip()


def _cell(table: pd.DataFrame, method: str, label: str) -> list[dict[str, Any]]:
    return table[(table["method"] == method) & (table["label"] == label)].to_dict("records")


def _entry(rows: list[dict[str, Any]], footnotes: Footnotes) -> Entry:
    if not rows:
        return entry("-")
    first = rows[0]
    if first["status"] != "ok":
        return entry(verdict=first["status"].replace("_", " "), marks=footnotes(first["reason"]))
    lines = []
    for metric, (words, factor, digits) in METRICS.items():
        for r in rows:
            if r["metric"] == metric:
                spread = f" ± {number(factor * r['std'], digits)}" if math.isfinite(r["std"]) else ""
                lines.append(f"{words} {number(factor * r['mean'], digits)}{spread} ({r['n']})")
    spent = f"epsilon {float(first['epsilon']):.3g}" if first["epsilon"] else ""
    if first["method"] == NOTE and spent:
        spent = f"claims {first['budget']:g}, {spent} holds"
    return entry(*lines, after=(spent,), marks=footnotes(first["reason"]))


def _published() -> Block:
    rows = []
    for r in pd.read_csv(PUBLISHED, dtype=str, keep_default_na=False).to_dict("records"):
        budget = f", epsilon = {r['epsilon']}" if r["epsilon"] else ""
        rows.append((f"{r['method']}{budget} ({r['network']})", [entry(r["test_error_percent"]),
                                                                entry(f"{r['source']}, {r['place']}")]))  # fmt: skip
    note = "Quoted from the literature for comparison, not judged; the papers were not at hand to check them."
    return Block("Published numbers", "Method", ["test error (%)", "source"], rows, (note,))
