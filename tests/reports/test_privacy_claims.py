"""A published epsilon is refuted by a lower bound only, and each word against one names its evidence."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pandas as pd
import pytest

from datasets.files import ROOT
from reports import findings, privacy_claims
from reports.privacy_claims import AGAINST, HOLDS, NO_EPSILON, NOT_SHOWN, REFUTED, PrivacyClaim
from workflow import papers

CLAIM = PrivacyClaim("paper", "method", "printed", "wine", "epsilon=1", 1.0, 1e-5, "replace_one", "the posterior")


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        ({}, NOT_SHOWN),
        ({"upper": 1.0}, HOLDS),
        ({"upper": 0.5, "lower": 0.2}, HOLDS),
        ({"upper": 43.7, "lower": 0.25}, NOT_SHOWN),
        ({"upper": 43.7, "lower": 1.0}, NOT_SHOWN),
        ({"upper": 43.7, "lower": 1.1}, REFUTED),
        ({"delta_at_least": 1e-4}, REFUTED),
        ({"delta_at_least": 1e-6}, NOT_SHOWN),
        ({"proof": "no noise"}, NO_EPSILON),
        ({"delta": 0.0, "delta_at_least": 1e-9}, REFUTED),
    ],
)
def test_the_word_follows_from_the_bounds(bounds, word):
    assert replace(CLAIM, **bounds).word == word


@pytest.mark.parametrize("upper", [43.7, math.inf])
def test_an_upper_bound_never_refutes_nor_does_an_observer_of_all_steps(upper):
    assert replace(CLAIM, upper=upper, all_steps=40.0).word == NOT_SHOWN


@pytest.mark.parametrize(
    "bounds",
    [{"upper": 1.0, "lower": 1.2}, {"upper": 1.0, "proof": "x"}, {"upper": 1.0, "delta_at_least": 0.1},
     {"upper": 3.0, "lower": 4.0}],
)  # fmt: skip
def test_bounds_that_contradict_each_other_are_refused(bounds):
    with pytest.raises(ValueError, match="contradict"):
        _ = replace(CLAIM, **bounds).word


def test_the_committed_table_is_that_of_the_committed_evidence():
    """All bounds again, the lower ones too."""
    wanted = (papers.REFERENCE / privacy_claims.NAME).read_text(encoding="utf-8")
    assert privacy_claims.text(privacy_claims.claims()) == wanted


def test_every_word_against_a_claim_names_pair_or_proof():
    table = privacy_claims.read()
    against = table[table["word"].isin(AGAINST)]
    assert len(against) > 20
    assert (against["proof"].ne("") | (against["pair"].ne("") & against["evidence"].ne(""))).all()
    assert not table.duplicated(privacy_claims.KEY).any()


def test_every_private_published_column_has_its_claims():
    """Each private method of a source that has claims with numbers, as printed or by the authors' code."""
    table = privacy_claims.read()
    for paper in papers.papers():
        if paper.private and "vinaroz2023dpsep" in paper.sources:
            assert set(paper.private) <= set(table["method"])


#: words against a claim, and what they are said of.
WORDS = re.compile(
    r"exceed|violat|refut|\bbreaks?\b|\bbroken\b|overspen|spends? (provably )?more|no finite epsilon"
    r"|no (finite )?epsilon holds|more than (its|the) claim",
    re.IGNORECASE,
)
OF_PRIVACY = re.compile(r"epsilon|\bdelta\b|guarantee|privacy claim", re.IGNORECASE)
#: the pages that define the words, or deny them.
DEFINITIONS = {
    "docs/explanation/epsilon.md", "docs/explanation/privacy-claims.md", "reports/site/templates/verdicts.md",
}  # fmt: skip


def said(text: str) -> list[str]:
    """The sentences of a text that say a word against an epsilon or delta."""
    sentences = re.split(r"(?<=[.:;|])\s|\n", text)
    return [s.strip() for s in sentences if WORDS.search(s) and OF_PRIVACY.search(s)]


def sources():
    return sorted(p for p in ROOT.rglob("findings/source/*.md") if ".venv" not in p.parts)


def test_every_finding_with_such_a_word_names_its_lower_bounds():
    table = privacy_claims.read()
    words = table.groupby(privacy_claims.KEY[:3])["word"].agg(set)
    checked = 0
    for path in sources():
        front, body = findings.split(path)
        told = said("\n".join([front["title"], front["summary"], body]))
        named = front.get("privacy_claims", [])
        assert named or not told, f"{path.name} needs privacy_claims: {told}"
        for name in named:
            if name.endswith(".csv"):
                assert (path.parents[2] / "reference" / name).is_file(), f"{path.name}: no table {name}"
                continue
            assert words[tuple(name.split())] & AGAINST, f"{path.name}: nothing is shown against {name}"
        checked += bool(told)
    assert checked >= 8


@pytest.mark.parametrize(
    "sentence",
    ["It exceeds its epsilon.", "The code violates delta = 1e-5.", "SSP spends more than its claimed epsilon."],
)
def test_the_search_sees_such_words(sentence):
    assert said(f"A page. {sentence} More.") == [sentence]


def test_other_pages_say_no_such_word_of_their_own():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "methods").rglob("*.md")]
    pages += (ROOT / "reports" / "site" / "templates").glob("*.md")
    found = {str(p.relative_to(ROOT)): said(p.read_text(encoding="utf-8")) for p in pages}
    found = {name: told for name, told in found.items() if told and name not in DEFINITIONS}
    # README's sentence on the code of DP-SEP
    table = privacy_claims.read().set_index(privacy_claims.KEY[:3]).sort_index()
    told = found.pop("README.md")
    assert told
    assert all("no finite epsilon" in s for s in told)
    rows = table.loc[("vinaroz2023dpsep", "dp_sep", "authors")]
    assert isinstance(rows, pd.DataFrame)
    assert set(rows["word"]) == {NO_EPSILON}
    assert not found
    assert set(table.loc[[("wang2018adaptive", "adassp", r) for r in ("printed", "authors")], "word"]) == {HOLDS}
