"""Comparative sentences of the papers, each tested on the scores.

``reports/published/claims.csv`` holds one row a sentence: id, experiment (whose scores settle it), source, place,
statement, test. A test is written

    better(ep+sep+clipped_sep, vi; tables=3,4; quantifier=all)

name of a registered function, then methods of the PAPER (``+`` joins alternatives, ``dp_sep[clip=1]`` picks a setting,
``own:adf`` is a method of this suite that the paper has no column for), then options. Which cell of ours stands for a
method of the paper is said by ``answers`` of the experiment's config, so a claim is tested for each reading: the
printed one first, then released, then corrected. A method without that reading (the non-private ones) keeps its
printed cell.

How a comparison is judged: over splits that both cells share, by the interval of ``evaluation.paired`` (corrected for
overlapping splits) at 5 % divided by the number of comparisons of the claim. A cell that diverged has lost. A number of
a whole batch of data sets has no splits: its interval is normal, with the two bootstrap deviations as if independent.
``same=epsilon`` compares only cells whose published settings have the same epsilon.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
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

COLUMNS = ["id", "verdict", "figure", "finding", "source", "place", "statement", "test"]
VERDICTS = ("holds", "holds under another reading", "does not hold", "not testable here")
FILE = published_numbers.HERE / "claims.csv"
ALPHA = 0.05
#: share of the comparisons whose mean must favour the sentence: strictly more than, or equal to where it is 1.
QUANTIFIERS = {"all": 1.0, "most": 0.5, "often": 0.5}


@dataclass(frozen=True)
class Test:
    name: str
    methods: tuple[tuple[str, ...], ...]
    options: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """``state``: True (holds), False (does not), None (cannot be told); ``figure``: the numbers in words."""

    state: bool | None
    figure: str


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
    """The claims of the papers. Raises :class:`ReportError` for a repeated id or an unreadable test."""
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    ids = [r["id"] for r in rows]
    for name in ids:
        if ids.count(name) > 1:
            raise ReportError(f"{path}: id '{name}' stands twice")
    for row in rows:
        parse(row["test"])
    return rows


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

    The printed reading decides where it can be told; else ``holds under another reading`` if released or corrected
    does. A finding is attached where its index row names the method ``claim:<id>``.
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
        verdict, figure = _decide(outcomes)
        asked = {"source": claim["source"], "method": f"claim:{claim['id']}", "reading": "*", "dataset": "*"}
        finding = finding_of(asked, [f | {"reading": "*", "dataset": "*"} for f in index])
        rows.append({k: claim[k] for k in ("id", "source", "place", "statement", "test")}
                    | {"verdict": verdict, "figure": figure, "finding": finding})  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def _decide(outcomes: dict[str, Outcome]) -> tuple[str, str]:
    figure = " | ".join(f"{reading}: {o.figure}" for reading, o in outcomes.items() if o.figure)
    if outcomes["printed"].state:
        return "holds", figure
    others = [o.state for reading, o in outcomes.items() if reading != "printed"]
    if any(others):
        return "holds under another reading", figure
    # Where the printed reading cannot be told, the others speak only if all of them say no.
    if outcomes["printed"].state is False or (others and all(state is False for state in others)):
        return "does not hold", figure
    return "not testable here", figure


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
    """``toward`` > 0: the data favour the sentence. ``paper``: the same difference of the printed means."""

    what: str
    toward: Difference | None
    forfeit: int = 0  # +1: the other side diverged, -1: this one did
    paper: float | None = None

    @property
    def sign(self) -> int:
        return self.forfeit or int(np.sign(self.toward.difference))

    @property
    def certain(self) -> int:
        return self.forfeit or (self.sign if self.toward.significant else 0)


def _compare(context: Context, test: Test) -> tuple[list[Comparison], int]:
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
                    wanted.append((row, *(pair[::-1] if flip else pair), f"{a} vs {b}", None))
                continue
            for ra in context.rows(a, test.options):
                for rb in context.rows(b, test.options):
                    if _alike(ra, test.options) == _alike(rb, test.options):
                        gap = _sign(ra["metric"]) * (float(ra["mean"]) - float(rb["mean"]))
                        wanted.append((ra, context.cells(ra), context.cells(rb), f"{a} vs {b}", gap))
    made, missing = [], 0
    alpha = ALPHA / max(1, len(wanted))
    for row, cells_a, cells_b, pair, paper in wanted:
        what = ", ".join([pair, *_alike(row, test.options)[1:]])
        found = _difference(context.data, cells_a, cells_b, row["metric"], alpha)
        if found is None:
            missing += 1
            continue
        made.append(Comparison(what, *found, paper))
    return made, missing


def _alike(row: dict[str, Any], options: dict[str, str]) -> tuple[str, ...]:
    """What two published rows must have in common to be compared: table, data set, metric, the setting's ``same``."""
    keys = _list(options["same"]) if "same" in options else []
    parts = dict(p.split("=", 1) for p in row["setting"].split(";") if "=" in p)
    return (row["table"], row["dataset"], row["metric"], *(f"{k} = {parts.get(k, 'none')}" for k in keys))


