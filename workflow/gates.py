"""The gates against ourselves: recompute samples of the committed reference and compare.

    python -m workflow.gates check                 a small sample of every pair (experiment, method): the first split
    python -m workflow.gates check --changed       pairs whose code changed since it was verified: first, last and one
                                                   rotating split at the smallest and largest budget; what agrees moves
                                                   on in reports/reference/verified.csv, what does not is stale there
    python -m workflow.gates status                which pairs are verified, stale or not verified, and why
    python -m workflow.gates short-runs --write    write reports/reference/short_runs.csv anew
    python -m workflow.gates no-data               cells of this run that say no_data although their data is there

``check`` exits with 1 where a number left its band (config/gates.yaml), and where it compared none. ``--only
EXPERIMENT`` or ``--only EXPERIMENT/METHOD`` limits it. The gate against the papers is `python -m reports.build check`.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import json
import math
import multiprocessing as mp
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

from workflow import changes, sample, tracing, verified
from workflow.experiments import Cell, families
from workflow.files import write_text
from workflow.imports import ROOT, path_of
from workflow.sample import Found, Sample
from workflow.verified import Pair, Row

REFERENCE = ROOT / "reports" / "reference"
SHORT_RUNS = "short_runs.csv"
_SHORT_COLUMNS = ["experiment", "method", "metric", "value"]
#: columns of a score row that say what a fit cost in privacy; compared exactly.
COST = ("epsilon", "delta", "relation", "accountant")


@cache
def bands() -> dict:
    """config/gates.yaml."""
    return yaml.safe_load((ROOT / "config/gates.yaml").read_text(encoding="utf-8"))


@cache
def committed(experiment: str) -> dict[str, list[dict]]:
    """Committed score rows by cell. Exits with the reason where they cannot be read."""
    from reports import compact

    try:
        rows = compact.read(REFERENCE, experiment)
    except (FileNotFoundError, ValueError) as e:
        raise SystemExit(f"gate: {e}") from None
    return {name: part.to_dict("records") for name, part in rows.groupby("cell", sort=False)}


@dataclass
class Outcome:
    """What the samples of one pair showed. ``wrong``: one sentence a difference."""

    pair: Pair
    wrong: list[str] = field(default_factory=list)
    compared: int = 0
    cells: set[str] = field(default_factory=set)
    splits: set[int] = field(default_factory=set)
    datasets: set[str] = field(default_factory=set)
    short: bool = False
    nearest: tuple[float, float, str] = (0.0, math.inf, "")  # relative shift, relative band, metric
    widest: tuple[float, str] = (0.0, "")  # the smallest relative shift that every comparison would see
    seconds: float = 0.0
    events: list = field(default_factory=list)

    def compare(self, what: str, metric: str, value: float, old: float, band: float, how: str) -> None:
        """Count one number; ``band`` is absolute."""
        self.compared += 1
        scale = abs(old) or 1.0
        shift = 0.0 if value == old or (math.isnan(value) and math.isnan(old)) else abs(value - old)
        self.widest = max(self.widest, (band / scale, metric))
        if not self.nearest[2] or shift * self.nearest[1] > self.nearest[0] * band / scale * scale:
            self.nearest = shift / scale, band / scale, metric
        if not shift <= band:
            self.wrong.append(f"{what}: {metric} is {value!r}, was {old!r}; allowed {band:.3g} ({how})")


def band(cell: Cell, metric: str, old: float, rows: Sequence[dict]) -> tuple[float, str]:
    """How far a number may be from the committed one, and why. ``rows``: the committed ones of its cell."""
    config = bands()
    if cell.method in config["methods"]["closed_form"]:
        return config["bands"]["closed_form"] * max(1.0, abs(old)), "closed form"
    relative = config["experiments"].get(cell.experiment)
    if relative is not None and cell.method not in config["methods"]["chaotic"]:
        return relative * max(1.0, abs(old)), "not chaotic"
    values = [float(r["value"]) for r in rows if r["metric"] == metric and r["split"] != ""]
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))
    least = config["bands"]["closed_form"] * max(1.0, abs(old))
    return max(least, config["bands"]["standard_errors"] * sd / math.sqrt(len(values))), "half a standard error"


def short_needed(cell: Cell, seconds: float) -> bool:
    """Is this cell compared after a short run: too dear or a chain, or with a wide band after whole training?"""
    config = bands()
    if cell.method in config["methods"]["chains"] or seconds > config["dear_seconds"]:
        return True
    if cell.method in config["methods"]["closed_form"]:
        return False
    chaotic = cell.method in config["methods"]["chaotic"] or cell.experiment not in config["experiments"]
    return chaotic and sample.shortened(cell, config["short"]) is not cell


class Checker:
    """Chooses samples, recomputes them in processes of their own and compares. ``data``: folder of the npz files."""

    def __init__(self, data: Path, jobs: int):
        self.data, self.jobs = data, jobs
        self.pairs = verified.pairs()
        self.cells = {c.id: c for of in self.pairs.values() for c in of}
        self.family = families(self.cells.values())
        self.outcomes: dict[Pair, Outcome] = {}

    @staticmethod
    @cache
    def seconds(experiment: str) -> dict[str, float]:
        """Mean seconds a split of every committed cell that has scores."""
        out = {}
        for name, rows in committed(experiment).items():
            spent = {r["split"]: float(r["seconds"]) for r in rows if r["status"] == "ok" and r["seconds"]}
            if spent:
                out[name] = sum(spent.values()) / len(spent)
        return out

    def samples(self, wanted: Iterable[Pair], rotating: Mapping[Pair, int] | None) -> list[Sample]:
        """Samples of the pairs, each once; without ``rotating`` the small ones."""
        config, out, covered = bands(), {}, set()
        for pair in wanted:
            experiment, _ = pair
            of, spent = self.pairs[pair], self.seconds(experiment)
            data = {c.dataset for c in of}
            caps, chain = config["short"], pair[1] in config["methods"]["chains"]
            turn = None if rotating is None else rotating[pair]
            dear = True if chain else float(config["dear_seconds"])
            if pair not in covered:
                for one in sample.choose(of, self.family, spent, data, caps, dear, turn):
                    out[one.label, one.cells, one.splits] = one
                    covered |= {(experiment, m) for m in one.methods}
            cheapest = min((spent.get(c.id, math.inf) for c in of), default=math.inf)
            if not chain and cheapest <= config["dear_seconds"] and any(short_needed(c, 0.0) for c in of):
                for one in sample.choose(of, self.family, spent, data, caps, True, None):
                    if one.short:
                        out[one.label, one.cells, one.splits] = one
        return sorted(out.values(), key=lambda s: -s.seconds)

    def available(self, dataset: str) -> str:
        """Path of the data set's npz file, which is made where it is missing."""
        from datasets.fetch import main as fetch

        path = self.data / f"{dataset}.npz"
        if not path.exists():
            raw = self.data.parent / "raw"
            if fetch([dataset, "--raw", str(raw), "--out", str(path)]):
                raise SystemExit(f"gate: no data set {dataset}; see the message above")
        return str(path)

    def recompute(self, chosen: Sequence[Sample], traced: Sequence[Path] = ()) -> list[Found]:
        """All samples, with a line of progress for each."""
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NPROC": "1"}
        environment[tracing.VARIABLE] = os.pathsep.join(map(str, traced))
        out = []
        with tempfile.TemporaryDirectory() as cache_folder:
            if any("numba" in p.read_text(encoding="utf-8") for p in traced):
                # numba's cache looks at the file of a function, not at those that it calls: compile anew.
                environment["NUMBA_CACHE_DIR"] = cache_folder
            os.environ.update(environment)
            with ProcessPoolExecutor(self.jobs, mp.get_context("spawn")) as pool:
                jobs = {}
                for one in chosen:
                    path = self.available(one.dataset)
                    jobs[pool.submit(sample.recompute, one, path, self.exact_rows(one))] = one
                for done, job in enumerate(as_completed(jobs), 1):
                    found = job.result()
                    out.append(found)
                    say(f"{done}/{len(jobs)} {found.sample.label}: {found.seconds:.1f} CPU s")
        return out

    def exact_rows(self, one: Sample) -> list[dict]:
        """Committed moments of the exact posterior, where the scores of a sample are distances from it."""
        from workflow.exact import REFERENCE as methods

        kind = self.cells[one.cells[0]].kind
        if methods.get(kind) is None or methods[kind] in one.methods:
            return []
        wanted = [c for c in self.pairs[one.experiment, methods[kind]] if c.dataset == one.dataset]
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
            ends = {0, one.splits[-1]}
            about.events += [e for e in found.events if e[0] == name and e[1] in ends]
            compare_cell(about, cell, by_cell.get(name, []), old, set(map(str, one.splits)), len(one.splits))

    def compare_short(self, found: Found) -> None:
        """A short run against its committed row."""
        config, golden = bands(), short_rows()
        for (pair, metric), value in short_values(found, self.short_methods(found)).items():
            about = self.outcome(pair)
            about.cells |= set(found.sample.cells)
            if (*pair, metric) not in golden:
                about.wrong.append(
                    f"{'/'.join(pair)}: {metric} of its short run is not in {SHORT_RUNS}; where its committed scores "
                    "are those of this code, `python -m workflow.gates short-runs --write` makes it"
                )
                continue
            old = golden[(*pair, metric)]
            single = pair[1] in config["methods"]["single_precision"]
            relative = config["bands"]["single_precision" if single else "short_run"]
            about.compare("/".join(pair), metric, value, old, relative * max(1.0, abs(old)), "short run")

    @staticmethod
    def short_methods(found: Found) -> dict[str, str]:
        """Cell of a short run (its id differs from the committed one's) -> method."""
        return {row["cell"]: row["method"] for row in found.rows}


