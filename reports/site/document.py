"""A page that is being written: MyST Markdown with pieces of HTML from the templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from datasets.files import visible
from reports.config import READING_TITLES
from reports.site.words import SIGNS

HERE = Path(__file__).parent
_FENCE = "`" * 12
#: largest number of characters of tables on a page. With the parts of the theme, a page stays below 300 kB.
MOST = 255_000


@cache
def environment() -> jinja2.Environment:
    """The templates, which escape every value."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["sign"] = lambda word: SIGNS.get(word, "·")
    made.filters["reading"] = read_as
    made.filters["pieces"] = pieces
    made.filters["slug"] = lambda word: re.sub(r"[^a-z]+", "_", word.lower())
    return made


def read_as(text: str) -> str:
    """The text, with the key of a reading at its beginning replaced by the reading's title."""
    key, colon, rest = text.partition(":")
    return f"{READING_TITLES[key].capitalize()}:{rest}" if colon and key in READING_TITLES else text


def pieces(text: str) -> list[str]:
    """The text cut at semicolons outside of brackets, and before a long list in brackets."""
    return re.split(r";\s+(?![^()]*\))|\s+(?=\([^()]{30,}\))", text)


def plain(text: str) -> str:
    """The text as Markdown that shows it literally. A control character is shown as U+FFFD."""
    return re.sub(r"([\\`*_{}\[\]()<>#+|~$!&^@=%-])", r"\\\1", visible(" ".join(text.split())))


class Document:
    """One page: ``path`` without its suffix, relative to the site's root.

    ``known``: titles of the findings that have a page, by id. Other ids get no link.
    """

    def __init__(self, path: str, title: str, known: Mapping[str, str] | None = None):
        self.path, self.title = path, title
        self.root = "../" * path.count("/")
        self.known = dict(known or {})
        self._lines = [f"# {plain(title)}", ""]

    def heading(self, text: str, level: int = 2) -> None:
        self._lines += [f"{'#' * level} {plain(text)}", ""]

    def say(self, markdown: str) -> None:
        """A paragraph of Markdown, written by this suite: values in it go through :func:`plain`."""
        self._lines += [markdown, ""]

    def part(self, name: str, **values: Any) -> None:
        """A macro of ``templates/parts.html`` with its arguments."""
        self.html(self.piece(name, **values))

    def piece(self, name: str, **values: Any) -> str:
        """The HTML that :meth:`part` puts onto the page."""
        module = environment().get_template("parts.html").make_module({"root": self.root, "known": self.known})
        return str(vars(module)[name](**values))

    @property
    def size(self) -> int:
        """Characters so far."""
        return sum(map(len, self._lines))

    def html(self, text: str) -> None:
        """Add raw HTML. Backticks are written as character references, so that only its own fence ends the block."""
        if not text.strip():
            return
        safe = "\n".join(line for line in text.replace("`", "&#96;").splitlines() if line.strip())
        self._lines += [f"{_FENCE}{{raw}} html", safe, _FENCE, ""]

    def toctree(self, entries: Iterable[str] | Mapping[str, str]) -> None:
        """The pages below this one, by their paths from the root, in order; a mapping gives them shorter titles.

        ``self`` is this page.
        """
        named = entries.items() if isinstance(entries, Mapping) else ((e, "") for e in entries)
        absolute = ((path if path == "self" else f"/{path}", title) for path, title in named)
        lines = [f"{title} <{path}>" if title else path for path, title in absolute]
        self._lines += ["```{toctree}", ":hidden:", ":maxdepth: 1", "", *lines, "```", ""]

    def text(self) -> str:
        return visible("\n".join(self._lines))
