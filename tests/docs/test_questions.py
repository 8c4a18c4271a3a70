"""The questions of a newcomer (docs/questions.csv) have a short answer at their anchor in the built pages."""

import csv
import html
import re
import shutil

import pytest

from reports.site import build, docs, pages
from reports.site.document import HERE, Document
from tests.docs.prose import ROOT

#: words of an answer at most.
LONGEST = 80
with open(ROOT / "docs/questions.csv", encoding="utf-8", newline="") as file:
    QUESTIONS = list(csv.DictReader(file))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built pages of docs/ and the glossary. Front page and index of findings are empty. 5 CPU s."""
    made = tmp_path_factory.mktemp("docs")
    front, findings = Document("index", "Front"), Document("findings/index", "Findings")
    front.toctree(["docs/index", "glossary", "findings/index"])
    for page in (front, findings, pages._glossary(None, {}), *docs.documents({})):
        path = made / "source" / f"{page.path}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text(), encoding="utf-8")
    shutil.copytree(HERE / "static", made / "source" / "_static")
    for name in ("datatables.js", "cells-index.js"):
        (made / "source" / "_static" / name).write_text("")
    build._sphinx(made / "source", made / "site", made / "doctrees", "docs")
    return made / "site"


def answer(page: str, anchor: str) -> str:
    """The first paragraph at an anchor of a page of HTML; "" if there is none before the next heading."""
    _, there, after = page.partition(f'id="{anchor}"')
    heading = r"<h[1-6].*?</h[1-6]>" if there and re.match(r"[^>]*>\s*(?:<span[^>]*></span>\s*)?<h[1-6]", after) else ""
    after = re.sub(heading, "", after, count=1, flags=re.DOTALL) if heading else after
    found = re.search(r"<(p|dd)\b[^>]*>(.*?)</\1>", re.split(r"<h[1-6]", after)[0], re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", found[2])).split()) if found else ""


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda r: r["question"])
def test_a_question_has_a_short_answer(row, site):
    found = answer((site / f"{row['page']}.html").read_text(encoding="utf-8"), row["anchor"])
    assert 3 < len(found.split()) <= LONGEST, found
    assert [t for t in row["terms"].split("|") if t not in found] == [], found


def test_there_are_22_questions():
    assert len(QUESTIONS) == 22
    assert all(row["terms"] for row in QUESTIONS)


def test_an_answer_is_the_first_paragraph_at_its_anchor():
    page = (
        '<section id="a"><h2>A<a href="#a">#</a></h2><p>One &amp; <b>two</b>.</p><p>No.</p></section><h2 id="b">B</h2>'
    )
    assert answer(page, "a") == "One & two."
    assert answer(page, "b") == answer(page, "c") == ""
    assert answer('<dt id="w">w</dt><dd>So.</dd>', "w") == "So."
