"""A spot check: cells of the committed reference recomputed at full settings on this machine, number beside number.

Chosen are the cheapest cells by what they cost when they were committed: one a method and a paper, then one a pair
(experiment, method) for as long as the CPU seconds last. Of a cell the first split is fitted; a fit is never cut short.
A paper with a program of its own names in its ``paper.yaml`` (``spot_check``) a module with

* ``cells() -> list[OwnCell]``: cells that it can recompute, cheapest first;
* ``every() -> dict``: the ids of all its cells; ``id_of(verdict) -> str``: the one that a committed verdict is of;
* ``recompute(ids, mirror, raw) -> list[Row]``: them beside their committed numbers.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from datasets.files import ROOT
from evaluation.arms import ABLATION
from workflow import papers, sample, verified
from workflow.check import Checker
from workflow.compare import COST, RowsByCell, band, bands, committed, same_cost, same_kernels, seconds
from workflow.experiments import Cell
from workflow.imports import code_hash
from workflow.sample import Sample

EQUAL, WITHIN, DIFFERS, NOT_RUN, NEW = "equal", "within", "differs", "not run", "new"
#: CPU seconds of all cells together, of a whole that may take 240: the report and reading the reference are the rest.
CPU_SECONDS = 90.0
#: CPU seconds of a cell besides its fit: its share of starting, and its scores.
OVERHEAD_S = 0.2


@dataclass(frozen=True)
class Row:
    """One number of a cell: ``committed`` and ``here`` as text (means over the splits recomputed), and the verdict."""

    cell: str
    paper: str
    method: str
    dataset: str
    measure: str
    committed: str
    here: str
    verdict: str
    why: str


@dataclass(frozen=True)
class OwnCell:
    """A cell of a paper with a program of its own; ``seconds``: CPU seconds that it takes, about."""

    id: str
    method: str
    dataset: str
    seconds: float


@dataclass(frozen=True)
class Unit:
    """Cells that are recomputed in one go. ``program``: the module of a paper of its own; then there is no sample."""

    paper: str
    dataset: str
    methods: tuple[str, ...]
    cells: tuple[str, ...]
    seconds: float
    sample: Sample | None = None
    program: str = ""

    @property
    def label(self) -> str:
        where = self.sample.experiment if self.sample else self.paper
        more = f" and {len(self.methods) - 2} more" if len(self.methods) > 2 else ""
        return f"{where}, {self.dataset}: {', '.join(self.methods[:2])}{more}"


def word(here: float, was: float, allowed: float) -> str:
    """equal, within the band ``allowed`` (absolute), or differs; both not a number is equal."""
    if here == was or (math.isnan(here) and math.isnan(was)):
        return EQUAL
    return WITHIN if abs(here - was) <= allowed else DIFFERS


def kernels_band(was: float) -> tuple[float, str]:
    """Band of a number of a program of its own (``config/gates.yaml``), and its words."""
    config = bands()["bands"]
    if same_kernels():
        return config["same_kernels"] * max(1.0, abs(was)), "same kernels"
    return config["single_precision"] * max(1.0, abs(was)), "other kernels"


def paper_of(experiment: str) -> str:
    paper = papers.paper_of(experiment)
    return paper.key if paper else ""


def rows_of(cell: Cell, found: Iterable[dict], old: Sequence[dict], splits: Iterable[int]) -> list[Row]:
    """A recomputed cell beside its committed rows: a row a metric, one a cost that is stated, one a split that failed.

    ``found``: its score rows here; ``old``: its committed ones; ``splits``: those that were recomputed.
    """
    chosen = {str(k) for k in splits}
    whole = len(chosen) == cell.splits  # numbers of all splits together need all splits
    mine = {(str(r["split"]), r["metric"]): r for r in found if r["cell"] == cell.id}
    theirs = {(r["split"], r["metric"]): r for r in old if r["split"] in chosen or (whole and r["split"] == "")}
    head = cell.id, paper_of(cell.experiment), cell.method, cell.dataset
    told = f"split {', '.join(str(int(k) + 1) for k in sorted(chosen, key=int))}" if len(chosen) < 4 else "splits 1"
    told = f"{told} of {cell.splits}" if len(chosen) < 4 else f"{len(chosen)} of {cell.splits} splits"
    if not theirs:
        return [Row(*head, "", "", "", DIFFERS, "not in the committed reference")]
    out = []
    for column in ("status", *COST):
        for k in sorted(mine.keys() & theirs.keys()):
            if not same_cost(column, mine[k][column], theirs[k][column]):
                why = mine[k]["reason"] if column == "status" else f"split {int(k[0]) + 1}" if k[0] else "of all splits"
                out.append(Row(*head, column, theirs[k][column], str(mine[k][column]), DIFFERS, why))
                break
    for metric in sorted({m for _, m in {*mine, *theirs}}):
        keys = sorted(k for k in {*mine, *theirs} if k[1] == metric)
        if missing := [k for k in keys if k not in mine or k not in theirs]:
            there = (theirs.get(missing[0]) or mine[missing[0]])["status"]
            where = "committed" if missing[0] in theirs else "found here"
            why = f"split {missing[0][0] or 'of all'}: {metric or there} is {where} only"
            out.append(Row(*head, metric or "status", "", "", DIFFERS, why))
            continue
        if not metric:
            status = theirs[keys[0]]["status"]
            if all(mine[k]["status"] == theirs[k]["status"] for k in keys):
                out.append(Row(*head, "status", status, status, EQUAL, theirs[keys[0]]["reason"]))
            continue
        worst, allowed, how = EQUAL, 0.0, ""
        for k in keys:
            was, now = float(theirs[k]["value"]), float(mine[k]["value"])
            allowed, how = band(cell, metric, was, list(old))
            worst = max(worst, word(now, was, allowed), key=(EQUAL, WITHIN, DIFFERS).index)
        values = [_mean([float(of[k]["value"]) for k in keys]) for of in (theirs, mine)]
        why = f"{told}; allowed {allowed:.2g} ({how})" if worst != EQUAL else told
        out.append(Row(*head, metric, *values, worst, why))
    stated = next((k for k in sorted(mine.keys() & theirs.keys()) if mine[k]["epsilon"]), None)
    if stated and not any(r.measure in COST for r in out):
        was, now = theirs[stated]["epsilon"], str(mine[stated]["epsilon"])
        why = f"delta {mine[stated]['delta']}, {mine[stated]['relation']}, by {mine[stated]['accountant']}"
        out.append(Row(*head, "epsilon", was, now, EQUAL if now == was else WITHIN, why))
    return out


def _mean(values: list[float]) -> str:
    return f"{math.fsum(values) / len(values):.13g}"


def programs() -> dict[str, str]:
    """Key of each paper with a program of its own -> the module that recomputes its cells."""
    found = {}
    for path in sorted((ROOT / "papers").glob("*/paper.yaml")):
        if module := yaml.safe_load(path.read_text(encoding="utf-8")).get("spot_check"):
            found[path.parent.name] = module
    return found


def own_cells(module: str) -> list[OwnCell]:
    return importlib.import_module(module).cells()


def own_ids(module: str) -> list[str]:
    return list(importlib.import_module(module).every())


def own_id(module: str, verdict: dict[str, str]) -> str:
    return importlib.import_module(module).id_of(verdict)


def known(experiment: str) -> RowsByCell | None:
    """Committed rows of an experiment; None where it has none."""
    from workflow import committed as reference

    return committed(experiment) if experiment in reference.experiments(papers.REFERENCE) else None


def estimates(checker: Checker) -> dict[str, float]:
    """CPU seconds that the first split of each committed cell takes, scores and compiling included, about."""
    spent = {}
    for pair, row in verified.read().items():
        if row["seconds"] and row["how"] == "sample":
            spent[pair] = float(row["seconds"]) / max(1, int(row["cells"]) * int(row["splits"]))
    out = {}
    for (experiment, method), of in checker.pairs.items():
        if known(experiment) is None:
            continue
        per_split = seconds(experiment)
        for cell in of:
            if cell.id in per_split:
                out[cell.id] = per_split[cell.id] + spent.get((experiment, method), 1.0) + OVERHEAD_S
    return out


def candidates(checker: Checker, cost: dict[str, float]) -> list[Unit]:
    """A unit for each cell that may be chosen, cheapest first; readings of one run are one unit."""
    units: dict[tuple[str, ...], Unit] = {}
    for cell in checker.cells.values():
        if cell.id not in cost or cell.setting.startswith((ABLATION, "tuned")):
            continue
        group = [cell]
        if cell.family:
            same = [c for c in checker.family[cell.family] if c.budget == cell.budget and c.id in cost]
            group = same if len({c.method for c in same}) > 1 else [cell]
        ids, methods = tuple(c.id for c in group), tuple(dict.fromkeys(c.method for c in group))
        took = max(cost[i] for i in ids)
        one = Sample(cell.experiment, cell.dataset, ids, methods, (0,), (), took)
        units[ids] = Unit(paper_of(cell.experiment), cell.dataset, methods, ids, took, one)
    for paper, module in programs().items():
        for cell in own_cells(module):
            units[(cell.id,)] = Unit(
                paper, cell.dataset, (f"{paper}/{cell.method}",), (cell.id,), cell.seconds, program=module
            )
    return sorted(units.values(), key=lambda u: (u.seconds, u.cells))


def choose(
    units: Sequence[Unit], why_not: Callable[[Unit], str], cpu_seconds: float = CPU_SECONDS
) -> tuple[list[Unit], list[Row]]:
    """The units to recompute, dearest first, and rows of what is not run for each method and paper without one.

    ``units``: cheapest first. ``why_not``: why the data of a unit cannot be had, empty where they are there.
    """
    chosen: dict[tuple[str, ...], Unit] = {}
    refused: dict[tuple[str, ...], str] = {}
    left = cpu_seconds

    def take(unit: Unit) -> bool:
        nonlocal left
        if unit.cells in chosen:
            return True
        if unit.cells not in refused:
            if unit.seconds > left:
                refused[unit.cells] = f"needs about {unit.seconds:.0f} CPU s: ./bench doubt {unit.cells[0]}"
            else:
                refused[unit.cells] = why_not(unit)
        if refused[unit.cells]:
            return False
        chosen[unit.cells] = unit
        left -= unit.seconds
        return True

    def first(wanted: Callable[[Unit], bool]) -> Unit | None:
        """None where one is taken, or the cheapest that was refused."""
        mine = [u for u in units if wanted(u)]
        return None if any(take(u) for u in mine) else mine[0]

    missing = []
    for method in dict.fromkeys(m for u in units for m in u.methods):
        if lost := first(lambda u, m=method: m in u.methods):
            missing.append((method, lost))
    for paper in dict.fromkeys(u.paper for u in units):
        first(lambda u, p=paper: u.paper == p)
    for pair in dict.fromkeys((u.sample.experiment, m) for u in units if u.sample for m in u.methods):
        mine = (u for u in units if u.sample and u.sample.experiment == pair[0] and pair[1] in u.methods)
        take(next(mine))
    rows = [Row(u.cells[0], u.paper, m, u.dataset, "", "", "", NOT_RUN, refused[u.cells]) for m, u in missing]
    return sorted(chosen.values(), key=lambda u: -u.seconds), rows


def digest(checker: Checker, unit: Unit, data: Path | None) -> str:
    """Of all that a unit's rows depend on: code, libraries, data, and the committed numbers that they stand beside."""
    if unit.sample is None:
        folder = ROOT / "papers" / unit.paper
        files = sorted(p for p in folder.glob("reference/scores/*") if p.is_file())
        text = [unit.cells, code_hash(unit.program), [hashlib.sha256(p.read_bytes()).hexdigest() for p in files]]
    else:
        old = [(known(unit.sample.experiment) or {}).get(i) for i in unit.cells]
        text = [checker.name_of(unit.sample, data, ()), old]
    return hashlib.sha256(repr(text).encode()).hexdigest()[:24]


