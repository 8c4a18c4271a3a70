"""A page per method and per data set."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

import datasets
from methods import contract
from methods.contract import Method
from models.kind import kind as kind_of
from reports.config import READING_TITLES
from reports.ledger import TOTAL
from reports.site.cells import Cell
from reports.site.content import Content
from reports.site.document import Document, plain
from reports.site.mathml import equations
from reports.site.status import privacy_status
from reports.site.words import cited, number, relation, setting_value
from reports.verdict import VERDICTS
from workflow.papers import REFERENCE

#: as far as the range of a column is shown.
COLUMNS = 60
#: of an address that no committed table of addresses has (``python -m datasets.fetch --check``).
NEVER = "never seen from here"


def documents(content: Content, found: Mapping[str, Sequence[Cell]]) -> Iterator[Document]:
    yield from _methods(content, found)
    yield from _datasets(content, found)


def _methods(content: Content, found: Mapping[str, Sequence[Cell]]) -> Iterator[Document]:
    names = contract.names()
    index = Document("methods/index", "Methods", {f.id: f.title for f in content.findings})
    index.say(
        "Every method of this suite, behind one interface. The column on privacy names the neighbouring relation of a "
        "guarantee, or what the ledgers of the runs say against the claimed epsilon. A method that is not private "
        "gives no guarantee, whatever its source says."
    )
    statuses = _statuses(content, names)
    rows = []
    for name in sorted(names, key=lambda n: contract.get(n).title.lower()):
        m = contract.get(name)
        rows.append(
            [
                {"href": f"methods/{name}.html", "text": m.title},
                statuses[name],
                m.role,
                ", ".join(_kinds(name)),
                cited(m.reference),
            ]
        )
    index.part(
        "frame", columns=["Method", "Privacy", "Role", "Models", "Source"], rows=rows, label="Methods", sortable=True
    )
    index.toctree([f"methods/{n}" for n in names])
    yield index
    answers = _answers(found)
    spent = _spent(content.ledger)
    seconds = _seconds(content.scores)
    for name in names:
        told = answers.get(name, []), spent.get(name, []), seconds.get(name, [])
        yield _method(name, content, statuses[name], *told)


def _statuses(content: Content, names: Sequence[str]) -> dict[str, str]:
    """Method -> what its page says first about its privacy."""
    ledger = dict(list(content.ledger.groupby("method"))) if len(content.ledger) else {}
    audit = dict(list(content.audit[0].groupby("method"))) if content.audit else {}
    return {n: privacy_status(_adapters(n), ledger.get(n, pd.DataFrame()), audit.get(n)) for n in names}


def _adapters(name: str) -> list[Method]:
    """The adapters of a method, its own first."""
    out: list[Method] = []
    own = contract.get(name)
    for kind in [*own.models, *(k for k, n in contract.pairs() if n == name)]:
        m = contract.get(name, kind)
        if not any(type(m) is type(o) for o in out):
            out.append(m)
    return out


def _kinds(name: str) -> list[str]:
    return [k.replace("_", " ") for m in _adapters(name) for k in m.models]


def _method(
    name: str, content: Content, status: str, answers: Sequence[list], spent: Sequence[list], seconds: Sequence[list]
) -> Document:
    adapters = _adapters(name)
    own = adapters[0]
    page = Document(f"methods/{name}", own.title, {f.id: f.title for f in content.findings})
    page.part(
        "card",
        rows=[
            ("Privacy", [status]),
            ("Name", [name]),
            ("Source", [cited(own.reference)]),
            ("Role", [str(own.role)]),
            ("Fits", [", ".join(_kinds(name))]),
            ("Default settings", [", ".join(str(c) for c in own.constants) or "not stated"]),
            ("Code", [type(own).__module__.replace(".", "/") + ".py"]),
        ],
    )
    page.heading("What it is")
    described: dict[str, list[str]] = {}
    for m in adapters:
        described.setdefault(_docstring(m), []).extend(k.replace("_", " ") for k in m.models)
    for text, kinds in described.items():
        if len(described) > 1:
            page.say(f"**For {plain(', '.join(kinds))}**")
        page.say(text)
    if told := equations(own):
        page.heading("Equations")
        page.say(told)
    page.heading("Settings")
    any_ = False
    for m in adapters:
        rows = settings_of(m)
        if rows:
            any_ = True
            label = ", ".join(k.replace("_", " ") for k in m.models)
            page.say(f"For {plain(label)}:")
            page.part(
                "frame",
                columns=["Setting", "Default", "What it is, and its source"],
                rows=rows,
                label=f"Settings: {label}",
            )
    if not any_:
        page.say("It has none.")
    page.heading("Leaks that no epsilon counts")
    leaks = list(dict.fromkeys((str(leak.kind), leak.sentence) for m in adapters for leak in m.leaks))
    if leaks:
        page.part("frame", columns=["What", "How"], rows=[list(pair) for pair in leaks], label="Leaks")
    else:
        page.say(
            "It names none of its own. [Privacy](/privacy.md) lists those that follow from what every method reads."
        )
    page.heading("Where it wins and loses")
    if answers:
        page.say("Published numbers that it stands for, by reading:")
        columns = [
            "Paper",
            "Column",
            "Reading",
            "Numbers",
            "= reproduced",
            "≈ compatible",
            "? inconclusive",
            "+ better",
            "− worse",
            "≠ differs",
            "∅ no score",
        ]
        page.part("frame", columns=columns, rows=answers, label="Verdicts")
    else:
        page.say("It stands for no published number.")
    page.say("Beside the other methods on the same data and budgets: [which method for which task](/which-method.md).")
    if own.privacy:
        _counterparts(page, adapters)
    page.heading("Ledger")
    if spent:
        page.say(
            "Epsilon of the whole ledger by each accountant, over all cells that claim the same; the delta is that "
            "of the budget."
        )
        page.part(
            "frame",
            columns=["Claimed", "Delta", "Relation", "Accountant", "Least", "Largest", "Cells"],
            rows=spent,
            label="Ledger",
        )
    else:
        page.say(
            "No run of it here has a ledger." if own.privacy else "It releases without a guarantee, and claims none."
        )
    audit = _audit(content.audit, name)
    if audit:
        page.heading("Audit")
        page.say("Checks on toy tasks; what they mean stands on the page of [privacy](/privacy.md).")
        page.part("frame", columns=["Model", "Check", "Result", "Found"], rows=audit, label="Audit")
    if seconds:
        page.heading("Cost")
        page.part(
            "frame",
            columns=["Experiment", "Data set", "Median seconds a fit", "Fits"],
            rows=seconds,
            label="Cost",
            sortable=len(seconds) > 15,
        )
    return page


def _counterparts(page: Document, adapters: Sequence[Method]) -> None:
    """What the method says that it comes to at epsilon = 1e6, by kind of model."""
    rows = []
    for m in adapters:
        for kind in m.models:
            if told := contract.counterpart(m, kind):
                twin = f"none: {told.apart}"
                if told.method:  # which may have been left out, and is broken then
                    twin = contract.get(told.method).title if told.method in contract.names() else told.method
                band = f"{told.band:g}" if told.method else ""
                given = ", ".join(f"{k} = {v}" for k, v in told.settings.items()) or ("defaults" if told.method else "")
                rows.append([kind.replace("_", " "), twin, band, given, told.reason])
    if not rows:
        return
    page.heading("What it comes to without privacy")
    page.say(
        "At epsilon = 1e6, on made-up rows: the method without privacy whose log-densities of new rows it comes to, "
        "and the largest mean difference that a test allows, in nats a row."
    )
    columns = ["Model", "Method", "Within", "Settings", "Why"]
    page.part("frame", columns=columns, rows=rows, label="What it comes to without privacy")


def _docstring(method: Method) -> str:
    """The description of the class's own as Markdown: paragraphs and lists; what is indented is a block of code."""
    text = inspect.cleandoc(vars(type(method)).get("__doc__") or "No description.")
    text = re.sub(r":\w+:`~?([^`<]+)(?:<[^>]+>)?`", r"`\1`", text)
    blocks = re.split(r"((?:(?<=\n\n)|\A)(?: {4}[^\n]*(?:\n|\Z))+)", text)
    shown = [f"```text\n{inspect.cleandoc(b)}\n```\n" if k % 2 else _paragraphs(b) for k, b in enumerate(blocks)]
    return "\n".join(shown)


