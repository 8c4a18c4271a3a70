"""Claims of the papers, each tested on the scores.

A claim is a typed call in ``papers/<key>/claims.py`` (:mod:`reports.claims.record`):

    Claim(id="...", experiment="...", source="...", place="section 6.2", quote="...", statement="...",
          test=Better(("ep", "sep"), "vi", tables=("3", "4"), quantifier="all"))

What a test compares are methods of the PAPER, in its published tables. Which cell of ours stands for a method of the
paper is said by ``answers`` of the experiment's config, so a claim is tested for each reading: the printed one first,
then authors, then corrected. A method without that reading (the non-private ones) keeps its printed cell.

============================================ ====================================================================
:mod:`reports.claims.comparisons`            ``Better``, ``NotWorse``, ``Within``: two sides, cell by cell
:mod:`reports.claims.budgets`                ``AtEveryBudget``, ``NeverWorse``: OUR methods at every privacy budget
:mod:`reports.claims.trends`                 ``Worsens``, ``Spreads``: along a parameter
:mod:`reports.claims.medians`                ``Larger``, ``Closer``: medians over independent data sets
:mod:`reports.claims.failures`               ``FailsLess``: splits without a score
:mod:`reports.claims.elsewhere`              ``HoldsIn`` a table of this suite, ``Needs``, ``NotTestable``
============================================ ====================================================================

How comparisons make a verdict is in :mod:`reports.claims.judging`, the table of all of them in
:mod:`reports.claims.table`.
"""

from reports.claims.budgets import AtEveryBudget, NeverWorse
from reports.claims.comparisons import Better, NotWorse, Within
from reports.claims.elsewhere import HoldsIn, Needs, NotTestable
from reports.claims.failures import FailsLess
from reports.claims.files import load
from reports.claims.medians import Closer, Larger
from reports.claims.methods import Method, own
from reports.claims.record import COLUMNS, PROVED, VERDICTS, Claim, ClaimTest
from reports.claims.table import distinct, evaluate
from reports.claims.trends import Spreads, Worsens

__all__ = [
    "COLUMNS", "PROVED", "VERDICTS", "AtEveryBudget", "Better", "Claim", "ClaimTest", "Closer", "FailsLess", "HoldsIn",
    "Larger", "Method", "Needs", "NeverWorse", "NotTestable", "NotWorse", "Spreads", "Within", "Worsens", "distinct",
    "evaluate", "load", "own",
]  # fmt: skip
