"""Equations as MathML, which browsers show and screen readers read without a script: a Sphinx extension.

Docutils makes MathML of the LaTeX that a page holds in ``math`` directives and roles. ``summary`` and ``equations``
read the Markdown file next to a method's own, ``methods/<family>/<name>.md``, for the method's page.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.errors import ExtensionError

from methods.contract import Method

#: a letter with an accent and an index, which docutils writes as it does limits: the index would stand below the letter
_ACCENT = re.compile(
    r"<munderover>\s*(<mi[^>]*>[^<]*</mi>)\s*((?:(?!<munderover>).)*?)\s*"
    rf"(<mo[^>]*>[{re.escape(''.join(latex2mathml.accents.values()))}]</mo>)\s*</munderover>"
)


def summary(method: Method) -> str:
    """Two sentences on a method for readers, from the front matter of the file next to its own; "" if there is none."""
    return " ".join(str((yaml.safe_load(_parts(method)[0]) or {}).get("summary", "")).split())


def equations(method: Method) -> str:
    """A method's equations as MyST Markdown, from the file next to its own; "" if there is none."""
    return _parts(method)[1]


def _parts(method: Method) -> tuple[str, str]:
    """Front matter and text of the Markdown file of a method; "" for what it lacks."""
    path = Path(inspect.getfile(type(method))).with_suffix(".md")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    front = re.match(r"---\n(.*?)^---$", text, re.DOTALL | re.MULTILINE)
    return (front[1], text[front.end() :].strip()) if front else ("", text.strip())


def markup(tex: str, as_block: bool) -> str:
    """MathML of a formula. Raises ExtensionError with the formula where docutils cannot read it."""
    try:
        made = latex2mathml.tex2mathml(tex, as_block=as_block)
    except MathError as e:
        raise ExtensionError(f"no MathML can be made of {tex.strip()!r}: {e}") from e
    return _ACCENT.sub(r"<msub><mover accent='true'>\1\3</mover>\2</msub>", made.replace("\n", " "))


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(markup(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    # wide formulas scroll by themselves, and with the keyboard
    self.body.append('<div class="equation" tabindex="0" role="group" aria-label="Equation">')
    self.body.append(f"{markup(node.astext(), as_block=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
