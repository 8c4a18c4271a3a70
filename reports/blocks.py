"""A small model of tables and figures, from which Markdown, LaTeX and the site are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from datasets.files import visible

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


@dataclass(frozen=True)
class Figure:
    """A figure as the page shows it: files ``figures/<name>.{svg,csv}``."""

    name: str
    title: str
    caption: str


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    lines : the text.
    verdict : a word, which is also the CSS class.
    after : lines below the verdict.
    findings : ids of findings about this cell.
    marks : numbers of footnotes of the table, shown after the verdict, or after the last line if there is none.
    strong : whether the lines are bold.
    """

    lines: tuple[str, ...]
    verdict: str = ""
    after: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()
    strong: bool = False

    @property
    def all_lines(self) -> tuple[str, ...]:
        """The whole cell as plain lines."""
        signs = " ".join(f"[{k}]" for k in self.marks)
        lines, word = list(self.lines), self.verdict.replace("_", " ")
        if word:
            lines.append(f"{word} {signs}".strip())
        elif signs:
            lines[-1:] = [f"{lines[-1]} {signs}" if lines else signs]
        return (*lines, *self.after, *(f"finding {f}" for f in self.findings))


@dataclass(frozen=True)
class Block:
    """Rows x columns of entries under a title, with notes below. A row without entries is a heading of the next rows.

    ``ids``: one id per row, for links to the row. "", or no ids at all, if no link is needed.
    """

    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Entry]]]
    notes: Sequence[str] = field(default_factory=tuple)
    ids: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Table:
    """A titled list of blocks. ``banner`` states the scale in every format. ``footnotes`` are numbered from 1."""

    name: str
    title: str
    banner: str
    blocks: Sequence[Block]
    notes: Sequence[str] = field(default_factory=tuple)
    footnotes: Sequence[str] = field(default_factory=tuple)


class Footnotes:
    """The footnotes of one table, each kept once. A call returns the numbers of its texts, except empty ones."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, *texts: str) -> tuple[int, ...]:
        marks = []
        for text in filter(None, texts):
            if text not in self.texts:
                self.texts.append(text)
            marks.append(self.texts.index(text) + 1)
        return tuple(sorted(set(marks)))


def entry(
    *lines: str,
    verdict: str = "",
    after: tuple[str, ...] = (),
    findings: tuple[str, ...] = (),
    marks: tuple[int, ...] = (),
    strong: bool = False,
) -> Entry:
    """An entry with the lines that are not empty."""
    return Entry(tuple(line for line in lines if line), verdict, tuple(a for a in after if a), findings, marks, strong)


def number(value: float, decimals: int) -> str:
    """A number with fixed decimals, or in scientific notation from 10,000 on, so that diverging fits stay readable."""
    if value != value:
        return "-"
    return f"{value:.3g}" if abs(value) >= 1e4 else f"{value:.{decimals}f}"


def markdown(table: Table) -> str:
    out = [f"# {_md(table.title)}", "", f"**{table.banner}**", ""]
    for block in table.blocks:
        out += [f"## {_md(block.title)}", ""] if block.title else []
        out.append("| " + " | ".join(_md(c) for c in [block.corner, *block.columns]) + " |")
        out.append("|" + "---|" * (len(block.columns) + 1))
        for name, entries in block.rows:
            if not entries:
                out.append(f"| **{_md(name)}** |" + " |" * len(block.columns))
                continue
            out.append("| " + " | ".join([_md(name), *("<br>".join(_lines(e, _md, "**{}**")) for e in entries)]) + " |")
        out.append("")
        out += [f"- {_md(n)}" for n in block.notes] + ([""] if block.notes else [])
    out += [line for k, text in enumerate(table.footnotes, 1) for line in (f"[{k}] {_md(text)}", "")]
    out += [_md(n) for n in table.notes]
    return "\n".join(out).rstrip() + "\n"


def latex(table: Table) -> str:
    out = [f"% {visible(table.title)}".replace("\n", " "), f"% {table.banner}"]
    for block in table.blocks:
        caption = ". ".join(t for t in (table.title, block.title, table.banner) if t)
        out += [r"\begin{table}[ht]", r"\centering\small", rf"\caption{{{_tex(caption)}}}"]
        out += [rf"\begin{{tabular}}{{l{'c' * len(block.columns)}}}", r"\hline"]
        out += [" & ".join(_tex(c) for c in [block.corner, *block.columns]) + r" \\", r"\hline"]
        for name, entries in block.rows:
            if not entries:
                out.append(rf"\multicolumn{{{len(block.columns) + 1}}}{{l}}{{\textit{{{_tex(name)}}}}} \\")
                continue
            cells = [r"\shortstack{" + r" \\ ".join(_lines(e, _tex, r"\textbf{{{}}}")) + "}" for e in entries]
            out.append(" & ".join([_tex(name), *cells]) + r" \\")
        out += [r"\hline", r"\end{tabular}"]
        used = sorted({k for _, entries in block.rows for e in entries for k in e.marks})
        footnotes = [f"[{k}] {table.footnotes[k - 1]}" for k in used]
        out += [r"\par\footnotesize " + _tex(n) for n in (*footnotes, *block.notes, *table.notes)]
        out += [r"\end{table}", ""]
    return "\n".join(out)


def _lines(e: Entry, escape: Callable[[str], str], bold: str) -> list[str]:
    """All lines of an entry, escaped. Its own lines are bold if it is strong."""
    head = len(e.lines) if e.strong else 0
    return [bold.format(escape(t)) if k < head else escape(t) for k, t in enumerate(e.all_lines)]


def _md(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in visible(text))
