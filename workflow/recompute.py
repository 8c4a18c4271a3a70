"""Recompute committed cells by the functions that a run calls (``workflow.worker``, ``draws``, ``score``).

Cells that a run fits together are recomputed together, as one :class:`Unit`. Papers with their own code have no
experiments: their cells are groups of score rows (:func:`own_cells`), which ``rows`` of the paper makes again.
Processes work in parallel, and a check that was interrupted resumes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import hashlib
import io
import json
import math
import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import datasets
from datasets import store
from datasets.fetch import main as fetch
from datasets.fetch import mirrored
from datasets.files import ROOT, write_json, write_npz
from dpbayes_bench.tables import own_cell
from evaluation.arms import ABLATION
from methods import contract
from models.kind import CONJUGATE
from workflow import environment, on_demand, papers
from workflow.cell import finish, head_of, requests_of, run
from workflow.committed import SHORT_RUNS, Reference, ShortKey
from workflow.compare import (
    DIFFERS,
    NOT_RUN,
    Number,
    Row,
    compare,
    own_numbers,
    rows_for_reader,
    tolerances,
    word,
)
from workflow.draws import of_cell
from workflow.experiments import Cell, cells, experiment_files, load
from workflow.imports import code_hash
from workflow.score import exact_posteriors, rows_of
from workflow.store import kept_parameters
from workflow.worker import respond

#: prefixes of tuned settings and of ablations. They are sampled only if a method has no other settings.
NOT_ORDINARY = (ABLATION, "tuned")


@dataclass(frozen=True)
class Unit:
    """Cells of one data set that are fitted together, and the splits to recompute.

    Attributes
    ----------
    short : upper limits on settings (one epoch, a few draws) of a fit that is too expensive to repeat. Empty for a
        whole fit.
    seconds : estimated CPU seconds of all splits.
    program : module that makes the score rows of a paper with its own code. ``experiment`` is then the paper's key.
    """

    experiment: str
    dataset: str
    cells: tuple[str, ...]
    methods: tuple[str, ...]
    splits: tuple[int, ...] = (0,)
    short: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0
    program: str = ""

    @property
    def paper(self) -> str:
        """Key of the paper; empty for an experiment of none."""
        return self.experiment if self.program else papers.key_of(self.experiment)

    @property
    def label(self) -> str:
        what = "short run of " if self.short else ""
        more = f" and {len(self.methods) - 2} more" if len(self.methods) > 2 else ""
        return f"{what}{self.experiment}, {self.dataset}: {', '.join(self.methods[:2])}{more}"


def shortened(cell: Cell, caps: Mapping[str, int]) -> Cell:
    """The cell with its settings cut to ``caps``; the same object if none exceeds its cap."""
    settings = tuple((k, min(v, caps[k]) if k in caps and v is not None else v) for k, v in cell.settings)
    return cell if settings == cell.settings else dataclasses.replace(cell, settings=settings)


def together(cell: Cell, by_family: Mapping[str, Sequence[Cell]]) -> list[Cell]:
    """The cells that a run fits in the same call as ``cell``: methods that read one run, or all budgets of a method.

    A method with its own ``fit_many`` may share work between budgets, such as the search for a mode. The digits of a
    draw then depend on the budgets that are fitted together.
    """
    family = by_family.get(cell.family, ())
    same = [c for c in family if c.budget == cell.budget]
    if len({c.method for c in same}) > 1:
        return same
    in_one_go = family and type(cell.adapter()).fit_many is not contract.Method.fit_many
    return list(family) if in_one_go else [cell]


def unit_of(group: Sequence[Cell], splits: Iterable[int], seconds: float, short: Mapping[str, int] | None = None):
    """The :class:`Unit` of a group of cells. ``seconds``: CPU seconds per split."""
    splits = tuple(sorted(set(splits)))
    return Unit(
        group[0].experiment,
        group[0].dataset,
        tuple(c.id for c in group),
        tuple(dict.fromkeys(c.method for c in group)),
        splits,
        tuple(sorted((short or {}).items())),
        seconds * len(splits),
    )


@dataclass(frozen=True)
class OwnCell:
    """The committed score rows of one cell, and the name of their file."""

    file: str
    rows: tuple[dict[str, str], ...]


@cache
def own_cells(paper: str) -> dict[str, OwnCell]:
    """Id of each committed cell of a paper -> the cell. The ids are those of ``dpbayes_bench.scores()``."""
    out: dict[str, OwnCell] = {}
    for path in sorted(papers.programs()[paper][0].reference.glob("scores/*.csv.gz")):
        found: dict[str, list[dict]] = {}
        for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
            found.setdefault(own_cell(row, paper), []).append(row)
        out |= {i: OwnCell(path.name.removesuffix(".csv.gz"), tuple(rows)) for i, rows in found.items()}
    return out


def own_id(paper: str, verdict: Mapping[str, str]) -> str:
    """The id of the cell that a committed verdict judges; empty for a number without runs.

    Some score rows have an epsilon and no setting. It is then the first part of the verdict's setting.
    """
    known = own_cells(paper)
    row = next(iter(known.values())).rows[0]
    named = {k: v for k, v in verdict.items() if k in row}
    if "setting" not in row:
        named["epsilon"] = verdict["setting"].partition(";")[0].removeprefix("epsilon=")
    name = own_cell(named, paper)
    return name if name in known else ""


def own_unit(paper: str, ids: Sequence[str], seconds: float = 0.0) -> Unit:
    """The unit of some cells of one score file."""
    first = own_cells(paper)[ids[0]].rows[0]
    module = papers.programs()[paper][1].rows.partition(":")[0]
    return Unit(paper, first["dataset"], tuple(ids), (f"{paper}/{first['method']}",), (), (), seconds, module)


def own_units() -> list[Unit]:
    """The units that ``Program.samples`` of all papers select: one per score file, method and reading."""
    out = []
    for paper, (_, program) in papers.programs().items():
        for pattern, seconds in program.samples.items():
            groups: dict[tuple[str, ...], list[str]] = {}
            for i, cell in own_cells(paper).items():
                if fnmatch.fnmatchcase(i, pattern):
                    groups.setdefault((cell.file, *(cell.rows[0][k] for k in ("method", "reading"))), []).append(i)
            out += [own_unit(paper, ids, seconds) for ids in groups.values()]
    return out


@dataclass(frozen=True)
class Found:
    """The result of a unit: its score rows, or the compared numbers of a paper's own code, and CPU seconds."""

    rows: list[dict]
    finished: list[Number]
    seconds: float

    def write(self, path: Path) -> None:
        """Store the result, so that an interrupted check resumes."""
        finished = [dataclasses.asdict(n) | {"tolerance": repr(n.tolerance)} for n in self.finished]  # JSON has no NaN
        write_json(path, {"rows": self.rows, "finished": finished, "seconds": self.seconds})

    @classmethod
    def read(cls, path: Path) -> Found:
        stored = json.loads(path.read_text(encoding="utf-8"))
        finished = [Number(**n | {"tolerance": float(n["tolerance"])}) for n in stored["finished"]]
        return cls(stored["rows"], finished, stored["seconds"])