def _paragraphs(text: str) -> str:
    """Paragraphs of a docstring with what Markdown would take for markup escaped, except code and lists."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
    safe = "".join(p if p.startswith("`") else re.sub(r"([\\*_{}\[\]<>|~$#&])", r"\\\1", p) for p in parts)
    # a line of dashes or equals signs is no heading
    return "\n".join(
        f"\\{line.strip()}" if line.strip() and set(line.strip()) <= set("-=") else line for line in safe.splitlines()
    )


def settings_of(method: Method) -> list[list[str]]:
    """Name, default and the comment of each setting, as the class states them, those that it inherits too."""
    comments: dict[str, str] = {}
    for cls in reversed(method.Settings.__mro__):
        if cls is not object and "__annotations__" in vars(cls):
            comments |= _comments(cls)
    out = []
    for f in dataclasses.fields(method.Settings):
        default = f.default if f.default is not dataclasses.MISSING else f.default_factory()
        comment = re.sub(r":\w+:`~?([^`]+)`", r"\1", comments.get(f.name, ""))
        out.append([f.name, setting_value(default), comment.replace("``", "")])
    return out


def _comments(cls: type) -> dict[str, str]:
    """``#:`` comments above or behind the fields of a class."""
    try:
        lines = inspect.getsource(cls).splitlines()
    except OSError:
        return {}
    found, above = {}, []
    for line in lines:
        if stripped := re.match(r"\s*#:\s?(.*)", line):
            above.append(stripped[1])
        elif above and (more := re.match(r"\s*#\s?(.*)", line)):
            above.append(more[1])
        elif field := re.match(r"\s+(\w+)\s*:", line):
            behind = re.search(r"#:\s?(.*)$", line)
            if behind or above:
                found[field[1]] = " ".join([*above, *([behind[1]] if behind else [])])
            above = []
        else:
            above = []
    return found