def compare_cell(about: Outcome, cell: Cell, rows: list[dict], old: list[dict], splits: set[str], n: int) -> None:
    """Rows of one recomputed cell against its committed ones: numbers within bands, status and cost exactly."""
    mine = {(str(r["split"]), r["metric"]): r for r in rows}
    theirs = {(r["split"], r["metric"]): r for r in old if r["split"] in splits or (r["split"] == "" and n > 1)}
    whole = {key for key in theirs if key[0] == ""}
    if n < cell.splits:  # numbers of all splits together need all splits
        theirs = {key: r for key, r in theirs.items() if key not in whole or r["status"] != "ok"}
    for key in sorted({*mine, *theirs}):
        split, metric = key
        what = f"{cell.id}, split {split}" if split else cell.id
        if key not in theirs or key not in mine:
            where = "the recomputation" if key in theirs else "the reference"
            about.wrong.append(f"{what}: '{metric or (theirs.get(key) or mine[key])['status']}' is not in {where}")
            continue
        new, was = mine[key], theirs[key]
        if new["status"] != was["status"]:
            about.wrong.append(f"{what}: status {new['status']} ({new['reason']}), was {was['status']}")
            continue
        for column in COST:
            if new[column] != was[column]:
                about.wrong.append(f"{what}: {column} is '{new[column]}', was '{was[column]}'")
        if not metric:
            about.compared += 1
            continue
        value = float(was["value"])
        allowed, how = band(cell, metric, value, old)
        about.compare(what, metric, float(new["value"]), value, allowed, how)


