"""``./bench`` without arguments: the report of the committed reference, then a spot check of it on this machine.

    results/here/report/index.html   the report; its first line is the outcome of the spot check (``checked.js``)
    results/here/sample.csv, .json   every recomputed number beside the committed one
    results/here/log.txt             what the steps print

Cells that are done are kept in ``results/here/parts``, so that a call that was interrupted goes on. What the reference
does not have yet (a new method or data set) is run at a small scale and marked as new. Exit status: 1 where a cell
differs, 0 otherwise.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import multiprocessing as mp
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import datasets
from datasets import store
from datasets.files import ROOT, write_json, write_text
from workflow import arithmetic, closure, spot_check
from workflow.check import Checker
from workflow.experiments import Cell, cells, experiment_files
from workflow.spot_check import DIFFERS, NEW, NOT_RUN, Row, Unit

#: a data set whose files are not here is left out where they are larger.
MOST_MB = 10.0
#: seconds of one fit of what is new.
NEW_SECONDS = 60.0
#: cells of what is new that are run.
NEW_CELLS = 6


def report_command(out: Path) -> list[str]:
    """What builds the report of the committed reference into ``out``; its page is ``index.html``."""
    return [sys.executable, "-m", "reports.site", "--out", str(out)]


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Steps:
    """One line a step: what, done of all, time left. ``log``: where the noise of the steps goes."""

    def __init__(self, log: Path):
        self.start, self.log = time.monotonic(), log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("", encoding="utf-8")

    def say(self, text: str) -> None:
        print(f"bench: {clock(time.monotonic() - self.start)} {text}", flush=True)

    @contextlib.contextmanager
    def quiet(self):
        """What is printed goes to the log, that of the processes that are started, too."""
        kept = os.dup(2)
        try:
            with (
                open(self.log, "a", encoding="utf-8") as f,
                contextlib.redirect_stderr(f),
                contextlib.redirect_stdout(f),
            ):
                os.dup2(f.fileno(), 2)
                yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


class Tables:
    """The parsed data sets, fetched when they are first asked for."""

    def __init__(self, results: Path, steps: Steps):
        self.results, self.steps = results, steps
        self._known: dict[str, Path | str] = {}
        self._offline = False

    def get(self, name: str) -> Path | str:
        """Its npz file, or the reason why there is none."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Path | str:
        own = self.results / "here" / "data" / f"{name}.npz"
        for path in (self.results / "data" / f"{name}.npz", own):
            if path.is_file() and store.status(path) == "ok":
                return path
        about = datasets.get(name)
        raw, size = self.results / "raw", sum(r.megabytes for r in about.raw)
        if size > MOST_MB and not os.environ.get("DPBAYES_MIRROR") and not (raw / name).is_dir():
            return f"{name} is a download of {size:.0f} MB"
        from datasets.fetch import main as fetch

        with self.steps.quiet():
            words = [name, "--raw", str(raw), "--out", str(own), "--retries", "0", "--timeout", "15"]
            fetch([*words, *(["--offline"] if self._offline else [])])
        if store.status(own) == "ok":
            return own
        reason = store.load(own).reason
        own.unlink()  # it is tried again by the next call
        self._offline |= any(w in reason for w in ("no connection", "no answer", "no whole answer"))
        return f"no data: {reason.partition(' Tried:')[0]}"


def build_report(steps: Steps, out: Path) -> bool:
    """The report of the committed reference; did it come about? What it prints goes to the log."""
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


def _begin(log: str) -> None:
    """A process of the pool: what libraries print goes to the log."""
    with open(log, "a", encoding="utf-8") as f:
        os.dup2(f.fileno(), 2)


