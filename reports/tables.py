"""The papers' tables with ours beside them, and the tables of this suite: CSV, Markdown, LaTeX from one model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import summarise
from reports import published as published_numbers
from reports.blocks import Block, Entry, Table, entry, latex, markdown, number
from reports.config import READINGS
from reports.files import csv_text, write_text
from reports.published import METHOD_TITLES, METRIC_TITLES, SOURCE_TITLES

SCALE_BANNERS = {
    "full": "Scale: full (the protocol of the papers).",
    "quick": "Scale: quick. Few splits and short training: a trial of the machinery, NOT evidence about the papers.",
    "tiny": "Scale: tiny. One split, two epochs: a test of the machinery, NOT evidence about the papers.",
}
_RULE = (
    "Each entry: ours, mean ± standard deviation (number of runs); the paper's number; the verdict by one fixed rule "
    "(reports/verdict.py). On splits shared with the paper the rule is conservative."
)
_READING_TITLES = {
    "printed": "Reading: printed (algorithm and protocol as the paper states them)",
    "released": "Reading: released (what the authors' program does)",
    "corrected": "Reading: corrected (this suite's repair of the private method)",
}


def write(folder: Path, table: Table, long: pd.DataFrame) -> None:
    """``<name>.csv`` (long, one row a number), ``.md`` and ``.tex`` (laid out like the paper)."""
    write_text(folder / f"{table.name}.csv", csv_text(long))
    write_text(folder / f"{table.name}.md", markdown(table))
    write_text(folder / f"{table.name}.tex", latex(table))


def dataset_title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def method_title(name: str) -> str:
    """Column heading of one of our methods; its name where no adapter of that name is there (any more)."""
    from methods import contract

    try:
        return contract.get(name).title
    except KeyError:
        return name


def published_tables(verdicts: pd.DataFrame, scale: str) -> list[tuple[Table, pd.DataFrame]]:
    """One (table, long frame) per (source, table number) that the verdicts hold, in the papers' order."""
    out = []
    for (source, number_), rows in verdicts.groupby(["source", "table"], sort=False):
        metrics = " and ".join(METRIC_TITLES.get(m, m) for m in dict.fromkeys(rows["metric"]))
        table = Table(
            name=f"{source}_table{number_}",
            title=f"{SOURCE_TITLES.get(source, source)}, table {number_}: {metrics}",
            banner=SCALE_BANNERS[scale],
            blocks=_blocks(rows),
            notes=(_RULE,),
        )
        out.append((table, rows.reset_index(drop=True).assign(scale=scale)))
    return out


def _blocks(rows: pd.DataFrame) -> list[Block]:
    one_method = rows["method"].nunique() == 1 and rows["setting"].nunique() > 1
    blocks = []
    for reading in READINGS:
        for headline in ("yes", "no"):
            part = rows[(rows["reading"] == reading) & (rows["headline"] == headline)]
            if part.empty:
                continue
            groups = [("", part)] if headline == "yes" else list(part.groupby("protocol", sort=False))
            for protocol, group in groups:
                title = _READING_TITLES[reading] + (f"; besides: protocol {protocol}" if protocol else "")
                blocks.append(_block(title, group, one_method))
    return blocks


def _block(title: str, rows: pd.DataFrame, one_method: bool) -> Block:
    datasets = list(dict.fromkeys(rows["dataset"]))
    columns = list(dict.fromkeys(zip(rows["method"], rows["setting"], strict=True)))
    grid: dict[tuple, list[dict]] = {}
    for r in rows.to_dict("records"):
        grid.setdefault((r["dataset"], r["method"], r["setting"]), []).append(r)

    def at(dataset: str, column: tuple[str, str]) -> Entry:
        found = grid.get((dataset, *column), [])
        if not found:
            return entry("-")
        parts = [judged_entry(r) for r in found]
        if len(parts) == 1:
            return parts[0]
        return Entry(tuple(line for p in parts for line in p.all_lines))

    notes = [f"{column_title(*c, one_method)}: {_ours(rows, c)}" for c in columns]
    if one_method:
        lines = [(column_title(*c, True), [at(d, c) for d in datasets]) for c in columns]
        return Block(title, "C", [dataset_title(d) for d in datasets], lines, notes)
    lines = [(dataset_title(d), [at(d, c) for c in columns]) for d in datasets]
    return Block(title, "Data set", [column_title(*c, False) for c in columns], lines, notes)


def column_title(method: str, setting: str, one_method: bool) -> str:
    if one_method:
        parts = dict(p.split("=", 1) for p in setting.split(";") if "=" in p)
        return f"C = {parts['clip']}" if "clip" in parts else setting
    return METHOD_TITLES.get(method, method)


def _ours(rows: pd.DataFrame, column: tuple[str, str]) -> str:
    part = rows[(rows["method"] == column[0]) & (rows["setting"] == column[1]) & (rows["our_method"] != "")]
    cells = dict.fromkeys(zip(part["our_method"], part["our_setting"], part["protocol"], strict=True))
    return "; ".join(f"our {m}{f' [{s}]' if s else ''}, protocol {p}" for m, s, p in cells) or "no cell of ours"


def judged_entry(r: dict[str, Any]) -> Entry:
    """Ours, the paper's number and the verdict of one row of the verdicts."""
    text = r["published_mean"]
    paper = f"paper {text}" + (f" ± {r['published_std']}" if r["published_std"] else "")
    if not math.isfinite(r["mean"]):
        why = "" if r["verdict"] == "not_run" else r["reason"]  # the same reason in every entry: the CSV has it
        return entry(paper, why, verdict=r["verdict"])
    decimals = len(text.partition(".")[2]) + 1
    spread = f" ± {number(r['std'], decimals)}" if math.isfinite(r["std"]) else ""
    distinctive = "not distinctive" if r["verdict"] == "reproduced" and r["also_fits"] else ""
    finding = f"finding {r['finding']}" if r["finding"] else ""
    ours = f"{number(r['mean'], decimals)}{spread} ({r['n']})"
    return entry(ours, paper, verdict=r["verdict"], after=(distinctive, finding))


