"""The pages of a paper: its report card and verdicts, its claims, its tables, and a page for its authors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import pandas as pd

from reports import ceiling, claims, scoreboard
from reports.blocks import Figure, Table
from reports.claims.record import HOLDS, PROVED, UNTESTED
from reports.config import READING_TITLES, READINGS
from reports.findings import Finding
from reports.site.content import Content, Part, distinct, first_readings, shown_reading
from reports.site.document import MOST, Document, plain
from reports.site.words import method_title
from reports.verdict import REFUTED, VERDICTS

TITLE = attrgetter("title")
#: verdict on a claim of an epsilon -> what several of them do.
OF_EPSILON = {
    "holds": "hold",
    "holds except for named leaks": "hold except for named leaks",
    "refuted": "are refuted",
    "no finite epsilon": "have no finite epsilon",
    "not shown": "are not shown",
    "no ledger": "have no ledger",
}
#: verdicts of a claim that the page for its authors does not list.
SETTLED = (HOLDS, PROVED, UNTESTED)


def papers(part: Part, content: Content, known: dict[str, str], cells: bool) -> Iterator[Document]:
    """All pages of one paper. ``cells``: whether there is a page of its published numbers."""
    below = []
    if len(part.claims):
        below.append(_claims(part, content, known))
    below += _tables(part, content, known)
    below.append(_authors(part, content, known, cells))
    yield _paper(part, content, known, cells, below)
    yield from below


def _paper(part: Part, content: Content, known: dict[str, str], cells: bool, below: Sequence[Document]) -> Document:
    page = Document(f"papers/{part.key}", part.title, known)
    page.say(_summary(part))
    page.part("banner", text=content.banner, loud=content.scale != "full")
    page.part("card", rows=_card(part, content))
    if part.answered:
        page.heading("Verdicts by reading")
        if part.judged:
            page.say(plain(f"{part.judged}. The level of a refutation is set for the numbers of this source only."))
        page.part("board", rows=_board(part, content.scale == "full"))
    if len(part.claims):
        page.heading("Claims")
        for title, rows in claim_parts(part.claims):
            page.heading(title, 3)
            page.part("counts", found=counted(rows))
    if part.findings:
        page.heading("Findings")
        page.part("summaries", items=items_of(part.findings))
    page.heading("More")
    more = {f"cells/{part.key}": "Every published number, with its runs"} if cells else {}
    more |= {document.path: _kind(document) for document in below}
    page.part("linked", items=[{"href": f"{path}.html", "text": text, "more": ""} for path, text in more.items()])
    page.toctree(more)
    if part.figures:
        page.heading("Figures")
        figures_of(page, part.figures, content)
    return page


def _kind(page: Document) -> str:
    """The end of the title of a page below that of a paper, which says what it shows."""
    text = page.title.rpartition(": ")[2]
    return text[:1].upper() + text[1:]


def _summary(part: Part) -> str:
    """A sentence on what the page is about."""
    n = len(first_readings(part.verdicts))
    what = [f"{n:,} published numbers"] if n else []
    what += [f"{len(claims.distinct(part.claims))} claims"] if len(part.claims) else []
    return f"This page compares {' and '.join(what) or 'the methods'} of the paper with our runs."


def items_of(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Findings as the items of a list with their summaries."""
    return [{"href": f"findings/{f.id}.html", "text": f.title, "more": f.summary} for f in findings]


def table_pages(
    page: Document, tables: Sequence[Table], title: Callable[[Table], str] = TITLE, **how: bool
) -> Iterator[Document]:
    """Put tables on ``page``, one below the other, and on as many further pages as they need (``MOST``).

    ``title`` gives the title of each table. ``how``: arguments of the macro ``table``. A table that is larger than a
    page is only given as files.
    """
    first, n = page, 1
    for table in tables:
        piece = _piece(page, table, **how)
        if page.size + len(piece) > MOST:
            yield page
            n += 1
            page = Document(f"{first.path}-{n}", f"{first.title}, part {n}", first.known)
            page.say(f"This page goes on from [{plain(first.title)}](/{first.path}.md).")
        page.heading(title(table))
        page.html(piece)
    yield page


