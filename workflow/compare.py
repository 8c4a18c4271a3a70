"""A recomputed number next to the committed one: equal, within its tolerance, or different.

The gate (``workflow.gates``), ``./bench`` (``workflow.quickcheck``), ``./bench doubt`` (``workflow.recheck``) and
``reports.build agree`` (``reports.whole_run``) compare with these functions. The tolerances are those of
``config/gates.yaml``.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from datasets.files import ROOT
from methods import contract
from methods.contract import Rerun
from workflow import environment, papers
from workflow.experiments import Cell
from workflow.program import CPU_SECONDS

#: columns of a score row with the privacy cost of a fit. They are compared exactly, and epsilon to rounding.
COST = ("epsilon", "delta", "relation", "accountant")


EQUAL, WITHIN, DIFFERS, NOT_RUN, NEW = "equal", "within", "differs", "not run", "new"


@cache
def tolerances() -> dict:
    """config/gates.yaml."""
    return yaml.safe_load((ROOT / "config/gates.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Number:
    """One recomputed number and the committed one.

    Attributes
    ----------
    split : empty for a number that summarises all splits.
    metric : name of the metric, ``status``, or a column of ``COST``.
    committed, here : the two values as text; empty if one is missing.
    tolerance : absolute; NaN if the value is not a number.
    verdict : ``EQUAL``, ``WITHIN``, ``DIFFERS`` or ``NOT_RUN``.
    why : the reason for the tolerance, or what is missing.
    """

    cell: str
    split: str
    metric: str
    committed: str
    here: str
    tolerance: float
    verdict: str
    why: str

    @property
    def shift(self) -> float:
        """The absolute difference from the committed number: 0 if both are NaN, NaN if one of them is a text."""
        try:
            was, now = float(self.committed), float(self.here)
        except ValueError:
            return math.nan
        return 0.0 if was == now or (math.isnan(was) and math.isnan(now)) else abs(now - was)

    @property
    def scale(self) -> float:
        """The absolute committed number, by which shifts are divided; 1 if it is zero."""
        return abs(float(self.committed)) or 1.0

    @property
    def seen(self) -> float:
        """The smallest relative shift of this number that is always detected: its tolerance plus its present shift."""
        return (self.tolerance + self.shift) / self.scale

    def far(self, limit: float) -> bool:
        """Whether it is further than ``limit`` from the committed number, relatively for numbers above 1."""
        if math.isnan(self.tolerance):
            return False
        return not (math.isfinite(self.shift) and self.shift <= limit * max(1.0, self.scale))


def word(here: float, was: float, allowed: float) -> str:
    """The verdict with an absolute tolerance ``allowed``. Two NaN are equal, and no tolerance covers an infinity."""
    if here == was or (math.isnan(here) and math.isnan(was)):
        return EQUAL
    return WITHIN if math.isfinite(here - was) and abs(here - was) <= allowed else DIFFERS


@cache
def same_kernels() -> bool:
    """Whether this machine runs the linear algebra kernels that made the committed scores."""
    return environment.runs_the_kernels()


def own_tolerance(was: float) -> tuple[float, str]:
    """The absolute tolerance of a number from a paper's own code, and its reason."""
    config = tolerances()["tolerances"]
    if same_kernels():
        return config["same_kernels"] * max(1.0, abs(was)), "same kernels"
    return config["single_precision"] * max(1.0, abs(was)), "other kernels"


def tolerance(cell: Cell, metric: str, old: float, rows: Sequence[dict]) -> tuple[float, str]:
    """The absolute tolerance of a number of a cell, and its reason. ``rows``: the committed rows of the cell."""
    config = tolerances()
    known, rerun, scale = config["tolerances"], contract.get(cell.method).rerun, max(1.0, abs(old))
    if rerun == Rerun.CLOSED_FORM:
        return known["closed_form"] * scale, "closed form"
    chain = rerun == Rerun.CHAIN
    # XLA compiles a chain for the processor at hand, whatever instructions it is held to, so it has no common kernels.
    if same_kernels() and not chain:
        return known["same_kernels"] * scale, "same kernels"
    relative = config["experiments"].get(cell.experiment)
    if relative is not None and not chain and rerun != Rerun.CHAOTIC:
        return relative * scale, "not chaotic"
    values = [float(r["value"]) for r in rows if r["metric"] == metric and r["split"] != ""]
    if not values:
        return known["closed_form"] * scale, "one number of all splits"
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))
    least = known["closed_form"] * scale
    if chain:
        return max(least, known["another_chain"] * sd), "another chain"
    return max(least, known["standard_errors"] * sd / math.sqrt(len(values))), "half a standard error"