#: overlap of the training rows of two runs, n_test / n_train; protocols whose runs share one split are independent.
_RATIOS = {"thirds": RATIO_THIRDS, "repeats": 0.0, "official": 0.0}


def _batch_difference(data: _Data, a: tuple, b: tuple, alpha: float) -> Difference | None:
    """The difference toward a (lower is better) of two numbers of whole batches; None where one has no score."""
    spread, each = BATCH[a[4]]
    found = [[data.values.get((*key[:4], m), {}) for m in (key[4], spread, each)] for key in (a, b)]
    if not all(value and sd for value, sd, _ in found):
        return None
    (va, sa, na), (vb, sb, nb) = ((value[""], sd[""], len(of)) for value, sd, of in found)
    difference = _sign(a[4]) * (va - vb)
    half = float(normal.isf(alpha / 2)) * math.hypot(sa, sb)
    return Difference(difference, difference - half, difference + half, min(na, nb), False)


def _difference(data: _Data, cells_a, cells_b, metric: str, alpha: float):
    """(difference toward a, forfeit) for the first pair of cells of one protocol, else of any two; None if none."""
    pairs = [(a, b) for a in cells_a for b in cells_b]
    pairs.sort(key=lambda ab: ab[0][1] != ab[1][1])
    for a, b in pairs:
        if metric in BATCH:
            if (found := _batch_difference(data, a, b, alpha)) is not None:
                return found, 0
            continue
        va, vb = data.values.get(a), data.values.get(b)
        if va and vb:
            sign = _sign(metric)
            va, vb = ({k: sign * v for k, v in x.items()} for x in (va, vb))
            same = a[1] == b[1] and set(va) & set(vb)
            ratio = max(_RATIOS.get(protocol, RATIO_90_10) for protocol in (a[1], b[1]))
            return (paired if same else unpaired)(va, vb, alpha, ratio), 0
        lost = int(bool(va) and data.diverged(b)) - int(bool(vb) and data.diverged(a))
        if lost:
            return None, lost
    return None


def _sign(metric: str) -> int:
    return 1 if HIGHER_IS_BETTER[metric] else -1


def _counts(made: list[Comparison], missing: int, unit: str = "comparisons") -> str:
    total = len(made)
    favour = sum(c.sign > 0 for c in made)
    sure, against = sum(c.certain > 0 for c in made), [c.what for c in made if c.certain < 0]
    text = f"{favour} of {total} {unit} in favour by mean, {sure} of them surely, {len(against)} surely against"
    if against:
        text += f" ({'; '.join(against[:4])}{'; ...' if len(against) > 4 else ''})"
    printed = [c.paper for c in made if c.paper is not None]
    if printed:
        text += f"; the paper's own numbers: {sum(p > 0 for p in printed)} of {len(printed)}"
    if missing:
        text += f"; {missing} without scores"
    return text


def better(context: Context, test: Test) -> Outcome:
    """The first methods score better than the second, for ``quantifier`` = all, most or often of the comparisons.

    Holds if enough means say so, at least one comparison is sure and more are sure for it than against it. Means
    alone, none of them sure in either direction, tell nothing for it or against it.
    """
    made, missing = _compare(context, test)
    if not made:
        return Outcome(None, "no scores for it")
    share = sum(c.sign > 0 for c in made) / len(made)
    need = QUANTIFIERS[test.options.get("quantifier", "all")]
    enough = share >= 1 if need == 1 else share > need
    sure, against = sum(c.certain > 0 for c in made), sum(c.certain < 0 for c in made)
    if sure == 0 and against == 0:
        return Outcome(None, _counts(made, missing) + ": too little to tell")
    return Outcome(enough and sure > against, _counts(made, missing))


def not_worse(context: Context, test: Test) -> Outcome:
    """ "Comparable": in no comparison are the first methods surely worse than the second."""
    made, missing = _compare(context, test)
    if not made:
        return Outcome(None, "no scores for it")
    if not any(c.forfeit or math.isfinite(c.toward.low) for c in made):
        return Outcome(None, "single runs: no interval")
    widest = max((c for c in made if c.toward is not None), key=lambda c: -c.toward.low, default=None)
    figure = _counts(made, missing)
    if widest is not None and math.isfinite(widest.toward.low):
        figure += f"; could be worse by up to {max(0.0, -widest.toward.low):.3g} ({widest.what})"
    return Outcome(not any(c.certain < 0 for c in made), figure)


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
    made, missing = _at_budgets(context, test)
    if not made:
        return Outcome(None, "no scores for it" if context.reading == "printed" else "")
    return _trend(made, missing, test, "comparisons")


