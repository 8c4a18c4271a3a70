"""A page per paper with every published cell: its number, ours by reading, the runs, the verdict and its reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from evaluation.summary import values_by
from methods import contract
from reports.config import READING_TITLES, READINGS, ReportError
from reports.published import KEY
from reports.site.content import Content, Part
from reports.site.document import MOST, Document, plain
from reports.site.words import (
    key_of,
    method_title,
    metric_title,
    number,
    published_texts,
    relation,
    setting_title,
    setting_value,
    verdict_sentence,
)
from reports.tables import dataset_title
from reports.verdict import refutable
from workflow.experiments import by_dataset

#: papers with more published numbers than this have one sortable table and no section per number.
SECTIONS = 600
#: number of dots of a strip, and of the small strip in a row of a table.
DOTS, FEW = 200, 21


@dataclass(frozen=True)
class Cell:
    """One published cell. ``answers``: our results, one per reading and protocol; ``readings``: one per column."""

    key: str
    table: str
    dataset: str
    method: str
    setting: str
    metric: str
    published: str
    section: bool
    rows: Sequence[Mapping[str, Any]]
    readings: Sequence[Mapping[str, Any]]
    answers: Sequence[Mapping[str, Any]] = ()

    @property
    def numbers(self) -> str:
        """Published and ours as they are printed."""
        ours = [f"{r['title']}: {r['ours']} {r['row']['verdict'].replace('_', ' ')}" for r in self.readings if r["row"]]
        return "; ".join([f"published {self.published}", *ours])


def collect(content: Content) -> dict[str, list[Cell]]:
    """Key of a part -> its published cells, in the order of its verdicts. Raises ReportError for two with one key."""
    return {part.key: _cells(part) for part in content.parts if part.answered}


def _cells(part: Part) -> list[Cell]:
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in part.verdicts.to_dict("records"):  # a frame for each group would take most of the time of the pages
        groups.setdefault(tuple(row[k] for k in KEY), []).append(row)
    section = len(groups) <= SECTIONS
    there = [r for r in READINGS if r in set(part.verdicts["reading"])]
    out = []
    for rows in groups.values():
        first = rows[0]
        by = {}
        for row in rows:
            by.setdefault(row["reading"], row)
        readings = [
            {"title": READING_TITLES[r], "row": by.get(r), "ours": ours(by.get(r)), "worth": worth(by.get(r)),
             "strip": None}
            for r in there
        ]  # fmt: skip
        if not section:  # one axis for the readings of a row, so that they can be compared
            runs = [part.runs.get((*(first[k] for k in KEY), r), ()) for r in there]
            whole = [end for of in runs if len(of) for end in (min(of), max(of))]
            for reading, of in zip(readings, runs, strict=True):
                reading["strip"] = strip(of, _compared(first), FEW, whole)
        out.append(
            Cell(
                key_of(first),
                first["table"],
                dataset_title(first["dataset"]),
                method_title(first["method"], part.titles),
                setting_title(first["setting"]),
                metric_title(first["metric"]),
                published(first),
                section,
                rows,
                readings,
            )
        )
    keys = [c.key for c in out]
    if len(set(keys)) < len(keys):
        raise ReportError(
            f"{part.key}: two published cells have the address {next(k for k in keys if keys.count(k) > 1)}"
        )
    return out


def _compared(row: Mapping[str, Any]) -> str:
    """The published number with which ours are compared. A printed accuracy is converted to an error."""
    return row["published_error"] or row["published_mean"]


def published(row: Mapping[str, Any]) -> str:
    """The printed number with its spread, and the compared number if it differs. Medians are marked."""
    mean, std = published_texts(row["published_mean"], row["published_std"])
    if row["statistic"]:
        return f"{row['statistic']} {mean}"
    spread = f" ± {std}" if std else ""
    error = f" (error {number(float(row['published_error']))})" if row["published_error"] else ""
    return f"{mean}{spread}{error}"


def ours(row: Mapping[str, Any] | None) -> str:
    """Mean, spread and number of our runs, with one more digit than printed. A compared median comes first."""
    if row is None or math.isnan(row["mean"]):
        return ""
    if row["statistic"]:
        return f"{row['statistic']} {number(row['median'], 5)}; {ours({**row, 'statistic': ''})}"
    spread = f" ± {number(row['std'], 3)}" if not math.isnan(row["std"]) else ""
    runs = f" ({int(row['n'])})" if not math.isnan(row["n"]) else ""
    return f"{number(row['mean'], 5)}{spread}{runs}"


def worth(row: Mapping[str, Any] | None) -> str:
    """The smallest shift that would have been refuted, in words, of a compatible number; otherwise ""."""
    return "" if row is None else refutable(row["verdict"], row["detectable"])


def documents(content: Content, published: Mapping[str, Sequence[Cell]]) -> list[Document]:
    """The pages of all published numbers."""
    return [page for page, _ in pages(content, published)]


def pages(content: Content, published: Mapping[str, Sequence[Cell]]) -> Iterator[tuple[Document, list[Cell]]]:
    """As many pages per part as its published numbers need (``MOST``), each with the numbers that it shows."""
    known = {f.id: f.title for f in content.findings}
    methods = set(contract.names())
    for part in content.parts:
        if part.key not in published:
            continue
        chunks = _chunks(part, published[part.key], _Runs(part, content.ledger), methods, known)
        title = f"{part.title}: every published number"
        made = [
            Document(f"cells/{part.key}{f'-{n}' if n > 1 else ''}", title + (f", part {n}" if n > 1 else ""), known)
            for n in range(1, len(chunks) + 1)
        ]
        for n, (page, chunk) in enumerate(zip(made, chunks, strict=True)):
            page.say(
                f"Each row is a published number of [{plain(part.title)}](/papers/{part.key}.md), with our runs by "
                "reading. The [glossary](/glossary.md) explains readings and verdicts."
            )
            if len(made) > 1:
                page.say(f"This is part {n + 1} of {len(made)}. These are the other parts.")
                others = [pair for pair in zip(made, chunks, strict=True) if pair[0] is not page]
                items = [{"href": f"{d.path}.html", "text": _places(of, part), "more": ""} for d, of in others]
                page.part("linked", items=items)
            page.part("finder")
            _show(page, chunk, part)
            if not n:
                page.toctree([d.path for d in made[1:]])
            yield page, [c for _, of in chunk for c, *_ in of]


#: a published number with the HTML of its row and of its section.
_Shown = tuple[Cell, str, str]
#: tables of one page, each with its published numbers.
_Chunk = list[tuple[str, list[_Shown]]]


def _chunks(part: Part, cells: Sequence[Cell], runs: _Runs, methods: set[str], known: dict[str, str]) -> list[_Chunk]:
    """The published numbers of a part, cut into pages."""
    made: list[_Chunk] = [[]]
    size = 0
    like = Document(f"cells/{part.key}", part.title, known)
    for table, of in _by_table(cells):
        made[-1].append((table, []))
        for cell in of:
            row, section = like.piece("cells_row", c=cell), ""
            if cell.section:
                answers = [_answer(r, part, runs, methods) for r in cell.rows]
                section = like.piece("cell_section", c=replace(cell, answers=answers))
            if size and size + len(row) + len(section) > MOST:
                made.append([(table, [])])
                size = 0
            size += len(row) + len(section)
            made[-1][-1][1].append((cell, row, section))
    return [[(table, of) for table, of in chunk if of] for chunk in made]


def _show(page: Document, chunk: _Chunk, part: Part) -> None:
    cells = [c for _, of in chunk for c, *_ in of]
    if not cells[0].section and part.runs:
        page.say(
            f"Each of our numbers has its runs below it, a dot per run. More than {FEW} runs are shown by their "
            "quantiles. The bar is the published number. All readings in a row share one axis."
        )
    for table, of in chunk:
        title = _table_title(table, part)
        page.heading(title)
        page.part(
            "cells_index",
            rows="\n".join(row for _, row, _ in of),
            readings=[r["title"] for r in of[0][0].readings],
            label=f"Published numbers of {title}",
        )
        if of[0][0].section:
            page.say("**Each number with its runs, settings and ledger**")
            page.html("\n".join(section for *_, section in of))
    if not cells[0].section:
        page.say(
            f"The runs behind these numbers, with settings and ledgers, are in `papers/{part.key}/reference/`. "
            f"`{part.rerun}` computes all of it again."
        )


def _table_title(table: str, part: Part) -> str:
    return part.titles.get(table) or (f"Table {table}" if len(table) < 3 else table.replace("_", " ").capitalize())


def _places(chunk: _Chunk, part: Part) -> str:
    """The content of a page in words: its tables, or the data sets of a table that spans several pages."""
    if len(chunk) > 1:
        titles = [_table_title(table, part) for table, _ in chunk]
        return ", ".join(titles) if len(titles) < 4 else f"{titles[0]} to {titles[-1]}"
    table, of = chunk[0]
    ends = list(dict.fromkeys(c.dataset for c, *_ in of))
    return f"{_table_title(table, part)}, {' to '.join(dict.fromkeys((ends[0], ends[-1])))}"


def _by_table(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    groups: dict[str, list[Cell]] = {}
    for c in cells:
        groups.setdefault(c.table, []).append(c)
    return list(groups.items())


class _Runs:
    """Runs and configurations of a part, by cell of ours."""

    def __init__(self, part: Part, ledger: pd.DataFrame):
        wanted = {c for c in part.verdicts["cell"] if c}
        self.own = part.runs
        self.values: dict[tuple[str, ...], dict[str, float]] = {}
        self.seeds: dict[str, list[str]] = {}
        self.facts: dict[str, Mapping[str, str]] = {}
        if part.scores is not None:
            mine = part.scores[part.scores["cell"].isin(wanted)]
            self.values = values_by(mine, "cell", "metric")
            self.seeds = {c: list(dict.fromkeys(filter(None, s))) for c, s in mine.groupby("cell")["seed"]}
            spent = mine.loc[mine["epsilon"] != "", ["cell", "epsilon", "delta", "relation", "accountant"]]
            spent = spent.assign(size=pd.to_numeric(spent["epsilon"]))
            largest = spent.sort_values("size", kind="stable").drop_duplicates("cell", keep="last")
            self.facts = {r["cell"]: r for r in largest.to_dict("records")}
        events = ledger[ledger["cell"].isin(wanted) & (ledger["event"] != "(total)")] if len(ledger) else ledger
        self.events = {}
        for r in events.drop_duplicates(["cell", "event", "sampling", "steps"]).to_dict("records"):
            steps = f", {r['steps']} step{'' if str(r['steps']) == '1' else 's'}" if r["steps"] else ""
            self.events.setdefault(r["cell"], []).append(f"{r['event']} ({r['sampling'].replace('_', ' ')}{steps})")
        self.arms = {}
        for config in part.configs:
            for arm in config["arms"]:
                for protocol in arm.get("protocols", ()):
                    self.arms[arm["method"], arm.get("label", ""), protocol, config["experiment"]] = arm

    def of(self, row: Mapping[str, Any]) -> Sequence[float]:
        """The runs of one of our numbers, in the unit that is compared."""
        stored = self.own.get((*(row[k] for k in KEY), row["reading"]), ())
        return stored if len(stored) else [*self.values.get((row["cell"], row["metric"]), {}).values()]

    def settings(self, row: Mapping[str, Any]) -> str:
        """The settings of the configuration that differ from the method's defaults, for that data set."""
        experiment = row["cell"].partition("-")[0]
        arm = self.arms.get((row["our_method"], row["our_setting"], row["protocol"], experiment))
        if arm is None:
            return ""
        given = {**arm.get("settings", {}), **{f"budget {k}": v for k, v in (arm.get("budget") or {}).items()}}
        texts = [f"{k} = {setting_value(by_dataset(v, row['dataset'], k))}" for k, v in given.items()]
        return ", ".join(texts) or "the method's defaults"