def tables_of(page: Document, tables: Sequence[Table]) -> None:
    """Put tables one below the other, each with its title. A table larger than a page is only given as files."""
    for table in tables:
        page.heading(table.title, 3)
        page.html(_piece(page, table, open=False))


def _piece(page: Document, table: Table, **how: bool) -> str:
    piece = page.piece("table", table=table, **how)
    rows = sum(len(block.rows) for block in table.blocks)
    return piece if len(piece) <= MOST else page.piece("large_table", table=table, rows=rows)


def figures_of(page: Document, figures: Sequence[Figure], content: Content) -> None:
    """Put figures with their captions, each with the scale if that is not full."""
    for figure in figures:
        page.part("figure", f=figure, banner=content.banner if content.scale != "full" else "")


def _short_title(title: str, part: Part) -> str:
    """A table's title, without the title of the paper if the page has only one source."""
    for name in part.sources.values() if len(part.sources) == 1 else ():
        title = title.removeprefix(f"{name}, ")
    return title[:1].upper() + title[1:]


def _board(part: Part, full: bool) -> list[dict[str, Any]]:
    """Verdicts by source and reading, each with its ceiling. A number that repeats another is counted once.

    Corrected methods are other algorithms, and are left out.
    """
    rows, ceilings = [], ceiling.read()
    heads = distinct(part)
    heads = heads[heads["reading"].isin(scoreboard.ORDER)]
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
        copy = copy_of(group, f"{title}, expected for a copy of our code", ceilings) if full else {"cells": 0}
        if copy["cells"]:
            rows.append({"order": READINGS.index(reading), **copy})
    return sorted(rows, key=lambda r: r["order"])


def copy_of(rows: pd.DataFrame, title: str, ceilings: pd.DataFrame) -> dict[str, Any]:
    """A row of the rounded counts that a perfect copy of our implementation would earn for the numbers of ``rows``."""
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
            f"{len(first):,} published numbers of {first['method'].nunique()} methods on {first['dataset'].nunique()} "
            f"data sets, in {first[['source', 'table']].drop_duplicates().shape[0]} tables"
        )
        scope.append(f"readings: {readings}")
    rows.append(("Scope", scope or ["its figures and methods, without a published number to compare"]))
    if part.answered:
        words = [w for w in VERDICTS if w in ("reproduced", "compatible")]
        first = first_readings(v)
        rows.append(
            (
                f"Reproduced or compatible ({shown_reading(first)})",
                [{"word": w, "text": str(int((first["verdict"] == w).sum())), "findings": []} for w in words],
            )
        )
        rows.append(("Other verdicts, with findings", _missing(first)))
    private = _privacy_lines(part)
    if private:
        rows.append(("Privacy claims", private))
    if len(part.claims):
        rows.append(("Claims", [claims.counted(part.claims)]))
    easy, hard = _effort(part)
    rows += [("Easy", easy)] if easy else []
    rows += [("Hard", hard)] if hard else []
    rows.append(("Were the authors asked", ["yes, and they answered" if part.answer else "no"]))
    rows.append(("Run it again", [part.rerun]))
    return rows


def _missing(first: pd.DataFrame) -> list[Any]:
    """Verdicts other than reproduced and compatible, each with the findings on its numbers, most numbers first."""
    out: list[Any] = []
    for word, group in first[~first["verdict"].isin(["reproduced", "compatible"])].groupby("verdict", sort=False):
        ids = group["finding"].str.split().explode().dropna().value_counts()
        out.append({"word": word, "text": str(len(group)), "findings": list(ids.index[:2]) if word in VERDICTS else []})
    return out or ["no number is refuted or in doubt"]


def _claims_of_epsilon(part: Part) -> Counter[str]:
    """Verdict -> number of claims of an epsilon (method, reading, data set), by the privacy tables."""
    blocks = (block for table in part.privacy for block in table.blocks)
    return Counter(e.verdict for block in blocks for _, es in block.rows for e in es if e.verdict in OF_EPSILON)


def claims_of_epsilon(part: Part) -> str:
    """How many claims of an epsilon hold, in words. "" if there is none."""
    count = _claims_of_epsilon(part)
    words = ", ".join(f"{n} {OF_EPSILON[w]}" for w, n in count.items())
    return f"{count.total()} claims: {words}" if words else ""