def recompute(checker: Checker, chosen: Sequence[Unit], tables: Tables, steps: Steps, jobs: int) -> list[Row]:
    """All units in ``jobs`` processes, dearest first, those of an interrupted call read."""
    parts, raw = tables.results / "here" / "parts", str(tables.results / "raw")
    mirror = os.environ.get("DPBAYES_MIRROR", "")
    os.environ.update(arithmetic.environment())
    rows: dict[int, list[Row]] = {}
    todo: dict[int, tuple[Unit, str, Path]] = {}
    for i, unit in enumerate(chosen):
        data = tables.get(unit.dataset) if unit.sample else None
        part = parts / f"{spot_check.digest(checker, unit, data)}.json"
        if part.is_file():
            rows[i] = [Row(**r) for r in json.loads(part.read_text(encoding="utf-8"))["rows"]]
        else:
            todo[i] = unit, str(data or ""), part
    if rows:
        steps.say(f"{len(rows)} of {len(chosen)} samples are kept from an earlier call")
    if not todo:
        return [r for i in sorted(rows) for r in rows[i]]
    ahead, start = sum(u.seconds for u, _, _ in todo.values()), time.monotonic()
    left = ahead
    with ProcessPoolExecutor(jobs, mp.get_context("spawn"), _begin, (str(steps.log),)) as pool:
        jobs_of = {}
        for i, (unit, data, _) in todo.items():
            exact = checker.exact_rows(unit.sample) if unit.sample else []
            jobs_of[pool.submit(spot_check.recompute, unit, data, exact, mirror, raw)] = i
        try:
            for job in as_completed(jobs_of):
                i = jobs_of[job]
                unit, _, part = todo[i]
                scored, finished, cpu = job.result()
                rows[i] = [Row(**r) for r in finished] or spot_check.compared(checker, unit, scored)
                if not any(r.verdict == NOT_RUN for r in rows[i]):
                    write_json(part, {"rows": [dataclasses.asdict(r) for r in rows[i]], "cpu_seconds": cpu})
                left -= unit.seconds
                elapsed = time.monotonic() - start
                more = f"; about {clock(elapsed * left / (ahead - left))} left" if left > 0.1 else ""
                steps.say(f"{len(rows)}/{len(chosen)} {unit.label}: {said(rows[i])} ({cpu:.1f} CPU s){more}")
        except BrokenProcessPool:
            raise SystemExit(
                "bench: a process that recomputed a cell was ended by the system (out of memory?); what is done is "
                "kept: DPBAYES_CORES=1 ./bench goes on with one process"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [r for i in sorted(rows) for r in rows[i]]


def said(rows: Sequence[Row]) -> str:
    """The verdict of a unit in a word."""
    order = [spot_check.EQUAL, spot_check.WITHIN, NOT_RUN, DIFFERS]
    return max((r.verdict for r in rows), key=order.index, default=NOT_RUN)


def new_cells(checker: Checker) -> list[Cell]:
    """One small cell of each method and data set that an experiment has and the committed reference does not."""
    out: dict[tuple[str, str, str], Cell] = {}
    for path in experiment_files():
        full = cells(path, "full")
        experiment = full[0].experiment if full else ""
        rows = spot_check.known(experiment)
        methods = set() if rows is None else set(rows.scores["method"])
        tables = set() if rows is None else set(rows.scores["dataset"])
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
            found = [c for of in small.values() for c in of if c.method == cell.method]
            at = [c for c in found if c.dataset == cell.dataset] if cell.dataset not in tables else found
            # an experiment's small scales may leave it out: then its first split
            out[key] = at[0] if at else dataclasses.replace(cell, splits=1)
    return list(out.values())


def run_new(of: Sequence[Cell], tables: Tables, steps: Steps) -> list[Row]:
    """Rows of cells that the reference does not have, run at their small scale."""
    from workflow.once import run_once

    out = []
    for i, cell in enumerate(of):
        head = cell.id, spot_check.paper_of(cell.experiment), cell.method, cell.dataset
        data = (
            tables.get(cell.dataset) if i < NEW_CELLS else f"one of {len(of)} new cells, of which {NEW_CELLS} are run"
        )
        if isinstance(data, str):
            out.append(Row(*head, "", "", "", NOT_RUN, data))
            continue
        with steps.quiet():
            found = run_once(cell, data, tables.results / "here" / "new", NEW_SECONDS)
        for row in found:
            where = f"new here: scale {cell.scale}, {cell.splits} split{'s' * (cell.splits > 1)}; not in the reference"
            value = row["value"] if row["metric"] else row["status"]
            out.append(Row(*head, row["metric"] or "status", "", value, NEW, row["reason"] or where))
        steps.say(f"{i + 1}/{len(of)} new here: {cell.method} on {cell.dataset}, scale {cell.scale}")
    return out


def write(results: Path, report: Path, rows: Sequence[Row], told: str) -> None:
    """sample.csv, sample.json and the report's checked.js."""
    listed = [dataclasses.asdict(r) for r in rows]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [f.name for f in dataclasses.fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    write_text(results / "here" / "sample.csv", buffer.getvalue())
    facts = {"sentence": told, "rows": listed, "versions": closure.versions(), "scale": "full"}
    write_json(results / "here" / "sample.json", facts)
    write_text(report / "checked.js", f"window.dpbayesChecked = {json.dumps({'sentence': told, 'rows': listed})};\n")


def main(results: Path = Path("results"), jobs: int | None = None) -> int:
    """The first command; exit status 1 where a recomputed cell differs from the committed one."""
    jobs = jobs or os.cpu_count() or 1
    here = results / "here"
    steps, report = Steps(here / "log.txt"), here / "report"
    stood = build_report(steps, report)
    steps.say("choosing cells of the committed reference to recompute")
    checker, tables = Checker(results / "data", jobs), Tables(results, steps)
    units = spot_check.candidates(checker, spot_check.estimates(checker))

    def why_not(unit: Unit) -> str:
        found = tables.get(unit.dataset) if unit.sample else ""
        return found if isinstance(found, str) else ""

    chosen, missing = spot_check.choose(units, why_not)
    count, seconds = sum(len(u.cells) for u in chosen), sum(u.seconds for u in chosen)
    steps.say(f"recomputing {count} cells, about {seconds:.0f} CPU s on {jobs} cores (noise in {steps.log})")
    rows = recompute(checker, chosen, tables, steps, jobs) + missing
    rows += run_new(new_cells(checker), tables, steps)
    told = spot_check.sentence(rows)
    write(results, report, rows, told)
    absent = sorted({r.why.partition(" Tried:")[0] for r in rows if r.verdict == NOT_RUN and "CPU s" not in r.why})
    for row in rows:
        if row.verdict == DIFFERS:
            print(f"bench: {row.cell}: {row.measure} is {row.here}, committed {row.committed} ({row.why})")
    if absent:
        print(f"bench: not here: {absent[0]}{f' (and {len(absent) - 1} more)' if absent[1:] else ''}; {REMEDY}")
    print(f"bench: every number: {here / 'sample.csv'}")
    print(f"bench: {told}")
    print(f"bench: the report: {report / 'index.html'}" if stood else f"bench: no report; see {steps.log}", flush=True)
    return 1 if any(r.verdict == DIFFERS for r in rows) else 0


REMEDY = "with a network, or with DPBAYES_MIRROR naming a folder that has the files, the same command goes on"
