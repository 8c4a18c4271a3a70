"""Builds the HTML from the pages, by Sphinx with the PyData theme. Pages load only files of the site."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from datasets.files import ROOT
from reports.site import cells, dataset_pages, docs, method_pages, pages
from reports.site.content import Content
from reports.site.document import HERE, Document

#: written into the site by other commands, and kept when the site is built again.
KEPT = ("checked.js", "downloads")
_BUNDLE = re.compile(r"\bexport\s*\{([^{}]*)\};?\s*(?=/\*!|$)")


class SiteError(RuntimeError):
    """Sphinx could not build the pages; the message says which and why."""


def write(out: Path, content: Content) -> None:
    """Write the whole site into ``out`` and replace its old content except ``KEPT``. Raises :class:`SiteError`.

    The new site is made in a temporary folder next to ``out``, which is then renamed.
    """
    out = Path(out).resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as made:
        source, site = Path(made) / "source", Path(made) / "site"
        published = cells.collect(content)
        numbers = list(cells.pages(content, published))
        documents = [
            *pages.documents(content, published, out / "downloads"),
            *(page for page, _ in numbers),
            *method_pages.documents(content),
            *dataset_pages.documents(content),
            *docs.documents({f.id: f.title for f in content.findings}),
        ]
        for document in documents:
            path = source / f"{document.path}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(document.text(), encoding="utf-8")
        shutil.copytree(HERE / "static", source / "_static", ignore=shutil.ignore_patterns("checked.js", "sample.html"))
        (source / "_static" / "datatables.js").write_text(classic(_itables("dt_bundle.js")), encoding="utf-8")
        (source / "_static" / "cells-index.js").write_text(index_of(numbers), encoding="utf-8")
        _sphinx(source, site, Path(made) / "doctrees", content.title)
        for folder in ("tables", "figures"):
            if (content.files / folder).is_dir():
                shutil.copytree(content.files / folder, site / folder)
        shutil.copy(HERE / "static" / "checked.js", site / "checked.js")
        for name in KEPT:
            if (old_file := out / name).exists():
                (shutil.copytree if old_file.is_dir() else shutil.copy)(old_file, site / name, **_over(old_file))
        old = Path(made) / "old"
        if out.exists():
            os.replace(out, old)
        os.replace(site, out)


def _over(path: Path) -> dict[str, bool]:
    return {"dirs_exist_ok": True} if path.is_dir() else {}


def _itables(name: str) -> str:
    return metadata.distribution("itables").locate_file(f"itables/html/{name}").read_text(encoding="utf-8")


def classic(module: str) -> str:
    """The bundle of DataTables, an ES module, as a script that also loads from disk: ``window.dpbayesTables``.

    Browsers load no module from ``file:``. Raises :class:`SiteError` if the bundle ends in no list of exports.
    """
    exported = _BUNDLE.search(module)
    if not exported:
        raise SiteError(
            "the DataTables bundle of itables has another form; see reports/site/build.py and constraints.txt"
        )
    pairs = [(a.strip(), (b or a).strip()) for a, _, b in (p.partition(" as ") for p in exported[1].split(","))]
    exports = ", ".join(f'"{name}": {inner}' for inner, name in pairs)
    code, licences = module[: exported.start()], module[exported.end() :]
    return f"(() => {{\n{code}\nwindow.dpbayesTables = {{ {exports} }};\n}})();\n{licences}\n"


def index_of(shown: Sequence[tuple[Document, Sequence[cells.Cell]]]) -> str:
    """The index of the search for numbers: page, key, label and numbers of every published number."""
    rows = [
        [page.path, c.key, f"{c.dataset}, {c.method}{', ' if c.setting else ''}{c.setting}, {c.metric}", c.numbers]
        for page, of in shown
        for c in of
    ]
    return f"window.dpbayesCells = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"


def _processes() -> int:
    """The number of processes that write pages. Sphinx forks, which deadlocks after JAX or torch started threads."""
    return 1 if {"jax", "torch"} & sys.modules.keys() else os.cpu_count() or 1


@cache
def _english() -> type:
    """Sphinx's English search, which computes the stem of a word only once instead of once per page."""
    from sphinx.search.en import SearchEnglish

    class English(SearchEnglish):
        def __init__(self, options: dict[str, str]) -> None:
            super().__init__(options)
            self.stem = cache(super().stem)

    return English


def _sphinx(source: Path, out: Path, doctrees: Path, title: str) -> None:
    """Build the pages. Raises :class:`SiteError` with Sphinx's warnings: there may be none."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    for picture in docs.PICTURES:
        shutil.copy(ROOT / picture, source / "_static")
    said = io.StringIO()
    settings = {
        "project": title,
        "extensions": ["myst_parser", "sphinx_design", "reports.site.mathml", "reports.site.tooltips"],
        "html_math_renderer": "mathml",
        "html_theme": "pydata_sphinx_theme",
        "html_title": title,
        "templates_path": [str(HERE / "templates")],
        "html_static_path": ["_static"],
        "html_css_files": ["site.css"],
        "html_js_files": ["site.js"],
        "html_show_search_summary": False,  # it is fetched, which browsers refuse on file:
        "html_show_sourcelink": False,
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "html_use_index": False,
        "html_sidebars": {"**": []},
        "html_theme_options": {
            "logo": {"text": "dpbayes-bench"},
            "navbar_end": ["theme-switcher"],
            "header_links_before_dropdown": 7,
            "show_prev_next": False,
            "show_toc_level": 1,
            "secondary_sidebar_items": ["page-toc"],
            "footer_start": ["about-links.html"],
            "footer_end": [],
            "search_bar_text": "A number, a method, a word",
            "article_header_start": ["breadcrumbs"],
        },
        "html_context": {"default_mode": "auto"},
        "myst_disable_syntax": ["html_block", "html_inline", "substitution"],
        "myst_enable_extensions": [],
        "myst_heading_anchors": 3,
        "smartquotes": False,
        "suppress_warnings": ["myst.header", "misc.highlighting_failure"],
        "exclude_patterns": ["_static"],
    }
    with docutils_namespace(), warnings.catch_warnings():
        # the pinned extensions have to fix how they use each other
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        app = Sphinx(
            str(source), None, str(out), str(doctrees), "html", confoverrides=settings, status=None, warning=said,
            freshenv=True, parallel=_processes(),
        )  # fmt: skip
        app.add_search_language(_english())
        app.build()
    if said.getvalue().strip():
        raise SiteError(f"pages could not be built as they are meant: {said.getvalue().strip()[:2000]}")
    for name in ("objects.inv", ".buildinfo", ".doctrees"):
        (out / name).unlink(missing_ok=True)


def names(documents: Sequence[Document]) -> list[str]:
    """Paths of pages."""
    return [d.path for d in documents]
