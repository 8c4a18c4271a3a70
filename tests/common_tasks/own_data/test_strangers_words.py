"""The words of a stranger's CSV are text on the page of `compare`: parsed here, and run in Chromium where there is one.

About 6 CPU seconds without the browser.
"""

from __future__ import annotations

import shutil
import string
import subprocess
from argparse import Namespace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common_tasks.advice import About, block
from common_tasks.own_data import compare, page, table
from common_tasks.scores import read
from tests.common_tasks import made_up

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: what a script of the stranger does, and what shows it in the document.
RUN, RAN = "document.documentElement.dataset.ran=1", "data-ran="
FILE = f"_a_<img src=x onerror={RUN}>.csv"
SECRET = "the content of another file"
LABELS = (f"<script>{RUN}</script>", "*no*")


def columns(secret: Path) -> list[str]:
    """Names of columns that would be a tag, an included file, raw HTML of two kinds, a link, an image, and odd text."""
    return [
        f"<svg onload={RUN}>",
        f"x\n\n```{{include}} {secret}\n```\n\ny",
        f"x\n\n```{{raw}} html\n:file: {secret}\n```",
        f"x\n\n```{{raw}} html\n<script>{RUN}</script>\n```",
        f"[a](javascript:{RUN})",
        f"![b]({secret})",
        f"{{eval}}`c` $d$ | e | &lt;f&gt; % g {secret}",
        "bell \x07 and escape \x1b[31m",
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Path, list[str]]:
    """The page of a hostile table with made-up scores, and the words that it has to show."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "secret.txt").write_text(f"<script>{RUN}</script>{SECRET}")
    names = columns(folder / "secret.txt")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    frame["class"] = [LABELS[k % 2] for k in range(60)]
    frame.to_csv(folder / FILE, index=False)
    known = table.facts(folder / FILE, "class", "classification")
    assert (known.columns, known.labels) == (names, sorted(LABELS))
    scores = made_up.linear_regression()
    args = Namespace(task="classification", epsilon=[1.0], delta=1e-5)
    found = block(read(made_up.CONFIG, scores), About(limits=compare.limits(known)))
    text = compare.page_text(args, known, scores)
    left = {"a <b>method</b>": f"<script>{RUN}</script>"}
    words = [FILE, *LABELS, *left, *left.values(), *(n.replace("\x07", "�").replace("\x1b", "�") for n in names)]
    return page.write(folder / "page", found, text, left), words


class Read(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, source: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def dangers(found: Read) -> list[str]:
    """Tags and attributes that run something or read a file."""
    out = [
        tag for tag, _ in found.tags if tag in ("script", "iframe", "object", "embed", "base", "form", "foreignobject")
    ]
    for tag, attributes in found.tags:
        out += [f"{tag} {name}" for name in attributes if name.startswith("on")]
        links = [v or "" for k, v in attributes.items() if k in ("href", "src", "xlink:href", "action", "data")]
        allowed = ("#", "table.csv", "advice.csv", "figure.svg")
        out += [f"{tag} {link}" for link in links if not link.startswith(allowed)]
    return out


def test_words_of_the_table_are_text(written):
    path, words = written
    source = path.read_text(encoding="utf-8")
    found = Read(source)
    assert dangers(found) == []
    assert SECRET not in source
    shown = " ".join(found.text.split())
    for word in words:
        assert " ".join(word.split()) in shown
    # in the heading and in the third sentence; emphasis would have lost its marks
    assert shown.count(FILE) >= 2
    assert not {"\x07", "\x1b"} & set(source)


@pytest.mark.parametrize("text", ["<script>1</script>", "<b onclick=x>b</b>", "```{include} secret.txt\n```"])
def test_the_parser_takes_no_html_and_no_file_even_unescaped(tmp_path, text):
    """The second guard: what a sentence forgets to escape."""
    (tmp_path / "secret.txt").write_text(SECRET)
    source = page.html(f"# Title\n\n{text}\n", tmp_path)
    assert dangers(Read(source)) == []
    assert SECRET not in source


def test_every_printable_character_is_shown_as_it_is(tmp_path):
    shown = string.printable.strip()
    found = Read(page.html(f"# {page.plain(shown)}\n\n{page.plain(shown)}\n", tmp_path))
    assert found.text.count(shown) >= 2


def dom(path: Path) -> str:
    """The document of a page after its scripts have run."""
    if BROWSER is None:
        pytest.skip("no Chromium here: install the Debian package chromium")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    command += [f"--user-data-dir={path.parent / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_of_it_runs_in_a_browser(written):
    found = dom(written[0])
    assert "Private classification on" in found
    assert RAN not in found.partition("<body")[0]


@pytest.mark.parametrize("text", [FILE, LABELS[0], f"<svg onload={RUN}>"])
def test_the_same_words_unescaped_do_run_in_a_browser(tmp_path, text):
    """So that the test above can fail."""
    (tmp_path / "index.html").write_text(f"<!doctype html><html><body><p>{text}</p></body></html>")
    assert RAN in dom(tmp_path / "index.html").partition("<body")[0]