def recompute_unit(
    unit: Unit, data: str, raw: str, folder: str, exact: Sequence[dict] = (), results: Path | None = None
) -> Found:
    """Fit and score a unit in this process.

    Parameters
    ----------
    data : the npz file of its data set.
    raw : folder of raw files, for a paper's own code.
    folder : the committed reference.
    exact : committed rows of the exact posterior that its scores need.
    results : folder that keeps the files of the fits; None to delete them.
    """
    start = time.process_time()
    if unit.program:
        on_demand.for_module(unit.program)
        mirror = os.environ.get("DPBAYES_MIRROR") or None
        finished = recompute_own(unit.experiment, unit.cells, mirror, raw)
        return Found([], finished, time.process_time() - start)
    with contextlib.redirect_stderr(io.StringIO()), tempfile.TemporaryDirectory() as scratch:
        rows = _scored(unit, data, results or Path(scratch), exact, folder)
    return Found(rows, [], time.process_time() - start)


def _scored(unit: Unit, data_path: str, results: Path, given: Sequence[dict], folder: str) -> list[dict]:
    (config,) = (p for p in experiment_files() if load(p)["experiment"] == unit.experiment)
    every = {c.id: c for c in cells(config, "full")}
    if not {*unit.cells, *(r["cell"] for r in given)} <= set(every):  # committed with fewer splits
        every = {c.id: c for c in Reference(Path(folder)).cells_of(config)}
    group = [shortened(every[name], dict(unit.short)) for name in unit.cells]
    data = datasets.load(data_path)
    scratch = results / "partial" / "sample"
    scratch.mkdir(parents=True, exist_ok=True)
    done: dict[tuple[str, int], dict] = {}
    for request in requests_of(group[0].adapter(), len({c.method for c in group}) < len(group), list(unit.splits)):
        for name, row in respond([(c, k) for k in request for c in group], data_path, scratch, not done):
            done[name, row["split"]] = row
    for cell in group:
        mine = {k: row for (name, k), row in done.items() if name == cell.id}
        parameters = kept_parameters(scratch.with_suffix(".jsonl"), mine, cell)
        finish(cell, head_of(cell, data), list(mine.values()), parameters, results)
        if cell.drawn:
            write_npz(results / "draws" / f"{cell.id}.npz", of_cell(cell, results / "fits", data))
    here = {c.id for c in group}
    for name in {r["cell"] for r in given} - here:
        mine = [r for r in given if r["cell"] == name]
        finish(every[name], head_of(every[name], data), [], {}, results, reused=mine)
    # The moments of an exact posterior take the seed of the first cell of the data set, as in a whole run.
    cut = dict(zip(unit.cells, group, strict=True))
    exact = exact_posteriors(
        [cut.get(c.id, c) for c in every.values() if c.dataset == unit.dataset], results / "fits", data
    )
    return [r for cell in group for r in rows_of(cell, results / "fits", data, results / "draws", exact)]