def _answer(row: Mapping[str, Any], part: Part, runs: _Runs, methods: set[str]) -> dict[str, Any]:
    """The part of a cell's section about one of our numbers."""
    cell = row["cell"]
    extra = "" if row["headline"] == "yes" else f"; also under the split protocol {row['protocol']}"
    facts = []
    if spent := runs.facts.get(cell):
        by = f", by {spent['accountant'].partition(':')[0]}" if spent["accountant"] else ""
        under = relation(spent["relation"])
        epsilon = f"epsilon = {number(float(spent['epsilon']))} at delta = {spent['delta']}, {under}{by}"
        facts.append(("Ledger", [epsilon, *runs.events.get(cell, [])]))
    if seeds := runs.seeds.get(cell):
        more = f" and {len(seeds) - 3} more" if len(seeds) > 3 else ""
        facts.append(("Seeds", [", ".join(seeds[:3]) + more]))
    if cell:
        facts.append(("Cell", [cell]))
    return {
        "title": READING_TITLES[row["reading"]] + extra,
        "row": row,
        "ours": ours(row),
        "worth": worth(row),
        "sentence": verdict_sentence(row),
        "findings": row["finding"].split(),
        "strip": strip(runs.of(row), _compared(row)),
        "method": row["our_method"],
        "method_page": row["our_method"] in methods,
        "settings": runs.settings(row) if cell else "",
        "facts": facts,
        "command": f"./bench doubt {cell}" if cell else part.rerun,
    }


