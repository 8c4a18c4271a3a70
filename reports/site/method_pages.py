"""A page per method."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Iterator, Sequence

import pandas as pd

from methods import contract
from methods.contract import Apart, Method, Role, counterpart
from reports import lower_bounds, privacy_claims
from reports.config import READING_TITLES
from reports.ledger import ANSWER, TOTAL
from reports.site.content import Content, distinct
from reports.site.document import Document, plain
from reports.site.mathml import equations, summary
from reports.site.status import privacy_status
from reports.site.words import (
    SIGNS,
    SOURCE_KEY,
    citations,
    cited,
    described,
    kind_title,
    method_title,
    number,
    relation,
    setting_value,
)
from reports.verdict import VERDICTS

#: what a role is called on pages.
ROLES = {Role.METHOD: "method", Role.YARDSTICK: "baseline", Role.CONTROL: "reference"}
#: counts of verdicts in the table of a method.
COUNTED = (*VERDICTS, "no_score")
#: accountants (``privacy.accountants.NAMES``) in words; the first does not count sampling.
GDP = "Gaussian DP"
ACCOUNTANTS = {
    "gdp": GDP,
    "pure": "sum of pure epsilons",
    "dp_accounting_pld": "privacy loss distributions, dp-accounting",
    "dp_accounting_rdp": "Rényi DP, dp-accounting",
    "autodp_rdp": "Rényi DP, autodp",
    "prv": "privacy random variables, prv-accountant",
}


def documents(content: Content) -> Iterator[Document]:
    """The list of methods, and a page per method."""
    names = contract.names()
    index = Document("methods/index", "Methods", {f.id: f.title for f in content.findings})
    index.say(
        "This page lists every method of this suite. The column on privacy names the neighbouring relation of a "
        "guarantee, or compares the claimed epsilon with the ledgers of the runs. A method that is not private "
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
                ROLES[m.role],
                "; ".join(_kinds(name)),
                cited(m.reference),
            ]
        )
    index.part(
        "frame",
        columns=["Method", "Privacy", "Role", "Kinds of model", "Source"],
        rows=rows,
        label="Methods",
        sortable=True,
    )
    index.heading("Kinds of model")
    index.say(
        "A method names the kinds of model that it fits. A common task is a set of public tables on which all methods "
        "of one kind are compared, as [Which method](/which-method.md) shows."
    )
    kinds = {k: described("kinds").get(k, {}).get("meaning", "") for n in names for m in _adapters(n) for k in m.models}
    index.part(
        "frame",
        columns=["Kind of model", "Meaning", "Name in files"],
        rows=[
            [kind_title(k), meaning, k] for k, meaning in sorted(kinds.items(), key=lambda pair: kind_title(pair[0]))
        ],
        label="Kinds of model",
    )
    index.toctree([f"methods/{n}" for n in names])
    yield index
    answers = _answers(content)
    spent = _spent(content.ledger)
    seconds = _seconds(content.scores)
    for name in names:
        yield _method(name, content, statuses[name], answers.get(name, []), spent.get(name, []), seconds.get(name, []))


def _statuses(content: Content, names: Sequence[str]) -> dict[str, str]:
    """Method -> the privacy status at the top of its page."""
    ledger = dict(list(content.ledger.groupby("method"))) if len(content.ledger) else {}
    audit = dict(list(content.audit[0].groupby("method"))) if content.audit else {}
    return {
        n: privacy_status(_adapters(n), ledger.get(n, pd.DataFrame()), audit.get(n), privacy_claims.of(n))
        for n in names
    }


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
    """The kinds of model that a method has an adapter for; one that the adapter refuses says so."""
    return [kind_title(k) + (" (refused)" if _refused(m, k) else "") for m in _adapters(name) for k in m.models]


def _refused(method: Method, kind: str) -> bool:
    limit = counterpart(method, kind)
    return limit is not None and limit.apart is Apart.REFUSED


def _method(
    name: str, content: Content, status: str, answers: Sequence[list], spent: Sequence[list], seconds: Sequence[list]
) -> Document:
    adapters = _adapters(name)
    own = adapters[0]
    page = Document(f"methods/{name}", own.title, {f.id: f.title for f in content.findings})
    page.say(f"**{plain(status)}.**")
    page.say(plain(summary(own)) or _docstring(own).partition("\n\n")[0])
    page.part(
        "card",
        rows=[
            ("Name", [name]),
            ("Source", cited(own.reference).split("; ")),
            ("Role", [ROLES[own.role]]),
            ("Kinds of model", _kinds(name)),
            *([("Origin of the defaults", [", ".join(map(str, own.constants))])] if own.constants else []),
            ("Code", [type(own).__module__.replace(".", "/") + ".py"]),
        ],
    )
    if shown := equations(own):
        page.heading("Equations")
        page.say(shown)
    page.heading("How it works here")
    page.say("The page of [methods](/methods/index.md#kinds-of-model) explains the kinds of model.")
    texts: dict[str, list[str]] = {}
    for m in adapters:
        texts.setdefault(_docstring(m), []).extend(map(kind_title, m.models))
    for text, kinds in texts.items():
        if len(texts) > 1:
            page.say(f"**Model: {plain('; '.join(kinds))}**")
        page.say(text)
    _settings(page, adapters)
    page.heading("Published numbers")
    if answers:
        page.say(
            "Verdicts on the published numbers that this method was run for, by [reading](/glossary.md). A number that "
            "repeats another is not counted. The tables of the papers are the evidence."
        )
        columns = ["Paper", "Column", "Reading", "Numbers", *(f"{SIGNS[w]} {w.replace('_', ' ')}" for w in COUNTED)]
        page.part("frame", columns=columns, rows=answers, label="Verdicts")
    else:
        page.say("No published number is attributed to it.")
    page.say(
        "[Which method](/which-method.md) compares it with the other methods on the same data and budgets, if it fits "
        "a common task."
    )
    if seconds:
        page.part(
            "folded",
            summary="Seconds per fit, by experiment and data set",
            columns=["Experiment", "Data set", "Median seconds per fit", "Fits"],
            rows=seconds,
            label="Cost",
            sortable=len(seconds) > 15,
        )
    page.heading("Privacy")
    _leaks(page, adapters)
    if spent:
        page.say(
            "Each accountant computes an upper bound on the epsilon of all releases together, at the delta of the "
            "budget. Only the smallest of these bounds counts, and it is the epsilon of a cell. The last column says "
            "for how many cells that is this accountant's bound. A row holds all cells with the same claim."
        )
        if any(row[5] == "inf" for row in spent):
            page.say("No accountant counts for a cell whose epsilon is infinite.")
        if any(GDP in row[3] for row in spent):
            page.say(
                "Gaussian DP ignores the sampling of rows. Its bound can be far above the epsilon of a method that "
                "draws its batches at random."
            )
        page.part(
            "folded",
            summary="Epsilon by claim and accountant",
            columns=[
                "Claimed",
                "Delta",
                "Relation",
                "Accountant",
                "Smallest",
                "Largest",
                "Cells",
                "Cells where it counts",
            ],
            rows=spent,
            label="Ledger",
        )
    else:
        page.say(
            "No run of it here has a ledger." if own.privacy else "It claims no guarantee, and its runs have no ledger."
        )
    if own.privacy:
        page.say(f"**Lower bound.** {lower_bounds.SENTENCE}")
        row = zip(lower_bounds.COLUMNS, lower_bounds.lower_bound_row(name), strict=True)
        given = [list(pair) for pair in row if pair[1]]
        page.part("frame", columns=["Quantity on a toy task", "Value"], rows=given, label="Lower bound")
    audit = _audit(content.audit, name)
    if audit:
        page.say(f"**Audit on toy tasks.** {_audited(content.audit, name)} [Privacy](/privacy.md) explains the checks.")
        page.say(
            "The audit checks that the ledger is true, and not that the claimed epsilon is. A method whose claim is "
            "refuted can pass it."
        )
        page.part(
            "folded",
            summary="Every check of the audit",
            columns=["Model", "Check", "Result", "What was seen"],
            rows=audit,
            label="Audit",
        )
    if own.privacy:
        _limits(page, adapters)
    return page


def _settings(page: Document, adapters: Sequence[Method]) -> None:
    """A table of settings per kind of model; kinds with the same settings have one."""
    tables: dict[str, tuple[list[list[str]], list[str]]] = {}
    for m in adapters:
        rows = settings_of(m)
        if rows:
            tables.setdefault(repr(rows), (rows, []))[1].extend(map(kind_title, m.models))
    page.heading("Settings")
    if not tables:
        page.say("It has no settings.")
    for rows, kinds in tables.values():
        label = "; ".join(kinds)
        page.say(f"**Model: {plain(label)}**")
        page.part("frame", columns=["Setting", "Default", "Meaning and source"], rows=rows, label=f"Settings: {label}")


def _leaks(page: Document, adapters: Sequence[Method]) -> None:
    leaks = list(dict.fromkeys((str(leak.kind), leak.sentence) for m in adapters for leak in m.leaks))
    if leaks:
        page.say("These leaks are not counted by its epsilon.")
        page.part("frame", columns=["Leak", "How"], rows=[list(leak) for leak in leaks], label="Leaks")
    else:
        page.say(
            "It names no leak of its own. [Privacy](/privacy.md) lists the leaks that follow from what every method "
            "reads."
        )


def _limits(page: Document, adapters: Sequence[Method]) -> None:
    """The non-private limit that the method states, by kind of model."""
    rows = []
    for m in adapters:
        for kind in m.models:
            if limit := contract.counterpart(m, kind):
                twin = f"none: {limit.apart}"
                if limit.method:  # which may have been left out, and is broken then
                    twin = contract.get(limit.method).title if limit.method in contract.names() else limit.method
                band = f"{limit.band:g}" if limit.method else ""
                given = ", ".join(f"{k} = {v}" for k, v in limit.settings.items()) or (
                    "defaults" if limit.method else ""
                )
                rows.append([kind_title(kind), twin, band, given, limit.reason])
    if not rows:
        return
    page.heading("Non-private limit")
    page.say(
        "At epsilon = 1e6 this method should match the method without privacy in the table. A test compares "
        "log-densities of new synthetic rows. The tolerance is the largest mean difference that it allows, in nats per "
        "row."
    )
    columns = ["Model", "Limit", "Tolerance", "Settings", "Why"]
    page.part("frame", columns=columns, rows=rows, label="Non-private limit")


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
    safe = re.sub(r"(?m)^( *)\+ ", r"\1\\+ ", safe)  # a plus sign at the start of a line is no list
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
        comment = SOURCE_KEY.sub(lambda key: citations().get(key[0], key[0]).partition(" (")[0], comment)
        out.append([f.name, setting_value(default), comment.replace("``", "")])
    return out


def _comments(cls: type) -> dict[str, str]:
    """Comments behind the fields of a class, and ``#:`` comments above them."""
    try:
        lines = inspect.getsource(cls).splitlines()
    except OSError:
        return {}
    comments, above = {}, []
    for line in lines:
        if stripped := re.match(r"\s*#:\s?(.*)", line):
            above.append(stripped[1])
        elif above and (more := re.match(r"\s*#\s?(.*)", line)):
            above.append(more[1])
        elif field := re.match(r"\s+(\w+)\s*:", line):
            behind = re.search(r"#:?\s?(?!noqa|fmt:|type:)(.*)$", line)
            if behind or above:
                comments[field[1]] = " ".join([*above, *([behind[1]] if behind else [])])
            above = []
        else:
            above = []
    return comments