def same_cost(column: str, here: object, was: object) -> bool:
    """Whether a privacy cost is the committed one. The last digits of epsilon depend on the search for its noise."""
    here, was = str(here), str(was)
    if here == was or column != "epsilon" or not (here and was):
        return here == was
    return math.isclose(float(here), float(was), rel_tol=tolerances()["tolerances"]["epsilon"])


def compare(cell: Cell, found: Iterable[dict], old: Sequence[dict], splits: Collection[int]) -> list[Number]:
    """Every number of a recomputed cell and the committed one. Status and privacy cost are compared exactly.

    Parameters
    ----------
    found : score rows of this call.
    old : committed score rows of the cell.
    splits : the splits that were recomputed. Summaries of all splits are compared only if all were recomputed.
    """
    chosen, nothing = {str(k) for k in splits}, math.nan
    if not old:
        return [Number(cell.id, "", "status", "", "", nothing, DIFFERS, "it is not in the committed reference")]
    mine = {(str(r["split"]), r["metric"]): r for r in found if r["cell"] == cell.id}
    whole = len(chosen) == cell.splits
    theirs = {(r["split"], r["metric"]): r for r in old if r["split"] in chosen or (whole and r["split"] == "")}
    out = []
    for key in sorted({*mine, *theirs}):
        split, metric = key
        if key not in theirs or key not in mine:
            there = theirs.get(key) or mine[key]
            where = "committed" if key in theirs else "found here"
            why = f"'{metric or there['status']}' is {where} only ({there['reason']})".removesuffix(" ()")
            out.append(Number(cell.id, split, metric or "status", "", "", nothing, DIFFERS, why))
            continue
        new, was = mine[key], theirs[key]
        for column in ("status", *COST):
            if not same_cost(column, new[column], was[column]):
                why = new["reason"] if column == "status" else "a cost is compared exactly"
                out.append(Number(cell.id, split, column, was[column], str(new[column]), nothing, DIFFERS, str(why)))
        if new["status"] != was["status"]:
            continue
        if not metric:
            out.append(Number(cell.id, split, "status", was["status"], new["status"], nothing, EQUAL, was["reason"]))
            continue
        value = float(was["value"])
        allowed, how = tolerance(cell, metric, value, old)
        verdict = word(float(new["value"]), value, allowed)
        out.append(Number(cell.id, split, metric, was["value"], str(new["value"]), allowed, verdict, how))
    return out


