"""Chooses samples of the committed reference, recomputes them in processes of their own and compares."""

from __future__ import annotations

import hashlib
import math
import multiprocessing as mp
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

from datasets.files import ROOT
from models.kind import CONJUGATE
from workflow import arithmetic, closure, sample, tracing
from workflow.compare import (
    SHORT_RUNS,
    Outcome,
    bands,
    committed,
    compare_cell,
    seconds,
    short_cells,
    short_needed,
    short_rows,
    short_values,
    write_short_rows,
)
from workflow.experiments import families
from workflow.sample import Found, Sample
from workflow.verified import Pair


def say(text: str) -> None:
    print(f"gate: {text}", flush=True)


def fetch(dataset: str, raw: Path, out: Path) -> int:
    """Make the npz file of a data set, by the code that makes numbers everywhere; the exit status."""
    words = [sys.executable, "-m", "datasets.fetch", dataset, "--raw", str(raw), "--out", str(out)]
    return subprocess.run(words, cwd=ROOT, env=os.environ | arithmetic.environment(), check=False).returncode


class Checker:
    """Chooses samples, recomputes them in processes of their own and compares. ``data``: folder of the npz files."""

    def __init__(self, data: Path, jobs: int):
        self.data, self.jobs = data, jobs
        self.pairs = {pair: tuple(map(sample.as_committed, of)) for pair, of in closure.pairs().items()}
        self.cells = {c.id: c for of in self.pairs.values() for c in of}
        self.family = families(self.cells.values())
        self.outcomes: dict[Pair, Outcome] = {}

    def samples(self, wanted: Iterable[Pair], rotating: Mapping[Pair, int] | None) -> list[Sample]:
        """Samples of the pairs, each once; without ``rotating`` the small ones."""
        config, out, covered = bands(), {}, set()
        for pair in wanted:
            experiment, _ = pair
            of, spent = self.pairs[pair], seconds(experiment)
            data = {c.dataset for c in of}
            caps, chain = config["short"], pair[1] in config["methods"]["chains"]
            turn = None if rotating is None else rotating[pair]
            dear = True if chain else float(config["dear_seconds"])
            cheapest = min((spent.get(c.id, math.inf) for c in of), default=math.inf)
            chosen = []
            if pair not in covered:
                chosen = [s for s in sample.choose(of, self.family, spent, data, caps, dear, turn) if not s.short]
                covered |= {(experiment, m) for one in chosen for m in one.methods}
            if chain or cheapest > config["dear_seconds"] or any(short_needed(c, 0.0) for c in of):
                known = short_cells(pair)
                same = [c for c in of if sample.shortened(c, caps).id in known] or of
                chosen += [s for s in sample.choose(same, self.family, spent, data, caps, True, None) if s.short]
            out |= {(one.label, one.cells, one.splits): one for one in chosen}
        return sorted(out.values(), key=lambda s: -s.seconds)

    def available(self, dataset: str) -> Path:
        """The data set's npz file, which is made where it is missing. Exits with the reason where there is no data."""
        path = self.data / f"{dataset}.npz"
        if not path.exists() or self._why_not(path):  # what could not be had then is asked for again
            raw = self.data.parent / "raw"
            if fetch(dataset, raw, path):
                raise SystemExit(f"gate: no data set {dataset}; see the message above")
        if why := self._why_not(path):
            raise SystemExit(f"gate: {dataset}: {why}")
        return path

    @staticmethod
    def _why_not(path: Path) -> str:
        with np.load(path) as npz:
            return "" if str(npz["status"]) == "ok" else str(npz["reason"])

    def recompute(self, chosen: Sequence[Sample], traced: Sequence[Path] = (), keep: Path | None = None) -> list[Found]:
        """All samples, with a line of progress for each.

        ``keep``: folder for what an interrupted check has found of this very code; read, too.
        """
        environment = arithmetic.environment()
        environment[tracing.VARIABLE] = os.pathsep.join(map(str, traced))
        out = []
        tables = {name: self.available(name) for name in sorted({one.dataset for one in chosen})}  # or none is begun
        with tempfile.TemporaryDirectory() as cache_folder:
            if any("numba" in p.read_text(encoding="utf-8") for p in traced):
                # numba's cache looks at the file of a function, not at those that it calls: compile anew.
                environment["NUMBA_CACHE_DIR"] = cache_folder
            os.environ.update(environment)
            with ProcessPoolExecutor(self.jobs, mp.get_context("spawn")) as pool:
                jobs = {}
                for one in chosen:
                    data = tables[one.dataset]
                    path = None if keep is None else keep / f"{self.name_of(one, data, traced)}.json"
                    if path is not None and path.exists():
                        out.append(Found.read(path, one))
                    else:
                        jobs[pool.submit(sample.recompute, one, str(data), self.exact_rows(one))] = path
                if out:
                    say(f"{len(out)} of {len(chosen)} samples are there from an interrupted check")
                try:
                    for job in as_completed(jobs):
                        found = job.result()
                        out.append(found)
                        if jobs[job] is not None:
                            found.write(jobs[job])
                        say(f"{len(out)}/{len(chosen)} {found.sample.label}: {found.seconds:.1f} CPU s")
                except BrokenProcessPool:
                    raise SystemExit(
                        "gate: a process that recomputed a sample was ended by the system (out of memory?); "
                        "try --jobs 1; what is done stays done"
                    ) from None
        return out

    def name_of(self, one: Sample, data: Path, traced: Sequence[Path]) -> str:
        """Digest of all that a sample's numbers and executed lines depend on."""
        code = [closure.closure(self.pairs[one.experiment, m]) for m in one.methods]
        seen = [(str(p), p.read_text(encoding="utf-8")) for p in traced]
        with np.load(data) as npz:
            text = repr((one, code, seen, closure.versions(), str(npz["table_sha256"])))
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def exact_rows(self, one: Sample) -> list[dict]:
        """Committed moments of the exact posterior, where the scores of a sample are distances from it."""
        method = self.cells[one.cells[0]].about.exact
        if method in ("", CONJUGATE, *one.methods):
            return []
        wanted = [c for c in self.pairs[one.experiment, method] if c.dataset == one.dataset]
        splits = set(map(str, one.splits))
        return [r for c in wanted for r in committed(one.experiment).get(c.id, ()) if r["split"] in splits]

    def outcome(self, pair: Pair) -> Outcome:
        return self.outcomes.setdefault(pair, Outcome(pair))

    def compare(self, found: Found) -> None:
        """Every recomputed number against the committed one."""
        one = found.sample
        for pair in {(one.experiment, m) for m in one.methods}:
            about = self.outcome(pair)
            about.seconds += found.seconds / len(one.methods)
            about.datasets.add(one.dataset)
            about.short |= bool(one.short)
            about.splits |= set(one.splits)
        if one.short:
            self.compare_short(found)
            return
        by_cell: dict[str, list[dict]] = {}
        for row in found.rows:
            by_cell.setdefault(row["cell"], []).append(row)
        for name in one.cells:
            cell = self.cells[name]
            about = self.outcome((cell.experiment, cell.method))
            old = committed(cell.experiment).get(name, [])
            about.cells.add(name)
            if not old:
                about.wrong.append(f"{name}: not in the committed reference; run the full scale and commit it")
                continue
            if one.splits != (0,) or cell.splits == 1:  # of the pair's main samples
                about.events += [e for e in found.events if e[0] == name and e[1] in (0, one.splits[-1])]
            compare_cell(about, cell, by_cell.get(name, []), old, set(map(str, one.splits)), len(one.splits))

    def compare_short(self, found: Found) -> None:
        """A short run against its committed row."""
        config, golden = bands(), short_rows()
        for method in found.sample.methods:
            self.outcome((found.sample.experiment, method)).short_events += found.events
        for key, value in short_values(found).items():
            (*pair, _, metric), about = key, self.outcome(key[:2])
            about.cells |= set(found.sample.cells)
            if key not in golden:
                about.wrong.append(
                    f"{'/'.join(pair)}: {metric} of its short run is not in {SHORT_RUNS}; where its committed scores "
                    "are those of this code, `python -m workflow.gates short-runs --write` makes it"
                )
                continue
            old = golden[key]
            single = pair[1] in config["methods"]["single_precision"]
            relative = config["bands"]["single_precision" if single else "short_run"]
            about.compare("/".join(pair), metric, value, old, relative * max(1.0, abs(old)), "short run")


