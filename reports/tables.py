"""The papers' tables with our numbers, and the tables of this suite, as CSV, Markdown and LaTeX from one model."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Any

import pandas as pd

from datasets.files import sheet_text, write_text
from evaluation.coverage import CURVE
from evaluation.metrics import DIAGNOSTICS
from evaluation.metrics import heading as metric_heading
from evaluation.summary import summarise
from reports import published as published_numbers
from reports.blocks import Block, Entry, Footnotes, Table, entry, latex, markdown, number
from reports.config import READING_TITLES, READINGS, ReportError
from reports.published import METHOD_TITLES, SOURCE_TITLES
from reports.verdict import refutable
from reports.verdicts import BATCH

SCALE_BANNERS = {
    "full": "Scale: full (the protocol of the papers).",
    "quick": "Scale: quick. Few splits and short training: a trial of the machinery, NOT evidence about the papers.",
    "tiny": "Scale: tiny. One split, two epochs: a test of the machinery, NOT evidence about the papers.",
}
_RULE = (
    "An entry has our mean ± standard deviation (number of runs), the paper's number, and the verdict by one fixed "
    "rule (reports/verdict.py). Reproduced: nothing refutes the number at 5 %, and the two are equivalent within the "
    "margin of the metric. Compatible: nothing refutes it, and nothing shows that it is within the margin. Such an "
    "entry has the smallest shift that would have been refuted. On splits shared with the paper the rule is "
    "conservative."
)
_RULE_SKEWED = (
    " An entry with our median is not judged by t. Our scores or theirs are far from normal, a single run is printed, "
    "or the spread is of the size of the number. Its verdict comes from ranks, or from resampled runs if no spread is "
    "printed. The median says more than the mean."
)
_RULE_BATCH = (
    "An entry has our number of a batch of data sets ± its standard deviation by bootstrap over them (how many), the "
    "paper's number, and the verdict. The paper's spread is over redraws of the reference points, and leaves out that "
    "of the data sets. The two batches are independent, so the rule (reports/verdict.py, judge_batch) takes twice the "
    "bootstrap variance."
)
_READING_MEANINGS = {
    "printed": "algorithm and protocol as the paper states them",
    "authors": "what that code does where it differs from the paper",
    "corrected": "this suite's repair of the private method",
}
_READING_HEADS = {r: f"Reading: {READING_TITLES[r]} ({meaning})" for r, meaning in _READING_MEANINGS.items()}


def write(folder: Path, table: Table, long: pd.DataFrame) -> None:
    """Write ``<name>.csv`` (long, one row per number), ``.md`` and ``.tex`` (with the layout of the paper)."""
    write_text(folder / f"{table.name}.csv", sheet_text(long))
    write_text(folder / f"{table.name}.md", markdown(table))
    write_text(folder / f"{table.name}.tex", latex(table))


def write_all(folder: Path, pairs: Iterable[tuple[Table, pd.DataFrame]]) -> list[Table]:
    """Write tables with their long frames (:func:`write`), and return the tables."""
    written = []
    for table, long in pairs:
        write(folder, table, long)
        written.append(table)
    return written


def command(
    module: str,
    part: str,
    build: Callable[[Path], Iterable[tuple[Table, pd.DataFrame]]],
    commit: Callable[[Path], None],
) -> None:
    """The command line of a module that makes tables from the CSVs in the folder of a run, and can commit these."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--extra", default="results/extra", type=Path, help="folder of the CSVs")
    parser.add_argument("--out", default=f"results/parts/{part}", type=Path, help="tables go to OUT/tables")
    parser.add_argument("--commit", action="store_true", help="copy the CSVs into the reference, too")
    args = parser.parse_args()
    try:
        write_all(args.out / "tables", build(args.extra))
        if args.commit:
            commit(args.extra)
    except ReportError as error:
        raise SystemExit(f"{module}: {error}") from None


#: headings of data sets that differ from their name in words.
_DATASET_TITLES = {
    **{"mnist": "MNIST 3 vs 8", "mnist_digits": "MNIST", "adult_complete": "Adult (complete rows)"},
    "rare_events": "Rare events (synthetic)",
    **{"gamma_exponential": "Gamma-exponential", "beta_bernoulli": "Beta-Bernoulli"},
    **{"dirichlet_categorical": "Dirichlet-categorical", "linear_regression_10d": "Linear regression, 10 inputs"},
    **{"chen_lr": "Simulated regression", "chen_lr_unscaled": "Simulated regression, other units"},
    **{"chen_lr_fixed": "Synthetic release", "chen_ls": "Simulated location-scale"},
    **{"victoria_2021": "Census of Victoria, 2021"},
}


def dataset_title(name: str) -> str:
    return _DATASET_TITLES.get(name, name.replace("_", " ").capitalize())