def all_methods_table(
    scores: pd.DataFrame, name: str, scale: str, title: str = "Every method of this suite, every data set"
) -> tuple[Table, pd.DataFrame]:
    """Data set x every method of ours that the scores hold, one block per protocol and metric.

    A method dropped into ``methods/`` shows up by itself: nothing here knows a method's name.
    """
    summary = summarise(scores)
    metrics = sorted(m for m in summary["metric"].unique() if m)
    blocks, rows = [], []
    for protocol, group in summary.groupby("protocol", sort=True):
        columns = sorted(dict.fromkeys(zip(group["method"], group["setting"], strict=True)))
        datasets = list(dict.fromkeys(group["dataset"]))
        cells: dict[tuple, dict] = {}
        for r in group.to_dict("records"):
            for metric in [r["metric"]] if r["metric"] else metrics:
                cells[r["dataset"], r["method"], r["setting"], metric] = r | {"metric": metric}
        for metric in metrics:
            lines = []
            for d in datasets:
                entries = []
                for m, s in columns:
                    r = cells.get((d, m, s, metric))
                    entries.append(_summary_entry(r))
                    if r is not None:
                        rows.append({**r, "title": method_title(m), "scale": scale})
                lines.append((dataset_title(d), entries))
            heads = [f"{method_title(m)}{f' [{s}]' if s else ''}" for m, s in columns]
            heading = f"Protocol {protocol}: {METRIC_TITLES.get(metric, metric)}"
            blocks.append(Block(heading, "Data set", heads, lines))
    table = Table(
        name,
        title,
        SCALE_BANNERS[scale],
        blocks,
        notes=("Each entry: mean ± standard deviation over splits (number of splits); epsilon where the run kept a "
               "ledger, at the delta of its budget.",),
    )  # fmt: skip
    first = ["dataset", "protocol", "method", "setting", "title", "metric"]
    long = pd.DataFrame(rows)
    return table, long[[*first, *[c for c in long.columns if c not in first]]] if len(long) else long


def _summary_entry(r: dict[str, Any] | None) -> Entry:
    if r is None:
        return entry("-")
    if r["status"] != "ok":
        return entry(r["status"].replace("_", " "), r["reason"])
    spread = f" ± {r['std']:.2g}" if math.isfinite(r["std"]) else ""
    cost = (
        "epsilon " + (r["epsilon"] if r["epsilon"] == "inf" else f"{float(r['epsilon']):.3g}") if r["epsilon"] else ""
    )
    return entry(f"{r['mean']:.4g}{spread} ({r['n']})", cost)


def datasets_tables(
    found: pd.DataFrame, sources: list[str], scale: str, sizes: pd.DataFrame | None = None
) -> list[tuple[Table, pd.DataFrame]]:
    """Published sizes beside those found.

    ``found``: columns dataset, n, d (numbers or empty), status, reason. One table per source that prints sizes.
    """
    sizes = published_numbers.dataset_sizes() if sizes is None else sizes
    have = {r["dataset"]: r for r in found.to_dict("records")}
    out = []
    for source, group in sizes.groupby("source", sort=False):
        if source not in sources:
            continue
        lines, rows = [], []
        for r in group.to_dict("records"):
            ours = have.get(r["dataset"], {"n": "", "d": "", "status": "not_run", "reason": "not read at this scale"})
            same = (str(ours["n"]), str(ours["d"])) == (r["n"], r["d"])
            word = ("same size" if same else "DIFFERENT size") if ours["status"] == "ok" else ours["status"]
            row = {**r, "found_n": ours["n"], "found_d": ours["d"], "status": ours["status"], "agrees": word}
            rows.append({**row, "reason": ours["reason"], "scale": scale})
            here = f"{ours['n']} x {ours['d']}" if ours["status"] == "ok" else ours["reason"]
            lines.append((dataset_title(r["dataset"]), [entry(f"{r['n']} x {r['d']}"), entry(here), entry(word)]))
        k = group["table"].iloc[0]
        table = Table(
            f"{source}_datasets",
            f"{SOURCE_TITLES.get(source, source)}, table {k}: data sets (rows x numerical inputs)",
            SCALE_BANNERS[scale],
            [Block("", "Data set", ["Paper", "Found", "Agrees"], lines)],
        )
        out.append((table, pd.DataFrame(rows)))
    return out


def data_info(folder: Path) -> pd.DataFrame:
    """Sizes of the prepared data sets in ``folder`` (``<name>.npz``): dataset, n, d, status, reason."""
    import datasets

    rows = []
    for path in sorted(Path(folder).glob("*.npz")):
        if path.name.startswith("."):
            continue  # a temporary file of a download in progress
        data = datasets.load(path)
        if data.status == "ok" and data.kind != "synthetic":
            n, d = data.x.shape
            rows.append({"dataset": path.stem, "n": n, "d": d, "status": "ok", "reason": ""})
        else:
            made_up = data.status == "ok"  # a generated stand-in is never shown as the paper's data
            status, reason = (
                ("no_data", "synthetic, for tests and timing only") if made_up else (data.status, data.reason)
            )
            rows.append({"dataset": path.stem, "n": "", "d": "", "status": status, "reason": reason})
    return pd.DataFrame(rows, columns=["dataset", "n", "d", "status", "reason"])