def recompute(
    unit: Unit, data: str, exact_rows: Sequence[dict], mirror: str, raw: str
) -> tuple[list[dict], list[dict], float]:
    """What a unit gives: score rows of a sample, or finished rows of a paper's own program; and CPU seconds.

    Runs in a process of its own.
    """
    start = time.process_time()
    if unit.sample is None:
        rows = importlib.import_module(unit.program).recompute(unit.cells, mirror or None, raw)
        return [], [asdict(r) for r in rows], time.process_time() - start
    found = sample.recompute(unit.sample, data, exact_rows)
    return found.rows, [], found.seconds


def compared(checker: Checker, unit: Unit, scored: Sequence[dict]) -> list[Row]:
    """The score rows of a sample beside the committed ones. Raises ValueError for a unit without a sample."""
    if unit.sample is None:
        raise ValueError(f"{unit.label}: the rows of a paper's own program are compared by it")
    old = known(unit.sample.experiment) or {}
    return [r for i in unit.cells for r in rows_of(checker.cells[i], scored, old.get(i, []), unit.sample.splits)]


def sentence(rows: Sequence[Row]) -> str:
    """The first line of the report."""
    ran: dict[str, bool] = {}
    for row in rows:
        if row.verdict in (EQUAL, WITHIN, DIFFERS):
            ran[row.cell] = ran.get(row.cell, True) and row.verdict != DIFFERS
    left = {r.method for r in rows if r.verdict == NOT_RUN}
    if not ran:
        return "no cell was recomputed on this machine"
    text = f"{sum(ran.values())} of {len(ran)} sampled cells recomputed on this machine agree"
    if bad := [cell for cell, agrees in ran.items() if not agrees]:
        text += f"; {', '.join(bad[:3])}{' and others' if len(bad) > 3 else ''} {'differ' if bad[1:] else 'differs'}"
    if left:
        text += f" ({len(left)} {'methods' if len(left) > 1 else 'method'} not run)"
    return text