def method_title(name: str) -> str:
    """The column heading of one of our methods, or its name if there is no adapter of that name."""
    from methods import contract

    try:
        return contract.get(name).title
    except KeyError:
        return name


def published_tables(verdicts: pd.DataFrame, scale: str) -> list[tuple[Table, pd.DataFrame]]:
    """One (table, long frame) per (source, table number) that the verdicts hold, in the papers' order."""
    out = []
    for (source, number_), rows in verdicts.groupby(["source", "table"], sort=False):
        metrics = " and ".join(metric_heading(m) for m in dict.fromkeys(rows["metric"]))
        footnotes = Footnotes()
        table = Table(
            name=f"{source}_table{number_}",
            title=f"{SOURCE_TITLES.get(source, source)}, table {number_}: {metrics}",
            banner=SCALE_BANNERS[scale],
            blocks=_blocks(rows, footnotes),
            notes=(_rule(rows),),
            footnotes=footnotes.texts,
        )
        out.append((table, rows.reset_index(drop=True).assign(scale=scale)))
    return out


def _rule(rows: pd.DataFrame) -> str:
    """A sentence on how the verdicts of a table are made."""
    if set(rows["metric"]) <= set(BATCH):
        return _RULE_BATCH
    return _RULE + (_RULE_SKEWED if rows["median"].notna().any() else "")


def _blocks(rows: pd.DataFrame, footnotes: Footnotes) -> list[Block]:
    one_method = rows["method"].nunique() == 1 and rows["setting"].nunique() > 1
    # One data set, several methods, each at the same settings: a line a method, a column a setting, whatever a reading
    # answers of it.
    cells, settings = rows[["method", "setting"]].drop_duplicates(), list(dict.fromkeys(rows["setting"]))
    full = len(cells) == cells["method"].nunique() * len(settings)
    grid = differing(settings) if full and rows["dataset"].nunique() == 1 < min(cells.nunique()) else {}
    blocks = []
    for reading in READINGS:
        for headline in ("yes", "no"):
            part = rows[(rows["reading"] == reading) & (rows["headline"] == headline)]
            if part.empty:
                continue
            groups = [("", part)] if headline == "yes" else list(part.groupby("protocol", sort=False))
            for protocol, group in groups:
                title = _READING_HEADS[reading] + (f"; besides: protocol {protocol}" if protocol else "")
                blocks.append(_block(title, group, one_method, grid, footnotes))
    return blocks


def _block(title: str, rows: pd.DataFrame, one_method: bool, heads: dict[str, str], footnotes: Footnotes) -> Block:
    """One block. ``heads``: setting -> column, if methods are lines and settings columns, otherwise empty."""
    datasets = list(dict.fromkeys(rows["dataset"]))
    columns = list(dict.fromkeys(zip(rows["method"], rows["setting"], strict=True)))
    grid: dict[tuple, list[dict]] = {}
    for r in rows.to_dict("records"):
        grid.setdefault((r["dataset"], r["method"], r["setting"]), []).append(r)

    def at(dataset: str, column: tuple[str, str]) -> Entry:
        found = grid.get((dataset, *column), [])
        if not found:
            return entry("-")
        parts = [judged_entry(r, footnotes) for r in found]
        if len(parts) == 1:
            return parts[0]
        return Entry(tuple(line for p in parts for line in p.all_lines))

    metrics = list(dict.fromkeys(rows["metric"]))
    if len(datasets) == 1 and len(metrics) > 1:  # like table 1 of DP-SEP: a line a method, a column a metric
        titles = {c: row_title(*c) for c in columns}
        by = {(r["method"], r["setting"], r["metric"]): r for r in rows.to_dict("records")}
        lines = [
            (titles[c], [judged_entry(by[*c, m], footnotes) if (*c, m) in by else entry("-") for m in metrics])
            for c in columns
        ]
        heads = [metric_heading(m) for m in metrics]
        return Block(title, dataset_title(datasets[0]), heads, lines, _ours(rows, titles))
    if heads:  # like tables 2 and 3 of NA-DPVI
        methods, settings = dict.fromkeys(rows["method"]), [s for s in heads if s in set(rows["setting"])]
        titles = {(m, s): f"{METHOD_TITLES.get(m, m)}, {heads[s]}" for m, s in columns}
        lines = [(METHOD_TITLES.get(m, m), [at(datasets[0], (m, s)) for s in settings]) for m in methods]
        return Block(title, dataset_title(datasets[0]), [heads[s] for s in settings], lines, _ours(rows, titles))
    notes = _ours(rows, {c: column_title(*c, one_method) for c in columns})
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


