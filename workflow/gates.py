"""The regression gate: recomputes a sample of the committed numbers and compares.

    python -m workflow.gates check                recompute two splits of every method in every experiment, and compare
    python -m workflow.gates programs             compare whole runs of papers with their own code
    python -m workflow.gates short-runs --write   write reports/reference/short_runs.csv anew

``check`` takes the cheapest cell of every method in every experiment: the first split, and one that is drawn from the
commit's hash. A method whose own files differ from the merge base is also recomputed at its smallest and largest
budget, on the first and the last split. A fit that is too expensive to repeat is compared by a short run: one epoch, or
a few draws. Synthetic data, which are for time and memory only, are left out unless a method's files differ. The exit
status is 1 if a number is outside its tolerance (``config/gates.yaml``), or if no number was compared. ``--only
EXPERIMENT`` or ``--only EXPERIMENT/METHOD`` limits the sample.

The gate does not see a change in other splits and cells. The weekly whole run does. ``python -m reports.build check``
compares verdicts with the papers.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import math
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from datasets.files import ROOT
from methods import contract
from methods.contract import Rerun
from workflow import committed, environment, imports, papers
from workflow.committed import SHORT_RUNS, Entry, Reference
from workflow.compare import DIFFERS, NOT_RUN, Number, compare_program, sentence, shown, tolerances, word
from workflow.experiments import Cell
from workflow.imports import differing
from workflow.recompute import (
    NOT_ORDINARY,
    Found,
    Tables,
    Unit,
    compare_unit,
    own_units,
    recompute_units,
    short_values,
    shortened,
    together,
    unit_of,
)

#: a cell with summaries of all splits is recomputed on all of them if that costs at most this many CPU seconds.
WHOLE_SECONDS = 5.0
#: CPU seconds of the samples that are recomputed to measure false alarms.
REPEAT_SECONDS = 20.0
#: relative difference above which numbers are counted as moved, whatever their tolerances are.
SMALL = 1e-6


def say(text: str) -> None:
    print(f"gate: {text}", flush=True)


def check(reference: Reference, wanted: Sequence[str], tables: Tables, jobs: int) -> int:
    """Run the gate on ``wanted`` (all if empty). Returns the number of units with a number outside its tolerance.

    It is at least 1 if no number was compared.
    """
    import datasets

    commit, changed = imports.head(), changed_entries(reference)
    entries, own = selected(reference, wanted)
    if not wanted:
        synthetic = set(datasets.names("synthetic"))
        entries = [e for e in entries if e in changed or {c.dataset for c in reference.entries[e]} - synthetic]
    units = [*choose(reference, entries, commit, changed), *own]
    say(f"{len(units)} samples of {len(entries)} methods in experiments; splits are drawn from commit {commit[:12]}")
    if told := sorted({m for _, m in changed}):
        say(f"own files differ from the merge base, larger samples: {', '.join(told)}")
    results: dict[Unit, tuple[Found, list[Number]]] = {}
    for unit, found, kept in recompute_units(
        reference, units, tables.get, tables.raw, jobs, tables.results / "here" / "parts"
    ):
        results[unit] = found, compare_unit(reference, unit, found)
        say(f"{len(results)}/{len(units)} {unit.label}: {'kept' if kept else f'{found.seconds:.1f} CPU s'}")
    wrong = 0
    for unit, (found, numbers) in results.items():
        bad = [n for n in numbers if n.verdict == DIFFERS]
        wrong += bool(bad)
        for n in bad:
            say(sentence(n, source(reference, unit)))
        for n in found.finished:
            if n.verdict == NOT_RUN:
                say(f"{n.cell}: not run: {n.why}")
    numbers = [n for _, of in results.values() for n in of]
    say(f"{sum(found.seconds for found, _ in results.values()):.0f} CPU s")
    report(numbers)
    if numbers:
        say(false_alarms(reference, results, tables, jobs))
    missing = set(entries) - {(u.experiment, m) for u, (_, of) in results.items() if of for m in u.methods}
    for entry in sorted(missing):
        say(f"{'/'.join(entry)}: nothing was compared")
    wrong += len(missing)
    return wrong if numbers else max(wrong, 1)


def ordinary(of: Iterable[Cell]) -> list[Cell]:
    """The cells that are neither tuned nor ablations, or all cells if none remain."""
    of = list(of)
    return [c for c in of if not c.setting.startswith(NOT_ORDINARY)] or of


def size(cell: Cell) -> tuple[float, float]:
    """The sort key that puts small budgets first: small epsilon, then large noise multiplier."""
    budget = dict(cell.budget)
    epsilon = budget.get("epsilon") or (budget["renyi"][1] if budget.get("renyi") else 0.0)
    return float(epsilon), -float(budget.get("noise_multiplier") or 0.0)


def drawn_split(cell: Cell, commit: str) -> int:
    """A split other than the first, drawn from the hash of a commit; 0 if the cell has only one split."""
    if cell.splits < 2:
        return 0
    digest = hashlib.sha256(f"{commit}|{cell.id}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (cell.splits - 1)


def needs_short_run(cell: Cell) -> bool:
    """Whether a short run is compared even if a whole fit is cheap.

    This holds for Markov chains, and for training whose tolerance is wide on other kernels.
    """
    config, rerun = tolerances(), contract.get(cell.method).rerun
    if rerun in (Rerun.CHAIN, Rerun.CLOSED_FORM):
        return rerun == Rerun.CHAIN
    chaotic = rerun == Rerun.CHAOTIC or cell.experiment not in config["experiments"]
    return chaotic and shortened(cell, config["short"]) is not cell


def choose(reference: Reference, wanted: Iterable[Entry], commit: str, changed: Collection[Entry] = ()) -> list[Unit]:
    """The units that the gate recomputes, most expensive first.

    Parameters
    ----------
    wanted : pairs of experiment and method.
    commit : the commit that the second split is drawn from.
    changed : the pairs whose own files differ from the merge base. They get larger samples.
    """
    config, short_keys = tolerances(), {key[:3] for key in reference.short_rows()}
    out: dict[tuple, Unit] = {}
    covered: set[Entry] = set()

    def add(group: Sequence[Cell], splits: Iterable[int], seconds: float, short: Mapping[str, int] | None = None):
        one = unit_of(group, splits, seconds, short)
        out[one.cells, one.splits, one.short] = one

    for entry in wanted:
        of, spent = reference.entries[entry], reference.seconds(entry[0])
        cell = min(ordinary(of), key=lambda c: (spent.get(c.id, math.inf), c.id))
        cost, n = spent.get(cell.id, 0.0), cell.splits
        expensive, chain = cost > config["expensive_seconds"], contract.get(entry[1]).rerun == Rerun.CHAIN
        can_be_short = [c for c in of if shortened(c, config["short"]) is not c]
        if not ((expensive or chain) and can_be_short):
            if entry not in covered:
                group = together(cell, reference.families)
                covered |= {(entry[0], c.method) for c in group}
                whole = cell.pooled and cost * n <= WHOLE_SECONDS
                second = [] if expensive or chain else [drawn_split(cell, commit)]
                add(group, range(n) if whole else [0, *second], cost)
            if entry in changed and not (expensive or chain):
                here = [c for c in ordinary(of) if (c.dataset, c.protocol) == (cell.dataset, cell.protocol)]
                for one in (min(here, key=size), max(here, key=size)):
                    add(together(one, reference.families), [0, one.splits - 1], spent.get(one.id, 0.0))
        if can_be_short and (expensive or any(needs_short_run(c) for c in of)):
            # which one is repeated must not depend on what fits cost: the one that is committed
            same = [c for c in of if (*entry, shortened(c, config["short"]).id) in short_keys] or ordinary(can_be_short)
            one = min(same, key=lambda c: (spent.get(c.id, math.inf), c.id))
            add(together(one, reference.families), [0], 0.0, config["short"])
    return sorted(out.values(), key=lambda u: (-u.seconds, u.cells))


def changed_entries(reference: Reference) -> set[Entry]:
    """Pairs of experiment and method whose own files differ from the merge base."""
    files = differing("methods")
    return {e for e, of in reference.entries.items() if files & set(of[0].own_files)} if files else set()


def source(reference: Reference, unit: Unit) -> str:
    """The committed file that the numbers of a unit are compared with, relative to the root."""
    if unit.program:
        return f"papers/{unit.experiment}/reference/scores"
    path = reference.folder / SHORT_RUNS if unit.short else committed.path_of(reference.folder, unit.experiment)
    return shown(path)


def report(numbers: Sequence[Number]) -> None:
    """Print how many numbers were compared, and the smallest shift that is detected."""
    bad, measured = sum(n.verdict == DIFFERS for n in numbers), [n for n in numbers if not math.isnan(n.tolerance)]
    say(f"{len(numbers)} numbers of {len({n.cell for n in numbers})} cells; {bad} outside their tolerance")
    if not measured:
        return
    moved = sum(n.far(SMALL) for n in measured)
    say(f"{moved} of {len(measured)} are more than {SMALL:g} (relative) from the committed ones")
    # an infinite epsilon has no relative shift
    by_seen = sorted((n for n in measured if n.verdict != DIFFERS and math.isfinite(n.seen)), key=lambda n: n.seen)
    if not by_seen:
        return
    most, widest = by_seen[int(0.95 * (len(by_seen) - 1))], by_seen[-1]
    say(
        f"a relative shift of {most.seen:.2g} would have been seen in 95 % of these numbers, of {widest.seen:.2g} in "
        f"all ({widest.cell}, {widest.metric}); a shift in other splits and cells would not"
    )


def false_alarms(reference: Reference, results: Mapping[Unit, tuple[Found, list[Number]]], tables: Tables, jobs: int):
    """Recompute the cheapest units a second time, and report how many numbers leave their tolerance.

    Code and machine are the same, so these are false alarms.
    """
    import scipy.stats

    chosen, left = [], REPEAT_SECONDS
    for unit in sorted((u for u in results if not u.program), key=lambda u: (results[u][0].seconds, u.cells)):
        if (left := left - results[unit][0].seconds) < 0 and chosen:
            break
        chosen.append(unit)
    again: list[Number] = []
    for unit, found, _ in recompute_units(reference, chosen, tables.get, tables.raw, jobs):
        again += repeated(results[unit][1], compare_unit(reference, unit, found))
    if not again:
        return "false alarms: not measured, since no sample could be repeated"
    alarms, moved = sum(n.verdict == DIFFERS for n in again), sum(n.shift > 0 for n in again)
    bound = float(scipy.stats.beta.ppf(0.95, alarms + 1, len(again) - alarms)) if alarms < len(again) else 1.0
    return (
        f"false alarms: of {len(again)} numbers that were computed a second time, {alarms} left their tolerance and "
        f"{moved} moved at all: {alarms / len(again):.2g} per number, at most {bound:.2g} at 95 % confidence if "
        "numbers are independent. Not measured: another machine, and fits that are more expensive"
    )


def repeated(first: Sequence[Number], second: Sequence[Number]) -> list[Number]:
    """Numbers of a second computation, compared with the first by the tolerances of the first."""
    before = {(n.cell, n.split, n.metric): n for n in first if not math.isnan(n.tolerance)}
    out = []
    for n in second:
        if was := before.get((n.cell, n.split, n.metric)):
            missing = math.isnan(n.tolerance)
            verdict = DIFFERS if missing else word(float(n.here), float(was.here), was.tolerance)
            out.append(dataclasses.replace(was, committed=was.here, here=n.here, verdict=verdict))
    return out


def selected(reference: Reference, only: Sequence[str]) -> tuple[list[Entry], list[Unit]]:
    """The pairs (experiment, method) and the units of papers with their own code that ``--only`` names.

    Exits if a word names nothing.
    """
    entries, own = list(reference.entries), own_units()
    for word_ in only:
        if not any(word_ in (e, f"{e}/{m}") for e, m in entries) and word_ not in {u.experiment for u in own}:
            raise SystemExit(f"gate: --only {word_}: no such EXPERIMENT or EXPERIMENT/METHOD")
    if not only:
        return entries, own
    return (
        [(e, m) for e, m in entries if e in only or f"{e}/{m}" in only],
        [u for u in own if u.experiment in only],
    )


def renew_short_runs(reference: Reference, wanted: Sequence[Entry], tables: Tables, jobs: int) -> int:
    """Recompute and write the short runs of these methods; keep all others. Returns the number of methods written."""
    units = [u for u in choose(reference, wanted, "") if u.short]
    rows = {k: v for k, v in reference.short_rows().items() if k[:2] not in set(wanted)}
    for unit, found, _ in recompute_units(reference, units, tables.get, tables.raw, jobs):
        rows |= short_values(unit, found)
    committed.write_short_runs(rows, reference.folder)
    return len({k[:2] for k in rows} & set(wanted))


def check_programs(results: Path) -> int:
    """Compare the score files of papers with their own code. Returns 1 if a value differs or no file exists."""
    numbers = []
    for paper in papers.programs():
        if (folder := results / paper / "scores").is_dir():
            say(f"{paper}: {shown(folder)}")
            differences = compare_program(paper, folder)
            for n in differences:
                if n.verdict == DIFFERS:
                    say(sentence(n, f"papers/{paper}/reference/scores"))
            numbers += differences
    report(numbers)
    return int(not numbers or any(n.verdict == DIFFERS for n in numbers))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.gates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", default="check", choices=["check", "programs", "short-runs"])
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT[/METHOD]")
    parser.add_argument("--write", action="store_true", help="short-runs: write the committed file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--results", default=ROOT / "results", type=Path)
    args = parser.parse_args(argv)
    if args.what == "programs":
        return check_programs(args.results)
    reference, tables = Reference(), Tables(args.results)
    if args.what == "short-runs":
        if not args.write:
            parser.error("short-runs needs --write")
        wanted, _ = selected(reference, args.only)
        say(f"{renew_short_runs(reference, wanted, tables, args.jobs)} short runs written to {SHORT_RUNS}")
        return 0
    return 1 if check(reference, args.only, tables, args.jobs) else 0


if __name__ == "__main__":
    variables = os.environ | environment.variables()
    if variables != os.environ:  # data sets are made by the code that makes numbers everywhere
        os.execve(sys.executable, [sys.executable, "-m", "workflow.gates", *sys.argv[1:]], variables)
    sys.exit(main())
