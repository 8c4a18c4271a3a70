"""Words of the glossary are explained at their first use on a page."""

import pytest

from reports import glossary
from reports.glossary import Word
from reports.site.tooltips import explained

WORDS = [Word("cell", ("cells",), 'The "unit" of a run.'), Word("split protocol", ("protocol",), "How."),
         Word("EP", ("SEP",), "A method.")]  # fmt: skip
CELL = '<a class="term" href="../glossary.html#word-cell" title="The &quot;unit&quot; of a run.">'


def shown(body: str) -> str:
    return explained(body, WORDS, "../glossary.html")


def test_the_first_use_is_a_link_and_the_second_is_not():
    assert shown("<p>Cells and a <b>cell</b>.</p>") == f"<p>{CELL}Cells</a> and a <b>cell</b>.</p>"


@pytest.mark.parametrize(
    "body",
    [
        "<h2>A cell</h2>",
        '<p><a href="x">a cell</a> <code>cell</code></p>',
        "<table><tr><td><p>cell</p></td></tr></table>",
        "<p>cellular, ep, methods/EP/x.py, a-cell, 'cell' of no paragraph</p>".replace("'cell'", "excell"),
        "<div>cell</div>",
        '<p><img alt="cell"/></p>',
    ],
)
def test_other_places_stay(body):
    assert shown(body) == body


def test_a_form_of_several_words_goes_over_a_line_and_comes_first():
    assert ">split\nprotocol</a> or protocol" in shown("<p>A split\nprotocol or protocol.</p>")
    assert shown("<li>SEP.</li>").count('title="A method."') == 1


def test_pages_of_the_site_link_to_their_words(housed):
    """And the glossary itself to none."""
    text = (housed / "methods/bayes_by_backprop.html").read_text()
    assert 'class="term" href="../glossary.html#word-' in text
    assert 'class="term"' not in (housed / "glossary.html").read_text()
    ids = (housed / "glossary.html").read_text()
    assert all(f'id="word-{w}"' in ids for w in ("cell", "r_nyi_dp"))
    assert len(glossary.load()) <= 40
