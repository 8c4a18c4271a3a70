"""The page of a study: Markdown, CSV, SVG, and one HTML file that docutils makes of the Markdown, figure included.

Names of files, columns and classes are untrusted text. They pass through ``reports.site.document.plain``, and the
parser accepts neither HTML nor other files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from common_tasks.advice import Block
from common_tasks.advice.answer import NEXT, number
from datasets.files import sheet_text, visible, write_text
from reports.site.document import plain

#: style of the page, as on the site. On a phone the figure fits, and a wide table scrolls by itself.
LOOKS = Path(__file__).with_name("page.css")


@dataclass(frozen=True)
class Text:
    """The text of the page besides the block. Paragraphs are Markdown, and values in them pass through ``plain``.

    Attributes
    ----------
    title : plain text.
    state : plain text on what is missing, "" for a finished study.
    first : plain text, the most important sentences.
    before : paragraphs after them.
    by : heading of the table of scores by data set, and the meaning of its columns.
    last : plain text, the next steps.
    columns : plain text, rows of a table on the columns of the file.
    read : how the file was read.
    after : paragraphs at the end.
    """

    title: str
    before: Sequence[str]
    by: str = ""
    meaning: Mapping[str, str] | None = None
    after: Sequence[str] = ()
    columns: Sequence[Mapping[str, str]] = ()
    read: str = ""
    first: Sequence[str] = ()
    last: Sequence[str] = ()
    state: str = ""


def write(folder: Path, block: Block, text: Text, left_out: Mapping[str, str]) -> Path:
    """Write ``advice.md``, ``table.csv``, ``advice.csv``, ``figure.svg`` and ``index.html``. Returns the last."""
    if block.figure:
        write_text(folder / "figure.svg", block.figure)
    else:
        (folder / "figure.svg").unlink(missing_ok=True)
    write_text(folder / "table.csv", sheet_text(block.table))
    write_text(folder / "advice.csv", sheet_text(block.data))
    source = markdown(block, text, left_out)
    write_text(folder / "advice.md", source)
    write_text(folder / "index.html", html(source, folder))
    return folder / "index.html"


def markdown(block: Block, text: Text, left_out: Mapping[str, str]) -> str:
    """The page as Markdown. The whole block is plain text."""
    said, caption = [plain(s) for s in block.sentences], plain(block.caption)
    parts = [
        f"# {plain(text.title)}",
        f"**{plain(text.state)}**" if text.state else "",
        *map(plain, text.first),
        *text.before,
        "## Which method",
        "\n".join(f"1. {s}" for s in said),
    ]
    parts += [f"![Scores of the private methods with intervals. {caption}](figure.svg)"] if block.figure else []
    parts += [caption]
    parts += ["## Methods", table(block.table)]
    if text.by:
        parts += [f"## {text.by}", by_dataset(block.data)]
        parts += ["\n".join(f"- {name}: {words}" for name, words in (text.meaning or {}).items())]
    if text.last:
        parts += ["## Next"]
        for words, _, command in (said.partition("\n") for said in text.last):
            # one line, so no name in it can end the fence
            line = visible(command.replace("\n", "\ufffd"))
            parts += [plain(words), f"```text\n{line}\n```" if command else ""]
    if left_out:
        parts += ["## Left out", "\n".join(f"- {plain(name)}: {plain(why)}" for name, why in left_out.items())]
    if text.columns:
        parts += ["## What was done to each column", text.read, table(pd.DataFrame(text.columns))]
    parts += ["## What this is", *text.after]
    figure = "; figure: [figure.svg](figure.svg)" if block.figure else ""
    parts += [f"Numbers: [table.csv](table.csv), [advice.csv](advice.csv){figure}."]
    return "\n\n".join(p for p in parts if p) + "\n"


def table(frame: pd.DataFrame) -> str:
    """Plain texts as a Markdown table."""
    return frame.rename(columns=plain).map(plain).to_markdown(index=False, disable_numparse=True)


def by_dataset(data: pd.DataFrame) -> str:
    """Scores by data set, in one table for all budgets, with methods in the order of the data."""
    several = data["epsilon"].nunique() > 1
    rows: dict[str, dict[str, str]] = {}
    for r in data[data["dataset"] != NEXT].to_dict("records"):
        name = r["title"] + (f", epsilon = {r['epsilon']}" if several else "")
        rows.setdefault(name, {})[r["dataset"].replace("_", " ")] = number(r["score"])
    return table(pd.DataFrame([{"method": n, **s} for n, s in rows.items()]).fillna("-"))


def html(source: str, folder: Path) -> str:
    """The Markdown as one HTML file with style sheet and figure inside. It includes no other HTML or file."""
    from docutils.core import publish_string
    from myst_parser.parsers.docutils_ import Parser

    settings = {
        "embed_stylesheet": True,
        "stylesheet_path": str(LOOKS),
        "image_loading": "embed",
        "myst_all_links_external": True,
        "myst_suppress_warnings": ["myst.header"],
        "myst_disable_syntax": ["html_block", "html_inline"],
        "raw_enabled": False,
        "file_insertion_enabled": False,
        "report_level": 3,
        "halt_level": 4,
        "output_encoding": "unicode",
        "_disable_config": True,
        "doctitle_xform": True,
    }
    # paths of images are relative to the source
    where = str(folder / "advice.md")
    with warnings.catch_warnings():
        # MyST looks for raw nodes by a method that docutils has deprecated
        warnings.filterwarnings("ignore", r"nodes\.Node\.traverse", DeprecationWarning)
        return publish_string(
            source, source_path=where, destination_path=str(folder / "index.html"), parser=Parser(), writer="html5",
            settings_overrides=settings,
        )  # fmt: skip