def never_worse(context: Context, test: Test) -> Outcome:
    """OUR first methods are at no budget surely worse than OUR second; arguments as for :func:`at_every_budget`."""
    made, missing = _at_budgets(context, test)
    if not made:
        return Outcome(None, "no scores for it" if context.reading == "printed" else "")
    return Outcome(not any(c.certain < 0 for c in made), _counts(made, missing))


def _at_budgets(context: Context, test: Test) -> tuple[list[Comparison], int]:
    first, second = test.methods
    if context.reading != "printed":
        if "corrected" not in test.options or context.reading != "corrected":
            return [], 0
        second = tuple(test.options["corrected"].split("+"))
        context.used.add(context.reading)
    datasets = dict.fromkeys(d for d, *_ in context.data.status)
    wanted = []
    for dataset, metric, a, b in itertools.product(datasets, _list(test.options["metrics"]), first, second):
        ours, others = (context.budgets(m, dataset, metric) for m in (a, b))
        wanted += [(f"{a} vs {b}, {dataset}, {metric}, {k}", ours[k], others[k]) for k in ours if k in others]
    made, missing = [], 0
    for what, a, b in wanted:
        found = _difference(context.data, [a], [b], a[4], ALPHA / len(wanted))
        if found is None:
            missing += 1
        else:
            made.append(Comparison(what, *found))
    return made, missing


def worsens(context: Context, test: Test) -> Outcome:
    """Scores get worse as the parameter grows: slope on its logarithm, split by split, for ``quantifier`` of them."""
    made, missing = [], 0
    series = _along(context, test)
    for row, scores, printed in series:
        common = set.intersection(*map(set, scores.values())) if len(scores) > 1 else set()
        if len(scores) < len(printed) or not common:
            missing += 1
            continue
        grid = np.log(sorted(scores))
        centred = grid - grid.mean()
        worse = {
            k: -_sign(row["metric"]) * float(centred @ [scores[c][k] for c in sorted(scores)] / (centred @ centred))
            for k in common
        }
        slope = paired(worse, dict.fromkeys(worse, 0.0), ALPHA / len(series))
        ends = -_sign(row["metric"]) * (float(printed[max(printed)]) - float(printed[min(printed)]))
        made.append(Comparison(f"{row['dataset']}, {row['metric']}", slope, 0, ends))
    return _trend(made, missing, test)


def spreads(context: Context, test: Test) -> Outcome:
    """The spread over splits is larger at the largest value of the parameter than at the smallest.

    Pitman-Morgan test of two variances measured on the same splits: correlation of sum and difference.
    """
    made, missing = [], 0
    series = _along(context, test)
    for row, scores, printed in series:
        if len(scores) < len(printed) or len(scores) < 2:
            missing += 1
            continue
        low, high = scores[min(scores)], scores[max(scores)]
        common = sorted(set(low) & set(high))
        a, b = np.array([low[k] for k in common]), np.array([high[k] for k in common])
        if len(common) < 4 or np.ptp(b - a) == 0 or np.ptp(b + a) == 0:
            missing += 1
            continue
        found = pearsonr(a + b, b - a)
        ci = found.confidence_interval(1 - ALPHA / len(series))
        grows = Difference(float(found.statistic), float(ci.low), float(ci.high), len(common), True)
        ends = [printed[max(printed)], printed[min(printed)]]
        paper = float(ends[0]) - float(ends[1]) if all(ends) else None
        made.append(Comparison(f"{row['dataset']}, {row['metric']}", grows, 0, paper))
    return _trend(made, missing, test)


def _trend(made: list[Comparison], missing: int, test: Test, unit: str = "trends") -> Outcome:
    if not made:
        return Outcome(None, "no scores for it")
    share = sum(c.sign > 0 for c in made) / len(made)
    need = QUANTIFIERS[test.options.get("quantifier", "all")]
    enough = share >= 1 if need == 1 else share > need
    sure, against = sum(c.certain > 0 for c in made), sum(c.certain < 0 for c in made)
    figure = _counts(made, missing, unit)
    if sure == 0 and against == 0:
        return Outcome(None, figure + ": too little to tell")
    return Outcome(enough and sure > against, figure)


