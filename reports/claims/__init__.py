"""Claims of the papers, each tested on the scores.

A claim is a typed call in ``papers/<key>/claims.py`` (:mod:`reports.claims.record`):

    Claim(id="...", experiment="...", source="...", place="section 6.2", quote="...", statement="...",
          test=Better(("ep", "sep"), "vi", tables=("3", "4"), quantifier="all"))

What a test compares are methods of the PAPER, in its published tables. Which cell of ours stands for a method of the
paper is said by ``answers`` of the experiment's config, so a claim is tested for each reading: the printed one first,
then authors, then corrected. A method without that reading (the non-private ones) keeps its printed cell. Which
readings are private is what their ledgers say; :func:`reports.claims.judging.decide` makes one verdict of them all.

============================================ ====================================================================
:mod:`reports.claims.record`                 ``Claim``, what it names, what a test of it sees, and the tests that
                                             compare no scores: ``HoldsIn`` a table of this suite, ``NotTestable``
:mod:`reports.claims.comparisons`            ``Better``, ``NotWorse``, ``Within``: two sides, cell by cell
:mod:`reports.claims.judging`                how comparisons make a verdict
:mod:`reports.claims.table`                  the claims of all papers and the table of their verdicts
============================================ ====================================================================

A test that only one paper needs is a :class:`ClaimTest` in that paper's folder.
"""

from reports.claims.comparisons import Better, NotWorse, Within
from reports.claims.record import COLUMNS, PROVED, VERDICTS, Claim, ClaimTest, HoldsIn, Method, NotTestable, own
from reports.claims.table import counted, distinct, evaluate, load, own_row, read_off, summary

__all__ = [
    "COLUMNS", "PROVED", "VERDICTS", "Better", "Claim", "ClaimTest", "HoldsIn", "Method", "NotTestable", "NotWorse",
    "Within", "counted", "distinct", "evaluate", "load", "own", "own_row", "read_off", "summary",
]  # fmt: skip