def differing(settings: Sequence[str]) -> dict[str, str]:
    """Each setting reduced to the parts that not all settings share: "epsilon=0.1;delta=1e-5" to "epsilon = 0.1"."""
    parts = {s: s.split(";") for s in settings}
    shared = set.intersection(*map(set, parts.values()))
    return {s: ", ".join(p.replace("=", " = ") for p in found if p not in shared) for s, found in parts.items()}


def row_title(method: str, setting: str) -> str:
    """A method of the paper with its setting: "DP-SEP, epsilon = 50"."""
    parts = [p.split("=", 1) for p in setting.split(";") if "=" in p]
    shown = [f"{'C' if k == 'clip' else k} = {v}" for k, v in parts if k != "delta"]
    return ", ".join([METHOD_TITLES.get(method, method), *shown])


def _ours(rows: pd.DataFrame, titles: dict[tuple[str, str], str]) -> list[str]:
    """The published columns for which each of our methods is run: one line per method and protocol."""
    names: dict[tuple[str, str], list[str]] = {}
    for r in rows[rows["our_method"] != ""].to_dict("records"):
        label = f" [{r['our_setting']}]" if r["our_setting"] else ""
        names.setdefault((r["our_method"], r["protocol"]), []).append(f"{titles[r['method'], r['setting']]}{label}")
    lines = [f"Ours is {m} (protocol {p}) for {'; '.join(dict.fromkeys(texts))}." for (m, p), texts in names.items()]
    answered = set(zip(*(rows.loc[rows["our_method"] != "", k] for k in ("method", "setting")), strict=True))
    missing = [t for c, t in titles.items() if c not in answered]
    return lines + ([f"No run of ours answers {'; '.join(missing)}."] if missing else [])


def judged_entry(r: dict[str, Any], footnotes: Footnotes) -> Entry:
    """Our number, the paper's number and the verdict of one row of the verdicts. Its reason goes to the footnotes."""
    text = r["published_mean"]
    paper = f"paper {text}" + (f" ± {r['published_std']}" if r["published_std"] else "")
    if not math.isfinite(r["mean"]):
        # What is left out at a smaller scale is said by the banner; its reason names each cell and stays in the CSV.
        marks = () if r["verdict"] == "not_run" else footnotes(r["reason"])
        return entry(paper, verdict=r["verdict"], marks=marks)
    decimals = len(text.partition(".")[2]) + 1
    spread = f" ± {number(r['std'], decimals)}" if math.isfinite(r["std"]) else ""
    middle = f"median {number(r['median'], decimals)}" if math.isfinite(r.get("median", math.nan)) else ""
    ours = f"{number(r['mean'], decimals)}{spread} ({r['n']})"
    return entry(
        ours,
        paper,
        verdict=r["verdict"],
        after=(middle, refutable(r["verdict"], r["detectable"])),
        findings=tuple(r["finding"].split()),
        marks=footnotes(r["reason"]),
    )


#: groups of the table of all methods, in its order.
GROUPS = ("Private, or said to be", "Without privacy", "References and baselines")


def group_of(method: str, claims_epsilon: bool, answers: bool = False) -> str:
    """The group of a method in ``GROUPS``, by its role and by the relation that a private method states.

    ``claims_epsilon``: it ran under a budget, like authors' code without a guarantee. ``answers``: it represents a
    column of a paper, so it is among the methods whatever its role is.
    """
    from methods import contract
    from methods.contract import Role

    try:
        method_class = contract.get(method)
    except KeyError:
        return GROUPS[0] if claims_epsilon else GROUPS[1]
    if method_class.role is not Role.METHOD and not answers:
        return GROUPS[2]
    return GROUPS[0] if claims_epsilon or method_class.privacy is not None else GROUPS[1]


