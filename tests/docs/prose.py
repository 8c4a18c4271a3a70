"""Faults of a text by the rules of docs/prose.yaml.

A text is Markdown: a committed file, or what the site hands to Sphinx.
"""

from __future__ import annotations

import fnmatch
import html
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = yaml.safe_load((ROOT / "docs/prose.yaml").read_text(encoding="utf-8"))
HOUSE = {re.compile(pattern, re.IGNORECASE): better for pattern, better in RULES["house"].items()}
EMPTY = re.compile(RULES["empty"])
_FENCE = re.compile(r"^ *(`{3,})(.*?)\n(.*?)^ *\1 *$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^(?:[*+-] |\d+\. |- \[.\] )")


def files() -> list[Path]:
    """Files that must keep the rules."""
    found = {p for pattern in RULES["files"] for p in ROOT.glob(pattern)}
    return sorted(p for p in found if p.relative_to(ROOT).as_posix() not in RULES["except"])


def paragraphs(text: str) -> list[str]:
    """Prose without code, tables, headings, quotations, comments and addresses of links.

    An item of a list is a paragraph.

    Of HTML that the site shows as it is: its paragraphs and items.
    """
    text = re.sub(r"\A---\n.*?^---$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = _FENCE.sub(lambda m: f"\n\n{_shown(m[3])}\n\n" if m[2].strip() == "{raw} html" else "\n\n", text)
    text = re.sub(r"`[^`]*`", "`x`", text)
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)\s]*\)|\[[\w-]+\])", r"\1", text)
    out: list[str] = [""]
    for line in (line.strip() for line in text.splitlines()):
        if not line or line.startswith(("|", "#", "> ", "$$")) or re.match(r"^\[[\w-]+\]: ", line):
            out.append("")
        elif _ITEM.match(line):
            out.append(_ITEM.sub("", line))
        else:
            out[-1] += f" {line}"
    return [p for p in (" ".join(p.split()) for p in out) if p]


def _shown(markup: str) -> str:
    markup = re.sub(r"<code>.*?</code>", "`x`", markup, flags=re.DOTALL)
    parts = re.findall(r"<(p|li|dd)\b[^>]*>(.*?)</\1>", markup, re.DOTALL)
    return "\n\n".join(" ".join(html.unescape(re.sub(r"<[^>]+>", " ", inner)).split()) for _, inner in parts)


def sentences(text: str) -> list[str]:
    """Sentences of more than three words."""
    cut = (re.split(r"(?<=[.!?])\s+(?=[A-Z*`\[\"])", p) for p in paragraphs(text))
    return [s for of in cut for s in of if len(s.split()) > 3]


def faults(name: str, text: str) -> Iterator[str]:
    """One line per fault. ``name``: path from the root, or of a page of the site; it decides on the page's limit."""
    found = sentences(text)
    for s in found:
        if len(s.split()) > RULES["words"]:
            yield f"{name}: {len(s.split())} words in a sentence, {RULES['words']} at most: {s}"
        if re.search(r"\([^()]*\([^()]*\)", s):
            yield f"{name}: nested brackets: {s}"
        if EMPTY.search(s):
            yield f"{name}: an empty list is left out: {s}"
    for p in paragraphs(text):
        for pattern, better in HOUSE.items():
            if m := pattern.search(p):
                yield f"{name}: '{m[0]}' -> {better}: {p}"
    said = summary(text)
    if not said or said.endswith(":"):
        yield f"{name}: a page begins with a summary, and that does not end in a colon: {said!r}"
    limit = next((n for pattern, n in RULES["pages"].items() if fnmatch.fnmatch(name, pattern)), None)
    if limit and (words := sum(len(p.split()) for p in paragraphs(text))) > limit:
        yield f"{name}: {words} words, {limit} at most"


def summary(text: str) -> str:
    """``summary`` of the front matter, else the first paragraph below the title; "" if there is none."""
    front = re.match(r"---\n(.*?)^---$", text, re.DOTALL | re.MULTILINE)
    if front and (said := (yaml.safe_load(front[1]) or {}).get("summary")):
        return " ".join(said.split())
    body = re.sub(r"\A---\n.*?^---$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE).strip()
    below = body.partition("\n")[2].strip().partition("\n\n")[0] if body.startswith("# ") else ""
    return "" if below.startswith(("#", "|", "```")) else " ".join(below.split())


def digits(name: str, text: str) -> Iterator[str]:
    """Sentences of a template with a digit that is neither in an expression nor of an allowed form.

    The title and the summary of its front matter are sentences, too.
    """
    front = re.match(r"---\n(.*?)^---$", text, re.DOTALL | re.MULTILINE)
    told = yaml.safe_load(front[1]) if front else {}
    text = re.sub(r"\A---\n.*?^---$|\{[{%].*?[%}]\}", "", text, flags=re.DOTALL | re.MULTILINE)
    for s in [*(told[k] for k in ("title", "summary") if k in told), *sentences(text)]:
        left = s
        for pattern in RULES["digits"]:
            left = re.sub(pattern, "", left)
        if re.search(r"\d", left):
            yield f"{name}: a digit outside of an expression: {s}"
