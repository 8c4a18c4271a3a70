"""``./bench`` without arguments: the report of the committed results, then a sample of them recomputed on this machine.

    results/here/report/index.html   the report; its front page shows the outcome of the sample (``checked.js``)
    results/here/sample.csv, .json   every recomputed number next to the committed one
    results/here/log.txt             output of the steps

Finished cells are kept in ``results/here/parts``, so that an interrupted call resumes. A new method or data set, which
the reference does not have, is run at a small scale and marked as new. The exit status is 1 if a cell differs,
otherwise 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from datasets.files import ROOT, write_csv, write_json, write_text
from workflow import environment, papers, recompute
from workflow.committed import Reference
from workflow.compare import DIFFERS, EQUAL, NEW, NOT_RUN, WITHIN, Row
from workflow.experiments import Cell, cells, experiment_files
from workflow.recompute import Tables, Unit, run_cell

#: CPU seconds of all cells. The whole may take 240: the report and reading the reference take the rest.
CPU_SECONDS = 90.0
#: CPU seconds of a cell besides its fit: compilation, scores, start of the process (0.5 in 125 cheap samples).
OVERHEAD_S = 0.6
#: data sets with larger downloads, in MB, are left out.
MOST_MB = 10.0
#: limit in seconds of one fit of a new cell.
NEW_SECONDS = 60.0
#: the largest number of new cells that are run.
NEW_CELLS = 6


def report_command(out: Path) -> list[str]:
    """The command that builds the report of the committed reference in ``out``; its page is ``index.html``."""
    return [sys.executable, "-m", "reports.site", "--out", str(out)]


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Steps:
    """Prints one line per step: what is done, how much is left. ``log``: file for the output of the steps."""

    def __init__(self, log: Path):
        self.start, self.log = time.monotonic(), log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")

    def say(self, text: str) -> None:
        print(f"bench: {clock(time.monotonic() - self.start)} {text}", flush=True)

    @contextlib.contextmanager
    def quiet(self):
        """Redirect the output of this process and its children to the log."""
        saved_stderr = os.dup(2)
        try:
            with (
                open(self.log, "a", encoding="utf-8") as f,
                contextlib.redirect_stderr(f),
                contextlib.redirect_stdout(f),
            ):
                os.dup2(f.fileno(), 2)
                yield
        finally:
            os.dup2(saved_stderr, 2)
            os.close(saved_stderr)


def tables_for(results: Path, steps: Steps) -> Tables:
    """The data sets, without large downloads, and with the output of fetching in the log."""
    return Tables(results, MOST_MB, steps.quiet)


def build_report(steps: Steps, out: Path) -> bool:
    """Build the report of the committed reference, with its output in the log. Returns whether it succeeded."""
    start = time.monotonic()
    steps.say("building the report from the committed reference")
    with open(steps.log, "a", encoding="utf-8") as log:
        made = subprocess.run(report_command(out), stdout=log, stderr=log, cwd=ROOT)
    took = clock(time.monotonic() - start)
    if made.returncode:
        steps.say(f"the report could not be built; the last lines of {steps.log} say why")
    else:
        steps.say(f"the report of the committed reference is there ({took}): {out / 'index.html'}")
    return not made.returncode


def candidates(reference: Reference) -> list[Unit]:
    """A unit per cell that may be chosen, cheapest first. Methods that read one run are one unit."""
    experiments = sorted({cell.experiment for cell in reference.cells.values()})
    spent = {cell: s for e in experiments for cell, s in reference.seconds(e).items() if cell in reference.cells}
    cost = {cell: seconds + OVERHEAD_S for cell, seconds in spent.items()}  # of the first split
    units: dict[tuple[str, ...], Unit] = {}
    for cell in reference.cells.values():
        if cell.id not in cost or cell.setting.startswith(recompute.NOT_ORDINARY):
            continue
        group = [c for c in recompute.together(cell, reference.families) if c.id in cost]
        spent = [cost[c.id] for c in group]  # readings share one run; budgets of one method add up
        one = recompute.unit_of(group, [0], max(spent) if len({c.method for c in group}) > 1 else sum(spent))
        units[one.cells] = one
    return sorted([*units.values(), *recompute.own_units()], key=lambda u: (u.seconds, u.cells))


def choose(
    units: Sequence[Unit], why_not: Callable[[Unit], str], cpu_seconds: float = CPU_SECONDS
) -> tuple[list[Unit], list[Row]]:
    """The units to recompute, most expensive first, and a row for each method without one, with the reason.

    One unit per method and per paper is taken, then one per method in an experiment until the CPU seconds are used up.
    No fit is shortened. ``units``: cheapest first. ``why_not``: why the data of a unit are missing; empty if they are
    there.
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
        """Take the cheapest unit that can be had. Returns None, or the cheapest refused unit if all were refused."""
        mine = [u for u in units if wanted(u)]
        return None if any(take(u) for u in mine) else mine[0]

    missing = []
    for method in dict.fromkeys(m for u in units for m in u.methods):
        if unseen := first(lambda u, m=method: m in u.methods):
            missing.append((method, unseen))
    for paper in dict.fromkeys(u.paper for u in units):
        first(lambda u, p=paper: u.paper == p)
    for experiment, method in dict.fromkeys((u.experiment, m) for u in units if not u.program for m in u.methods):
        take(next(u for u in units if u.experiment == experiment and method in u.methods))
    rows = [Row(u.cells[0], u.paper, m, u.dataset, "", "", "", NOT_RUN, refused[u.cells]) for m, u in missing]
    return sorted(chosen.values(), key=lambda u: -u.seconds), rows