def recompute_own(paper: str, ids: Sequence[str], mirror: str | None, raw: str) -> list[Number]:
    """The numbers of cells of one score file of such a paper, computed here and committed."""
    program, known = papers.programs()[paper][1], own_cells(paper)
    (file,) = {known[i].file for i in ids}
    made: dict[str, list[dict]] = {i: [] for i in ids}

    def wanted(row: Mapping[str, str]) -> bool:
        return own_cell(row, paper) in made

    for row in papers.resolve(program.rows)(file, "full", mirror, raw, wanted):
        made[own_cell(row, paper)].append(row)
    pairs = [(i, was, now) for i in ids for was, now in zip(known[i].rows, made[i], strict=True)]
    return [n for i, was, now in pairs for n in own_numbers(program.measures, i, was, now)]


def run_cell(cell: Cell, data_path: str | Path, results: Path, limit_s: float) -> list[dict]:
    """The score rows of one cell on all its splits, fitted in a process of its own with its files below ``results``.

    The cell need not be committed. ``limit_s``: seconds per fit; a longer fit gives a row with status ``timeout``.
    """
    on_demand.for_cells([cell])
    limited = dataclasses.replace(cell, timeout_s=limit_s, request_timeout_s=limit_s)
    run([limited], str(data_path), results)
    data, fits = datasets.load(str(data_path)), results / "fits"
    if cell.drawn:
        write_npz(results / "draws" / f"{cell.id}.npz", of_cell(limited, fits, data))
    return rows_of(limited, fits, data, results / "draws", exact_posteriors([limited], fits, data))


