"""The pages of docs/ and four files of the root as pages of the site: their Markdown, with links to what the site has.

A link to another of these pages, to a finding or to the glossary leads to that page of the site. A link to any other
file becomes its text and the file's path, because the site has no address of the repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from datasets.files import ROOT
from reports.site.document import Document

FOLDER = "docs"
#: page of the site in the place of a file; the glossary has one page.
ELSEWHERE = {"docs/reference/glossary.md": "glossary", "reports/findings/README.md": "findings/index"}
#: files of the root that have a page, in the order of the list of documentation.
OF_ROOT = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "ARCHITECTURE.md": "architecture",
           "CHANGELOG.md": "changelog"}  # fmt: skip
#: pictures in these files, copied to the static files of the site.
PICTURES = ("docs/verdicts.svg",)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_FINDING = re.compile(r"(?:reports|common_tasks|papers/\w+)/findings/([\w-]+)\.md")


def files(root: Path = ROOT) -> list[str]:
    """Files that have a page of their own, relative to the root; the index first, those of the root last."""
    paths = sorted(p.relative_to(root).as_posix() for p in (root / FOLDER).rglob("*.md"))
    below = sorted((f for f in paths if f not in ELSEWHERE), key=lambda f: (f != f"{FOLDER}/README.md", f))
    return [*below, *(f for f in OF_ROOT if (root / f).is_file())]


def page_of(file: str) -> str:
    """Path of the page of a file: of ``docs/decisions/README.md`` it is ``docs/decisions/index``."""
    return OF_ROOT.get(file) or re.sub(r"README$", "index", file.removesuffix(".md"))


def documents(known: Mapping[str, str], root: Path = ROOT) -> Iterator[Document]:
    """All pages. ``known``: titles of the findings that have a page, by id."""
    named = files(root)
    for file in named:
        text = _inline(re.sub(r"<!--.*?-->\s*", "", (root / file).read_text(encoding="utf-8"), flags=re.DOTALL))
        title, _, body = text.lstrip().removeprefix("# ").partition("\n")
        page = Document(page_of(file), title, known)
        page.say(linked(body.strip(), file, known, root))
        if file == named[0]:
            page.toctree([page_of(f) for f in named[1:]])
        yield page


def _inline(text: str) -> str:
    """The text with links such as ``[text][key]`` written as ``[text](target)``, without the list of targets."""
    targets = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, flags=re.MULTILINE))
    text = re.sub(r"^\[[\w-]+\]: \S+\n?", "", text, flags=re.MULTILINE)
    return re.sub(
        r"\[([^\]]+)\]\[([\w-]+)\]", lambda m: f"[{m[1]}]({targets[m[2]]})" if m[2] in targets else m[0], text
    )


def linked(body: str, file: str, known: Mapping[str, str], root: Path = ROOT) -> str:
    """The text of ``file`` with its links as the site has them; blocks of code stay as they are."""

    def link(match: re.Match[str]) -> str:
        text, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        finding = _FINDING.fullmatch(path)
        if finding and finding[1] in known:
            return f"[{text}](/findings/{finding[1]}.md)"
        if path in ELSEWHERE:
            return f"[{text}](/{ELSEWHERE[path]}.md)"
        page = path in OF_ROOT or (path.startswith(f"{FOLDER}/") and path.endswith(".md"))
        if page and (root / path).is_file():
            return f"[{text}](/{page_of(path)}.md{'#' if anchor else ''}{anchor})"
        return f"`{path}`" if path.endswith(text) else f"{text} (`{path}`)"

    blocks = re.split(r"(^ *```.*?^ *```$)", body, flags=re.DOTALL | re.MULTILINE)
    return "".join(b if k % 2 else _PICTURE.sub(_picture, _LINK.sub(link, b)) for k, b in enumerate(blocks))


def _picture(match: re.Match[str]) -> str:
    return f"![{match[1]}](/_static/{posixpath.basename(match[2])})"