def check(checker: Checker, wanted: Sequence[Pair]) -> int:
    """The small sample of every pair; number of pairs with a number outside its band, at least 1 where none compared.

    Synthetic data, which are for time and memory only, are left to ``--changed``.
    """
    import datasets

    synthetic = set(datasets.names("synthetic"))
    wanted = [p for p in wanted if {c.dataset for c in checker.pairs[p]} - synthetic]
    chosen = checker.samples(wanted, None)
    for found in checker.recompute(chosen):
        checker.compare(found)
    return report(checker, wanted)


def report(checker: Checker, wanted: Sequence[Pair]) -> int:
    """Print differences and what the comparison could see; number of pairs that differ."""
    bad, cells, bands_seen = 0, set(), []
    for pair in wanted:
        about = checker.outcome(pair)
        for sentence in about.wrong:
            say(sentence)
        if not about.compared and not about.wrong:
            say(f"{'/'.join(pair)}: nothing was compared")
        bad += bool(about.wrong) or not about.compared
        cells |= about.cells
        bands_seen += [(allowed, "/".join(pair), metric) for allowed, metric in about.bands]
    if bands_seen:
        bands_seen.sort()
        (most, *_), (widest, pair, metric) = bands_seen[int(0.95 * (len(bands_seen) - 1))], bands_seen[-1]
        say(f"95 % of the comparisons would see a relative shift of {most:.2g}, all {widest:.2g} ({pair}, {metric})")
    numbers = sum(checker.outcome(p).compared for p in wanted)
    say(f"recomputed {len(cells)} cells of {len(wanted)} pairs, {numbers} numbers; {bad} pairs outside their bands")
    return bad if numbers else max(bad, 1)


def write_short_runs(checker: Checker, wanted: Sequence[Pair]) -> int:
    """Recompute the short runs of the pairs and write them; rows of other pairs stay. Number of pairs written."""
    chosen = [s for s in checker.samples(wanted, None) if s.short]
    rows = {k: v for k, v in short_rows().items() if k[:2] not in set(wanted)}
    for found in checker.recompute(chosen):
        rows |= short_values(found)
    write_short_rows(rows)
    return len({k[:2] for k in rows} & set(wanted))
