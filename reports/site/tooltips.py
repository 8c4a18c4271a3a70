"""Explanations at the first use of each word of the glossary on a page: a Sphinx extension.

The word becomes a link to the glossary, and its meaning is the link's title. Only running text counts: not headings,
links, code, tables or equations.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

from reports import glossary
from reports.glossary import Word
from reports.site.document import environment

#: path of the page of the glossary, and pages whose words are not explained.
GLOSSARY = "glossary"
_PLAIN = frozenset({GLOSSARY, "search", "genindex"})
_TEXT = frozenset({"p", "li", "dd", "figcaption"})
_SKIPPED = frozenset({"a", "code", "pre", "q", "svg", "math", "script", "style", "summary", "button", "label", "table"})
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^>]*?(/?)>")


def explained(body: str, words: Sequence[Word], address: str) -> str:
    """The HTML of a page with the first use of each word as a link. ``address``: of the page of the glossary."""
    of = {form: w for w in words for form in (w.word, *w.also)}
    forms = "|".join(_either_case(f) for f in sorted(of, key=len, reverse=True))
    of = {form.lower(): w for form, w in of.items()}
    pattern = re.compile(rf"(?<![\w/.-])(?:{forms})(?![\w/-])")
    left = {w.word for w in words}
    slug = environment().filters["slug"]
    inside, skipped = 0, 0

    def link(match: re.Match[str]) -> str:
        w = of[" ".join(match[0].lower().split())]
        if w.word not in left:
            return match[0]
        left.remove(w.word)
        title = html.escape(w.meaning)
        return f'<a class="term" href="{address}#word-{slug(w.word)}" title="{title}">{match[0]}</a>'

    out = []
    for piece in re.split(r"(<[^>]*>)", body):
        if tag := _TAG.fullmatch(piece):
            step = 0 if tag[3] else -1 if tag[1] else 1
            inside += step * (tag[2].lower() in _TEXT)
            skipped += step * (tag[2].lower() in _SKIPPED)
        elif inside and not skipped and left:
            piece = pattern.sub(link, piece)
        out.append(piece)
    return "".join(out)


def _either_case(form: str) -> str:
    """A pattern for a word, with a small or a large first letter; an abbreviation as it is."""
    first = form[0] if form[:2].isupper() else f"[{form[0].lower()}{form[0].upper()}]"
    return first + re.escape(form[1:]).replace(r"\ ", r"\s+")


def _page(app: Any, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    if pagename not in _PLAIN and "body" in context:
        address = app.builder.get_relative_uri(pagename, GLOSSARY)
        context["body"] = explained(context["body"], glossary.load(), address)


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