def short_values(found: Found, methods: Mapping[str, str]) -> dict[tuple[Pair, str], float]:
    """(pair, metric) -> number of a short run; a split that failed gives its status and NaN."""
    out = {}
    for row in found.rows:
        pair = found.sample.experiment, methods[row["cell"]]
        if row["split"] == "" or (len(found.sample.cells) > 1 and row["cell"] != first_of(found, row["method"])):
            continue
        out[pair, row["metric"] or row["status"]] = float(row["value"]) if row["metric"] else math.nan
    return out


def first_of(found: Found, method: str) -> str:
    """The first cell of a method in a sample."""
    return next(row["cell"] for row in found.rows if row["method"] == method)


@cache
def short_rows() -> dict[tuple[str, str, str], float]:
    """The committed short runs: (experiment, method, metric) -> value."""
    path = REFERENCE / SHORT_RUNS
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as f:
        return {(r["experiment"], r["method"], r["metric"]): float(r["value"]) for r in csv.DictReader(f)}


def write_short_runs(checker: Checker, wanted: Sequence[Pair]) -> int:
    """Recompute the short runs of the pairs and write them; rows of other pairs stay. Number of pairs written."""
    chosen = [s for s in checker.samples(wanted, None) if s.short]
    rows = {k: v for k, v in short_rows().items() if k[:2] not in set(wanted)}
    for found in checker.recompute(chosen):
        for (pair, metric), value in short_values(found, checker.short_methods(found)).items():
            rows[(*pair, metric)] = value
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_SHORT_COLUMNS)
    writer.writerows([*key, repr(rows[key])] for key in sorted(rows))
    write_text(REFERENCE / SHORT_RUNS, buffer.getvalue())
    short_rows.cache_clear()
    return len({k[:2] for k in rows} & set(wanted))