def _answers(content: Content) -> dict[str, list[list]]:
    """Method of ours -> rows: paper, column, reading and verdicts of its distinct numbers.

    A paper with its own code is left out, because its AdaSSP, for example, is not the method of the page.
    """
    count: dict[tuple, dict[str, int]] = {}
    for part in content.parts:
        for row in distinct(part).to_dict("records") if part.answered and not part.judged else ():
            column = method_title(row["method"], part.titles)
            at = count.setdefault((row["our_method"], part.key, column, row["reading"]), {})
            at[row["verdict"]] = at.get(row["verdict"], 0) + 1
    out: dict[str, list[list]] = {}
    for (ours, key, column, reading), by in count.items():
        judged = [by.get(w, 0) for w in VERDICTS]
        link = {"href": f"cells/{key}.html", "text": key}
        out.setdefault(ours, []).append(
            [link, column, READING_TITLES[reading], sum(by.values()), *judged, sum(by.values()) - sum(judged)]
        )
    return out


def _spent(ledger: pd.DataFrame) -> dict[str, list[list[str]]]:
    """Method -> rows of its ledger: claimed, delta, relation, accountant, least and largest epsilon, cells, answers.

    Answers are the cells whose epsilon is this accountant's bound. If no bound is finite, there are none.
    """
    if not len(ledger):
        return {}
    total = ledger[ledger["event"] == TOTAL].copy()
    total["size"] = pd.to_numeric(total["epsilon"], errors="coerce")
    total = total[total["size"].notna()]
    out: dict[str, list[list[str]]] = {}
    keys = ["method", "epsilon_claimed", "delta", "relation", "accountant"]
    for (method, *keyed), g in total.fillna({"epsilon_claimed": "", "reason": ""}).groupby(keys, sort=False):
        claimed, delta, of, accountant = map(str, keyed)
        row = [
            _short(claimed) or "none",
            _short(delta),
            relation(of),
            f"{ACCOUNTANTS[accountant]} ({accountant})" if accountant else "none: nothing bounds it",
        ]
        counts = g.loc[g["reason"].str.contains(ANSWER, regex=False), "cell"].nunique()
        out.setdefault(method, []).append(
            [*row, number(g["size"].min()), number(g["size"].max()), str(g["cell"].nunique()), str(counts)]
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
    """Rows of the audit of one method: model, check, result, what was seen."""
    if not audit:
        return []
    checks = audit[0]
    return [
        [kind_title(r["kind"]), r["check"].replace("_", " "), r["result"], str(r["found"] or "")]
        for r in checks[checks["method"] == name].fillna("").to_dict("records")
    ]


def _audited(audit: Sequence[pd.DataFrame], name: str) -> str:
    """The audit of one method in sentences: checks by result, and mutants caught."""
    checks, mutants = (table[table["method"] == name] for table in audit[:2])
    results = checks["result"].value_counts()
    passed, leaks = int(results.get("passed", 0)), int(results.get("leak", 0))
    out = [f"{passed} of {len(checks) - leaks} checks passed."]
    if failed := len(checks) - passed - leaks:
        out.append(f"{failed} failed.")
    if leaks:
        out.append(
            f"{leaks} more found a leak that the method names. Such a leak is measured on the method as it is, and "
            "everything else on a copy in which it is closed."
        )
    if len(mutants):
        caught = int((mutants["killed"].astype(str) == "1").sum())
        out.append(f"The checks caught {caught} of {len(mutants)} mutants.")
    return " ".join(out)