def all_methods_table(
    scores: pd.DataFrame,
    name: str,
    scale: str,
    title: str = "Every method of this suite, every data set",
    budgeted: Set[str] = frozenset(),
    answering: Set[str] = frozenset(),
) -> tuple[Table, pd.DataFrame]:
    """The table of all our methods in the scores by data set, with one block per protocol and metric.

    ``budgeted``: methods that the experiment runs under a privacy budget. ``answering``: methods that represent a
    column of a paper. No method is named here, so a new method in ``methods/`` appears by itself.
    """
    summary = summarise(scores)
    summary = summary[~summary["metric"].isin(DIAGNOSTICS) & ~summary["metric"].str.fullmatch(CURVE)]
    metrics = sorted(m for m in summary["metric"].unique() if m)
    claiming = set(budgeted) | set(summary.loc[summary["epsilon"] != "", "method"])
    footnotes = Footnotes()
    blocks, rows = [], []
    for protocol, group in summary.groupby("protocol", sort=True):
        arms = dict.fromkeys(zip(group["method"], group["setting"], strict=True))
        arms = sorted(arms, key=lambda a: (method_title(a[0]).lower(), natural(a[1])))
        datasets = list(dict.fromkeys(group["dataset"]))
        cells: dict[tuple, dict] = {}
        for r in group.to_dict("records"):
            for metric in [r["metric"]] if r["metric"] else metrics:
                cells[r["dataset"], r["method"], r["setting"], metric] = r | {"metric": metric}
        for metric in metrics:
            lines: list[tuple[str, list[Entry]]] = []
            for heading in GROUPS:
                part = [a for a in arms if group_of(a[0], a[0] in claiming, a[0] in answering) == heading]
                lines += [(heading, [])] if part else []
                for m, s in part:
                    summaries = [cells.get((d, m, s, metric)) for d in datasets]
                    entries = [_summary_entry(r, footnotes) for r in summaries]
                    row_title = method_title(m) + (f" [{s}]" if s else "")
                    lines.append((row_title, [entry(_epsilons(summaries)), *entries]))
                    rows += [{**r, "title": method_title(m), "group": heading, "scale": scale} for r in summaries if r]
            heading = f"Protocol {protocol}: {metric_heading(metric)}"
            blocks.append(Block(heading, "Method", ["epsilon", *map(dataset_title, datasets)], lines))
    table = Table(
        name,
        title,
        SCALE_BANNERS[scale],
        blocks,
        notes=("An entry is the mean ± standard deviation over splits (number of splits). Epsilon is what the "
               "accountants find in the ledgers of the runs, at the delta of their budget, as a range over the data "
               "sets. It is inf if private numbers leave without noise.",),
        footnotes=footnotes.texts,
    )  # fmt: skip
    first = ["dataset", "protocol", "method", "setting", "title", "group", "metric"]
    long = pd.DataFrame(rows)
    return table, long[[*first, *[c for c in long.columns if c not in first]]] if len(long) else long


def natural(text: str) -> list[tuple[int, float, str]]:
    """A sort key that puts clip=10 after clip=2."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(1, float(p), "") if k % 2 else (0, 0.0, p) for k, p in enumerate(parts)]


def _epsilons(found: list[dict[str, Any] | None]) -> str:
    values = sorted({float(r["epsilon"]) for r in found if r and r["epsilon"]})
    texts = list(dict.fromkeys("inf" if math.isinf(v) else f"{v:.3g}" for v in values))
    return f"{texts[0]} to {texts[-1]}" if len(texts) > 1 else "".join(texts) or "-"


def _summary_entry(r: dict[str, Any] | None, footnotes: Footnotes) -> Entry:
    if r is None:
        return entry("-")
    marks = footnotes(r["reason"])
    if r["status"] != "ok":
        return entry(verdict=r["status"], marks=marks)
    spread = f" ± {r['std']:.2g}" if math.isfinite(r["std"]) else ""
    return entry(f"{r['mean']:.4g}{spread} ({r['n']})", marks=marks)


def datasets_tables(found: pd.DataFrame, sources: list[str], scale: str) -> list[tuple[Table, pd.DataFrame]]:
    """The published sizes of data sets and the sizes that we found, one table per source that prints sizes.

    ``found``: columns dataset, n, d (numbers or empty), status, reason.
    """
    have = {r["dataset"]: r for r in found.to_dict("records")}
    out = []
    for source, group in published_numbers.dataset_sizes().groupby("source", sort=False):
        if source not in sources:
            continue
        footnotes = Footnotes()
        lines, rows = [], []
        for r in group.to_dict("records"):
            ours = have.get(r["dataset"], {"n": "", "d": "", "status": "not_run", "reason": "not read at this scale"})
            same = (str(ours["n"]), str(ours["d"])) == (r["n"], r["d"])
            word = ("same size" if same else "DIFFERENT size") if ours["status"] == "ok" else ours["status"]
            row = {**r, "found_n": ours["n"], "found_d": ours["d"], "status": ours["status"], "agrees": word}
            rows.append({**row, "reason": ours["reason"], "scale": scale})
            paper = entry(f"{r['n']} x {r['d']}")
            if ours["status"] == "ok":
                facts = [paper, entry(f"{ours['n']} x {ours['d']}"), entry(word)]
            else:
                facts = [paper, entry("-"), entry(verdict=word, marks=footnotes(ours["reason"]))]
            lines.append((dataset_title(r["dataset"]), facts))
        k = group["table"].iloc[0]
        table = Table(
            f"{source}_datasets",
            f"{SOURCE_TITLES.get(source, source)}, table {k}: data sets (rows x numerical inputs)",
            SCALE_BANNERS[scale],
            [Block("", "Data set", ["Paper", "Found", "Agrees"], lines)],
            footnotes=footnotes.texts,
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