def _privacy_lines(part: Part) -> list[dict[str, Any]]:
    """How many claims of an epsilon hold, and findings about them."""
    count = _claims_of_epsilon(part)
    lines = [
        {"word": w, "text": f"{n} of {count.total()} (method, reading, data set)", "findings": []}
        for w, n in count.items()
    ]
    told = [f.id for f in part.findings if re.search(r"privacy|budget|sensitivity|epsilon", f.id)]
    if told:
        lines.append({"word": "", "text": "", "findings": told[:4]})
    return lines


def _effort(part: Part) -> tuple[list[str], list[str]]:
    """What made the reproduction easy and what made it hard, as far as this report can count it."""
    if not part.answered:
        return [], []
    v, easy, hard = part.verdicts, [], []
    if "authors" in set(v["reading"]):
        beside = ": its verdicts are listed with those as printed" if "printed" in set(v["reading"]) else ""
        easy.append(f"the authors' code is public, and was read{beside}")
    else:
        hard.append("there is no code of the authors, so settings that the text leaves out had to be chosen")
    without = first_readings(v)
    lost = without[without["verdict"] == "no_data"]
    if len(lost):
        hard.append(f"data that are not available: {', '.join(sorted(set(lost['dataset'])))} ({len(lost)} numbers)")
    else:
        easy.append("all of its data are available")
    if {"printed", "authors"} <= set(v["reading"]):
        both = distinct(part).pivot_table(
            index=["table", "dataset", "method", "setting", "metric"],
            columns="reading",
            values="verdict",
            aggfunc="first",
        )
        both = both.dropna(subset=["printed", "authors"])
        unlike = int((both["printed"] != both["authors"]).sum())
        if unlike:
            hard.append(
                f"text and code differ: {unlike} of {len(both)} distinct numbers have another verdict by the code"
            )
    none = without[(without["published_std"] == "") & (without["statistic"] == "")]  # a box has its quartiles
    if len(none):
        hard.append(f"{len(none)} of {len(without)} numbers are printed without a spread")
    return easy, hard


