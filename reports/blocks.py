"""One small table model that Markdown, LaTeX and the site all draw from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
class Entry:
    """One cell of a table: lines of text, the verdict (a word, also the CSS class) where it has one, lines after it."""

    lines: tuple[str, ...]
    verdict: str = ""
    after: tuple[str, ...] = ()

    @property
    def all_lines(self) -> tuple[str, ...]:
        word = (self.verdict.replace("_", " "),) if self.verdict else ()
        return (*self.lines, *word, *self.after)


@dataclass(frozen=True)
class Block:
    """Rows x columns of entries under a title, with notes below."""

    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Entry]]]
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Table:
    """A titled list of blocks; ``banner`` states the scale and goes into every format."""

    name: str
    title: str
    banner: str
    blocks: Sequence[Block]
    notes: Sequence[str] = field(default_factory=tuple)


def entry(*lines: str, verdict: str = "", after: tuple[str, ...] = ()) -> Entry:
    """An entry of the lines that are not empty."""
    return Entry(tuple(line for line in lines if line), verdict, tuple(line for line in after if line))


def number(value: float, decimals: int) -> str:
    """Fixed decimals; scientific from 10,000 on, so that a diverging fit stays readable."""
    if value != value:
        return "-"
    return f"{value:.3g}" if abs(value) >= 1e4 else f"{value:.{decimals}f}"


def markdown(table: Table) -> str:
    out = [f"# {table.title}", "", f"**{table.banner}**", ""]
    for block in table.blocks:
        out += [f"## {block.title}", ""] if block.title else []
        out.append("| " + " | ".join(_md(c) for c in [block.corner, *block.columns]) + " |")
        out.append("|" + "---|" * (len(block.columns) + 1))
        for name, entries in block.rows:
            out.append("| " + " | ".join([_md(name), *("<br>".join(map(_md, e.all_lines)) for e in entries)]) + " |")
        out.append("")
        out += [f"- {_md(n)}" for n in block.notes] + ([""] if block.notes else [])
    out += [_md(n) for n in table.notes]
    return "\n".join(out).rstrip() + "\n"


def latex(table: Table) -> str:
    out = [f"% {table.title}", f"% {table.banner}"]
    for block in table.blocks:
        caption = ". ".join(t for t in (table.title, block.title, table.banner) if t)
        out += [r"\begin{table}[ht]", r"\centering\small", rf"\caption{{{_tex(caption)}}}"]
        out += [rf"\begin{{tabular}}{{l{'c' * len(block.columns)}}}", r"\hline"]
        out += [" & ".join(_tex(c) for c in [block.corner, *block.columns]) + r" \\", r"\hline"]
        for name, entries in block.rows:
            cells = [r"\shortstack{" + r" \\ ".join(map(_tex, e.all_lines)) + "}" for e in entries]
            out.append(" & ".join([_tex(name), *cells]) + r" \\")
        out += [r"\hline", r"\end{tabular}"]
        out += [r"\par\footnotesize " + _tex(n) for n in (*block.notes, *table.notes)]
        out += [r"\end{table}", ""]
    return "\n".join(out)


def _md(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in text)
