"""The built site: every link and anchor is there, nothing loads from outside, and numbers are those of the tables."""

from __future__ import annotations

import csv
import html
import json
import re
import sys
import types
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import yaml
from sphinx.errors import ExtensionError

import datasets
from datasets.files import ROOT, csv_text
from methods import contract
from reports import build as report
from reports import scoreboard
from reports.config import READING_TITLES
from reports.published import KEY
from reports.site import cells as cells_of
from reports.site import dataset_pages, method_pages
from reports.site import pages as pages_of
from reports.site.build import SiteError, _processes, classic, index_of
from reports.site.cells import FEW, strip
from reports.site.content import Part, first_readings, shown_reading
from reports.site.document import Document, plain
from reports.site.mathml import equations, markup, summary
from reports.site.words import (
    SOURCE_KEY,
    citations,
    cited,
    described,
    published_texts,
    setting_value,
    verdict_sentence,
)
from reports.verdict import VERDICTS
from tests.docs.prose import faults
from tests.reports.site.conftest import RUNS, only, verdicts
from workflow import committed as reference

#: elements without an end tag.
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "wbr"}


class Tags(HTMLParser):
    """Ids, links and loaded files of a page, and tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.loads, self.ids, self.problems = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("script", "img", "iframe", "source") and attrs.get("src"):
            self.loads.append(attrs["src"])
        if tag == "link" and attrs.get("rel") not in ("search", "index", "next", "prev", "author", "canonical"):
            self.loads.append(attrs["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


@pytest.fixture(scope="module")
def site(built):
    return built / "results" / "report"


@pytest.fixture(scope="module")
def pages(site):
    return read(site)


@pytest.fixture(scope="module")
def sources(committed):
    """Path -> Markdown of the pages of the committed reference, made once."""
    return {d.path: d.text() for d in pages_of.documents(committed, {}, Path("nowhere"))}


def read(site):
    """Path -> tags of each page."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        found[path] = tags = Tags()
        tags.feed(path.read_text(encoding="utf-8"))
    return found


def test_the_promised_addresses_are_there(site):
    names = "index which-method docs about privacy glossary provenance checked search papers/index methods/index"
    for name in [
        *names.split(),
        "papers/vinaroz2023dpsep",
        *(f"papers/vinaroz2023dpsep/{below}" for below in ("authors", "claims", "methods", "privacy", "tables")),
        "cells/vinaroz2023dpsep",
        "methods/dp_sep",
        "datasets/wine",
    ]:
        assert (site / f"{name}.html").is_file(), name
    assert 'name="viewport"' in (site / "index.html").read_text()


def test_every_link_and_anchor_resolves(site, pages):
    resolves(site, pages)


def test_every_link_and_anchor_of_the_advice_resolves(housed):
    resolves(housed, read(housed))


def resolves(site, pages):
    ids = {path: set(tags.ids) for path, tags in pages.items()}
    for path, tags in pages.items():
        assert not tags.problems, path
        for link in tags.links:
            parts = urlsplit(link)
            if parts.scheme or link == "#":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in ids:
                assert unquote(parts.fragment) in ids[target], f"{path.relative_to(site)}: {link}"


def test_ids_are_there_once(pages):
    for path, tags in pages.items():
        twice = {i for i in tags.ids if tags.ids.count(i) > 1}
        # the theme draws its menu and its search twice, for narrow and wide screens
        assert not {i for i in twice if not i.startswith(("pst", "__", "search"))}, path