def say(text: str) -> None:
    print(f"gate: {text}", flush=True)


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
    bad, cells, widest = 0, set(), (0.0, "", "")
    for pair in wanted:
        about = checker.outcome(pair)
        for sentence in about.wrong:
            say(sentence)
        if not about.compared and not about.wrong:
            say(f"{'/'.join(pair)}: nothing was compared")
        bad += bool(about.wrong) or not about.compared
        cells |= about.cells
        widest = max(widest, (about.widest[0], "/".join(pair), about.widest[1]))
    if widest[1]:
        say(f"smallest relative shift that every comparison would see: {widest[0]:.2g} ({widest[1]}, {widest[2]})")
    numbers = sum(checker.outcome(p).compared for p in wanted)
    say(f"recomputed {len(cells)} cells of {len(wanted)} pairs, {numbers} numbers; {bad} pairs outside their bands")
    return bad if numbers else max(bad, 1)


def check_changed(checker: Checker, wanted: Sequence[Pair], rows_path: Path = verified.FILE) -> int:
    """Recompute the pairs among ``wanted`` whose code changed, and write their rows; number of pairs not verified."""
    rows, now = verified.read(rows_path), {p: verified.closure(checker.pairs[p]) for p in wanted}
    back = [p for p in wanted if verified.state(rows.get(p), now[p]) == verified.VERIFIED]
    for pair in back:
        rows[pair] |= {"status": verified.VERIFIED, "reason": ""}
    todo = [p for p in wanted if p not in set(back)]
    say(f"{len(todo)} of {len(wanted)} pairs have changed since they were verified")
    gone = set(rows) - set(checker.pairs)
    rows = {pair: row for pair, row in rows.items() if pair not in gone}
    if not todo:
        verified.write(rows, rows_path)
        return 0
    difference = {p: changed_lines(rows.get(p), checker.pairs[p]) for p in todo}
    traced = sorted({ROOT / one.path for found, _ in difference.values() for one in found})
    for found in checker.recompute(checker.samples(todo, {p: int(now[p], 16) for p in todo}), traced):
        checker.compare(found)
        for method in found.sample.methods:
            executed_by.setdefault((found.sample.experiment, method), []).append(found.executed)
    bad = report(checker, todo)
    digests = {p: sample.events_digest(checker.outcome(p).events) for p in todo}
    for pair in todo:
        was = rows.get(pair, {}).get("ledger", "")
        if was and digests[pair] and was != digests[pair] and not checker.outcome(pair).wrong:
            checker.outcome(pair).wrong.append("events of the ledger differ")
            say(f"{'/'.join(pair)}: the events of its ledger are not those that were verified")
    sound = [p for p in todo if not checker.outcome(p).wrong and checker.outcome(p).compared]
    for pair in todo:
        about, (lines, lost) = checker.outcome(pair), difference[pair]
        reason = "; ".join(about.wrong[:3])
        status = verified.STALE if about.wrong else verified.VERIFIED
        if status == verified.VERIFIED and (reason := lost or blind_spot(lines, pair, sound)):
            status = verified.UNVERIFIED
            say(f"{'/'.join(pair)}: agrees, but is not verified: {reason}")
        rows[pair] = row_of(pair, about, status, reason, now[pair], rows.get(pair), digests[pair], checker.pairs[pair])
    verified.write(rows, rows_path)
    lost = sum(rows[p]["status"] != verified.VERIFIED for p in todo)
    say(f"{len(todo) - lost} pairs verified, {lost} not")
    return max(lost, bad)


