"""The record of a claim: a sentence of a source in its own words, and the typed test that decides it.

A test is a frozen dataclass that inherits from :class:`ClaimTest`. Its positional fields are what it compares, mostly
methods of the PAPER in its published tables. Its options are keyword fields, so that Python itself refuses a wrong one.
A method is a name, ``Method("dp_sep", setting="clip=1")`` for one setting, ``own("adf")`` for a method of this suite
without a column in the paper, or a tuple of alternatives. A test reads the scores through :class:`Context`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.summary import values_by
from reports import published as published_numbers
from reports.config import ReportError
from reports.ledger import ANSWER, TOTAL
from reports.verdicts import answers_of, ours_of

#: columns of the table of claims.
COLUMNS = [
    *("id", "verdict", "quote", "statement", "margin", "figure", "finding"),
    *("source", "place", "test", "proof", "repair", "same_as"),
]
#: a claim is HOLDS, REFUTED, UNDECIDED or UNTESTED in one reading; the other words are verdicts of ``decide`` only.
HOLDS, AS_PRINTED, IN_CODE, BEYOND, NO_NOISE, REPAIRED, REFUTED, UNDECIDED, UNTESTED, PROVED = VERDICTS = (
    "holds",
    "holds as printed, not in the authors' code",
    "holds in the authors' code, not as printed",
    "holds only beyond the claimed epsilon",
    "holds only without noise",
    "does not hold; holds if repaired",
    *("does not hold", "undecided", "not testable here", "by proof"),
)
#: privacy of the methods that a reading compares, by their ledgers: every epsilon is within its claim, one is above its
#: claim, or one is infinite.
WITHIN, ABOVE, INFINITE = "within", "above", "infinite"
#: share by which an epsilon may exceed a claim by rounding of accountants.
ROUNDING = 1e-6
READ_OFF = re.compile(r"read off (table|figure) \w+( [a-z])?((,| and)( figure| table)? \w+( [a-z])?)*")
#: how many of n comparisons a claim needs. A claim without a quantifier needs all.
QUANTIFIERS: dict[str, Callable[[int], int]] = {
    "all": lambda n: n,
    "most": lambda n: n // 2 + 1,  # more than half
    "often": lambda n: (n + 1) // 2,  # at least half
}


@dataclass(frozen=True)
class Method:
    """A method of the paper, or of this suite if ``own``. ``setting`` restricts it to one setting; "" means any."""

    name: str
    setting: str = ""
    own: bool = False

    def __str__(self) -> str:
        return ("own:" if self.own else "") + self.name + (f"[{self.setting}]" if self.setting else "")


#: types of the fields of tests, which ``ClaimTest`` checks: methods; names of tables, data sets, metrics.
OneMethod = str | Method
Methods = OneMethod | tuple[OneMethod, ...]
Words = tuple[str, ...]


def own(name: str) -> Method:
    """A method of this suite without a column in the paper."""
    return Method(name, own=True)


def methods_of(given: Methods) -> tuple[Method, ...]:
    """The alternatives that ``given`` names. Raises TypeError for anything except names and methods."""
    return tuple(method_of(m) for m in (given if isinstance(given, tuple) else (given,)))


def method_of(given: OneMethod) -> Method:
    """The method that ``given`` names. Raises TypeError if it is neither a name nor a method."""
    if not isinstance(given, str | Method):
        raise TypeError(f"{given!r} is no method; give a name, Method(...) or own(...)")
    return given if isinstance(given, Method) else Method(given)


class Data:
    """Scores by cell, each looked up once.

    ``extra`` is the folder of further tables, or None. ``ledger`` has rows of ``reports.ledger``, or is None if the
    epsilons of the cells are not known.
    """

    def __init__(
        self,
        config: dict[str, Any],
        scores: pd.DataFrame,
        numbers: pd.DataFrame,
        extra: Path | None = None,
        ledger: pd.DataFrame | None = None,
    ):
        self.extra = extra
        self.cost: dict[tuple, tuple[float, float]] = {} if ledger is None else _costs(scores, ledger)
        self.config, self.numbers, self.records = config, numbers, numbers.to_dict("records")
        self._answers: dict[tuple, list[dict[str, Any]]] = {}
        cell = ["dataset", "protocol", "method", "setting"]
        self.values = values_by(scores, *cell, "metric")
        self.status: dict[tuple, dict[str, str]] = {}
        for *key, split, status in scores[[*cell, "split", "status"]].drop_duplicates().to_numpy():
            self.status.setdefault(tuple(key), {})[split] = status

    def answers(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        key = tuple(row[k] for k in published_numbers.KEY)
        if key not in self._answers:
            self._answers[key] = answers_of(self.config, row, self.numbers)
        return self._answers[key]

    def diverged(self, key: tuple) -> bool:
        """Whether at least one split of that cell diverged and none has a score (``key`` with or without a metric)."""
        states = set(self.status.get(key[:4], {}).values())
        return "ok" not in states and "diverged" in states


def _costs(scores: pd.DataFrame, ledger: pd.DataFrame) -> dict[tuple, tuple[float, float]]:
    """Cell (dataset, protocol, method, setting) -> (claimed epsilon, the suite's epsilon of its ledger)."""
    names = scores[["cell", "dataset", "protocol", "method", "setting"]].drop_duplicates()
    total = ledger[(ledger["event"] == TOTAL) & ledger["cell"].isin(set(names["cell"]))]
    known = {}
    for cell, rows in total.groupby("cell", sort=False):
        epsilons = pd.to_numeric(rows["epsilon"], errors="coerce")
        answer = epsilons[rows["reason"].str.contains(ANSWER, regex=False)]
        epsilon = answer.iloc[0] if len(answer) else epsilons.max()
        known[cell] = (float(pd.to_numeric(rows["epsilon_claimed"], errors="coerce").iloc[0]), float(epsilon))
    return {tuple(key): known[cell] for cell, *key in names.itertuples(index=False) if cell in known}


@dataclass
class Context:
    """The input of a test: one reading of one source."""

    data: Data
    source: str
    reading: str
    #: readings that some cell of the claim has; a claim on non-private methods only has the printed one.
    used: set[str] = field(default_factory=set)
    #: cells that were compared, of any reading.
    compared: set[tuple] = field(default_factory=set)

    def privacy(self) -> tuple[str, str]:
        """WITHIN, ABOVE or INFINITE by the ledgers of the compared cells, and an explanation in words.

        A cell without a ledger is of a method without privacy, and is not counted. A ledger without an epsilon, such as
        one without an event, is not within its claim.
        """
        costs = {self.data.cost[key[:4]] for key in self.compared if key[:4] in self.data.cost}
        if any(math.isinf(epsilon) for _, epsilon in costs):
            return INFINITE, "epsilon is infinite by the ledger"
        if any(math.isnan(epsilon) for _, epsilon in costs):
            return ABOVE, "the ledger has no epsilon"
        above = [(epsilon / claim, claim, epsilon) for claim, epsilon in costs if epsilon > claim * (1 + ROUNDING)]
        if not above:
            return WITHIN, ""
        _, claim, epsilon = max(above)
        return ABOVE, f"epsilon up to {epsilon:.3g} for a claimed {claim:g} by the ledger"

    def rows(self, method: Method, tables: Sequence[str], datasets: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The published rows of one method of the paper in these tables, and on these data sets if any are given."""
        matches = [
            r
            for r in self.data.records
            if r["source"] == self.source
            and r["table"] in tables
            and r["method"] == method.name
            and (not datasets or r["dataset"] in datasets)
        ]
        return [r for r in matches if not method.setting or method.setting in r["setting"].split(";")]

    def cells(self, row: dict[str, Any]) -> list[tuple]:
        """Keys (dataset, protocol, method, setting, metric) of our cells for a published row, headline one first."""
        answers = self.data.answers(row)
        here = [a for a in answers if a["reading"] == self.reading]
        if here:
            self.used.add(self.reading)
        chosen = here or [a for a in answers if a["reading"] == "printed"]
        cells_of_ours = [(d, a["protocol"], a["method"], a["label"], m) for a in chosen for d, m in [ours_of(row, a)]]
        self.compared.update(cells_of_ours)
        return cells_of_ours

    def own(self, method: Method, beside: list[tuple]) -> list[tuple]:
        """Keys of a method of this suite, on the data sets and metrics of the cells with which it is compared."""
        pairs = dict.fromkeys((d, m) for d, *_, m in beside)
        return [(d, p, method.name, "", m) for d, m in pairs for p in self.data.config["protocols"]]


def parts_of(setting: str) -> dict[str, str]:
    """The ``key=value`` parts of a published setting."""
    return dict(p.split("=", 1) for p in setting.split(";") if "=" in p)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test. ``state``: HOLDS, REFUTED, UNDECIDED or UNTESTED; ``figure``, ``margin``: in words."""

    state: str
    figure: str
    margin: str = ""


class ClaimTest(ABC):
    """The base class of tests of a claim. Subclasses are frozen dataclasses. ``str`` gives the test for the table."""

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
        """The outcome of the claim in one reading, from the scores."""

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
class HoldsIn(ClaimTest):
    """A claim that a table of this suite decides instead of scores: ``file`` (CSV in the reference) and ``claim``.

    The table has columns ``claim``, ``reading``, ``holds`` (yes, no, unclear) and ``figure``, and at most one row with
    that claim per reading.
    """

    file: str
    claim: str

    def outcome(self, context: Context) -> Outcome:
        path = None if context.data.extra is None else context.data.extra / self.file
        if path is None or not path.is_file():
            return Outcome(UNTESTED, f"{self.file} is not made" if context.reading == "printed" else "")
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = table[table["claim"] == self.claim]
        if not len(rows):
            raise ReportError(f"{path}: no row with claim = {self.claim}")
        rows = rows[rows["reading"] == context.reading]
        if len(rows) > 1:
            raise ReportError(f"{path}: two rows with claim = {self.claim}, reading = {context.reading}")
        if not len(rows):
            return Outcome(UNTESTED, "")
        context.used.add(context.reading)
        states = {"yes": HOLDS, "no": REFUTED, "unclear": UNDECIDED}
        return Outcome(states[rows["holds"].iloc[0]], rows["figure"].iloc[0])


@dataclass(frozen=True, kw_only=True)
class NotTestable(ClaimTest):
    """A claim that no score can decide. ``why`` is the reason."""

    why: str

    def outcome(self, context: Context) -> Outcome:
        return Outcome(UNTESTED, self.why if context.reading == "printed" else "")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence of a source, or what one of its tables or figures shows.

    Attributes
    ----------
    id : unique among all papers. A finding names it as ``claim:<id>``.
    experiment : the experiment whose scores decide it.
    source : bibliography key.
    place : where it is in the source.
    quote : the source's own words, with "..." for omissions. It is ``read off table k`` or ``read off figure k`` if a
        table or figure shows the claim, and no sentence of the text states it.
    statement : what is tested, in the words of this suite.
    test : the test that decides it.
    proof : where the proof is, for a claim that is algebra or holds by construction. Its test then checks the proof.
    repair : what has to be changed for the corrected reading if there is no corrected method, in words after "if".
    same_as : id of the claim that this one repeats, in the same paper or in its other version.

    Raises :class:`reports.config.ReportError` for a claim without quote, statement or place, and TypeError for a test
    that is not a :class:`ClaimTest`.
    """

    id: str
    experiment: str
    source: str
    place: str
    quote: str
    statement: str
    test: ClaimTest
    proof: str = ""
    repair: str = ""
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
