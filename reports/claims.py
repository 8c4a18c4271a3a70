"""Claims of the papers, each tested on the scores.

``reports/published/claims.csv`` holds one row a claim: id, experiment (whose scores settle it), source, place, quote,
statement, test, proof, same_as.

``quote`` has the source's own words ("..." marks what is left out), or ``read off table k`` / ``read off figure k``
where the claim is what a table or figure shows and no sentence of the text. ``statement`` says in this suite's words
what is tested. ``proof`` names where the proof stands of a claim that is algebra or holds by construction; its test is
then a check of it. ``same_as`` names the earlier row of which this one is a repetition, in the same paper or in its
other version (:func:`distinct`).

A test is written

    better(ep+sep+clipped_sep, vi; tables=3,4; quantifier=all)

name of a registered function, then methods of the PAPER (``+`` joins alternatives, ``dp_sep[clip=1]`` picks a setting,
``own:adf`` is a method of this suite that the paper has no column for), then options. Which cell of ours stands for a
method of the paper is said by ``answers`` of the experiment's config, so a claim is tested for each reading: the
printed one first, then released, then corrected. A method without that reading (the non-private ones) keeps its
printed cell.

How a comparison is judged: over splits that both cells share, by the interval of ``evaluation.paired`` (corrected for
overlapping splits). A cell that diverged has lost. A number of a whole batch of data sets has no splits: its interval
is normal, with the two bootstrap deviations as if independent. ``same=epsilon`` compares only cells whose published
settings have the same epsilon.

How comparisons make a verdict (:func:`judge`): the quantifier is the source's, and none in its text means all. The
claim holds where as many comparisons as it needs are shown, and does not hold where so many are shown to be against it
that no longer enough can be left; each at a level that keeps the error of the verdict at 5 %. Anything else is ``not
told apart``. Claims that one method is not worse than another, or close to it, hold only within a margin that is
stated (:func:`_margin`).
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact, pearsonr
from scipy.stats import norm as normal

from evaluation.metrics import HIGHER_IS_BETTER
from evaluation.paired import RATIO_90_10, RATIO_THIRDS, Difference, median_paired, paired, unpaired
from reports import published as published_numbers
from reports.config import READINGS, ReportError
from reports.verdicts import BATCH, answers_of, finding_of, ours_of, read_findings

COLUMNS = [
    *("id", "verdict", "quote", "statement", "margin", "figure", "finding"),
    *("source", "place", "test", "proof", "same_as"),
]
#: what a claim's row must have.
FIELDS = ("id", "experiment", "source", "place", "quote", "statement", "test", "proof", "same_as")
HOLDS, ANOTHER, REFUTED, UNTOLD, UNTESTED, PROVED = VERDICTS = (
    *("holds", "holds in another reading", "does not hold"),
    *("not told apart", "not testable here", "by proof"),
)
FILE = Path(__file__).parent / "published" / "claims.csv"
ALPHA = 0.05
#: of n comparisons, how many a claim speaks of. A claim without a quantifier speaks of all.
QUANTIFIERS: dict[str, Callable[[int], int]] = {
    "all": lambda n: n,
    "most": lambda n: n // 2 + 1,  # more than half
    "often": lambda n: (n + 1) // 2,  # at least half
}
READ_OFF = re.compile(r"read off (table|figure) \w+( [a-z])?((,| and)( figure| table)? \w+( [a-z])?)*")
#: margins of "not worse", "comparable" and "close": share of an error, and nats.
SHARE, NATS = 0.10, math.log(1.1)
IN_NATS = ("test_log_likelihood", "heldout_nll")


@dataclass(frozen=True)
class Test:
    name: str
    methods: tuple[tuple[str, ...], ...]
    options: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """``state``: HOLDS, REFUTED, UNTOLD or UNTESTED; ``figure``: the numbers in words; ``margin``: in words."""

    state: str
    figure: str
    margin: str = ""


def parse(text: str) -> Test:
    """Read a test. Raises :class:`ReportError` for anything else than ``name(methods; key=value; ...)``."""
    match = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text, re.DOTALL)
    if not match:
        raise ReportError(f"claim test '{text}': write name(methods; key=value; ...)")
    name, inside = match.groups()
    if name not in TESTS:
        raise ReportError(f"claim test '{text}': no test '{name}'; there are {', '.join(sorted(TESTS))}")
    head, *rest = [p.strip() for p in inside.split(";")]
    options = {}
    for part in rest:
        key, sign, value = part.partition("=")
        if not sign:
            raise ReportError(f"claim test '{text}': option '{part}'; write key=value")
        options[key.strip()] = value.strip()
    methods = tuple(tuple(m.strip() for m in group.split("+")) for group in head.split(",") if group.strip())
    sides, needed = _NEEDS[name]
    if len(methods) != sides:
        raise ReportError(f"claim test '{text}': {name} compares {sides} group(s) of methods, {len(methods)} given")
    for key in needed:
        if key not in options:
            raise ReportError(f"claim test '{text}': option '{key}' is missing")
    if options.get("quantifier", "all") not in QUANTIFIERS:
        raise ReportError(f"claim test '{text}': quantifier is one of {', '.join(QUANTIFIERS)}")
    return Test(name, methods, options)


def read(path: Path = FILE) -> list[dict[str, str]]:
    """The claims of the papers.

    Raises :class:`ReportError` for a repeated id, an unreadable test, a claim without quote or statement, or one that
    is said to repeat none of the rows before it.
    """
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    originals: set[str] = set()
    for name in (ids := [r["id"] for r in rows]):
        if ids.count(name) > 1:
            raise ReportError(f"{path}: id '{name}' stands twice")
    for row in rows:
        parse(row["test"])
        for key in ("quote", "statement", "place"):
            if not row.get(key):
                raise ReportError(f"{path}: claim '{row['id']}' has no {key}")
        if row["quote"].startswith("read off") and not READ_OFF.fullmatch(row["quote"]):
            raise ReportError(f"{path}: claim '{row['id']}': write 'read off table k' or 'read off figure k'")
        if not row["same_as"]:
            originals.add(row["id"])
        elif row["same_as"] not in originals:
            raise ReportError(
                f"{path}: claim '{row['id']}' is the same as '{row['same_as']}', which is no row above it"
            )
    return rows


def distinct(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims that repeat no other one."""
    return frame[frame["same_as"] == ""]