def _answers(found: Mapping[str, Sequence[Cell]]) -> dict[str, list[list]]:
    """Method of ours -> rows: paper, column, reading and verdicts."""
    count: dict[tuple, dict[str, int]] = {}
    for key, cells in found.items():
        for c in cells:
            for row in c.rows:
                at = count.setdefault((row["our_method"], key, c.method, row["reading"]), {})
                at[row["verdict"]] = at.get(row["verdict"], 0) + 1
    out: dict[str, list[list]] = {}
    for (ours, key, column, reading), by in count.items():
        told = [by.get(w, 0) for w in VERDICTS]
        link = {"href": f"cells/{key}.html", "text": key}
        out.setdefault(ours, []).append(
            [link, column, READING_TITLES[reading], sum(by.values()), *told, sum(by.values()) - sum(told)]
        )
    return out


def _spent(ledger: pd.DataFrame) -> dict[str, list[list[str]]]:
    """Method -> rows of its ledger: claimed, delta, relation, accountant, least and largest epsilon, cells."""
    if not len(ledger):
        return {}
    total = ledger[ledger["event"] == TOTAL].copy()
    total["size"] = pd.to_numeric(total["epsilon"], errors="coerce")
    total = total[total["size"].notna()]
    out: dict[str, list[list[str]]] = {}
    keys = ["method", "epsilon_claimed", "delta", "relation", "accountant"]
    for (method, *told), g in total.fillna({"epsilon_claimed": ""}).groupby(keys, sort=False):
        claimed, delta, of, accountant = map(str, told)
        row = [
            _short(claimed) or "none",
            _short(delta),
            relation(of),
            accountant or "none: nothing bounds it",
        ]
        out.setdefault(method, []).append(
            [*row, number(g["size"].min()), number(g["size"].max()), str(g["cell"].nunique())]
        )
    for rows in out.values():
        rows.sort(key=lambda r: (_float(r[0]), r[2], r[3]))
    return out


def _short(text: str) -> str:
    """A number of at most six digits."""
    value = _float(text)
    return text if math.isnan(value) else f"{value:.6g}"


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _seconds(scores: pd.DataFrame) -> dict[str, list[list[str]]]:
    """Method -> rows: experiment, data set, median seconds of a fit, number of fits."""
    if not len(scores):
        return {}
    one = scores[scores["seconds"] != ""].drop_duplicates(["cell", "split"])
    one = one.assign(time=pd.to_numeric(one["seconds"], errors="coerce"))
    out: dict[str, list[list[str]]] = {}
    for (method, experiment, dataset), g in one.groupby(["method", "experiment", "dataset"], sort=True):
        out.setdefault(method, []).append([experiment, dataset, number(g["time"].median(), 3), str(len(g))])
    return out


def _audit(audit: Sequence[pd.DataFrame], name: str) -> list[list]:
    """Rows of the audit of one method: model, check, result, what was found; broken copies in one row."""
    if not audit:
        return []
    checks, mutants = audit[0], audit[1]
    rows = [
        [r["kind"].replace("_", " "), r["check"], r["result"], str(r["found"] or "")]
        for r in checks[checks["method"] == name].fillna("").to_dict("records")
    ]
    mine = mutants[mutants["method"] == name]
    if len(mine):
        caught = int((mine["killed"].astype(str) == "1").sum())
        rows.append(["all", "broken copies", f"{caught} of {len(mine)} caught", ""])
    return rows