def claim_parts(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The claims in two parts, of the text and read off, as heading and rows. A part without claims is left out."""
    read = claims.read_off(frame)
    parts = (("Stated in the text", frame[~read]), ("Read off tables and figures", frame[read]))
    return [(heading, rows) for heading, rows in parts if len(rows)]


def counted(rows: pd.DataFrame) -> dict[str, int]:
    """Verdict -> number of distinct claims, in the order of ``claims.VERDICTS``."""
    found = claims.distinct(rows)["verdict"].value_counts()
    return {w: int(found[w]) for w in claims.VERDICTS if w in found}


def _claims(part: Part, content: Content, known: dict[str, str]) -> Document:
    page = Document(f"papers/{part.key}/claims", f"{part.title}: claims", known)
    page.say(
        f"{claims.counted(part.claims).capitalize()}. A claim that repeats another is not counted. The "
        "[glossary](/glossary.md#what-the-verdict-of-a-claim-means) says what each verdict means."
    )
    page.say(
        "A claim is quoted in the words of its source, and what we tested is in our words. If the source does not say "
        "on how many data sets a claim holds, we test it on all that the source names. A claim by proof is algebra or "
        "true by construction, and its numbers check the proof."
    )
    page.part("banner", text=content.banner, loud=content.scale != "full")
    for heading, rows in claim_parts(part.claims):
        page.heading(heading)
        page.part("counts", found=counted(rows))
        page.part("claims", rows=rows.to_dict("records"), sources=dict(part.sources), label=f"Claims: {heading}")
    return page


def _tables(part: Part, content: Content, known: dict[str, str]) -> Iterator[Document]:
    """A page per kind of table that the paper has."""
    kinds = (
        ("tables", "published tables with our numbers", "Each published table, with our runs in it.", part.tables),
        (
            "privacy",
            "privacy",
            "The epsilon that each method claims, and the epsilon by the ledger of our runs.",
            part.privacy,
        ),
        ("methods", "every method on its data", "Every method of this suite on the data of this paper.", part.methods),
        ("sizes", "sizes of its data", "The data sets as this suite reads them.", part.datasets),
    )
    for name, title, said, tables in kinds:
        if tables:
            page = Document(f"papers/{part.key}/{name}", f"{part.title}: {title}", known)
            page.say(said)
            yield from table_pages(page, tables, lambda table: _short_title(table.title, part), open=False)


def _authors(part: Part, content: Content, known: dict[str, str], cells: bool) -> Document:
    """The page for the authors of a paper, with their answer."""
    page = Document(f"papers/{part.key}/authors", f"{part.title}: for its authors", known)
    page.say(
        "This page is for the authors of the paper. "
        + ("Their answer is at its end." if part.answer else "It was not sent to them, and they were not asked.")
    )
    page.part("banner", text=content.banner, loud=content.scale != "full")
    page.heading("What was found")
    refuted = _refuted(part)
    if part.answered and not refuted:
        page.say("Our runs refute no published number of the paper.")
    elif refuted:
        page.say(
            "Our runs refute some of the published numbers. A row counts the distinct numbers of one method in one "
            "table or figure. Better and worse say how our score compares with the published one."
        )
        there = [k for k in range(len(refuted[0])) if any(row[k] for row in refuted)]  # no column without an entry
        columns = ["Where", "Method", "Reading", "Numbers", *(w.capitalize() for w in REFUTED)]
        rows = [[row[k] for k in there] for row in refuted]
        page.part("frame", columns=[columns[k] for k in there], rows=rows, label="Refuted numbers")
    tested = claims.distinct(part.claims)
    open_claims = tested[~tested["verdict"].isin(SETTLED)]
    if len(open_claims):
        page.say(
            f'{len(open_claims)} of {len(tested)} claims have another verdict than "holds". The [page of claims]'
            "(claims.md) has the numbers, and the claims that could not be tested."
        )
        rows = [[c["place"], {"verdict": c["verdict"]}, c["statement"] or c["quote"]] for c in
                open_claims.to_dict("records")]  # fmt: skip
        page.part("frame", columns=["Where", "Verdict", "What was tested"], rows=rows, label="Claims")
    if private := [line for line in _privacy_lines(part) if line["word"]]:
        page.say("Claims of privacy were compared with a ledger of all releases, per method, reading and data set.")
        page.part("card", rows=[("Privacy claims", private)])
    if part.findings:
        page.say("These findings explain what we know of the reasons.")
        page.part("summaries", items=items_of(part.findings))
    page.heading("How to rerun it")
    commit = str(content.manifest.get("commit", ""))[:12]
    page.say(
        f"`{part.rerun}` computes all of it."
        + (f" The last run behind the committed numbers was at commit `{commit}`." if commit else "")
        + (
            " `./bench doubt NUMBER` recomputes one published number, as [this guide](/docs/how-to/rerun-a-number.md) "
            f"shows. The [page of its numbers](/cells/{part.key}.md) has their runs."
            if cells
            else ""
        )
    )
    page.heading("Your answer")
    if part.answer:
        page.say(inert(part.answer))
    else:
        page.say(
            f"There is no answer yet. Send one as [an issue](/about.md), or as a file `papers/{part.key}/answer.md`. "
            "It is shown here as it is. A mistake of ours is corrected, and the correction is listed with its date."
        )
    return page


def _refuted(part: Part) -> list[list[str]]:
    """Counts of refuted numbers by place, method and reading of the paper; rows without one are left out."""
    v = distinct(part)
    v = v[v["reading"].isin(scoreboard.ORDER)]
    rows = []
    for (table, method, reading), group in v.groupby(["table", "method", "reading"], sort=False):
        found = group["verdict"].value_counts()
        if any(w in found for w in REFUTED):
            where = f"table {table}" if table[:1].isdigit() else part.titles.get(table) or table.replace("_", " ")
            named = [where, method_title(method, part.titles), READING_TITLES[reading], str(len(group))]
            rows.append([*named, *(str(found.get(w, "")) for w in REFUTED)])
    return rows


def inert(markdown: str) -> str:
    """Markdown in which no fence of code can name a directive."""
    return "\n".join(re.sub(r"^(\s*(?:`{3,}|~{3,}|:{3,}))\s*\{.*$", r"\1text", line) for line in markdown.splitlines())
