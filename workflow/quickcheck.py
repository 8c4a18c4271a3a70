"""``./bench`` without arguments: the committed verdicts, then a sample of committed cells recomputed on this machine.

    results/here/report/index.html   one row per recomputed cell; ``checked.js`` holds the rows
    results/here/sample.csv, .json   every recomputed number next to the committed one
    results/here/log.txt             output of the steps

``checked.js`` is also written to ``results/report``, so that ``./bench site`` shows the outcome on its front page.

Finished cells are kept in ``results/here/parts``, so that an interrupted call resumes. A new method or data set, which
the reference does not have, is run at a small scale and marked as new. The exit status is 1 if a cell differs,
otherwise 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from datasets.files import ROOT, write_csv, write_json, write_text
from evaluation.metrics import main_metrics
from workflow import environment, papers, recompute
from workflow.committed import Reference
from workflow.compare import COST, DIFFERS, EQUAL, NEW, NOT_RUN, WITHIN, Row
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


#: prints the committed verdicts by source.
BOARD = (sys.executable, "-m", "reports.scoreboard")
#: page, script and style of the sample, below ``results/here/report``.
PAGE = {"sample.html": "index.html", "site.css": "_static/site.css", "site.js": "_static/site.js"}
#: verdicts by their place on the page.
ORDER = (DIFFERS, WITHIN, NEW, EQUAL, NOT_RUN)


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Steps:
    """Prints one line per step, and progress on one line. ``log``: file for the output of the steps."""

    def __init__(self, log: Path):
        self.start, self.log = time.monotonic(), log
        self._tenth, self._open = 0, False
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")

    def say(self, text: str) -> None:
        self.end()
        print(f"bench: {clock(time.monotonic() - self.start)} {text}", flush=True)

    def progress(self, share: float, text: str, detail: str) -> None:
        """Replace the line of progress on a terminal. Elsewhere print ``text`` at every tenth of the work.

        ``share``: the part of the work that is done. ``detail`` goes to the log.
        """
        with open(self.log, "a", encoding="utf-8") as log:
            print(detail, file=log)
        line = f"bench: {clock(time.monotonic() - self.start)} {text}"
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:{width}}", end="", flush=True)
            self._open = True
        elif int(10 * share) > self._tenth:
            self._tenth = int(10 * share)
            print(line, flush=True)

    def end(self) -> None:
        """End the line of progress."""
        if self._open:
            print(flush=True)
        self._open = False

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


def show_committed(steps: Steps) -> None:
    """Print the committed verdicts by source. An error goes to the log."""
    with open(steps.log, "a", encoding="utf-8") as log:
        made = subprocess.run(BOARD, stdout=subprocess.PIPE, stderr=log, cwd=ROOT, text=True)
    if made.returncode:
        steps.say(f"the committed verdicts cannot be shown; the last lines of {steps.log} say why")
    else:
        print(made.stdout, flush=True)


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
    No fit is shortened. A unit above a third of the CPU seconds is refused, because it would leave too little for the
    others. ``units``: cheapest first. ``why_not``: why the data of a unit are missing; empty if they are
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
            if unit.seconds > min(left, cpu_seconds / 3):
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
        more = f", about {clock(elapsed * left / (ahead - left))} left" if left > 0.1 else ""
        bad = sum(said(r) == DIFFERS for r in rows.values())
        steps.progress(
            len(rows) / len(chosen),
            f"{len(rows)} of {len(chosen)} samples{f', {bad} differ' if bad else ''}{more}: {unit.label}",
            f"{unit.label}: {said(rows[unit])} ({found.seconds:.1f} CPU s)",
        )
    steps.end()
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


def one_per_cell(rows: Sequence[Row]) -> list[tuple[Row, int]]:
    """A row per cell: that of its worst measure, by ``ORDER``, and how many measures were compared.

    Among equal verdicts a main metric comes first, and a cost last. Rows are sorted by ``ORDER``.
    """
    main = main_metrics()
    by_cell: dict[str, list[Row]] = {}
    for row in rows:
        by_cell.setdefault(row.cell, []).append(row)

    def rank(row: Row) -> tuple[int, bool, bool]:
        return ORDER.index(row.verdict), row.measure not in main, row.measure in ("status", *COST)

    chosen = sorted((min(of, key=rank) for of in by_cell.values()), key=lambda row: ORDER.index(row.verdict))
    return [(row, len(by_cell[row.cell])) for row in chosen]


def write(results: Path, rows: Sequence[Row], told: str) -> Path:
    """Write sample.csv, sample.json, and the page with its checked.js. Returns the page."""
    here, listed = results / "here", [dataclasses.asdict(r) for r in rows]
    write_csv(here / "sample.csv", pd.DataFrame(listed, columns=[f.name for f in dataclasses.fields(Row)]))
    facts = {"sentence": told, "rows": listed, "versions": environment.versions(), "scale": "full"}
    write_json(here / "sample.json", facts)
    said = {"sentence": told, "rows": [dataclasses.asdict(row) | {"of": of} for row, of in one_per_cell(rows)]}
    for folder in (here / "report", results / "report"):
        write_text(folder / "checked.js", f"window.dpbayesChecked = {json.dumps(said)};\n")
    for name, place in PAGE.items():
        write_text(here / "report" / place, (ROOT / "reports/site/static" / name).read_text(encoding="utf-8"))
    return here / "report" / "index.html"


def closing(rows: Sequence[Row]) -> list[str]:
    """The lines that end the command: the cells that differ, and why methods were not run, most methods first."""
    bad = [row for row, _ in one_per_cell(rows) if row.verdict == DIFFERS]
    out = [f"differs: {r.cell}: {r.measure} is {r.here}, committed {r.committed} ({r.why})" for r in bad[:LISTED]]
    if bad[LISTED:]:
        out.append(f"differs: {len(bad) - LISTED} more cells in the table")
    left = [r for r in rows if r.verdict == NOT_RUN]
    why = {r.method: TOO_EXPENSIVE if "CPU s" in r.why else r.why.partition(" Tried:")[0] for r in left}
    for reason, count in Counter(why.values()).most_common(LISTED):
        out.append(f"not run, {count} method{'s' * (count > 1)}: {reason}")
    if (rest := len({*why.values()}) - LISTED) > 0:
        out.append(f"not run: {rest} more reasons in the table")
    if any(reason != TOO_EXPENSIVE for reason in why.values()):
        out.append(REMEDY)
    return out


def main(results: Path = Path("results"), jobs: int | None = None) -> int:
    """Run the command. Returns exit status 1 if a recomputed cell differs from the committed one."""
    jobs = jobs or os.cpu_count() or 1
    here = results / "here"
    steps = Steps(here / "log.txt")
    show_committed(steps)
    steps.say("choosing cells of the committed reference to recompute")
    reference, tables = Reference(), tables_for(results, steps)

    def why_not(unit: Unit) -> str:
        found = "" if unit.program else tables.get(unit.dataset)
        return found if isinstance(found, str) else ""

    chosen, missing = choose(candidates(reference), why_not)
    count, seconds = sum(len(u.cells) for u in chosen), sum(u.seconds for u in chosen)
    steps.say(f"recomputing {count} cells, about {seconds:.0f} CPU s and compilation, on {jobs} cores")
    rows = run_chosen(reference, chosen, tables, steps, jobs) + missing
    rows += run_new(new_cells(reference), tables, steps)
    summary = sentence(rows)
    page = write(results, rows, summary)
    print()
    for line in closing(rows):
        print(f"bench: {line}")
    print(f"bench: every number: {here / 'sample.csv'}; all committed results as pages: ./bench site")
    print(f"bench: {summary}")
    print(f"bench: one row per cell: {page}", flush=True)
    return 1 if any(r.verdict == DIFFERS for r in rows) else 0


#: the largest number of cells, and of reasons, that the command prints at its end.
LISTED = 6
TOO_EXPENSIVE = "too expensive for the sample; `./bench doubt CELL` recomputes one"
REMEDY = "with a network, or with DPBAYES_MIRROR naming a folder that has the files, the same command goes on"