#: pair -> lines executed by its samples in this check, one table a sample.
executed_by: dict[Pair, list[dict[str, set[int]]]] = {}


def changed_lines(row: Row | None, of: Sequence[Cell]) -> tuple[list[changes.Changed], str]:
    """Changed functions in the code of a pair since it was verified, and why that cannot be told (or an empty text)."""
    if row is None or not row["closure"]:
        return [], ""
    commit = row["commit"] if changes.known(row["commit"]) else base_commit(row["closure"], tuple(of))
    if not commit:
        return [], (
            "the commit that was verified is not in this repository, so what changed since is not known: "
            "take a clone with its history, or run the pair in full"
        )
    mine = {str(path_of(m).relative_to(ROOT)) for m in verified.modules(of)}
    return [one for path, found in changes.since(commit).items() if path in mine for one in found], ""


@cache
def base_commit(closure: str, of: tuple[Cell, ...]) -> str:
    """The newest commit whose code of these cells has that digest; empty where there is none."""
    for commit in changes.recent():
        if closure in digests_at(commit, verified.roots(of)):
            return commit
    return ""


@cache
def digests_at(commit: str, roots: tuple[str, ...]) -> tuple[str]:
    from workflow.imports import code_hash

    return (code_hash(*roots, root=code_at(commit)),)


@cache
def code_at(commit: str) -> Path:
    """The code of a commit, in a folder that stays until this process ends."""
    context = changes.checkout(commit)
    folder = context.__enter__()
    import atexit

    atexit.register(context.__exit__, None, None, None)
    return folder


def blind_spot(lines: Sequence[changes.Changed], pair: Pair, sound: Sequence[Pair]) -> str:
    """Changed lines that neither the pair's samples nor, where those do not enter the function, others executed."""
    missing = []
    for one in lines:
        path = str(ROOT / one.path)
        statements = executable(one.path)
        wanted = {k for k in one.lines & statements.keys() if not exempt(one, statements[k])}
        own = set().union(*(e.get(path, set()) for e in executed_by.get(pair, [])))
        if one.entry not in own:
            # the sample does not come here: another pair's, whose numbers agree, must have
            for other in sound:
                own |= set().union(*(e.get(path, set()) for e in executed_by.get(other, [])))
        if left := sorted(wanted - own):
            missing.append(f"{one.path}:{','.join(map(str, left[:5]))} ({one.function})")
    return f"changed lines that no sample executes: {'; '.join(missing[:4])}" if missing else ""


