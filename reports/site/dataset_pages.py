"""A page per data set."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import datasets
from reports.site.content import Content
from reports.site.document import Document, plain
from reports.site.words import described
from workflow.papers import REFERENCE

#: what the kind of a data set says of its rows.
KINDS_OF_ROWS = {"table": "genuine", "simulated": "simulated", "synthetic": "synthetic"}
#: columns with a documented range that are listed at most.
COLUMNS = 60
#: of an address that no committed table of addresses has (``python -m datasets.fetch --check``).
NEVER = "not yet fetched by the check"


def documents(content: Content) -> Iterator[Document]:
    """The list of data sets, and a page per data set."""
    names = datasets.names()
    known = {f.id: f.title for f in content.findings}
    index = Document("datasets/index", "Data sets", known)
    index.say(
        "Genuine tables are fetched and checked by their sha256. Simulated rows follow the distribution of a published "
        "study. Synthetic rows are drawn by this suite for its tests."
    )
    rows = [
        [
            {"href": f"datasets/{n}.html", "text": d.title},
            KINDS_OF_ROWS[d.kind],
            d.task,
            f"{d.n_rows:,}",
            f"{d.n_inputs:,}",
            _target(d),
            d.licence or "none stated",
            d.doi or "none",
        ]
        for n, d in ((n, datasets.get(n)) for n in names)
    ]
    columns = ["Data set", "Kind of rows", "Task", "Rows", "Inputs", "Target", "Licence", "DOI"]
    index.part("frame", columns=columns, rows=rows, label="Data sets", sortable=True)
    index.toctree([f"datasets/{n}" for n in names])
    yield index
    used, tried = _used(content), seen()
    for name in names:
        yield _dataset(datasets.get(name), known, used.get(name, []), tried)


def _dataset(
    d: datasets.DataSet, known: Mapping[str, str], used: Sequence[Mapping[str, str]], tried: Mapping[tuple, str]
) -> Document:
    """The page of a data set. ``used``: links to what uses it; ``tried``: from :func:`seen`."""
    page = Document(f"datasets/{d.name}", d.title, known)
    page.say(
        f"{plain(d.title)} has {d.n_rows:,} {KINDS_OF_ROWS[d.kind]} rows with {d.n_inputs:,} "
        f"{'input' if d.n_inputs == 1 else 'inputs'}. It is used for {d.task}."
    )
    about = described("datasets").get(d.name, {})
    unit = about.get("unit") or d.unit or "none"
    page.part(
        "card",
        rows=[
            ("Name", [d.name]),
            *((title, [about[key]]) for key, title in (("row", "A row is"), ("inputs", "Inputs")) if about.get(key)),
            ("Target", [_target(d)]),
            ("Unit of the target", [unit]),
            *([("Source of these words", [about["source"]])] if about.get("source") else []),
            ("Licence", [d.licence or "none stated"]),
            ("DOI", [d.doi or "none"]),
            *([("Splits", ["fresh rows for each replicate"])] if d.kind != "table" else []),
            ("sha256 of the table", [d.table_sha256 or "not stated"]),
        ],
    )
    if about.get("note"):
        page.say(plain(about["note"]))
    if d.raw:
        page.heading("Source")
        raw = [
            [
                r.name,
                r.sha256,
                s.url + (f" (member {s.member})" if s.member else ""),
                tried.get((s.url, s.member or "", r.name), NEVER),
            ]
            for r in d.raw
            for s in r.sources
        ]
        columns = ["File", "sha256", "Where it comes from", "Fetched by the monthly check"]
        page.part("frame", columns=columns, rows=raw, label="Source files")
        page.say("A file with other bytes is accepted only if it holds the same values.")
    page.heading("Public ranges")
    if rows := _ranges(d):
        page.say(
            "A documented range holds whatever the rows are. The minimum and maximum of the data are not public "
            "knowledge. A guarantee that takes them for free is conditional on them."
        )
        page.part("frame", columns=["Column", "Smallest", "Largest", "Kind"], rows=rows, label="Public ranges")
        if None in (d.x_bounds or (None,)):
            page.say(
                "An input that is not listed has no documented range. In the common tasks, a private method that needs "
                "one estimates it privately, from its budget."
            )
    else:
        page.say(
            "No range of a column is documented. A private method that needs one estimates it privately, from its "
            "budget."
        )
    if d.bounds_citation:
        page.say(f"> {plain(d.bounds_citation)}")
    page.heading("Where it is used")
    if used:
        page.part("linked", items=used)
    else:
        page.say("No experiment of this report uses it.")
    return page


def _target(d: datasets.DataSet) -> str:
    """The meaning of the target in words, or the text of its file if ``datasets.csv`` lacks it."""
    return described("datasets").get(d.name, {}).get("target") or d.target or "none"


def seen(path: Path = REFERENCE / "addresses.csv") -> dict[tuple[str, str, str], str]:
    """(address, member, file) -> what the last check of the addresses found, and when. Empty if there was no check."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as f:
        return {
            (r["address"], r["member"], r["file"]): f"{r['date']}: {r['reason'] or 'the right file'}"
            for r in csv.DictReader(f)
        }


def _ranges(d: datasets.DataSet) -> list[list[str]]:
    """The columns with a documented range, and the kind of range."""
    known = [*zip(d.columns, d.x_bounds or (), strict=False), (d.target, d.y_bounds)]
    rows = [
        [c, f"{b[0]:g}", f"{b[1]:g}", "minimum and maximum of the data" if c in (d.extremes or ()) else "documented"]
        for c, b in known
        if b is not None
    ]
    if len(rows) > COLUMNS and len({tuple(r[1:]) for r in rows}) == 1:
        return [[f"{len(rows)} of {len(d.columns) + (d.y_bounds is not None)} columns", *rows[0][1:]]]
    return rows if len(rows) <= COLUMNS else [*rows[:COLUMNS], [f"and {len(rows) - COLUMNS} more", "", "", ""]]


def _used(content: Content) -> dict[str, list[dict[str, str]]]:
    """Data set -> links to what uses it, each with its experiments."""
    out: dict[str, dict[str, dict[str, str]]] = {}
    pages = {p.key for p in content.papers}
    for part in content.parts:
        href = f"papers/{part.key}.html" if part.key in pages else "which-method.html"
        for config in part.configs:
            for name in config["datasets"]:
                item = out.setdefault(name, {}).setdefault(href, {"href": href, "text": part.title, "more": ""})
                item["more"] += f"{', ' if item['more'] else ''}{config['experiment']}"
    return {name: list(of.values()) for name, of in out.items()}