def strip(values: Sequence[float], printed: str, most: int = DOTS, axis: Sequence[float] = ()) -> dict[str, Any] | None:
    """Runs as dots on one line and the published number as a bar. None for fewer than two runs.

    The axis is logarithmic if everything is positive and spans more than a factor of 50. If there are more than
    ``most`` runs, their quantiles are shown. ``axis``: further values that the axis must contain.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    x = x[np.isfinite(x)]
    if len(x) < 2:
        return None
    mark = float(printed) if printed else math.nan
    shown = x if len(x) <= most else x[np.linspace(0, len(x) - 1, most).round().astype(int)]
    every = [float(v) for v in (x[0], x[-1], *axis, mark) if math.isfinite(v)]
    low, high = min(every), max(every)
    logarithmic = low > 0 and high / low > 50
    scale = np.log if logarithmic else np.asarray
    start = float(scale(low))
    span = float(scale(high)) - start or 1.0
    *dots, bar = (4 + 232 * (scale([*shown, mark]) - start) / span).tolist()
    return {
        "dots": "".join(f"M{p:.1f} 14h0" for p in dots),
        "published": f"{bar:.1f}" if math.isfinite(mark) else None,
        "low": number(low),
        "high": number(high) + (" (logarithmic)" if logarithmic else ""),
        "label": f"{len(x)} runs from {number(float(x[0]))} to {number(float(x[-1]))}, median "
        f"{number(float(np.median(x)))}; published {published_texts(printed)[0] or 'none'}",
    }