def shown(path: Path) -> str:
    """A path for messages, relative to the root of the project."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def sentence(number: Number, where: str) -> str:
    """The message on a number that differs: number, file, shift and tolerance. ``where``: the committed file."""
    split = f", split {int(number.split) + 1}" if number.split else ""
    text = f"{number.cell}{split}: {number.metric}"
    if not (number.here and number.committed):
        return f"{text}: {number.why} ({where})"
    text += f" is {number.here}, committed {number.committed} in {where}"
    if math.isnan(number.shift) or math.isnan(number.tolerance):
        return f"{text} ({number.why})"
    return f"{text}; shift {number.shift:.3g}, tolerance {number.tolerance:.3g} ({number.why})"


@dataclass(frozen=True)
class Row:
    """One line of ``sample.csv``: a measure of a cell, as the mean over the recomputed splits, and its verdict."""

    cell: str
    paper: str
    method: str
    dataset: str
    measure: str
    committed: str
    here: str
    verdict: str
    why: str


def rows_for_reader(cell: Cell, found: Sequence[dict], old: Sequence[dict], splits: Collection[int]) -> list[Row]:
    """The lines of a recomputed cell: one per metric, one for epsilon, and one per status that differs."""
    chosen = sorted(splits)
    splits_shown = f"split {', '.join(str(k + 1) for k in chosen)} of {cell.splits}"
    if len(chosen) > 3:
        splits_shown = f"{len(chosen)} of {cell.splits} splits"
    line = dataclasses.replace  # of the head of each line
    head_ = Row(cell.id, papers.key_of(cell.experiment), cell.method, cell.dataset, "", "", "", "", "")
    numbers: dict[str, list[Number]] = {}
    for n in compare(cell, found, old, splits):
        numbers.setdefault(n.metric, []).append(n)
    out = []
    for metric, of in numbers.items():
        worst = max(of, key=lambda n: (EQUAL, WITHIN, DIFFERS).index(n.verdict))
        if math.isnan(worst.tolerance):
            if worst.verdict == DIFFERS and worst.split:
                why = f"split {int(worst.split) + 1}: {worst.why}"
            else:
                why = worst.why
            said = {"committed": worst.committed, "here": worst.here, "verdict": worst.verdict, "why": why}
            out.append(line(head_, measure=metric, **said))
            continue
        values = {k: _mean([float(getattr(n, k)) for n in of]) for k in ("committed", "here")}
        why = splits_shown if worst.verdict == EQUAL else f"{splits_shown}; allowed {worst.tolerance:.2g} ({worst.why})"
        out.append(line(head_, measure=metric, verdict=worst.verdict, why=why, **values))
    out.sort(key=lambda r: ("status", *COST).index(r.measure) if r.measure in ("status", *COST) else len(COST) + 1)
    mine = {(str(r["split"]), r["metric"]): r for r in found if r["cell"] == cell.id}
    theirs = {(r["split"], r["metric"]): r for r in old}
    stated = next((k for k in sorted(mine.keys() & theirs.keys()) if mine[k]["epsilon"]), None)
    if stated and not any(r.measure in COST for r in out):
        was, now = theirs[stated]["epsilon"], str(mine[stated]["epsilon"])
        why = f"delta {mine[stated]['delta']}, {mine[stated]['relation']}, by {mine[stated]['accountant']}"
        verdict = EQUAL if now == was else WITHIN
        out.append(line(head_, measure="epsilon", committed=was, here=now, verdict=verdict, why=why))
    return out


def _mean(values: list[float]) -> str:
    return f"{math.fsum(values) / len(values):.13g}"


def own_numbers(measures: Mapping[str, str], i: str, was: Mapping[str, str], now: Mapping) -> Iterator[Number]:
    """The committed measures of one score row of the cell ``i``, next to those that were computed here."""
    if now["status"] != was["status"]:
        verdict = NOT_RUN if now["status"] == "no_data" else DIFFERS
        yield Number(i, "", "status", was["status"], str(now["status"]), math.nan, verdict, str(now["reason"]))
        return
    if was["status"] == "no_data":
        yield Number(i, "", "status", was["status"], "", math.nan, NOT_RUN, str(now["reason"]))
    for measure, column in measures.items():
        name = column.removeprefix("1 - ")
        old, new = was[name], str(now[name])
        if not old:
            continue
        if name != column:
            old, new = str(1 - float(old)), str(1 - float(new))
        allowed, how = own_tolerance(float(old))
        verdict = EQUAL if old == new else word(float(new), float(old), allowed)
        stated = re.search(r"(?:^|;)delta=([^;]+)", was.get("setting", ""))
        delta = was.get("delta") or (stated and stated[1])
        why = f"delta {delta}" if column == "ledger_epsilon" and delta else f"{was['repeats']} repetitions"
        how = "" if verdict == EQUAL else f"; {how}"
        yield Number(i, "", measure.format(metric=was["metric"]), old, new, allowed, verdict, why + how)


def compare_program(paper: str, folder: Path) -> list[Number]:
    """All score files of a paper in ``folder``, compared value by value with the committed files.

    A value may be a list of numbers that are separated by spaces. CPU seconds are not compared.
    """
    out = []
    for path in sorted((ROOT / "papers" / paper / "reference" / "scores").glob("*.csv.gz")):
        if not (folder / path.name).is_file():
            out.append(Number(path.name, "", "file", "", "", math.nan, DIFFERS, "it is committed only"))
            continue
        was, now = (
            pd.read_csv(p, dtype=str, keep_default_na=False).drop(columns=CPU_SECONDS, errors="ignore")
            for p in (path, folder / path.name)
        )
        if was.shape != now.shape or list(was) != list(now):
            why = f"{now.shape} rows and columns, committed {was.shape}"
            out.append(Number(path.name, "", "shape", "", "", math.nan, DIFFERS, why))
            continue
        for column in was:
            for row, (old, new) in enumerate(zip(was[column], now[column], strict=True)):
                out += _values(f"{path.name}, row {row + 1}", column, old, new)
    return out


def _values(where: str, column: str, old: str, new: str) -> list[Number]:
    """The numbers of one value, or the text as a whole."""
    parts = list(zip(old.split(), new.split(), strict=False))
    try:
        pairs = [(a, b, float(a), float(b)) for a, b in parts]
    except ValueError:
        pairs = []
    if not pairs or len(old.split()) != len(new.split()):
        verdict = EQUAL if old == new else DIFFERS
        return [Number(where, "", column, old, new, math.nan, verdict, "text")] if old or new else []
    judged = [(a, b, was, now, *own_tolerance(was)) for a, b, was, now in pairs]
    return [
        Number(where, "", column, a, b, allowed, word(now, was, allowed), how)
        for a, b, was, now, allowed, how in judged
    ]