def fails_less(context: Context, test: Test) -> Outcome:
    """The first method loses fewer splits (failed, diverged, timeout) than the second; Fisher's exact test, 5 %."""
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
        return Outcome(None, "no scores for it")
    figure = f"splits without a score: {fa} of {na} against {fb} of {nb}"
    if fa == fb == 0:
        return Outcome(None, figure + ": neither fails, so nothing can be told")
    p = fisher_exact([[fa, na - fa], [fb, nb - fb]], alternative="less").pvalue
    return Outcome(bool(p < ALPHA), f"{figure} (p = {p:.2g})")


def larger(context: Context, test: Test) -> Outcome:
    """``metric`` (one of ours) is larger for the first methods than for the second, data set by data set.

    For independent data sets and scores of any law: the median difference and its distribution-free interval
    (``evaluation.paired.median_paired``) at 5 % over the number of comparisons. Holds where every one is surely larger.
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
    return _medians(context, [(a, b, what) for (a, b), what in wanted.items()], test.options["metric"], 1)


def closer(context: Context, test: Test) -> Outcome:
    """``metric`` (of the paper) gets better with each step up of the parameter ``along``; see :func:`larger`."""
    found: dict[float, tuple] = {}
    for row in context.rows(test.methods[0][0], test.options):
        value = dict(p.split("=", 1) for p in row["setting"].split(";") if "=" in p).get(test.options["along"])
        if value is not None and row["metric"] == test.options["metric"]:
            found[float(value)] = context.cells(row)[0]
    steps = sorted(found)
    pairs = [(found[b], found[a], f"{test.options['along']} {a:g} to {b:g}") for a, b in itertools.pairwise(steps)]
    return _medians(context, pairs, None, _sign(test.options["metric"]))


def _called(cell: tuple) -> str:
    return cell[2] + (f" [{cell[3]}]" if cell[3] else "")


def _medians(context: Context, pairs: list[tuple], metric: str | None, sign: int) -> Outcome:
    """``sign`` x (first - second) is surely above 0 at the median of every pair of cells; metric None: in the cells."""
    made, texts, missing = [], [], 0
    for a, b, what in pairs:
        va, vb = (context.data.values.get((*k[:4], metric or k[4]), {}) for k in (a, b))
        if not set(va) & set(vb):
            missing += 1
            continue
        d = median_paired(*({k: sign * v for k, v in x.items()} for x in (va, vb)), ALPHA / len(pairs))
        made.append(d)
        texts.append(f"{what}: median difference {sign * d.difference:.3g} over {d.n} data sets" + (
            "" if d.significant else " (not sure)"))  # fmt: skip
    if not made:
        return Outcome(None, "no scores for it" if context.reading == "printed" else "")
    figure = "; ".join(texts) + (f"; {missing} without scores" if missing else "")
    if not any(math.isfinite(d.low) for d in made):
        return Outcome(None, figure + "; too few data sets to tell")
    return Outcome(all(d.low > 0 for d in made), figure)


def holds_in(context: Context, test: Test) -> Outcome:
    """A sentence settled by a table of this suite that is no score: ``file`` (CSV in the reference) and ``claim``.

    The table has columns ``claim``, ``reading``, ``holds`` (yes, no, unclear) and ``figure``, and at most one row of
    that name a reading.
    """
    path = None if context.data.extra is None else context.data.extra / test.options["file"]
    if path is None or not path.is_file():
        return Outcome(None, f"{test.options['file']} is not made" if context.reading == "printed" else "")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = table[table["claim"] == test.options["claim"]]
    if not len(rows):
        raise ReportError(f"{path}: no row with claim = {test.options['claim']}")
    rows = rows[rows["reading"] == context.reading]
    if len(rows) > 1:
        raise ReportError(f"{path}: two rows with claim = {test.options['claim']}, reading = {context.reading}")
    if not len(rows):
        return Outcome(None, "")
    context.used.add(context.reading)
    states = {"yes": True, "no": False, "unclear": None}
    return Outcome(states[rows["holds"].iloc[0]], rows["figure"].iloc[0])


def needs(context: Context, test: Test) -> Outcome:
    """A sentence about an experiment that this suite does not run (yet)."""
    return Outcome(None, f"needs the experiment {test.methods[0][0]}" if context.reading == "printed" else "")


def not_testable(context: Context, test: Test) -> Outcome:
    """A sentence that no score can settle; ``why`` says the reason."""
    return Outcome(None, test.options["why"] if context.reading == "printed" else "")


TESTS: dict[str, Callable[[Context, Test], Outcome]] = {
    f.__name__: f
    for f in (
        *(better, not_worse, at_every_budget, never_worse, worsens, spreads, fails_less, larger, closer, holds_in),
        *(needs, not_testable),
    )
}
#: test -> (groups of methods, options that it must have)
_NEEDS = {
    "better": (2, ("tables",)),
    "not_worse": (2, ("tables",)),
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
