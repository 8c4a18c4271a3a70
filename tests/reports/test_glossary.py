"""The words of the suite are defined once."""

import re

import pytest

from reports import glossary, readme
from reports.site.document import HERE

#: words that a reader of the field does not know, or knows otherwise; a finding that uses one needs its definition.
HOUSE = (
    "reading",
    "yardstick",
    "control",
    "unit box",
    "box",
    "stand-in",
    "noise multiplier",
    "mu squared",
    "separated",
)


def prose() -> str:
    """The text of all findings as rendered, without code."""
    paths = [readme.ROOT / p for p in readme.committed_texts()]
    assert paths
    return re.sub(r"`[^`]*`", "", "\n".join(p.read_text(encoding="utf-8") for p in paths))


def everything() -> str:
    templates = (p for p in (HERE / "templates").rglob("*") if p.is_file())
    docs = (p for p in (readme.ROOT / "docs").rglob("*.md") if p.name != "glossary.md")
    pages = [*templates, *docs, *HERE.glob("*.py"), *HERE.parent.glob("*.py")]
    return prose() + "\n".join(p.read_text(encoding="utf-8") for p in pages)


def test_house_words_of_findings_are_defined():
    words = glossary.load()
    text = prose()
    for house in HOUSE:
        if re.search(rf"\b{house}\b", text, re.IGNORECASE):
            assert any(w.used(house) for w in words), f"'{house}' is used in a finding and not in {glossary.FILE.name}"


def test_every_word_is_used_somewhere():
    text = everything()
    assert [w.word for w in glossary.load() if not w.used(text)] == []


def test_no_finding_says_frame_or_our_reading():
    """ "Frame" is a word of the code; "our reading" of what is inferred is called an inference."""
    text = re.sub(r"\s+", " ", prose())
    assert re.findall(r"(?i)\b(?:unit )?frame\b|\bour reading\b", text) == []


def test_the_glossary_is_short_and_sorted():
    names = [w.word.replace("é", "e").lower() for w in glossary.load()]
    assert len(names) <= 40
    assert names == sorted(names)


def test_a_bad_glossary_is_refused(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("word,meaning\na,b\n")
    with pytest.raises(ValueError, match="columns"):
        glossary.load(path)
    path.write_text("word,also,meaning\na,,b\na,,c\n")
    with pytest.raises(ValueError, match="once"):
        glossary.load(path)