def run_chosen(reference: Reference, chosen: Sequence[Unit], tables: Tables, steps: Steps, jobs: int) -> list[Row]:
    """The lines of all units, with progress for each. Results of an interrupted call are read."""
    rows: dict[Unit, list[Row]] = {}
    reused, ahead, start = 0, sum(u.seconds for u in chosen), time.monotonic()
    left = ahead
    found_by = recompute.recompute_units(
        reference, chosen, tables.get, tables.raw, jobs, tables.results / "here" / "parts", steps.log
    )
    for unit, found, was_there in found_by:
        rows[unit] = recompute.reader_rows(reference, unit, found)
        left -= unit.seconds
        if was_there:
            reused, ahead = reused + 1, ahead - unit.seconds
            continue
        elapsed = time.monotonic() - start
        more = f"; about {clock(elapsed * left / (ahead - left))} left" if left > 0.1 else ""
        steps.say(f"{len(rows)}/{len(chosen)} {unit.label}: {said(rows[unit])} ({found.seconds:.1f} CPU s){more}")
    if reused:
        steps.say(f"{reused} of {len(chosen)} samples are kept from an earlier call")
    return [r for unit in chosen for r in rows[unit]]


def said(rows: Sequence[Row]) -> str:
    """The verdict of a unit."""
    order = [EQUAL, WITHIN, NOT_RUN, DIFFERS]
    return max((r.verdict for r in rows), key=order.index, default=NOT_RUN)


def new_cells(reference: Reference) -> list[Cell]:
    """One small cell of each method and data set of an experiment that the committed reference does not have."""
    out: dict[tuple[str, str, str], Cell] = {}
    for path in experiment_files():
        full = cells(path, "full")
        experiment = full[0].experiment if full else ""
        scores = reference.scores(experiment) if reference.has(experiment) else None
        methods = set() if scores is None else set(scores["method"])
        tables = set() if scores is None else set(scores["dataset"])
        fresh = [c for c in full if c.method not in methods or c.dataset not in tables]
        if not fresh:
            continue
        small = {scale: cells(path, scale) for scale in ("tiny", "quick")}
        for cell in fresh:
            key = (experiment, cell.method if cell.method not in methods else "", cell.dataset)
            if key[1]:
                key = (experiment, cell.method, "")
            if key in out:
                continue
            same_method = [c for of in small.values() for c in of if c.method == cell.method]
            at = [c for c in same_method if c.dataset == cell.dataset] if cell.dataset not in tables else same_method
            # an experiment's small scales may leave it out: then its first split
            out[key] = at[0] if at else dataclasses.replace(cell, splits=1)
    return list(out.values())


