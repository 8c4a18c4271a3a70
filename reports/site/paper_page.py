"""The page of a paper: report card, verdicts by reading, findings, tables, figures, claims, privacy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import pandas as pd

from reports import ceiling, claims, scoreboard
from reports.blocks import Table
from reports.config import READING_TITLES, READINGS
from reports.figure import Figure
from reports.site.content import Content, Part, first_readings, shown_reading
from reports.site.document import Document, plain
from reports.verdict import VERDICTS

TITLE = attrgetter("title")


def paper(part: Part, content: Content, known: dict[str, str], cells: bool) -> Document:
    page = Document(f"papers/{part.key}", part.title, known)
    page.part("banner", text=content.banner, loud=content.scale != "full")
    page.part("card", rows=_card(part, content))
    if cells:
        page.say(f"[Every published number, with its runs](/cells/{part.key}.md).")
        page.toctree([f"cells/{part.key}"])
    if part.answered:
        page.heading("What came back")
        page.part("board", rows=_board(part, content.scale == "full"))
        if part.judged:
            page.say(plain(f"{part.title} stands apart: {part.judged}."))
    if part.findings:
        page.heading("Findings")
        page.part(
            "linked", items=[{"href": f"findings/{f.id}.html", "text": f.title, "more": ""} for f in part.findings]
        )
    if part.tables:
        page.heading("Its tables, with ours beside them")
        tables_of(page, part.tables, lambda table: _short_title(table.title, part), first=True)
    elif part.answered:
        page.heading("Its numbers")
        page.say(f"They stand, with ours beside them, on the [page of its cells](/cells/{part.key}.md).")
    if part.figures:
        page.heading("Figures")
        figures_of(page, part.figures, content)
    if len(part.claims):
        page.heading("Claims")
        _claims(page, part)
    if part.privacy:
        page.heading("Privacy")
        tables_of(page, part.privacy)
    for title, tables in (
        ("Every method of this suite on its data", part.methods),
        ("Sizes of its data", part.datasets),
    ):
        if tables:
            page.heading(title)
            tables_of(page, tables, title=None)
    return page


def tables_of(
    page: Document, tables: Sequence[Table], title: Callable[[Table], str] | None = TITLE, first: bool = False
) -> None:
    """Tables one below the other. ``title``: of each, None for no headings; ``first``: the first one stands open."""
    for n, table in enumerate(tables):
        if title is not None:
            page.heading(title(table), 3)
        page.part("table", table=table, open=first and n == 0)


def figures_of(page: Document, figures: Sequence[Figure], content: Content) -> None:
    """Figures with their captions, each with the scale where that is not full."""
    for figure in figures:
        page.part("figure", f=figure, banner=content.banner if content.scale != "full" else "")


def _short_title(title: str, part: Part) -> str:
    """A table's title without the paper's, where the page is of one source."""
    for name in part.sources.values() if len(part.sources) == 1 else ():
        title = title.removeprefix(f"{name}, ")
    return title[:1].upper() + title[1:]


def _board(part: Part, full: bool) -> list[dict[str, Any]]:
    """Verdicts by source and reading, each with its ceiling; a number that repeats another is counted once.

    Corrected methods are other algorithms, and are left out.
    """
    rows, ceilings = [], ceiling.read()
    heads = part.verdicts[~part.verdicts["copy"] & part.verdicts["reading"].isin(scoreboard.ORDER)]
    heads = heads if part.judged else heads[heads["headline"] == "yes"]
    for (source, reading), group in heads.groupby(["source", "reading"], sort=False):
        head = f"{part.sources.get(source, source)}: " if len(part.sources) > 1 else ""
        found = group["verdict"].value_counts()
        judged = {v: int(found.get(v, 0)) for v in VERDICTS}
        title = head + READING_TITLES[reading]
        rows.append(
            {
                "title": title,
                "order": READINGS.index(reading),
                "cells": len(group),
                **judged,
                "no_score": len(group) - sum(judged.values()),
            }
        )
        copy = copy_of(group, f"{title}: a perfect copy of our program", ceilings) if full else {"cells": 0}
        if copy["cells"]:
            rows.append({"order": READINGS.index(reading), **copy})
    return sorted(rows, key=lambda r: r["order"])


def copy_of(rows: pd.DataFrame, title: str, ceilings: pd.DataFrame) -> dict[str, Any]:
    """What a perfect copy of our program would earn for the numbers of ``rows``, rounded, as a row of counts."""
    (sums,) = scoreboard.with_ceiling(rows.assign(all=""), ("all",), ceilings).to_dict("records")
    words = {w: round(sums[f"copy_{w}"]) for w in ceiling.SHARES[:-1]}
    scored = sums["numbers"] - sums["no_score"] - int(sums["no_ceiling"])
    words["worse"] = max(0, scored - sum(words.values())) if sums["copy_refuted"] >= 0.5 else 0
    return {"title": title, "of_a_copy": True, "cells": scored, **dict.fromkeys(VERDICTS, 0), **words, "no_score": 0}


def _card(part: Part, content: Content) -> list[tuple[str, list[Any]]]:
    """The report card. Every line follows from the verdicts, claims, ledgers and findings of this report."""
    v = part.verdicts
    rows: list[tuple[str, list[Any]]] = []
    scope = []
    if part.answered:
        first = first_readings(v)
        readings = ", ".join(READING_TITLES[r] for r in READINGS if r in set(v["reading"]))
        scope.append(
            f"{len(first)} published numbers of {first['method'].nunique()} methods on {first['dataset'].nunique()} "
            f"data sets, in {first[['source', 'table']].drop_duplicates().shape[0]} tables; read {readings}"
        )
    if len(part.claims):
        scope.append(claims.counted(part.claims))
    rows.append(("Scope", scope or ["its figures and methods, without a published number to compare"]))
    if part.answered:
        words = [w for w in VERDICTS if w in ("reproduced", "compatible")]
        first = first_readings(v)
        rows.append(
            (
                f"What came back ({shown_reading(first)})",
                [{"word": w, "text": str(int((first["verdict"] == w).sum())), "findings": []} for w in words],
            )
        )
        rows.append(("What did not, and why", _missing(first)))
    private = _privacy_lines(part, content)
    if private:
        rows.append(("Privacy claims", private))
    if len(part.claims):
        told = claims.distinct(part.claims)
        read = claims.read_off(told)
        for title, here in (
            ("Claims of its text", told[~read]),
            ("Claims read off its tables and figures", told[read]),
        ):
            found = here["verdict"].value_counts()
            lines = [{"word": w, "text": str(int(found[w])), "findings": []} for w in claims.VERDICTS if w in found]
            rows += [(title, lines)] if lines else []
    easy, hard = _effort(part)
    rows += [("Easy", easy)] if easy else []
    rows += [("Hard", hard)] if hard else []
    rows.append(("Were the authors asked", ["no"]))
    rows.append(("Run it again", [part.rerun]))
    return rows


def _missing(first: pd.DataFrame) -> list[Any]:
    """Verdicts other than a return, each with the findings that speak of its cells, most cells first."""
    out: list[Any] = []
    for word, group in first[~first["verdict"].isin(["reproduced", "compatible"])].groupby("verdict", sort=False):
        ids = group["finding"].str.split().explode().dropna().value_counts()
        out.append(
            {"word": word, "text": f"{len(group)}" + (", see" if len(ids) else ""), "findings": list(ids.index[:4])}
        )
    return out or ["nothing: no number is refuted or in doubt"]


def _privacy_lines(part: Part, content: Content) -> list[Any]:
    """How many claims of an epsilon hold, by the verdicts of the privacy tables."""
    count: dict[str, int] = {}
    for table in part.privacy:
        for block in table.blocks:
            for _, entries in block.rows:
                for e in entries:
                    if e.verdict in ("holds", "holds but for the leaks", "does not hold", "no ledger"):
                        count[e.verdict] = count.get(e.verdict, 0) + 1
    lines = [
        {"word": w, "text": f"{n} of {sum(count.values())} (method, reading, data set)", "findings": []}
        for w, n in count.items()
    ]
    told = [f.id for f in part.findings if re.search(r"privacy|budget|sensitivity|epsilon", f.id)]
    if told:
        lines.append({"word": "", "text": "why:", "findings": told[:4]})
    return lines


def _effort(part: Part) -> tuple[list[str], list[str]]:
    """What made the work easy and hard, as far as this report can count it."""
    if not part.answered:
        return [], []
    v, easy, hard = part.verdicts, [], []
    if "authors" in set(v["reading"]):
        beside = ": its verdicts are listed with those as printed" if "printed" in set(v["reading"]) else ""
        easy.append(f"the authors' code is public, and was read{beside}")
    else:
        hard.append("no code of the authors: settings that the text leaves out had to be chosen")
    without = first_readings(v)
    lost = without[without["verdict"] == "no_data"]
    if len(lost):
        hard.append(f"data that could not be had: {', '.join(sorted(set(lost['dataset'])))} ({len(lost)} numbers)")
    else:
        easy.append("all of its data can be had")
    if {"printed", "authors"} <= set(v["reading"]):
        headline = v if part.judged else v[v["headline"] == "yes"]
        both = headline.pivot_table(
            index=["table", "dataset", "method", "setting", "metric"],
            columns="reading",
            values="verdict",
            aggfunc="first",
        )
        both = both.dropna(subset=["printed", "authors"])
        unlike = int((both["printed"] != both["authors"]).sum())
        if unlike:
            hard.append(f"text and code are two algorithms: {unlike} of {len(both)} numbers get another verdict")
    none = without[(without["published_std"] == "") & (without["statistic"] == "")]  # a box has its quartiles
    if len(none):
        hard.append(f"{len(none)} of {len(without)} numbers are printed without a spread")
    return easy, hard


def claim_parts(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame, dict[str, int]]]:
    """The claims in two parts, measured and proved: heading, rows, verdict -> number of distinct ones."""
    parts = (
        ("Measured", [w for w in claims.VERDICTS if w != claims.PROVED]),
        ("By proof: algebra, or true by construction; the numbers are a check of it", [claims.PROVED]),
    )
    made = []
    for heading, words in parts:
        rows = frame[frame["verdict"].isin(words)]
        found = claims.distinct(rows)["verdict"].value_counts()
        if len(rows):
            made.append((heading, rows, {w: int(found[w]) for w in words if w in found}))
    return made


def _claims(page: Document, part: Part) -> None:
    page.say(
        "A claim stands here in its source's words, or is read off a table or figure of it; what is tested is said in "
        "ours. Quantifiers are the source's: none means all of the data sets and cells that it speaks of."
    )
    for heading, rows, found in claim_parts(part.claims):
        page.heading(heading, 3)
        page.part("counts", found=found)
        page.part("claims", rows=rows.to_dict("records"), sources=dict(part.sources), label=f"Claims: {heading}")
