"""Claims of the papers, each tested on the scores.

A claim is a typed call in ``papers/<key>/claims.py`` (:mod:`reports.claims.record`):

    Claim(id="...", experiment="...", source="...", place="section 6.2", quote="...", statement="...",
          test=Better(("ep", "sep"), "vi", tables=("3", "4"), quantifier="all"))

A test compares methods of the PAPER, in its published tables. ``answers`` of the experiment's config says which cell of
ours represents a method of the paper. So a claim is tested for each reading: as printed first, then authors' code, then
corrected. A method without a reading, such as a non-private one, keeps its printed cell. The ledgers say which readings
are private. :func:`reports.claims.judging.decide` makes one verdict of all readings.

============================================ ====================================================================
:mod:`reports.claims.record`                 ``Claim``, its fields, the input of its test, and the tests that
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