def _datasets(content: Content, found: Mapping[str, Sequence[Cell]]) -> Iterator[Document]:
    names = datasets.names()
    index = Document("datasets/index", "Data sets", {f.id: f.title for f in content.findings})
    index.say(
        "Genuine tables are fetched and checked by their sha256; simulated ones follow the law of a published study."
    )
    rows = [
        [
            {"href": f"datasets/{n}.html", "text": d.title},
            d.kind,
            d.task,
            f"{d.n_rows} x {d.n_inputs}",
            d.licence or "none stated",
            {"href": f"https://doi.org/{d.doi}", "text": d.doi} if d.doi else "none",
        ]
        for n, d in ((n, datasets.get(n)) for n in names)
    ]
    for row in rows:
        if isinstance(row[5], dict):
            row[5] = row[5]["text"]
    index.part(
        "frame",
        columns=["Data set", "Kind", "Task", "Rows x inputs", "Licence", "DOI"],
        rows=rows,
        label="Data sets",
        sortable=True,
    )
    index.toctree([f"datasets/{n}" for n in names])
    yield index
    used, tried = _used(content), seen()
    for name in names:
        d = datasets.get(name)
        page = Document(f"datasets/{name}", d.title, {f.id: f.title for f in content.findings})
        unit = f" ({d.unit})" if d.unit else ""
        card: list[tuple[str, list]] = [
            ("Name", [name]),
            (
                "Kind",
                [
                    {"table": "genuine rows", "simulated": "simulated by the law of a published study"}.get(
                        d.kind, d.kind
                    )
                ],
            ),
            ("Rows x inputs", [f"{d.n_rows} x {d.n_inputs}"]),
            ("Target", [(d.target or "none") + unit]),
            ("Licence", [d.licence or "none stated"]),
            ("DOI", [d.doi or "none"]),
            (
                "Splits",
                [f"{d.n_splits} in the literature's standard set"] if d.kind == "table" else ["a draw a replicate"],
            ),
            ("sha256 of the table", [d.table_sha256 or "not stated"]),
        ]
        page.part("card", rows=card)
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
        page.heading("Public ranges")
        page.say(
            "A range that the documentation gives holds whatever the rows; one that is the extremes of the table "
            "itself is no public knowledge, and a guarantee that takes it for free is conditional on it."
        )
        rows = _ranges(d)
        if rows:
            page.part("frame", columns=["Column", "Least", "Largest", "Kind"], rows=rows, label="Public ranges")
        else:
            page.say("No range of a column is documented: private methods that need one buy it from the budget.")
        if d.bounds_citation:
            page.say(plain(d.bounds_citation))
        page.heading("Where it is used")
        if name in used:
            page.part("linked", items=used[name])
        else:
            page.say("In no experiment of this report.")
        yield page


def seen(path: Path = REFERENCE / "addresses.csv") -> dict[tuple[str, str, str], str]:
    """(address, member, file) -> what the last check of the addresses found there, and when. Empty without a check."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as f:
        return {
            (r["address"], r["member"], r["file"]): f"{r['date']}: {r['reason'] or 'the right file'}"
            for r in csv.DictReader(f)
        }


def _ranges(d: datasets.DataSet) -> list[list[str]]:
    """Columns with a documented range, and what kind of range it is."""
    known = [*zip(d.columns, d.x_bounds or (), strict=False), (d.target, d.y_bounds)]
    rows = [
        [c, f"{b[0]:g}", f"{b[1]:g}", "extremes of the table" if c in (d.extremes or ()) else "documented"]
        for c, b in known
        if b is not None
    ]
    if len(rows) > COLUMNS and len({tuple(r[1:]) for r in rows}) == 1:
        return [[f"all {len(rows)} columns", *rows[0][1:]]]
    return rows if len(rows) <= COLUMNS else [*rows[:COLUMNS], [f"and {len(rows) - COLUMNS} more", "", "", ""]]


def _used(content: Content) -> dict[str, list[dict[str, str]]]:
    """Data set -> links to the papers whose experiments use it."""
    out: dict[str, list[dict[str, str]]] = {}
    pages = {p.key for p in content.papers}
    for part in content.parts:
        for config in part.configs:
            for name in config["datasets"]:
                href = f"papers/{part.key}.html" if part.key in pages else "which-method.html"
                task = kind_of(config["model"]["kind"]).name if "model" in config else ""
                item = {"href": href, "text": part.title, "more": f"{config['experiment']}, {task.replace('_', ' ')}"}
                out.setdefault(name, []).append(item)
    return out