def test_nothing_is_loaded_from_outside(site, pages):
    for path, tags in pages.items():
        for link in tags.loads:
            assert "://" not in link, (path, link)
            assert not link.startswith("//"), (path, link)
            if not link.startswith("data:"):
                assert (path.parent / unquote(urlsplit(link).path)).resolve().is_file(), (path, link)
    for style in site.glob("_static/**/*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(r"(?:@import\s*|url\()\s*[\"']?(?:https?:)?//", text), style


def test_every_number_of_a_published_table_is_the_one_of_its_csv(site):
    """Ours, the published number and the verdict of each cell are in the table of the paper's page of tables."""
    text = (site / "papers/vinaroz2023dpsep/tables.html").read_text()
    table = text[text.index('id="vinaroz2023dpsep_table3"') :]
    table = table[: table.index("As files")]
    with open(site / "tables/vinaroz2023dpsep_table3.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) > 20
    for row in rows:
        if row["n"] != "0":
            decimals = len(row["published_mean"].partition(".")[2]) + 1
            assert f"{float(row['mean']):.{decimals}f} ±" in table, row["cell"]
        assert f"paper {row['published_mean']}" in table


def test_every_published_cell_has_an_anchor_a_number_and_a_place_in_the_search(site, pages, all_verdicts):
    here = [p for p in pages if p.stem.startswith("vinaroz2023dpsep") and p.parent.name == "cells"]
    text, index = "".join(p.read_text() for p in here), (site / "_static/cells-index.js").read_text()
    ids = {(f"{p.parent.name}/{p.stem}", i) for p in here for i in pages[p].ids}
    keys = all_verdicts[["source", "table", "dataset", "method", "setting", "metric"]].drop_duplicates()
    assert len(keys) > 150
    for key in keys.itertuples(index=False):
        name = re.sub(r"[^A-Za-z0-9_.=~-]+", "-", ".".join(key))
        assert any(f'["{page}","{name}"' in index for page, i in ids if i == name), name
    for number in all_verdicts["published_mean"]:
        assert number in text
    cell = all_verdicts.loc[all_verdicts["n"] > 0, "cell"].iloc[0]
    assert f"./bench doubt {cell}" in text


def test_the_page_of_a_paper_shows_its_card_claims_and_files(site):
    text = (site / "papers/vinaroz2023dpsep.html").read_text()
    assert re.search(r"<dt>Were the authors asked</dt><dd>\s*no", text)
    assert '<b aria-hidden="true">=</b> reproduced' in text  # a sign and a word, not colour alone
    for name in ("dpsep_uci_rmse", "dpsep_uci_clip"):
        assert f'src="../figures/{name}.svg"' in text
        assert (site / "figures" / f"{name}.csv").is_file()
    text = (site / "papers/vinaroz2023dpsep/claims.html").read_text()
    row = text[text.index('id="claim-dp_sep_comparable_to_sep"') :]
    row = row[: row.index("</tr>")]
    assert "<q>it is comparable to SEP</q>" in row
    assert "Tested: DP-SEP is not worse than SEP by more than the margin" in row
    assert "<td>10 % of the error; ln 1.1 nats</td>" in row
    assert "95 % intervals" in row
    assert "Read off table 8" in text
    assert 'Repeats <a href="#claim-dp_sep_comparable_to_sep">' in text


def test_numbers_that_repeat_another_are_counted_once(site, built):
    verdicts = pd.read_csv(built / "results/verdicts.csv", dtype=str, keep_default_na=False)
    distinct = len(scoreboard.first(scoreboard.distinct(verdicts)))
    text = (site / "index.html").read_text()
    picture = text[text.index('class="picture"') :]
    shown = [int(n) for n in re.findall(r"</th><td>(\d+)</td><td class=\"bars\">", picture)]
    assert sum(shown) == distinct


def test_whose_data_it_is_and_what_is_known_of_it(site):
    text = (site / "datasets/wine.html").read_text()
    for words in ("10.24432/C56S3T", "CC BY 4.0", "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e"):
        assert words in text
    assert "<td>0</td><td>10</td><td>documented</td>" in text  # the range of the target


def test_every_data_set_and_kind_of_model_is_described():
    """In words: what a row and the target are, and the unit of the target. One that is being added needs none yet."""
    told = described("datasets")
    assert set(told) <= set(datasets.names())
    assert [n for n, row in told.items() if not all(row[k] for k in ("row", "inputs", "target", "unit"))] == []
    assert set(described("kinds")) <= {kind for kind, _ in contract.pairs()}
    for name, row in told.items():
        text = " ".join(f"{row[k].capitalize()}." for k in ("row", "inputs", "target", "unit")) + f" {row['note']}"
        assert list(faults(f"datasets/{name}", f"# {name}\n\n{text}\n")) == []


def test_published_numbers_go_over_as_many_pages_as_they_need(monkeypatch):
    monkeypatch.setattr(cells_of, "MOST", 1)
    none = pd.DataFrame()
    part = Part("someone", "Someone 2018", {"someone": "Someone 2018"}, "./bench someone", verdicts(), none)
    content = SimpleNamespace(findings=(), parts=[part], ledger=none)
    made = list(cells_of.pages(content, {"someone": cells_of._cells(part)}))
    assert [(d.path, [c.dataset for c in of]) for d, of in made] == [
        ("cells/someone", ["A"]),
        ("cells/someone-2", ["B"]),
    ]
    assert '<a href="../cells/someone-2.html">Results, B</a>' in made[0][0].text()
    assert '<a href="../cells/someone.html">Results, A</a>' in made[1][0].text()
    assert '"cells/someone-2","someone.results.b.' in index_of(made)


def test_an_address_says_when_it_was_last_right_or_that_it_was_never_seen(tmp_path, monkeypatch):
    sources = datasets.get("wine").raw[0].sources
    source = sources[0]
    made = tmp_path / "addresses.csv"
    made.write_text(
        "dataset,file,address,member,date,right,reason\n"
        f"wine,winequality-red.csv,{source.url},{source.member},2026-12-02,yes,\n"
    )
    content, known = SimpleNamespace(findings=(), papers=(), parts=()), dataset_pages.seen

    def page(path) -> str:
        monkeypatch.setattr(dataset_pages, "seen", lambda: known(path))
        return next(d.text() for d in dataset_pages.documents(content) if d.path == "datasets/wine")

    assert page(tmp_path / "none.csv").count("<td>not yet fetched by the check</td>") == len(sources)
    text = page(made)
    assert text.count("<td>not yet fetched by the check</td>") == len(sources) - 1
    assert "<td>2026-12-02: the right file</td>" in text
    made.write_text(made.read_text().replace("yes,", "no,HTTP 404"))
    assert "<td>2026-12-02: HTTP 404</td>" in page(made)


def test_the_page_of_a_method_has_its_settings_with_their_sources(site):
    text = (site / "methods/dp_sep.html").read_text()
    assert "passes over the rows (Vinaroz &amp; Park 2023: 40)." in text
    assert "Claimed epsilon not shown" in re.sub("<[^>]*>", "", text)
    assert "versions.numpy" in (site / "provenance.html").read_text()
    assert "1 % / 290" in (site / "glossary.html").read_text()


@pytest.mark.parametrize("name", contract.names())
def test_comments_of_settings_hold_no_markup(name):
    for m in (contract.get(name, kind) for kind in {k for k, n in contract.pairs() if n == name}):
        for setting, _, comment in method_pages.settings_of(m):
            assert "`" not in comment, (setting, comment)


def test_the_page_of_a_private_method_names_its_non_private_limit(site):
    limit = contract.counterpart(contract.get("dp_sgd", "bounded_logistic_regression"), "bounded_logistic_regression")
    text = (site / "methods/dp_sgd.html").read_text()
    assert "Non-private limit" in text
    assert f"<td>{contract.get(limit.method).title}</td>" in text.replace("<td data-x>", "<td>")
    assert 'aria-label="Non-private limit"' not in (site / "methods/ridge.html").read_text()


@pytest.mark.parametrize("name", contract.names())
def test_every_method_has_a_summary_of_two_sentences(name):
    """For readers: complete sentences without a name of the code, by the rules of docs/prose.yaml."""
    text = summary(contract.get(name))
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)
    assert len(parts) == 2, text
    assert all(re.fullmatch(r"[A-Z].{20,}\.", p) for p in parts), text
    assert not re.search(r"[`_{}]|::", text)
    assert list(faults(f"methods/{name}", f"# {name}\n\n{text}\n")) == []


def test_the_page_of_a_method_begins_with_its_status_and_summary(site):
    """The audit is a line, with its table behind it."""
    for name, status in (("dp_sep_corrected", "Private: add/remove"), ("ridge", "Not private")):
        text = (site / f"methods/{name}.html").read_text()
        first, second = re.findall(r"<p>(.*?)</p>", text[text.index("<h1>") : text.index('class="card-list"')], re.S)
        assert first.startswith(f"<strong>{status}")
        assert html.unescape(re.sub(r"<[^>]+>", "", second)) == summary(contract.get(name))


def test_the_audit_of_a_method_is_counted_in_words():
    checks = pd.DataFrame({"method": ["a", "a", "a", "b"], "result": ["passed", "leak", "failed", "passed"]})
    mutants = pd.DataFrame({"method": ["a", "a"], "killed": [1, 0]})
    assert method_pages._audited((checks, mutants), "a") == (
        "1 of 2 checks passed. 1 failed. 1 more found a leak that the method names. Such a leak is measured on the "
        "method as it is, and everything else on a copy in which it is closed. The checks caught 1 of 2 mutants."
    )
    assert method_pages._audited((checks, mutants), "b") == "1 of 1 checks passed."


def test_every_method_has_equations_that_docutils_reads():
    told = {name: equations(contract.get(name)) for name in contract.names()}
    committed = {method for _, method in reference.runs()}
    assert not [name for name in committed if not told[name]]  # one that is being written needs none yet
    for name, text in told.items():
        blocks = re.findall(r"```\{math\}\n(.*?)```", text, re.S)
        assert blocks or not text, name
        for tex in [*blocks, *re.findall(r"\{math\}`([^`]+)`", text)]:
            # entities that HTML alone knows
            ET.fromstring(re.sub(r"&(?!lt;|gt;|amp;)\w+;", "", markup(tex, as_block=True)))


def test_equations_are_mathml_without_a_script(site):
    text = (site / "methods/dp_sep.html").read_text()
    shown = text[text.index("<h2>Equations") : text.index("<h2>Settings")]
    assert shown.count('<div class="equation"') == 1
    assert "<math xmlns=" in shown
    assert "<msub>" in shown
    assert not re.search(r"mathjax|\\\(|\\frac", text, re.I)


def test_an_index_stands_beside_an_accented_letter_and_limits_stay_limits():
    made = markup(r"\tilde{M}_t^2 + \sum_{t=1}^T \hat{g}_{1:t}", as_block=True)
    root = ET.fromstring(made)
    space = "{http://www.w3.org/1998/Math/MathML}"
    assert ["".join(e.itertext()).split() for e in root.iter(f"{space}mover")] == [["M~"], ["gˆ"]]
    (limits,) = root.iter(f"{space}munderover")
    assert limits[0].text == "∑"


def test_a_key_in_the_source_of_a_method_is_shown_as_its_work():
    assert cited("li2015sep, algorithm 1") == f"{citations()['li2015sep']}, algorithm 1"
    assert cited("after doe2031fast, table 2") == "after Doe 2031, table 2"  # a key of no line of the file
    every = {contract.get(n, k).reference for k, n in contract.pairs()}
    assert not any(SOURCE_KEY.search(cited(text)) for text in every)


def test_a_task_has_a_page_and_its_details_are_apart_and_closed(housed):
    every, task, details = (
        (housed / f"which-method{name}.html").read_text() for name in ("", "/t", "/t-details")
    )  # fmt: skip
    words = re.sub(r"<[^>]+>", " ", every)
    for said in ("DPVI or VI", "the numbers are those of the first", "survive leaving out any one table"):
        assert said in words
    assert "First instead" not in words
    assert "How it is read." in every
    assert [f"<strong>{w}.</strong> {s}" in task for w, s in (("Because", "So."), ("Limits", "Few."))] == [True, True]
    assert 'id="figure-drawn"' in task
    assert 'id="scores"' not in task
    assert "sortable" in details
    assert "<details open" not in details
    front = (housed / "index.html").read_text()
    assert "Take DPVI." in re.sub(r"<[^>]+>", "", front)
    assert 'href="which-method/t.html"' in front


def test_a_formula_that_cannot_be_read_is_named():
    with pytest.raises(ExtensionError, match=r"\\nosuch"):
        markup(r"\nosuch{x}", as_block=True)


def test_the_runs_of_many_cells_stand_on_their_rows(housed):
    """One axis a row: the same runs are drawn at the same places in both readings; no runs, no strip."""
    text = (housed / "cells/someone.html").read_text()
    first, second = (text[text.index(f'id="someone.results.{d}') :] for d in "ab")
    first, second = first[: first.index("</tr>")], second[: second.index("</tr>")]
    strips = re.findall(r'<svg class="strip small".*?</svg>', first)
    assert len(strips) == 2
    assert strips[0] == strips[1]
    assert f"40 runs from {RUNS.min():.4g} to {RUNS.max():.4g}, median {np.median(RUNS):.4g}" in strips[0]
    assert strips[0].count("14h0") == FEW
    assert second.count("<svg") == 1
    page = (housed / "papers/someone.html").read_text()
    assert 'src="../figures/drawn.svg"' in page


def test_a_fence_a_tag_or_markdown_in_a_text_stays_a_text():
    page = Document("x", "A *b* <script>alert(1)</script> `c`")
    page.part("card", rows=[("<b>", ["```\n</dl><script>alert(2)</script>", "{{ 1 }}"])])
    text = page.text()
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "&lt;script&gt;alert(2)" in text
    assert text.count("```") == 8  # of the two fences alone, twelve backticks each
    assert plain("a\n# b") == "a \\# b"


BAD = "<img src=x onerror=alert(1)>\"'`{{7*7}}`"


@pytest.fixture(scope="module")
def odd(base, tmp_path_factory, filled_once):
    """The site of a tiny run with HTML in its texts and a method that is broken, built over an older one.

    Of methods and data sets it has the page of one each: ``site`` has all.
    """
    config, scores = base
    root = tmp_path_factory.mktemp("odd")
    wine = scores[scores["dataset"] == "wine"].assign(scale="tiny")
    wine.loc[wine["method"] == "vi", ["status", "reason", "value", "metric"]] = ["failed", BAD, "", ""]
    (root / "scores/dpsep_uci").mkdir(parents=True)
    (root / "scores/dpsep_uci/wine.csv").write_text(csv_text(wine))
    (root / "manifest.json").write_text(json.dumps({"host": BAD}))
    (root / "dpsep_uci.yaml").write_text(yaml.safe_dump(config | {"title": BAD}))
    (root / "report/downloads").mkdir(parents=True)
    (root / "report/checked.js").write_text("window.dpbayesChecked = {sentence: 'x', rows: []};\n")
    (root / "report/old.html").write_text("old")
    (root / "report/downloads/scores.csv.gz").write_bytes(b"0" * 2_500_000)
    (root / "report/downloads/dictionary.csv").write_text("column,meaning\nvalue,a <number>\n")
    args = ["all", "--config", str(root / "dpsep_uci.yaml"), "--results", str(root), "--scale", "tiny"]
    with filled_once(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(report.contract, "broken", lambda: ["methods/x.py cannot be imported: <b>SyntaxError"])
        only(patch, "vi", "wine")
        assert report.main(args) == 0
    return root / "report"


def test_injected_html_is_shown_not_run(odd):
    """Texts from scores and configs reach every kind of page escaped."""
    found = 0
    for page in odd.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<img src=x" not in text, page
        found += "&lt;img src=x onerror" in text
    assert found >= 2


def test_a_small_scale_and_a_broken_method_are_said_first(odd):
    text = (odd / "index.html").read_text()
    assert 'class="banner" id="scale" role="alert"' in text
    assert "NOT evidence" in text
    assert 'role="alert">Left out: methods/x.py cannot be imported: &lt;b&gt;SyntaxError</p>' in text
    assert "not run" in (odd / "cells/vinaroz2023dpsep.html").read_text()


def test_downloads_and_the_check_of_this_machine_outlive_a_new_build(odd):
    assert "sentence: 'x'" in (odd / "checked.js").read_text()
    assert not (odd / "old.html").exists()
    text = (odd / "downloads.html").read_text()
    assert 'href="downloads/scores.csv.gz"' in text
    assert "2.5 MB" in text
    assert "a &lt;number&gt;" in text


def test_without_files_there_is_no_page_of_downloads(site, odd):
    assert not (site / "downloads.html").exists()
    assert "Downloads" not in (site / "docs.html").read_text()
    assert 'href="downloads.html"' in (odd / "docs.html").read_text()


def test_every_finding_has_a_page_and_every_name_of_one_leads_there(committed, sources):
    texts = [p for pattern in ("*/findings/*.md", "papers/*/findings/*.md") for p in ROOT.glob(pattern)]
    ids = {path.stem for path in texts if path.name != "README.md"}
    assert len(ids) >= 47
    assert {p.removeprefix("findings/") for p in sources if p.startswith("findings/")} == ids | {"index"}
    index = sources["findings/index"]
    assert {i for i in ids if f'href="../findings/{i}.html"' not in index} == set()
    assert f"[All {len(ids)} findings]" in sources["index"]
    named = {
        i for part in committed.parts for f in (part.verdicts, part.claims) for t in f["finding"] for i in t.split()
    }
    assert len(named) > 20
    assert named <= ids


def test_the_front_page_is_short(sources):
    """At most 350 words, its figure included; tasks and their advice are not in this fixture."""
    text = re.sub(r"```\{toctree\}.*?```|<span class=\"visually-hidden\">.*?</span>", " ", sources["index"], flags=re.S)
    text = re.sub(r"`{12}.*|(?<=\])\([^)]*\)", " ", text)  # fences, and addresses of links
    words = re.findall(r"\w[\w.,'-]*", html.unescape(re.sub(r"<[^>]+>", " ", text)))
    assert 100 < len(words) <= 280


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        ("Take A. Or B. It survives leaving out C. D is first.", "Take A. It survives leaving out C."),
        (
            "Take A. Or B. The answer changes for at least one table that is left out.",
            "Take A. The answer changes for at least one table that is left out.",
        ),
        ("Take A. Only on C.", "Take A. Only on C."),
        ("No general advice.", "No general advice."),
    ],
)
def test_short_advice_keeps_its_limits(advice, said):
    assert pages_of._short(advice) == said


def test_claims_are_counted_once_and_by_where_they_stand(committed, sources):
    """Neither repetitions nor readings are counted; those of the text and those read off figures apart."""
    for part in committed.papers:
        once = part.claims[part.claims["same_as"] == ""]
        assert not once["id"].duplicated().any()
        read = int(once["quote"].str.startswith("read off").sum())
        kinds = ((len(once) - read, "of its text"), (read, "read off its tables and figures"))
        words = f"{len(once)} claims" + (": " if len(once) else "") + ", ".join(f"{n} {w}" for n, w in kinds if n)
        assert not len(once) or words in sources["papers/index"]
        assert not len(once) or words in sources[f"papers/{part.key}"], part.key


def test_the_caption_and_the_picture_are_of_one_reading(committed):
    """Of the data behind the picture: by the authors' code, as printed for a number that has none, never corrected."""
    expected, printed = {}, {}
    for part in committed.papers:
        for row in part.verdicts.to_dict("records"):
            key, main = (part.key, *(row[k] for k in KEY)), row["headline"] == "yes"
            if row["copy"]:
                continue
            if main and (row["reading"] == "authors" or (row["reading"] == "printed" and key not in expected)):
                expected[key] = (row["reading"], row["verdict"])
            if row["reading"] == "printed" and (main or part.judged) and row["verdict"] in VERDICTS:
                printed[key] = row["verdict"] in ("better", "worse")
    shown = Counter()
    for part in committed.papers:
        if not part.answered:
            continue
        mine = {k: v for k, v in expected.items() if k[0] == part.key}
        rows = pages_of.by_method(part)
        for word in VERDICTS:
            assert sum(r[word] for r in rows) == sum(v == word for _, v in mine.values()), (part.key, word)
        readings = {reading for reading, _ in mine.values()}
        assert ("authors' code" in shown_reading(first_readings(part.verdicts))) == ("authors" in readings), part.key
        assert ("as printed" in shown_reading(first_readings(part.verdicts))) == ("printed" in readings), part.key
        shown.update(reading for reading, _ in mine.values())
    said = pages_of.picture_caption(committed)
    assert shown["authors"]
    assert shown["printed"]
    refuted = sum(verdict in ("better", "worse", "differs") for _, verdict in expected.values())
    bars = "The bars judge the authors' code, or else the algorithm as printed"
    assert f"{bars}: {refuted:,} of {len(expected):,} numbers are refuted." in said
    words = f"As printed, {sum(printed.values()):,} of {len(printed):,} are refuted."
    assert words in said
    assert sum(printed.values()) > 0


@pytest.mark.parametrize(("reading", "words"), [("printed", "algorithms as printed"), ("authors", "authors' code")])
def test_the_caption_of_one_reading_names_no_other(reading, words):
    rows = verdicts()
    rows = rows[rows["reading"] == reading]
    said = pages_of.picture_caption(SimpleNamespace(papers=[SimpleNamespace(verdicts=rows, answered=True, judged="")]))
    assert f"The bars judge the {words}: " in said
    assert ("authors" in said, "as printed" in said) == (reading == "authors", reading == "printed")


def test_a_reading_has_one_label_on_all_pages(site):
    labels = {text.capitalize() for text in READING_TITLES.values()} | set(READING_TITLES.values())
    found = 0
    for page in site.rglob("*.html"):
        if "findings" in page.parts or "_static" in page.parts:
            continue
        text = html.unescape(page.read_text(encoding="utf-8"))
        heads = re.findall(r"<summary>Reading: ([^<(;]+?)(?: \(|;|<)", text) + re.findall(r"<h4>([^<;]+)(?:;|<)", text)
        heads += re.findall(r">Ours, ([^<]+)</th>", text)
        found += len(heads)
        assert set(heads) <= labels, page.name
        assert not re.search(r"<p>(?:printed|authors): |<th scope=.row.>(?:printed|authors):", text), page
        for table in re.findall(r'aria-label="Verdicts">.*?</table>', text, re.S):
            readings = set(re.findall(r"<td>([^<]+)</td>", table)) & {*READING_TITLES, *labels}
            found += len(readings)
            assert readings <= labels, page.name
    assert found > 20


@pytest.mark.parametrize(
    ("mean", "std", "shown"),
    [
        ("0.627", "0.041", ("0.627", "0.041")),
        ("955.0533", "", ("955.0533", "")),
        ("0.7411483253588517", "0.0007256340137848346", ("0.7411483", "0.0007256")),
        ("0.7411483253588517", "", ("0.741148", "")),
        ("-1234.5678912345", "1.5000000000001", ("-1234.568", "1.500")),
        ("0.123456789012", "0", ("0.123457", "0")),
        ("123456.78901234", "98765.4321098", ("123457", "98765")),
    ],
)
def test_a_number_of_a_file_is_shown_with_sensible_digits(mean, std, shown):
    assert published_texts(mean, std) == shown


def test_no_published_number_has_the_digits_of_a_float(committed):
    shown = {cells_of.published(r) for part in committed.papers for r in part.verdicts.to_dict("records")}
    assert len(shown) > 1000
    # nine digits or more from the first that is not 0: 0.000017205 is a number of five
    assert {text for text in shown if re.search(r"[1-9]\d{8}", text.replace(".", ""))} == set()
    assert not any("0" * 9 in text for text in shown)


def test_values_of_settings_are_short():
    assert setting_value([5.656854249492381] * 7 + [0.20203050891044216]) == "[5.65685 (7 times), 0.202031]"
    assert setting_value((0.0, 1e-4)) == "(0.0, 0.0001)"
    assert setting_value("wine") == "wine"


def test_an_interval_of_a_shift_is_not_told_as_one_of_the_mean():
    row = {"verdict": "worse", "p": 4e-8, "p_kind": "rank", "difference": 25.0, "low": 3.3, "high": 19.6, "reason": ""}
    row |= {"detectable": np.nan, "published_std": "0.04"}
    said = verdict_sentence(row)
    assert "Ours minus theirs is 25 in the mean; by ranks, our runs are shifted by 3.3 to 19.6 (95 %)." in said
    for other in ({"p_kind": "t"}, {"published_std": ""}):
        assert "is 25 (95 %: 3.3 to 19.6)." in verdict_sentence(row | other)


def test_a_compatible_number_says_which_shift_would_have_been_refuted():
    row = {"verdict": "compatible", "p": 0.4, "p_kind": "t", "difference": 0.1, "low": -0.2, "high": 0.4, "reason": ""}
    row |= {"detectable": 0.75, "published_std": ""}
    assert verdict_sentence(row).endswith("A shift of 0.75 would have been refuted.")
    assert verdict_sentence(row | {"detectable": np.inf}).endswith("No shift of any size would have been refuted.")
    assert cells_of.worth(row) == "refuted from a shift of 0.75"
    assert cells_of.worth(row | {"detectable": np.inf}) == "no shift refuted"
    assert cells_of.worth(row | {"verdict": "reproduced"}) == cells_of.worth(row | {"detectable": np.nan}) == ""
    assert cells_of.worth(None) == ""


def test_a_strip_shows_all_runs_and_the_published_number():
    found = strip([1.0, 2.0, 3.0], "2.5")
    assert found["dots"].count("M") == 3
    assert found["published"] == f"{4 + 232 * 0.75:.1f}"
    assert (found["low"], found["high"]) == ("1", "3")
    wide = strip([1.0, 2.0, 3.0], "2.5", most=2, axis=[5.0])
    assert wide["dots"] == "M4.0 14h0M120.0 14h0"
    assert wide["high"] == "5"
    assert strip([1.0], "2") is None
    assert strip([1.0, 1000.0], "2")["high"].endswith("(logarithmic)")
    assert strip([5.0, 5.0], "")["published"] is None


def test_the_bundle_of_datatables_becomes_a_script():
    assert 'window.dpbayesTables = { "default": a, "b": b };' in classic("var a=1,b=2;export{a as default,b};")
    with pytest.raises(SiteError, match="another form"):
        classic("var a=1;")


def test_static_files_name_no_address():
    folder = Path(report.__file__).parent / "site"
    for path in filter(Path.is_file, [*(folder / "static").iterdir(), *(folder / "templates").rglob("*")]):
        assert "://" not in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("threaded", ["jax", "torch"])
def test_a_process_with_threads_is_not_forked(monkeypatch, threaded):
    monkeypatch.setitem(sys.modules, threaded, types.ModuleType(threaded))
    assert _processes() == 1
