"""The words of a stranger's CSV are text on the pages of `compare` and `advise`, in their tables and on the terminal.

The pages are parsed here, and run in Chromium where there is one, beside a server that sees requests. About 6 CPU
seconds without the browser.
"""

from __future__ import annotations

import csv
import dataclasses
import shutil
import string
import subprocess
import threading
from argparse import Namespace
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common_tasks.advice import About, block
from common_tasks.own_data import advise, arguments, compare, page, table
from common_tasks.scores import read
from tests.common_tasks import made_up
from tests.common_tasks.own_data.test_advise import run

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: what a script of the stranger does, and what shows it in the document.
RUN, RAN = "document.documentElement.dataset.ran=1", "data-ran="
FILE = f"_a_<img src=x onerror={RUN}>.csv"
SECRET = "the content of another file"
LEVELS = (f"<i onclick={RUN}>", "*a*", "=2+2")
LABELS = (f"<script>{RUN}</script>", "*no*")


@pytest.fixture(scope="module")
def asked():
    """Address of a server on this machine, and the paths that it was asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", paths
    server.shutdown()
    thread.join()
    server.server_close()


def requesting(address: str) -> list[str]:
    """Words that would ask the server for something."""
    return [f"<img src={address}/img>", f"![c]({address}/md)", f"<link rel=stylesheet href={address}/css>"]


def columns(secret: Path, address: str) -> list[str]:
    """Names of columns that would be a tag, an included file, raw HTML of two kinds, a link, an image, and odd text."""
    return [
        f"<svg onload={RUN}> {' '.join(requesting(address))}",
        f"x ```{{include}} {secret} ``` y",
        f"```{{raw}} html :file: {secret} ```",
        f"```{{raw}} html <script>{RUN}</script> ```",
        f"[a](javascript:{RUN}) ![b]({secret})",
        f"bell \x07, escape \x1b[31m, {{eval}}`c` $d$ | e | &lt;f&gt; % g {secret}",
        "=cmd|' /C calc'!A0",
        "w" * 300,
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory, asked) -> tuple[Path, list[str]]:
    """The page of a hostile table with made-up scores, and the words that it has to show."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "secret.txt").write_text(f"<script>{RUN}</script>{SECRET}")
    names = columns(folder / "secret.txt", asked[0])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    frame["class"] = [LABELS[k % 2] for k in range(60)]
    frame["text"] = [LEVELS[k % 3] for k in range(60)]
    frame.to_csv(folder / FILE, index=False)
    known = table.facts(folder / FILE, "class", "classification")
    coded = [f"text={level}" for level in sorted(LEVELS)[1:]]
    assert (known.schema.coded, known.schema.classes) == ((*names, *coded), tuple(sorted(LABELS)))
    scores = made_up.linear_regression()
    args = Namespace(task="classification", epsilon=[1.0], delta=1e-5, target=names[0], bounds=None, levels=None)
    args.drop, args.no_header, args.columns = names, False, ""
    found = block(read(made_up.CONFIG, scores), About(limits=f"These are rows of {known.file}."))
    found.table.insert(1, names[0], LABELS[0])
    found.table.insert(1, "=1+1", "@SUM(A1)")
    text = compare.page_text(args, known, scores, found)
    left = {"a <b>method</b>": f"<script>{RUN}</script>"}
    words = [
        FILE,
        *LABELS,
        sorted(LEVELS)[0],
        "=1+1",
        "@SUM(A1)",
        *left,
        *left.values(),
        *(n.replace("\x07", "�").replace("\x1b", "�") for n in names),
    ]
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


