"""Findings: short texts whose every number is read from a committed CSV when they are rendered.

``reports/findings/<id>.md`` is Markdown; a number is written as a reference

    [[value: scores/dpsep_uci.csv where method=sep and dataset=kin8nm and metric=rmse | mean(value) | .3f]]

file (in the ``reference/`` of any paper or of ``reports/``; a scores file has the columns of its cells too), conditions
(``column=exact text``, which may be empty, or ``column<number``), column or ``function(column)`` and a Python format.
A bare column needs exactly one row; the functions mean, sd, min, max and median need at least one, and every value of
them a number; ``count(column)`` counts rows and may be 0; ``list(column)`` joins their distinct words ("none" where
there is no row).
``reports/findings/index.csv`` says which cells a finding speaks of.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.summary import mean_std
from workflow import committed, papers

HERE = Path(__file__).parent / "findings"
REFERENCE = papers.REFERENCE
_REFERENCE = re.compile(r"\[\[\s*value:(.*?)\]\]", re.DOTALL)
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda v: mean_std(v)[0],
    "sd": lambda v: mean_std(v)[1],
    "min": min,
    "max": max,
    "median": lambda v: float(np.median(v)),
}


class FindingError(ValueError):
    """A reference that cannot be read, or that no row or several rows answer."""


@dataclass(frozen=True)
class Finding:
    """``text``: Markdown with every reference replaced by its number."""

    id: str
    title: str
    text: str

    @property
    def html(self) -> str:
        return to_html(self.text)


class Values:
    """Reads references from CSV files below ``folder``; each file once."""

    def __init__(self, folder: Path = REFERENCE):
        self.folder = Path(folder)
        self._files: dict[str, pd.DataFrame] = {}

    def _file(self, name: str) -> pd.DataFrame:
        if name not in self._files:
            experiment = name.removeprefix("scores/").removesuffix(".csv")
            scores = name.startswith("scores/")
            found = papers.find(f"scores/{experiment}{committed.SUFFIX}" if scores else name, self.folder)
            path = found and found.resolve()
            if path is None or not any(path.is_relative_to(home) for home in papers.homes(self.folder)):
                raise FindingError(f"no file '{name}' in the reference of any paper, nor below {self.folder.name}/")
            if scores:
                self._files[name] = committed.read(self.folder, experiment)
            else:
                self._files[name] = pd.read_csv(path, dtype=str, keep_default_na=False)
        return self._files[name]

    def get(self, reference: str) -> str:
        """The formatted value of ``file where a=b and c=d | column | format``. Raises :class:`FindingError`."""
        parts = [p.strip() for p in reference.split("|")]
        if len(parts) != 3:
            raise FindingError(f"'{reference.strip()}': write file where key=value and ... | column | format")
        query, expression, form = parts
        name, _, conditions = query.partition(" where ")
        frame = self._file(name.strip())
        for condition in filter(None, (c.strip() for c in re.split(r"\s+and\s+(?=\w+\s*[=<])", conditions.strip()))):
            parsed = re.fullmatch(r"(\w+)\s*(<|=)(.*)", condition, re.DOTALL)
            if not parsed or parsed[1] not in frame.columns:
                raise FindingError(f"'{query}': condition '{condition}'; columns are {', '.join(frame.columns)}")
            column, sign, value = parsed[1], parsed[2], parsed[3].strip()
            if sign == "=":
                frame = frame[frame[column] == value]
            else:
                numbers = pd.to_numeric(frame[column], errors="coerce")  # text is below no number
                frame = frame[numbers < _number(value, query)]
        match = re.fullmatch(r"(?:(\w+)\()?(\w+)\)?", expression)
        if not match or (match[1] and match[1] not in {*_FUNCTIONS, "count", "list"}):
            known = ", ".join([*_FUNCTIONS, "count", "list"])
            raise FindingError(f"'{expression}': write a column, or one of {known}(column)")
        function, column = match.groups()
        if column not in frame.columns:
            raise FindingError(f"'{query}': no column '{column}'; columns are {', '.join(frame.columns)}")
        values = frame[column].tolist()
        if function == "count":
            return format(len(values), form)
        if function == "list":
            return format(_joined(list(dict.fromkeys(values))), form)
        if not values:
            raise FindingError(f"'{query}': no row answers")
        if function is None:
            if len(values) > 1:
                raise FindingError(f"'{query}': {len(values)} rows answer; add conditions, or use mean({column})")
            return values[0] if form == "s" else format(_number(values[0], query), form)
        return format(_FUNCTIONS[function]([_number(v, query) for v in values]), form)


def _joined(words: list[str]) -> str:
    """ "a, b and c"; "none" without a word."""
    if len(words) < 2:
        return words[0] if words else "none"
    return ", ".join(words[:-1]) + " and " + words[-1]


def _number(text: str, query: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FindingError(f"'{query}': '{text}' is not a number; add a condition such as status=ok") from None
    if math.isnan(value):
        raise FindingError(f"'{query}': a value is missing")
    return value


def fill(text: str, values: Values) -> str:
    """Replace every reference by its number."""
    if "[[" in _REFERENCE.sub("", text):
        raise FindingError("a '[[' that is no reference; write [[value: file where ... | column | format]]")
    return _REFERENCE.sub(lambda m: values.get(m[1]), text)


def render(folder: Path = HERE, reference: Path = REFERENCE) -> list[Finding]:
    """All findings, sorted by id. The title is the first heading. Raises :class:`FindingError` naming the file."""
    values = Values(reference)
    out = []
    for path in sorted(Path(folder).glob("*.md")):
        try:
            text = fill(path.read_text(encoding="utf-8"), values)
        except FindingError as e:
            raise FindingError(f"{path.name}: {e}") from None
        title = next((line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), path.stem)
        out.append(Finding(path.stem, title, text))
    return out


def about(found: list[Finding], index: pd.DataFrame, sources: set[str], datasets: set[str]) -> list[Finding]:
    """Findings that speak of one of those sources, by the index; a row for any source needs one of the data sets."""
    rows = index.to_dict("records")
    chosen = {
        r["finding"]
        for r in rows
        if r["source"] in sources or (r["source"] == "*" and datasets & set(r["dataset"].split("|")))
    }
    return [f for f in found if f.id in chosen]


def to_html(text: str) -> str:
    """The Markdown that findings use: headings, paragraphs, lists, tables, fenced code, `code`, **bold**."""
    out: list[str] = []
    for block in _paragraphs(text):
        lines = block.strip("\n").splitlines()
        if not lines:
            continue
        if lines[0].startswith("```"):
            code = "\n".join(line for line in lines if not line.startswith("```"))
            out.append(f"<pre>{html.escape(code)}</pre>")
        elif lines[0].startswith("#"):
            level = min(6, 2 + len(lines[0]) - len(lines[0].lstrip("#")))
            out.append(f"<h{level}>{_inline(lines[0].lstrip('# '))}</h{level}>")
            if len(lines) > 1:
                out.append(to_html("\n".join(lines[1:])))
        elif re.match(r"[-*] ", lines[0]):
            items = re.split(r"\n[-*] ", "\n" + "\n".join(lines))[1:]
            out.append("<ul>" + "".join(f"<li>{_inline(' '.join(i.split()))}</li>" for i in items) + "</ul>")
        elif lines[0].startswith("|"):
            cells = [[c.strip() for c in line.strip().strip("|").split("|")] for line in lines]
            body = [row for row in cells[1:] if not all(set(c) <= set("-: ") for c in row)]
            head = "".join(f"<th>{_inline(c)}</th>" for c in cells[0])
            rows = "".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in r) + "</tr>" for r in body)
            out.append(f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>')
        else:
            out.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(out)


def _paragraphs(text: str) -> list[str]:
    """Text between empty lines; a fenced piece of code is one paragraph whatever it holds."""
    out: list[list[str]] = [[]]
    fenced = False
    for line in text.splitlines():
        fence = line.startswith("```")
        if (fence and not fenced) or (not line.strip() and not fenced):
            out.append([])
        if line.strip() or fenced:
            out[-1].append(line)
        if fence:
            fenced = not fenced
            if not fenced:
                out.append([])
    return ["\n".join(p) for p in out if p]


def _inline(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        f"<code>{html.escape(p[1:-1])}</code>"
        if p.startswith("`") and p.endswith("`") and len(p) > 1
        else re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html.escape(p))
        for p in parts
    )
