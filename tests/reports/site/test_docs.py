"""Pages of docs/ as pages of the site: their addresses and links."""

import pytest

from datasets.files import ROOT
from reports.site import docs


def test_every_file_has_a_page_and_the_index_lists_them():
    index, *others = docs.documents({})
    assert index.path == "docs/index"
    found = {p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert {docs.page_of(f) for f in found - set(docs.ELSEWHERE)} | set(docs.OF_ROOT.values()) == {
        index.path,
        *(d.path for d in others),
    }
    assert all(f"\n/{d.path}\n" in index.text() for d in others)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a](epsilon.md#leaks)", "[a](/docs/explanation/epsilon.md#leaks)"),
        ("[a](../decisions/README.md)", "[a](/docs/decisions/index.md)"),
        ("[a](../reference/glossary.md#cell)", "[a](/glossary.md)"),
        ("[a](../../reports/findings/README.md)", "[a](/findings/index.md)"),
        ("[a](../../papers/p/findings/known.md)", "[a](/findings/known.md)"),
        ("[a](../../papers/p/findings/other.md)", "a (`papers/p/findings/other.md`)"),
        ("[README](../../README.md#try-it)", "[README](/readme.md#try-it)"),
        ("[LICENSE](../../LICENSE)", "`LICENSE`"),
        ("![a](../../docs/verdicts.svg)", "![a](/_static/verdicts.svg)"),
        ("[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
        ("[a](#here)", "[a](#here)"),
        ("```text\n[a](epsilon.md)\n```", "```text\n[a](epsilon.md)\n```"),
    ],
)
def test_a_link_leads_to_what_the_site_has(link, shown):
    assert docs.linked(link, "docs/explanation/verdicts.md", {"known": "A title"}) == shown


def test_a_link_by_its_key_becomes_one_with_its_target():
    text = "A [b c][d] and [e][f].\n\n[d]: docs/x.md\n[g]: y.md\n"
    assert docs._inline(text) == "A [b c](docs/x.md) and [e][f].\n\n"


def test_comments_are_no_text():
    assert not any("<!--" in d.text() for d in docs.documents({}))