@cache
def executable(path: str) -> dict[int, tuple[str, ...]]:
    """First line of every statement inside functions -> its text and the heads of the statements around it."""
    source = (ROOT / path).read_text(encoding="utf-8")
    lines, out = source.splitlines(), {}

    def walk(node: ast.AST, around: tuple[str, ...], inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            block = isinstance(child, ast.stmt | ast.ExceptHandler)
            head = lines[child.lineno - 1].strip() if block else ""
            if inside and isinstance(child, ast.stmt) and not isinstance(child, ast.Pass | ast.Global | ast.Nonlocal):
                out[child.lineno] = (head, *around)
            walk(child, (head, *around) if block else around, inside or function)

    walk(ast.parse(source), (), False)
    return out


def exempt(one: changes.Changed, heads: tuple[str, ...]) -> bool:
    """Does config/gates.yaml say why no sample needs to execute a statement with these heads?"""
    return any(e["file"] == one.path and any(e["text"] in head for head in heads) for e in bands()["not_executed"])


def row_of(
    pair: Pair, about: Outcome, status: str, reason: str, now: str, old: Row | None, ledger: str, of: Sequence[Cell]
) -> Row:
    """The row of verified.csv. Where the pair is not verified, the last verified code stays in it."""
    row = dict.fromkeys(verified.COLUMNS, "") | (old or {})
    row |= {"experiment": pair[0], "method": pair[1], "status": status, "reason": reason}
    if status != verified.VERIFIED:
        return row
    paths = [str(path_of(m).relative_to(ROOT)) for m in verified.modules(of)]
    shift, allowed, where = about.nearest
    return row | {
        "how": "short run" if about.short and len(about.splits) == 1 else "sample",
        "closure": now,
        "commit": changes.clean(paths),
        "dataset": " ".join(sorted(about.datasets)),
        "splits": str(len(about.splits)),
        "cells": str(len(about.cells)),
        "compared": str(about.compared),
        "largest_shift": f"{shift:.2g}",
        "band": f"{allowed:.2g}" if where else "",
        "where": where,
        "ledger": ledger,
        "seconds": f"{about.seconds:.1f}",
        "versions": verified.versions(),
    }


def status() -> int:
    """Print every pair that is not verified; their number."""
    found = verified.states()
    rows = verified.read()
    for pair, state in found.items():
        if state != verified.VERIFIED:
            print(f"{'/'.join(pair)}: {state}" + (f" ({rows[pair]['reason']})" if rows.get(pair, {}).get("reason") else ""))
    left = sum(s != verified.VERIFIED for s in found.values())
    print(f"{len(found) - left} of {len(found)} pairs verified" + ("; `check --changed` recomputes the others" * bool(left)))
    return left


def no_data_cells(fits: Path, data: Path) -> list[str]:
    """Cells that say no_data although their data set is there."""
    import datasets

    wrong = []
    for path in sorted(fits.glob("*.json")):
        record = json.loads(path.read_text())
        if any(r["status"] == "no_data" for r in record["splits"]):
            npz = data / f"{record['dataset']}.npz"
            if npz.exists() and datasets.load(npz).status == "ok":
                wrong.append(record["cell"])
    return wrong


def selected(pairs: Iterable[Pair], only: Sequence[str]) -> list[Pair]:
    """The pairs that ``--only`` names. Exits where one of them names none."""
    every = list(pairs)
    for word in only:
        if not any(word in (e, f"{e}/{m}") for e, m in every):
            raise SystemExit(f"gate: --only {word}: no such EXPERIMENT or EXPERIMENT/METHOD; `status` lists them")
    return [(e, m) for e, m in every if not only or e in only or f"{e}/{m}" in only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "status", "short-runs", "no-data"])
    parser.add_argument("--changed", action="store_true", help="check: only pairs whose code changed, larger samples")
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT[/METHOD]")
    parser.add_argument("--write", action="store_true", help="short-runs: write the committed file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--results", default=ROOT / "results", type=Path)
    args = parser.parse_args()
    if args.what == "no-data":
        wrong = no_data_cells(args.results / "fits", args.results / "data")
        for cell in wrong:
            print(f"gate: {cell} says no_data, but its data is there; run it again with ./bench --forcerun fit")
        sys.exit(1 if wrong else 0)
    if args.what == "status":
        sys.exit(1 if status() else 0)
    checker = Checker(args.results / "data", args.jobs)
    wanted = selected(checker.pairs, args.only)
    if args.what == "short-runs":
        if not args.write:
            parser.error("short-runs needs --write")
        say(f"{write_short_runs(checker, wanted)} pairs written to {SHORT_RUNS}")
        sys.exit(0)
    sys.exit(1 if (check_changed if args.changed else check)(checker, wanted) else 0)


if __name__ == "__main__":
    main()