def exact_rows(reference: Reference, unit: Unit) -> list[dict]:
    """Committed moments of the exact posterior, if the unit is scored by its distance from that posterior."""
    method = reference.cells[unit.cells[0]].about.exact
    if method in ("", CONJUGATE, *unit.methods):
        return []
    wanted = [c for c in reference.entries[unit.experiment, method] if c.dataset == unit.dataset]
    splits = set(map(str, unit.splits))
    return [r for c in wanted for r in reference.rows_of(c) if r["split"] in splits]


def digest(reference: Reference, unit: Unit, data: Path | None) -> str:
    """A hash of all inputs of a unit: code, libraries, data, and committed rows of the exact posterior."""
    if unit.program:
        files = sorted(p for p in (ROOT / "papers" / unit.experiment).glob("reference/scores/*") if p.is_file())
        text = repr((unit, code_hash(unit.program), [hashlib.sha256(p.read_bytes()).hexdigest() for p in files]))
    else:
        roots = sorted(frozenset().union(*(reference.cells[i].score_roots for i in unit.cells)))
        with np.load(data) as npz:
            table = str(npz["table_sha256"])
        text = repr((unit, code_hash(*roots), environment.versions(), table, exact_rows(reference, unit)))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def recompute_units(
    reference: Reference,
    units: Sequence[Unit],
    data: Callable[[str], Path | str],
    raw: Path,
    jobs: int,
    keep: Path | None = None,
    log: Path | None = None,
) -> Iterator[tuple[Unit, Found, bool]]:
    """Yield (unit, result, whether an earlier call had it) as units finish, in ``jobs`` processes.

    Parameters
    ----------
    data : name of a data set -> its npz file, or the reason why it is missing, as text.
    keep : folder for results. Those of an interrupted call with the same inputs are read from there.
    log : file for what libraries print.

    Raises
    ------
    SystemExit : a data set is missing, or a process was killed by the system.
    """
    os.environ.update(environment.variables())
    tables: dict[str, Path] = {}
    for name in sorted({u.dataset for u in units if not u.program}):  # all are there, or nothing is begun
        found = data(name)
        if isinstance(found, str):
            raise SystemExit(f"{name}: {found}")
        tables[name] = found
    with ProcessPoolExecutor(jobs, mp.get_context("spawn"), _begin, (str(log or ""),)) as pool:
        waiting = {}
        for unit in units:
            table = tables.get(unit.dataset)
            path = None if keep is None else keep / f"{digest(reference, unit, table)}.json"
            if path is not None and path.is_file():
                yield unit, Found.read(path), True
                continue
            if not unit.program:
                on_demand.for_cells([reference.cells[i] for i in unit.cells])
            exact = [] if unit.program else exact_rows(reference, unit)
            job = pool.submit(recompute_unit, unit, str(table or ""), str(raw), str(reference.folder), exact)
            waiting[job] = unit, path
        try:
            for job in as_completed(waiting):
                (unit, path), found = waiting[job], job.result()
                if path is not None and not any(r.verdict == NOT_RUN for r in found.finished):
                    found.write(path)
                yield unit, found, False
        except BrokenProcessPool:
            raise SystemExit(
                "a process that recomputed a cell was ended by the system (out of memory?); what is done is kept: the "
                "same command goes on, with one process under DPBAYES_CORES=1 or --jobs 1"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin(log: str) -> None:
    """Redirect standard error of a process to the log."""
    if log:
        with open(log, "a", encoding="utf-8") as f:
            os.dup2(f.fileno(), 2)


class Tables:
    """The parsed data sets below ``results``. Each is fetched at its first use.

    ``most_mb``: the largest download in MB that is started. ``quiet``: a context manager that hides output.
    """

    def __init__(self, results: Path, most_mb: float = math.inf, quiet: Callable = contextlib.nullcontext):
        self.results, self.most_mb, self.quiet = results, most_mb, quiet
        self.raw = results / "raw"
        self._known: dict[str, Path | str] = {}
        self._unreachable: set[str] = set()  # hosts and packages: one that fails costs no other

    def get(self, name: str) -> Path | str:
        """The npz file of a data set, or the reason why it is missing."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Path | str:
        own = self.results / "here" / "data" / f"{name}.npz"
        for path in (self.results / "data" / f"{name}.npz", own):
            if path.is_file() and store.status(path) == "ok":
                return path
        size = sum(r.megabytes for r in datasets.get(name).raw)
        there = mirrored(datasets.get(name), os.environ.get("DPBAYES_MIRROR")) or (self.raw / name).is_dir()
        if size > self.most_mb and not there:
            return f"{name} is a download of {size:.0f} MB"
        with self.quiet():
            words = [name, "--raw", str(self.raw), "--out", str(own)]
            if self.most_mb < math.inf:  # somebody waits
                words += ["--retries", "0", "--timeout", "15"]
            fetch(words, self._unreachable)
        if store.status(own) == "ok":
            return own
        reason = store.load(own).reason
        own.unlink()  # it is tried again by the next call
        return f"no data: {reason.partition(' Tried:')[0]}"


def short_values(unit: Unit, found: Found) -> dict[ShortKey, float]:
    """The numbers of a short run by key. A failed split has its status as metric and NaN as value."""
    out = {}
    for row in found.rows:
        if row["split"] != "":
            key = unit.experiment, row["method"], row["cell"], row["metric"] or row["status"]
            out[key] = float(row["value"]) if row["metric"] else math.nan
    return out


def compare_short(unit: Unit, found: Found, known: Mapping[ShortKey, float]) -> list[Number]:
    """The numbers of a short run, compared with their committed values. One that is on one side only differs."""
    config, out, values = tolerances(), [], short_values(unit, found)
    for key in known:
        if key[0] == unit.experiment and key[2] in unit.cells and key not in values:
            out.append(Number(key[2], "0", key[3], repr(known[key]), "", math.nan, DIFFERS, "it is committed only"))
    for key, value in values.items():
        experiment, method, cell, metric = key
        if key not in known:
            how = f"python -m workflow.gates short-runs --write --only {experiment}/{method}"
            why = f"its short run is not in {SHORT_RUNS}; if its committed scores are those of this code, `{how}`"
            out.append(Number(cell, "0", metric, "", repr(value), math.nan, DIFFERS, why))
            continue
        single = contract.get(method).single_precision
        allowed = config["tolerances"]["single_precision" if single else "short_run"] * max(1.0, abs(known[key]))
        verdict = word(value, known[key], allowed)
        out.append(Number(cell, "0", metric, repr(known[key]), repr(value), allowed, verdict, "short run"))
    return out


def compare_unit(reference: Reference, unit: Unit, found: Found) -> list[Number]:
    """All numbers of a unit, compared with their committed values."""
    if unit.program:
        return [n for n in found.finished if n.verdict != NOT_RUN]
    if unit.short:
        return compare_short(unit, found, reference.short_rows())
    of = (reference.cells[i] for i in unit.cells)
    return [n for cell in of for n in compare(cell, found.rows, reference.rows_of(cell), unit.splits)]


def reader_rows(reference: Reference, unit: Unit, found: Found) -> list[Row]:
    """The lines for ``sample.csv`` of a unit that is not a short run."""
    if unit.program:
        head = unit.paper, unit.methods[0].removeprefix(f"{unit.paper}/"), unit.dataset
        return [Row(n.cell, *head, n.metric, n.committed, n.here, n.verdict, n.why) for n in found.finished]
    of = (reference.cells[i] for i in unit.cells)
    return [r for cell in of for r in rows_for_reader(cell, found.rows, reference.rows_of(cell), unit.splits)]