def cells(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as f:
        return [cell for row in csv.reader(f) for cell in row]


def test_no_cell_of_the_tables_is_a_formula_and_numbers_stay_numbers(written):
    for name in ("table.csv", "advice.csv"):
        found = cells(written[0].parent / name)
        texts = [c for c in found if c[:1] in tuple("=+-@\t\r")]
        assert [c for c in texts if not c[1:2].isdigit() and c != "-"] == []
    assert {"'=1+1", "'@SUM(A1)"} <= set(cells(written[0].parent / "table.csv"))


def test_the_page_of_advise_shows_its_words_too(written, tmp_path):
    """Its words are the command's; names of methods and reasons may be a stranger's."""
    given = Namespace(task="regression", epsilon=[1.0], delta=1e-5, rows=100, columns=3, seeds=2, minutes=1.0)
    given.file, given.target, given.levels, given.drop, given.no_header = FILE, LABELS[0], None, (), False
    given.known_ranges, given.fit_seconds, given.methods = True, 1.0, [f"`<b>{LABELS[0]}`"]
    scores = made_up.linear_regression()
    found = block(read(made_up.CONFIG, scores), About())
    found = dataclasses.replace(found, caption=LABELS[0], sentences=tuple(f"{s} {FILE}" for s in found.sentences))
    made = page.write(tmp_path, found, advise.page_text(given, found, scores, ()), {LABELS[0]: FILE})
    read_in = Read(made.read_text(encoding="utf-8"))
    assert dangers(read_in) == []
    assert read_in.text.count(LABELS[0]) >= 4
    assert read_in.text.count(FILE) >= 4


def test_the_terminal_is_shown_no_control_character(monkeypatch, tmp_path, capsys):
    scores = made_up.linear_regression()
    found = dataclasses.replace(block(read(made_up.CONFIG, scores), About()), sentences=("a\x1b[2Jb", "c", "d"))
    arguments.finish(Namespace(folder=tmp_path), found, page.Text("t", [], after=[]), {"m\x07": "\x1b]0;title"})
    said = capsys.readouterr().out
    assert said.startswith("a�[2Jb\n")
    assert not {"\x1b", "\x07"} & set(said)


def dom(path: Path, *more: str) -> str:
    """The document of a page after its scripts have run."""
    if BROWSER is None:
        pytest.skip("no Chromium here: install the Debian package chromium")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=2000",
        "--dump-dom",
        *more,
    ]
    command += [f"--user-data-dir={path.parent / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_of_it_runs_or_asks_for_anything_in_a_browser(written, asked):
    asked[1].clear()
    shown_and_nothing_else(written[0], written[1])
    assert asked[1] == []


def shown_and_nothing_else(path: Path, words: list[str]) -> None:
    """The words are text in the browser, and no script has run."""
    found = dom(path)
    shown = " ".join(Read(found).text.split())
    assert [word for word in words if " ".join(word.split()) not in shown] == []
    assert RAN not in found.partition("<body")[0]


@pytest.mark.slow
def test_compare_from_its_file_to_the_browser(tmp_path, asked):
    """The command itself on a hostile file with two classes, by two private methods. About 60 CPU seconds."""
    (tmp_path / "secret.txt").write_text(f"<script>{RUN}</script>{SECRET}")
    names, out = columns(tmp_path / "secret.txt", asked[0]), tmp_path / "out"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, len(names) + 1)), columns=[*names, "a"])
    frame["class"] = np.where(frame["a"] + 0.3 * frame[names[0]] > 0, *LABELS)
    frame.to_csv(tmp_path / FILE, index=False)
    (tmp_path / "bounds.yaml").write_text("a: [-6, 6]\n")
    asked[1].clear()
    done = run(
        "compare", str(tmp_path / FILE), "--target", "class", "--task", "classification", "--epsilon", "4",
        "--bounds", str(tmp_path / "bounds.yaml"), "--methods", "output_perturbation", "posterior_sampling_ops",
        "--out", str(out),
    )  # fmt: skip
    assert "Page: " in done.stdout
    assert not {"\x07", "\x1b"} & set(done.stdout + done.stderr)
    (path,) = out.glob("scores/compare_classification/*.csv")
    scores = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert set(scores["split"]) == {str(k) for k in range(10)}
    assert set(scores["status"]) == {"ok"}
    assert scores.loc[scores["epsilon"] != "", "epsilon"].astype(float).max() <= 4
    source = (out / "index.html").read_text(encoding="utf-8")
    assert dangers(Read(source)) == []
    assert SECRET not in source
    words = [FILE, *LABELS, *names, f"Ranges of {len(names)} of {len(names) + 1} columns are estimated privately"]
    shown_and_nothing_else(out / "index.html", [w.replace("\x07", "�").replace("\x1b", "�") for w in words])
    assert asked[1] == []


def width(path: Path) -> int:
    """Pixels that a page takes on a phone of 390."""
    frame = path.parent / "phone.html"
    frame.write_text(
        f"<!doctype html><html><body><iframe src={path.name} width=390 height=900 onload='document.documentElement"
        ".dataset.width=this.contentDocument.documentElement.scrollWidth'></iframe></body></html>"
    )
    return int(dom(frame, "--allow-file-access-from-files").partition('data-width="')[2].partition('"')[0])


def test_the_page_is_no_wider_than_a_phone(written):
    """A word of 300 letters is broken, and a wide table scrolls by itself."""
    assert width(written[0]) <= 390
    plain = written[0].with_name("plain.html")
    plain.write_text(written[0].read_text(encoding="utf-8").replace("overflow-", "x-"), encoding="utf-8")
    assert width(plain) > 390


@pytest.mark.parametrize("text", [FILE, LABELS[0], f"<svg onload={RUN}>"])
def test_the_same_words_unescaped_do_run_in_a_browser(tmp_path, text):
    """So that the test above can fail."""
    (tmp_path / "index.html").write_text(f"<!doctype html><html><body><p>{text}</p></body></html>")
    assert RAN in dom(tmp_path / "index.html").partition("<body")[0]


def test_the_same_words_unescaped_do_ask_for_something(tmp_path, asked):
    asked[1].clear()
    (tmp_path / "index.html").write_text(f"<!doctype html><html><body>{''.join(requesting(asked[0]))}</body></html>")
    dom(tmp_path / "index.html")
    assert {"/img", "/css"} <= set(asked[1])