def run_new(of: Sequence[Cell], tables: Tables, steps: Steps) -> list[Row]:
    """Rows of cells that the reference does not have, run at their small scale."""
    out = []
    for i, cell in enumerate(of):
        head = cell.id, papers.key_of(cell.experiment), cell.method, cell.dataset
        data = (
            tables.get(cell.dataset) if i < NEW_CELLS else f"one of {len(of)} new cells, of which {NEW_CELLS} are run"
        )
        if isinstance(data, str):
            out.append(Row(*head, "", "", "", NOT_RUN, data))
            continue
        with steps.quiet():
            result = run_cell(cell, data, tables.results / "here" / "new", NEW_SECONDS)
        for row in result:
            where = f"new here: scale {cell.scale}, {cell.splits} split{'s' * (cell.splits > 1)}; not in the reference"
            value = row["value"] if row["metric"] else row["status"]
            out.append(Row(*head, row["metric"] or "status", "", value, NEW, row["reason"] or where))
        steps.say(f"{i + 1}/{len(of)} new here: {cell.method} on {cell.dataset}, scale {cell.scale}")
    return out


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


def write(results: Path, report: Path, rows: Sequence[Row], told: str) -> None:
    """Write sample.csv, sample.json and the report's checked.js."""
    listed = [dataclasses.asdict(r) for r in rows]
    write_csv(results / "here" / "sample.csv", pd.DataFrame(listed, columns=[f.name for f in dataclasses.fields(Row)]))
    facts = {"sentence": told, "rows": listed, "versions": environment.versions(), "scale": "full"}
    write_json(results / "here" / "sample.json", facts)
    write_text(report / "checked.js", f"window.dpbayesChecked = {json.dumps({'sentence': told, 'rows': listed})};\n")


def main(results: Path = Path("results"), jobs: int | None = None) -> int:
    """Run the command. Returns exit status 1 if a recomputed cell differs from the committed one."""
    jobs = jobs or os.cpu_count() or 1
    here = results / "here"
    steps, report = Steps(here / "log.txt"), here / "report"
    stood = build_report(steps, report)
    steps.say("choosing cells of the committed reference to recompute")
    reference, tables = Reference(), tables_for(results, steps)

    def why_not(unit: Unit) -> str:
        found = "" if unit.program else tables.get(unit.dataset)
        return found if isinstance(found, str) else ""

    chosen, missing = choose(candidates(reference), why_not)
    count, seconds = sum(len(u.cells) for u in chosen), sum(u.seconds for u in chosen)
    steps.say(f"recomputing {count} cells, about {seconds:.0f} CPU s on {jobs} cores (noise in {steps.log})")
    rows = run_chosen(reference, chosen, tables, steps, jobs) + missing
    rows += run_new(new_cells(reference), tables, steps)
    summary = sentence(rows)
    write(results, report, rows, summary)
    absent = sorted({r.why.partition(" Tried:")[0] for r in rows if r.verdict == NOT_RUN and "CPU s" not in r.why})
    for row in rows:
        if row.verdict == DIFFERS:
            print(f"bench: {row.cell}: {row.measure} is {row.here}, committed {row.committed} ({row.why})")
    if absent:
        print(f"bench: not here: {absent[0]}{f' (and {len(absent) - 1} more)' if absent[1:] else ''}; {REMEDY}")
    print(f"bench: every number: {here / 'sample.csv'}")
    print(f"bench: {summary}")
    print(f"bench: the report: {report / 'index.html'}" if stood else f"bench: no report; see {steps.log}", flush=True)
    return 1 if any(r.verdict == DIFFERS for r in rows) else 0


REMEDY = "with a network, or with DPBAYES_MIRROR naming a folder that has the files, the same command goes on"
