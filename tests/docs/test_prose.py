"""Texts keep the rules of docs/prose.yaml."""

import pytest

from tests.docs.prose import ROOT, RULES, digits, faults, files, paragraphs, sentences, summary


def test_texts_keep_the_rules(capsys):
    texts = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in files()}
    count = sum(len(sentences(text)) for text in texts.values())
    with capsys.disabled():
        print(f"\nprose: {count} sentences in {len(texts)} files")
    assert len(texts) > 30
    assert count > 800
    assert [f for name, text in texts.items() for f in faults(name, text)] == []


def test_templates_type_no_number():
    found = sorted(p for pattern in RULES["templates"] for p in ROOT.glob(pattern))
    assert found
    assert [f for p in found for f in digits(p.relative_to(ROOT).as_posix(), p.read_text(encoding="utf-8"))] == []


LONG = " ".join(["word"] * 36)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"# T\n\n{LONG.capitalize()}.\n", "36 words in a sentence"),
        ("# T\n\nA mean (of 5 runs (of 20)) is here.\n", "nested brackets"),
        ("# T\n\nIt is significantly better on none of them.\n", "empty list"),
        ("# T\n\nMethods that are worse: none\n", "empty list"),
        ("# T\n\nThe numbers come back with it.\n", "is reproduced"),
        ("# T\n\nIt costs two\nseconds a fit here.\n", "per"),
        ("# T\n\nThese are the numbers:\n\n* one\n", "summary"),
        ("# T\n\n| a | b |\n", "summary"),
        ("---\nsummary: 'So it is:'\n---\n# T\n\nA text.\n", "summary"),
        ("# T\n\n`````{raw} html\n<p>The <b>yardstick</b> wins.</p>\n`````\n\nEnd.\n", "baseline"),
    ],
)
def test_a_fault_is_seen(text, said):
    assert any(said in f for f in faults("docs/t.md", text)), text


def test_a_page_over_its_limit_is_seen():
    many = "# T\n\n" + "A short sentence here. " * 301
    assert [f for f in faults("docs/t.md", many) if "1204 words, 1200 at most" in f]
    assert [f for f in faults("CHANGELOG.md", many) if "at most" in f] == []


def test_code_tables_headings_and_addresses_are_no_prose():
    text = (
        "<!-- dear -->\n# The law\n\nSee [this page](the-law.md) and `the law`.\n\n```text\nfor certain\n```\n| law |\n"
    )
    assert paragraphs(text) == ["See this page and `x`."]
    assert list(faults("docs/t.md", text)) == []
    assert summary("---\nsummary: One\n  line.\n---\n# T\n") == "One line."


@pytest.mark.parametrize(
    "text",
    [
        "It is {{ n }} of 5 numbers here.",
        "It fell to 0.3 in the end.",
        "We ran 20 splits. The error is {{ error }}.",
        "The difference is 95 nats.",
        "It gains 3 nats at epsilon = 8.",
        "Its real epsilon is more than epsilon = 13.8 here.",
        "---\ntitle: A loss of 3 nats\n---\nA text.\n",
        "---\nsummary: A loss of 3 nats.\n---\nA text.\n",
    ],
)
def test_a_typed_number_is_seen(text):
    assert len(list(digits("t.md", text))) == 1


@pytest.mark.parametrize(
    "text", ["{{ n | to('.3f') }} of {{ m }} numbers are there.", "As in Wang (2018), table 3, of 2026-11-25.",
             "Jälkö et al. 2017 need Python 3.11 to 3.13 here.", "| a table | 0.25 |",
             "Tables 3 and 4 of the 2021 version have it, at epsilon = 0.1 and 1 (95 % intervals).",
             'On Kin8nm `K = 40 N` is "nearly all 36 data sets".'],
)  # fmt: skip
def test_expressions_dates_versions_and_citations_are_allowed(text):
    assert list(digits("t.md", text)) == []