def evaluate(
    config: dict[str, Any],
    scores: pd.DataFrame,
    claims: list[dict[str, str]] | None = None,
    published: pd.DataFrame | None = None,
    findings: pd.DataFrame | None = None,
    extra: Path | None = None,
) -> pd.DataFrame:
    """Verdict on every claim that the experiment settles, columns ``COLUMNS``, in the order of the file.

    ``extra``: folder of the tables that are no scores (:func:`holds_in`); None: there are none.

    A finding is attached where its index row names the method ``claim:<id>``.
    """
    numbers = published_numbers.load() if published is None else published
    index = (read_findings() if findings is None else findings).to_dict("records")
    index = [f for f in index if f["method"].startswith("claim:")]
    mine = scores[scores["experiment"] == config["experiment"]]
    data = _Data(config, mine, numbers, extra)
    rows = []
    for claim in read() if claims is None else claims:
        if claim.get("experiment", config["experiment"]) != config["experiment"]:
            continue
        if claim["source"] not in config["sources"]:
            continue
        test = parse(claim["test"])
        outcomes: dict[str, Outcome] = {}
        for reading in READINGS:
            context = Context(data, claim["source"], reading)
            outcome = TESTS[test.name](context, test)
            if reading == "printed" or reading in context.used:
                outcomes[reading] = outcome
        asked = {"source": claim["source"], "method": f"claim:{claim['id']}", "reading": "*", "dataset": "*"}
        finding = finding_of(asked, [f | {"reading": "*", "dataset": "*"} for f in index])
        rows.append(
            {k: claim.get(k, "") for k in COLUMNS}
            | {
                "verdict": _decide(outcomes, claim.get("proof", "")),
                "margin": next((o.margin for o in outcomes.values() if o.margin), "none"),
                "figure": " | ".join(f"{reading}: {o.figure}" for reading, o in outcomes.items() if o.figure),
                "finding": finding,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _decide(outcomes: dict[str, Outcome], proof: str = "") -> str:
    """The printed reading where the claim holds in it; else another in which it does.

    A claim that holds in none does not hold only where every reading that could be tested refutes it: one that leaves
    it open (the authors' program, say) leaves it ``not told apart``. A claim with a proof is ``by proof`` only as long
    as its check, in the printed reading, agrees.
    """
    if outcomes["printed"].state == HOLDS:
        return PROVED if proof else HOLDS
    states = {o.state for o in outcomes.values()}
    return next((word for state, word in ((HOLDS, ANOTHER), (UNTOLD, UNTOLD), (REFUTED, REFUTED)) if state in states),
                UNTESTED)  # fmt: skip


class _Data:
    """Scores by cell, looked up once."""

    def __init__(self, config: dict[str, Any], scores: pd.DataFrame, numbers: pd.DataFrame, extra: Path | None = None):
        self.extra = extra
        self.config, self.numbers, self.records = config, numbers, numbers.to_dict("records")
        self._answers: dict[tuple, list[dict[str, Any]]] = {}
        self.values: dict[tuple, dict[str, float]] = {}
        self.status: dict[tuple, dict[str, str]] = {}
        fields = ("dataset", "protocol", "method", "setting", "split", "metric", "value", "status")
        for d, p, m, s, split, metric, value, status in zip(*(scores[f] for f in fields), strict=True):
            self.status.setdefault((d, p, m, s), {})[split] = status
            if status == "ok":
                self.values.setdefault((d, p, m, s, metric), {})[split] = float(value)

    def answers(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        key = tuple(row[k] for k in published_numbers.KEY)
        if key not in self._answers:
            self._answers[key] = answers_of(self.config, row, self.numbers)
        return self._answers[key]

    def diverged(self, key: tuple) -> bool:
        """No split of that cell (with or without a metric) has a score and at least one diverged."""
        states = set(self.status.get(key[:4], {}).values())
        return "ok" not in states and "diverged" in states


@dataclass
class Context:
    """What a test sees: one reading of one source."""

    data: _Data
    source: str
    reading: str
    #: readings that some cell of the claim really has (a claim on non-private methods has the printed one only).
    used: set[str] = field(default_factory=set)

    def budgets(self, method: str, dataset: str, metric: str) -> dict[str, tuple]:
        """Keys of OUR cells of ``method[label]`` by the budget that ends their setting (``order=1;epsilon=e^0``)."""
        name, label = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", method).groups()
        start = f"{label};" if label else ""
        return {
            s.removeprefix(start): (d, p, m, s, metric)
            for d, p, m, s in self.data.status
            if (d, m) == (dataset, name) and s.startswith(f"{start}order=")
        }

    def rows(self, method: str, options: dict[str, str]) -> list[dict[str, Any]]:
        """Published rows of one method of the paper in the tables (and data sets) of the test."""
        name, setting = re.fullmatch(r"([^\[]+)(?:\[(.*)\])?", method).groups()
        tables = _list(options["tables"])
        datasets = _list(options["datasets"]) if "datasets" in options else None
        found = [
            r
            for r in self.data.records
            if r["source"] == self.source
            and r["table"] in tables
            and r["method"] == name
            and (datasets is None or r["dataset"] in datasets)
        ]
        return [r for r in found if setting is None or setting in r["setting"].split(";")]

    def cells(self, row: dict[str, Any]) -> list[tuple]:
        """Keys (dataset, protocol, method, setting, metric) of ours for a published row, the headline one first."""
        answers = self.data.answers(row)
        here = [a for a in answers if a["reading"] == self.reading]
        if here:
            self.used.add(self.reading)
        chosen = here or [a for a in answers if a["reading"] == "printed"]
        return [(d, a["protocol"], a["method"], a["label"], m) for a in chosen for d, m in [ours_of(row, a)]]

    def own(self, method: str, beside: list[tuple]) -> list[tuple]:
        """Keys of a method of this suite on the data sets and metrics of the cells it is compared with."""
        pairs = dict.fromkeys((d, m) for d, *_, m in beside)
        return [(d, p, method, "", m) for d, m in pairs for p in self.data.config["protocols"]]


@dataclass(frozen=True)
class Comparison:
    """One comparison of two cells, or one trend.

    ``at(alpha)``: interval of level 1 - alpha of what the claim says is positive. ``margin``: how far below 0 it may be
    (and, ``close``: above). ``forfeit``: +1, the other side diverged; -1, this one did. ``paper``: the same difference
    of the printed means.
    """

    what: str
    at: Callable[[float], Difference] | None
    forfeit: int = 0
    paper: float | None = None
    margin: float = 0.0
    close: bool = False

    @property
    def mean_in_favour(self) -> bool:
        if self.forfeit:
            return self.forfeit > 0
        d = self.at(ALPHA).difference
        return d > -self.margin and not (self.close and d >= self.margin)

    def shown(self, alpha: float) -> bool:
        """The interval lies where the claim says."""
        if self.forfeit:
            return self.forfeit > 0
        d = self.at(alpha)
        return d.low > -self.margin and not (self.close and not d.high < self.margin)

    def against(self, alpha: float) -> bool:
        """The interval lies outside of it."""
        if self.forfeit:
            return self.forfeit < 0
        d = self.at(alpha)
        return d.high < -self.margin or (self.close and d.low > self.margin)

    def room(self) -> float:
        """Distance to what the claim rules out, in half widths of the interval (the least favourable: the smallest)."""
        if self.forfeit:
            return math.inf * self.forfeit
        d = self.at(ALPHA)
        room = self.margin - abs(d.difference) if self.close else self.margin + d.difference
        half = (d.high - d.low) / 2
        return room / half if half > 0 else math.copysign(math.inf, room) if math.isfinite(half) else room

    def told(self, alpha: float) -> str:
        if self.forfeit:
            return f"{self.what}: the other diverged" if self.forfeit > 0 else f"{self.what}: diverged"
        d = self.at(alpha)
        interval = f"[{d.low:.3g}, {d.high:.3g}]" if math.isfinite(d.low) else "(one run: no interval)"
        return f"{self.what}: {d.difference:.3g} {interval}" + (f", margin {self.margin:.3g}" if self.margin else "")


@dataclass
class Absent:
    """Comparisons that could not be made: ``single`` of a number that the paper has from one run, ``other`` of it.

    A number of one run has no interval in the paper either: the claim is judged without it. Any other one counts as not
    shown.
    """

    other: int = 0
    single: int = 0

    def add(self, row: dict[str, Any] | None = None) -> None:
        if row is not None and not row["std"]:
            self.single += 1
        else:
            self.other += 1


def judge(made: list[Comparison], absent: Absent, test: Test, unit: str = "comparisons") -> Outcome:
    """Verdict on a claim from its comparisons, and their numbers.

    Of n comparisons the claim needs u (its quantifier). It holds where u of them are shown at the level 5 % / (n - u +
    1), and does not hold where n - u + 1 of them are shown to be against it at 5 % / u (Benjamini and Heller 2008,
    partial conjunctions: for "all" it holds where each interval of 95 % says so, and fails where one of 1 - 5 % / n is
    against it). Both intervals have two sides, of which one counts: together the verdict is wrong in 5 % at most.
    """
    margin = "; ".join(dict.fromkeys(_margin_words(test, c) for c in made if c.margin))
    if not made:
        return Outcome(UNTESTED, "no scores for it")
    n = len(made) + absent.other
    need = QUANTIFIERS[test.options.get("quantifier", "all")](n)
    level = ALPHA / (n - need + 1)
    shown = [c for c in made if c.shown(level)]
    against = [c for c in made if c.against(ALPHA / need)]
    state = HOLDS if len(shown) >= need else REFUTED if len(against) >= n - need + 1 else UNTOLD
    where = "within the margin" if margin else "in favour"
    by_mean = sum(c.mean_in_favour for c in made)
    text = (
        f"{by_mean} of {len(made)} {unit} {where} by mean, {len(shown)} significantly, "
        f"{len(against)} significantly against"
    )
    if against:
        text += f" ({'; '.join(c.what for c in against[:4])}{'; ...' if len(against) > 4 else ''})"
    printed = [c.paper for c in made if c.paper is not None]
    if printed:
        text += f"; the paper's own numbers: {sum(p > 0 for p in printed)} of {len(printed)}"
    if absent.other:
        text += f"; {absent.other} without scores, not shown"
    if absent.single:
        text += f"; {absent.single} without scores, of one run in the paper, not judged"
    ranked = sorted(made, key=Comparison.room)
    named = ranked if len(made) <= 3 else [ranked[0], ranked[-1]]
    text += f"; {100 * (1 - level):.3g} % intervals" + (", least and most favourable" if len(made) > 3 else "")
    text += ": " + "; ".join(c.told(level) for c in named)
    return Outcome(state, text, margin)


def _margin(test: Test, metric: str, reference: float, spread: float) -> float:
    """How much worse still counts as not worse: one published spread where the test asks for it, else ln 1.1 nats of
    a log-likelihood, 10 % of an error (``reference``: the other method's mean)."""
    if test.options.get("margin") == "spread":
        return spread
    return NATS if metric in IN_NATS else SHARE * abs(reference)


def _margin_words(test: Test, comparison: Comparison) -> str:
    if test.options.get("margin") == "spread":
        return "one published spread"
    return "ln 1.1 nats" if comparison.margin == NATS else "10 % of the error"


def _compare(
    context: Context, test: Test, margin: bool = False, close: bool = False
) -> tuple[list[Comparison], Absent]:
    """All comparisons of a two-sided test, and how many could not be made."""
    first, second = test.methods
    wanted = []
    for a in first:
        for b in second:
            own = next((m.removeprefix("own:") for m in (a, b) if m.startswith("own:")), None)
            if own is not None:
                flip = a.startswith("own:")
                for row in context.rows(b if flip else a, test.options):
                    cells = context.cells(row)
                    pair = (cells, context.own(own, cells))
                    wanted.append((row, *(pair[::-1] if flip else pair), f"{a} vs {b}", None, math.nan))
                continue
            for ra in context.rows(a, test.options):
                for rb in context.rows(b, test.options):
                    if _alike(ra, test.options) == _alike(rb, test.options):
                        gap = _sign(ra["metric"]) * (float(ra["mean"]) - float(rb["mean"]))
                        spread = max((float(r["std"]) for r in (ra, rb) if r["std"]), default=math.nan)
                        wanted.append((ra, context.cells(ra), context.cells(rb), f"{a} vs {b}", gap, spread))
    made, absent = [], Absent()
    for row, cells_a, cells_b, pair, gap, spread in wanted:
        what = ", ".join([pair, *_alike(row, test.options)[1:]])
        found = _difference(context.data, cells_a, cells_b, row["metric"])
        if found is None:
            absent.add(row)
            continue
        at, forfeit, reference = found
        allowed = _margin(test, row["metric"], reference, spread) if margin else 0.0
        if margin and gap is not None:  # the paper's own numbers, by the same margin of its own reference
            theirs = _margin(test, row["metric"], _published_reference(context, test, row), spread)
            gap = (theirs - abs(gap) if close else theirs + gap) + 1e-9  # the margin itself counts as within
        made.append(Comparison(what, at, forfeit, gap, allowed, close))
    return made, absent


def _published_reference(context: Context, test: Test, row: dict[str, Any]) -> float:
    """Printed mean of the method that ``row`` is compared with (the largest, where there are several)."""
    same = [r for b in test.methods[1] if not b.startswith("own:") for r in context.rows(b, test.options)]
    return max((abs(float(r["mean"])) for r in same if _alike(r, test.options) == _alike(row, test.options)), default=0)


def _alike(row: dict[str, Any], options: dict[str, str]) -> tuple[str, ...]:
    """What two published rows must have in common to be compared: table, data set, metric, the setting's ``same``."""
    keys = _list(options["same"]) if "same" in options else []
    parts = dict(p.split("=", 1) for p in row["setting"].split(";") if "=" in p)
    return (row["table"], row["dataset"], row["metric"], *(f"{k} = {parts.get(k, 'none')}" for k in keys))


#: overlap of the training rows of two runs, n_test / n_train; protocols whose runs share one split are independent.
_RATIOS = {"thirds": RATIO_THIRDS, "repeats": 0.0, "official": 0.0}


def _batch_difference(data: _Data, a: tuple, b: tuple) -> tuple[Callable[[float], Difference], float] | None:
    """Interval (lower is better) of two numbers of whole batches, and the second; None where one has no score."""
    spread, each = BATCH[a[4]]
    found = [[data.values.get((*key[:4], m), {}) for m in (key[4], spread, each)] for key in (a, b)]
    if not all(value and sd for value, sd, _ in found):
        return None
    (va, sa, na), (vb, sb, nb) = ((value[""], sd[""], len(of)) for value, sd, of in found)
    difference = _sign(a[4]) * (va - vb)

    def at(alpha: float) -> Difference:
        half = float(normal.isf(alpha / 2)) * math.hypot(sa, sb)
        return Difference(difference, difference - half, difference + half, min(na, nb), False)

    return at, vb


def _difference(
    data: _Data, cells_a, cells_b, metric: str
) -> tuple[Callable[[float], Difference] | None, int, float] | None:
    """(interval of the difference toward a by level, forfeit, mean of b) of the first pair of cells of one protocol,
    else of any two; None if there is none."""
    pairs = [(a, b) for a in cells_a for b in cells_b]
    pairs.sort(key=lambda ab: ab[0][1] != ab[1][1])
    for a, b in pairs:
        if metric in BATCH:
            if (found := _batch_difference(data, a, b)) is not None:
                return found[0], 0, found[1]
            continue
        va, vb = data.values.get(a), data.values.get(b)
        if va and vb:
            sign = _sign(metric)
            va, vb = ({k: sign * v for k, v in x.items()} for x in (va, vb))
            same = a[1] == b[1] and set(va) & set(vb)
            ratio = max(_RATIOS.get(protocol, RATIO_90_10) for protocol in (a[1], b[1]))
            interval = partial(paired if same else unpaired, va, vb, ratio=ratio)
            return lambda alpha, f=interval: f(alpha=alpha), 0, float(np.mean(list(vb.values())))
        lost = int(bool(va) and data.diverged(b)) - int(bool(vb) and data.diverged(a))
        if lost:
            return None, lost, math.nan
    return None


def _sign(metric: str) -> int:
    return 1 if HIGHER_IS_BETTER[metric] else -1


def better(context: Context, test: Test) -> Outcome:
    """The first methods score better than the second, in as many comparisons as ``quantifier`` says."""
    return judge(*_compare(context, test), test)


def not_worse(context: Context, test: Test) -> Outcome:
    """ "Comparable", "not worse": the first methods are not worse than the second by more than the margin."""
    return judge(*_compare(context, test, margin=True), test)


def within(context: Context, test: Test) -> Outcome:
    """ "Close to", "as good as": the first methods differ from the second by less than the margin, either way."""
    return judge(*_compare(context, test, margin=True, close=True), test)


def _along(
    context: Context, test: Test
) -> list[tuple[dict[str, Any], dict[float, dict[str, float]], dict[float, str]]]:
    """Per table and data set: (row, {value of the parameter: {split: score}}, {value: printed spread or mean})."""
    parameter = test.options["along"]
    series: dict[tuple, tuple] = {}
    for row in context.rows(test.methods[0][0], test.options):
        value = dict(p.split("=", 1) for p in row["setting"].split(";") if "=" in p).get(parameter)
        if value is None:
            continue
        key = (row["table"], row["dataset"], row["metric"])
        entry = series.setdefault(key, (row, {}, {}))
        entry[2][float(value)] = row["mean"] if test.name == "worsens" else row["std"]
        for cell in context.cells(row):
            found = context.data.values.get(cell)
            if found:
                entry[1][float(value)] = found
                break
    return list(series.values())


def at_every_budget(context: Context, test: Test) -> Outcome:
    """OUR first methods score better than OUR second at every budget, on every data set, in every one of ``metrics``.

    Judged like :func:`better`. ``corrected``: what takes the place of the second methods in the corrected reading.
    """
    return judge(*_at_budgets(context, test), test)


def never_worse(context: Context, test: Test) -> Outcome:
    """OUR first methods are at no budget worse than OUR second by more than the margin."""
    return judge(*_at_budgets(context, test, margin=True), test)


def _at_budgets(context: Context, test: Test, margin: bool = False) -> tuple[list[Comparison], Absent]:
    first, second = test.methods
    if context.reading != "printed":
        if "corrected" not in test.options or context.reading != "corrected":
            return [], Absent()
        second = tuple(test.options["corrected"].split("+"))
        context.used.add(context.reading)
    datasets = dict.fromkeys(d for d, *_ in context.data.status)
    wanted = []
    for dataset, metric, a, b in itertools.product(datasets, _list(test.options["metrics"]), first, second):
        ours, others = (context.budgets(m, dataset, metric) for m in (a, b))
        wanted += [(f"{a} vs {b}, {dataset}, {metric}, {k}", ours[k], others[k]) for k in ours if k in others]
    made, absent = [], Absent()
    for what, a, b in wanted:
        found = _difference(context.data, [a], [b], a[4])
        if found is None:
            absent.add()
            continue
        at, forfeit, reference = found
        made.append(Comparison(what, at, forfeit, margin=_margin(test, a[4], reference, 0.0) if margin else 0.0))
    return made, absent


def worsens(context: Context, test: Test) -> Outcome:
    """Scores get worse as the parameter grows: slope on its logarithm, split by split, for ``quantifier`` of them."""
    made, absent = [], Absent()
    series = _along(context, test)
    for row, scores, printed in series:
        common = set.intersection(*map(set, scores.values())) if len(scores) > 1 else set()
        if len(scores) < len(printed) or not common:
            absent.add(row)
            continue
        grid, first = np.log(sorted(scores)), min(scores)
        centred = grid - grid.mean()
        worse = {
            # less the first, so that a flat series has slope 0 and not a rounding error
            k: -_sign(row["metric"])
            * float(centred @ [scores[c][k] - scores[first][k] for c in sorted(scores)] / (centred @ centred))
            for k in common
        }
        slope = partial(paired, worse, dict.fromkeys(worse, 0.0))
        ends = -_sign(row["metric"]) * (float(printed[max(printed)]) - float(printed[min(printed)]))
        made.append(Comparison(f"{row['dataset']}, {row['metric']}", slope, 0, ends))
    return judge(made, absent, test, "trends")


def spreads(context: Context, test: Test) -> Outcome:
    """The spread over splits is larger at the largest value of the parameter than at the smallest.

    Pitman-Morgan test of two variances measured on the same splits: correlation of sum and difference.
    """
    made, absent = [], Absent()
    series = _along(context, test)
    for row, scores, printed in series:
        if len(scores) < len(printed) or len(scores) < 2:
            absent.add(row)
            continue
        low, high = scores[min(scores)], scores[max(scores)]
        common = sorted(set(low) & set(high))
        a, b = np.array([low[k] for k in common]), np.array([high[k] for k in common])
        if len(common) < 4 or np.ptp(b - a) == 0 or np.ptp(b + a) == 0:
            absent.add(row)
            continue
        ends = [printed[max(printed)], printed[min(printed)]]
        paper = float(ends[0]) - float(ends[1]) if all(ends) else None
        what = f"{row['dataset']}, {row['metric']}, correlation of sum and difference"
        made.append(Comparison(what, partial(_correlation, a + b, b - a), 0, paper))
    return judge(made, absent, test, "trends")


def _correlation(x: np.ndarray, y: np.ndarray, alpha: float) -> Difference:
    found = pearsonr(x, y)
    ci = found.confidence_interval(1 - alpha)
    return Difference(float(found.statistic), float(ci.low), float(ci.high), len(x), True)


def fails_less(context: Context, test: Test) -> Outcome:
    """The first method loses fewer splits (failed, diverged, timeout) than the second: Fisher's exact test."""
    counts = []
    for (method,) in test.methods:
        cells = {cell for row in context.rows(method, test.options) for cell in context.cells(row)[:1]}
        states = [
            s
            for c in cells
            for s in context.data.status.get(c[:4], {}).values()
            if s not in ("no_data", "not_supported")
        ]
        counts.append((sum(s != "ok" for s in states), len(states)))
    (fa, na), (fb, nb) = counts
    if not na or not nb:
        return Outcome(UNTESTED, "no scores for it")
    figure = f"splits without a score: {fa} of {na} against {fb} of {nb}"
    if fa == fb == 0:
        return Outcome(UNTOLD, figure + ": neither fails, so nothing can be told")
    table = [[fa, na - fa], [fb, nb - fb]]
    less, more = (float(fisher_exact(table, alternative=side).pvalue) for side in ("less", "greater"))
    state = HOLDS if less < ALPHA / 2 else REFUTED if more < ALPHA / 2 else UNTOLD
    return Outcome(state, f"{figure} (p = {less:.2g} for fewer, {more:.2g} for more)")


def larger(context: Context, test: Test) -> Outcome:
    """``metric`` (one of ours) is larger for the first methods than for the second, data set by data set.

    For independent data sets and scores of any law: the median difference and its distribution-free interval
    (``evaluation.paired.median_paired``).
    """
    first, second = test.methods
    wanted: dict[tuple, tuple] = {}
    for a in first:
        for b in second:
            for ra in context.rows(a, test.options):
                cell = context.cells(ra)[0][:4]
                if b.startswith("own:"):
                    others = [k[:4] for k in context.own(b.removeprefix("own:"), context.cells(ra))]
                else:
                    others = [context.cells(rb)[0][:4] for rb in context.rows(b, test.options)]
                wanted |= {(cell, other): f"{_called(cell)} vs {_called(other)}" for other in others}
    return _medians(context, test, [(a, b, what) for (a, b), what in wanted.items()], test.options["metric"], 1)


def closer(context: Context, test: Test) -> Outcome:
    """``metric`` (of the paper) gets better with each step up of the parameter ``along``; see :func:`larger`."""
    found: dict[float, tuple] = {}
    for row in context.rows(test.methods[0][0], test.options):
        value = dict(p.split("=", 1) for p in row["setting"].split(";") if "=" in p).get(test.options["along"])
        if value is not None and row["metric"] == test.options["metric"]:
            found[float(value)] = context.cells(row)[0]
    steps = sorted(found)
    pairs = [(found[b], found[a], f"{test.options['along']} {a:g} to {b:g}") for a, b in itertools.pairwise(steps)]
    return _medians(context, test, pairs, None, _sign(test.options["metric"]))


def _called(cell: tuple) -> str:
    return cell[2] + (f" [{cell[3]}]" if cell[3] else "")


def _medians(context: Context, test: Test, pairs: list[tuple], metric: str | None, sign: int) -> Outcome:
    """``sign`` x (first - second) is above 0 at the median of every pair of cells; metric None: in the cells."""
    made, absent = [], Absent()
    for a, b, what in pairs:
        va, vb = (context.data.values.get((*k[:4], metric or k[4]), {}) for k in (a, b))
        if not (common := set(va) & set(vb)):
            absent.add()
            continue
        signed = ({k: sign * v for k, v in x.items()} for x in (va, vb))
        made.append(Comparison(f"{what}, median over {len(common)} data sets", partial(median_paired, *signed)))
    return judge(made, absent, test)


def holds_in(context: Context, test: Test) -> Outcome:
    """A claim settled by a table of this suite that is no score: ``file`` (CSV in the reference) and ``claim``.

    The table has columns ``claim``, ``reading``, ``holds`` (yes, no, unclear) and ``figure``, and at most one row of
    that name a reading.
    """
    path = None if context.data.extra is None else context.data.extra / test.options["file"]
    if path is None or not path.is_file():
        return Outcome(UNTESTED, f"{test.options['file']} is not made" if context.reading == "printed" else "")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = table[table["claim"] == test.options["claim"]]
    if not len(rows):
        raise ReportError(f"{path}: no row with claim = {test.options['claim']}")
    rows = rows[rows["reading"] == context.reading]
    if len(rows) > 1:
        raise ReportError(f"{path}: two rows with claim = {test.options['claim']}, reading = {context.reading}")
    if not len(rows):
        return Outcome(UNTESTED, "")
    context.used.add(context.reading)
    states = {"yes": HOLDS, "no": REFUTED, "unclear": UNTOLD}
    return Outcome(states[rows["holds"].iloc[0]], rows["figure"].iloc[0])


def needs(context: Context, test: Test) -> Outcome:
    """A claim about an experiment that this suite does not run (yet)."""
    return Outcome(UNTESTED, f"needs the experiment {test.methods[0][0]}" if context.reading == "printed" else "")


def not_testable(context: Context, test: Test) -> Outcome:
    """A claim that no score can settle; ``why`` says the reason."""
    return Outcome(UNTESTED, test.options["why"] if context.reading == "printed" else "")


TESTS: dict[str, Callable[[Context, Test], Outcome]] = {
    f.__name__: f
    for f in (
        *(better, not_worse, within, at_every_budget, never_worse, worsens, spreads, fails_less, larger, closer),
        holds_in,
        *(needs, not_testable),
    )
}
#: test -> (groups of methods, options that it must have)
_NEEDS = {
    "better": (2, ("tables",)),
    "not_worse": (2, ("tables",)),
    "within": (2, ("tables",)),
    "at_every_budget": (2, ("metrics",)),
    "never_worse": (2, ("metrics",)),
    "worsens": (1, ("tables", "along")),
    "spreads": (1, ("tables", "along")),
    "fails_less": (2, ("tables",)),
    "larger": (2, ("tables", "metric")),
    "closer": (1, ("tables", "along", "metric")),
    "holds_in": (0, ("file", "claim")),
    "needs": (1, ()),
    "not_testable": (0, ("why",)),
}


def _list(text: str) -> list[str]:
    return [p.strip() for p in text.split(",")]
