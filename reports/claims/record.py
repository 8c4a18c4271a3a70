"""What a claim is: a sentence of a source in its own words, and the typed test that settles it.

A test is a frozen dataclass below :class:`ClaimTest`. What it compares are its positional fields, mostly methods
(:mod:`reports.claims.methods`); its options are its keyword fields, so that Python itself refuses a wrong one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields

from reports.claims.context import Context
from reports.claims.methods import Methods, OneMethod, Words, method_of, methods_of
from reports.config import ReportError

#: of the table of claims.
COLUMNS = [
    *("id", "verdict", "quote", "statement", "margin", "figure", "finding"),
    *("source", "place", "test", "proof", "same_as"),
]
HOLDS, ANOTHER, REFUTED, UNTOLD, UNTESTED, PROVED = VERDICTS = (
    *("holds", "holds in another reading", "does not hold"),
    *("not told apart", "not testable here", "by proof"),
)
READ_OFF = re.compile(r"read off (table|figure) \w+( [a-z])?((,| and)( figure| table)? \w+( [a-z])?)*")
#: of n comparisons, how many a claim speaks of. A claim without a quantifier speaks of all.
QUANTIFIERS: dict[str, Callable[[int], int]] = {
    "all": lambda n: n,
    "most": lambda n: n // 2 + 1,  # more than half
    "often": lambda n: (n + 1) // 2,  # at least half
}


@dataclass(frozen=True)
class Outcome:
    """``state``: HOLDS, REFUTED, UNTOLD or UNTESTED; ``figure``: the numbers in words; ``margin``: in words."""

    state: str
    figure: str
    margin: str = ""


class ClaimTest(ABC):
    """One way to settle a claim. Subclasses are frozen dataclasses; ``str`` gives the test as the table shows it."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.type in ("Methods", Methods):
                methods_of(value)
            elif f.type in ("OneMethod", OneMethod):
                method_of(value)
            elif f.type in ("Words", Words):
                if not (isinstance(value, tuple) and all(isinstance(v, str) for v in value)):
                    raise TypeError(f"{f.name}={value!r}; give a tuple of strings")
            elif f.name == "quantifier" and value not in (None, *QUANTIFIERS):
                raise ReportError(f"quantifier={value!r}; quantifier is one of {', '.join(QUANTIFIERS)}")

    @abstractmethod
    def outcome(self, context: Context) -> Outcome:
        """What the scores say of the claim in one reading."""

    def __str__(self) -> str:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()
        compared, options = [], ""
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, tuple):
                value = ("," if f.type in ("Words", Words) else "+").join(map(str, value))
            if not f.kw_only:
                compared.append(str(value))
            elif value:
                options += f"; {f.name}={value}"
        return f"{name}({', '.join(compared)}{options})"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence of a source, or what one of its tables or figures shows.

    Attributes
    ----------
    id : unique among all papers; a finding names it as ``claim:<id>``.
    experiment : whose scores settle it.
    source : bibliography key.
    place : where in the source.
    quote : the source's own words ("..." marks what is left out), or ``read off table k`` / ``read off figure k`` where
        the claim is what a table or figure shows and no sentence of the text.
    statement : in this suite's words, what is tested.
    test : what settles it.
    proof : where the proof stands of a claim that is algebra or holds by construction; its test is then a check of it.
    same_as : id of the claim of which this one is a repetition, in the same paper or in its other version.

    Raises :class:`reports.config.ReportError` for a claim without quote, statement or place, and TypeError for a test
    that is none.
    """

    id: str
    experiment: str
    source: str
    place: str
    quote: str
    statement: str
    test: ClaimTest
    proof: str = ""
    same_as: str = ""

    def __post_init__(self) -> None:
        for key in ("quote", "statement", "place"):
            if not getattr(self, key):
                raise ReportError(f"claim '{self.id}' has no {key}")
        if self.quote.startswith("read off") and not READ_OFF.fullmatch(self.quote):
            raise ReportError(f"claim '{self.id}': write 'read off table k' or 'read off figure k'")
        if not isinstance(self.test, ClaimTest):
            raise TypeError(f"claim '{self.id}': {self.test!r} is no test of reports.claims")

    def row(self) -> dict[str, str]:
        """The columns of the table of claims that are known without scores."""
        return {k: str(getattr(self, k)) for k in COLUMNS if hasattr(self, k)}
