"""Are the committed numbers still right? Some of them are chosen, recomputed and compared.

The gate (``workflow.gates``), ``./bench`` (``workflow.quickcheck``), ``./bench doubt`` (``workflow.recheck``) and
``reports.build agree`` (``reports.whole_run``) share these functions. A cell is fitted, drawn and scored by the
functions that a run calls (``workflow.worker``, ``draws``, ``score``), and cells that a run fits together are fitted
together. The tolerances are those of ``config/gates.yaml``.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from datasets.files import ROOT, write_json
from dpbayes_bench.tables import own_cell
from evaluation.arms import ABLATION
from methods import contract
from methods.contract import Rerun
from models.kind import CONJUGATE
from workflow import arithmetic, manifest, papers
from workflow.committed import SHORT_RUNS, Entry, Reference, ShortKey
from workflow.experiments import Cell, cells, experiment_files, load
from workflow.imports import code_hash, differing
from workflow.program import CPU_SECONDS

#: columns of a score row that say what a fit cost in privacy; compared exactly, epsilon within its own tolerance.
COST = ("epsilon", "delta", "relation", "accountant")
EQUAL, WITHIN, DIFFERS, NOT_RUN, NEW = "equal", "within", "differs", "not run", "new"
#: a cell that costs at most this many seconds in all is recomputed in full where it has numbers of all splits together.
WHOLE_SECONDS = 5.0
#: how the settings begin that are tuned or of an ablation: they are sampled if a method has no others.
NOT_ORDINARY = (ABLATION, "tuned")


@cache
def tolerances() -> dict:
    """config/gates.yaml."""
    return yaml.safe_load((ROOT / "config/gates.yaml").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------------------- choose


@dataclass(frozen=True)
class Unit:
    """Cells of one data set that are fitted together, and the splits that are recomputed.

    ``short``: caps of their settings (one epoch, a few draws) for a fit that is too expensive to repeat; empty for a
    whole fit. ``seconds``: CPU seconds that it takes, about. ``program``: the module that makes the score rows of a
    paper with its own code, whose key is then ``experiment``.
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
        return self.experiment if self.program else paper_of(self.experiment)

    @property
    def label(self) -> str:
        what = "short run of " if self.short else ""
        more = f" and {len(self.methods) - 2} more" if len(self.methods) > 2 else ""
        return f"{what}{self.experiment}, {self.dataset}: {', '.join(self.methods[:2])}{more}"


def paper_of(experiment: str) -> str:
    """Key of the paper of an experiment; empty for one of none."""
    paper = papers.paper_of(experiment)
    return paper.key if paper else ""


def ordinary(of: Iterable[Cell]) -> list[Cell]:
    """The cells whose settings are neither tuned nor those of an ablation; all if there are no others."""
    of = list(of)
    return [c for c in of if not c.setting.startswith(NOT_ORDINARY)] or of


def size(cell: Cell) -> tuple[float, float]:
    """Orders cells by their budget, smallest first: epsilon (of Renyi, too), or noise multiplier, largest first."""
    budget = dict(cell.budget)
    epsilon = budget.get("epsilon") or (budget["renyi"][1] if budget.get("renyi") else 0.0)
    return float(epsilon), -float(budget.get("noise_multiplier") or 0.0)


def shortened(cell: Cell, caps: Mapping[str, int]) -> Cell:
    """The cell with the named settings capped; the cell itself if it has none above its cap."""
    settings = tuple((k, min(v, caps[k]) if k in caps and v is not None else v) for k, v in cell.settings)
    return cell if settings == cell.settings else dataclasses.replace(cell, settings=settings)


def together(cell: Cell, by_family: Mapping[str, Sequence[Cell]]) -> list[Cell]:
    """The cell with those that a run fits in one go: methods that read one run, or all budgets of one method.

    A method with a ``fit_many`` of its own may share work between budgets, such as the search for a mode. The digits
    of a draw then depend on which budgets are fitted together.
    """
    family = by_family.get(cell.family, ())
    same = [c for c in family if c.budget == cell.budget]
    if len({c.method for c in same}) > 1:
        return same
    in_one_go = family and type(cell.adapter()).fit_many is not contract.Method.fit_many
    return list(family) if in_one_go else [cell]


def unit_of(group: Sequence[Cell], splits: Iterable[int], seconds: float, short: Mapping[str, int] | None = None):
    """The :class:`Unit` of a group of cells; ``seconds``: of one split."""
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


def drawn_split(cell: Cell, commit: str) -> int:
    """A split after the first, drawn from the hash of a commit; the first one of a cell that has no other."""
    if cell.splits < 2:
        return 0
    digest = hashlib.sha256(f"{commit}|{cell.id}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (cell.splits - 1)


def needs_short_run(cell: Cell) -> bool:
    """Is it compared after a short run whatever it costs: a chain, or with a wide tolerance after whole training?"""
    config, rerun = tolerances(), contract.get(cell.method).rerun
    if rerun in (Rerun.CHAIN, Rerun.CLOSED_FORM):
        return rerun == Rerun.CHAIN
    chaotic = rerun == Rerun.CHAOTIC or cell.experiment not in config["experiments"]
    return chaotic and shortened(cell, config["short"]) is not cell


def choose(reference: Reference, wanted: Iterable[Entry], commit: str, changed: Collection[Entry] = ()) -> list[Unit]:
    """What the gate recomputes of these methods in experiments, most expensive first.

    Methods that read one run are recomputed together.

    ``commit``: what the second split is drawn from; ``changed``: those whose own files differ from the merge base.
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
    """Methods in experiments whose own files differ from the merge base."""
    files = differing("methods")
    return {e for e, of in reference.entries.items() if files & set(of[0].own_files)} if files else set()


# Papers with their own code have no experiments. All that is special about them is here.


@dataclass(frozen=True)
class OwnCell:
    """A cell of a paper with its own code: its committed score rows, and the name of their file."""

    file: str
    rows: tuple[dict[str, str], ...]


@cache
def own_cells(paper: str) -> dict[str, OwnCell]:
    """Id -> cell, of all committed score rows of such a paper. The ids are those of ``dpbayes_bench.scores()``."""
    out: dict[str, OwnCell] = {}
    for path in sorted(papers.programs()[paper][0].reference.glob("scores/*.csv.gz")):
        found: dict[str, list[dict]] = {}
        for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
            found.setdefault(own_cell(row, paper), []).append(row)
        out |= {i: OwnCell(path.name.removesuffix(".csv.gz"), tuple(rows)) for i, rows in found.items()}
    return out


def own_id(paper: str, verdict: Mapping[str, str]) -> str:
    """The cell that a committed verdict is of; empty for a number without runs.

    Where score rows have an epsilon in place of a setting, it is the first part of the verdict's setting.
    """
    known = own_cells(paper)
    row = next(iter(known.values())).rows[0]
    named = {k: v for k, v in verdict.items() if k in row}
    if "setting" not in row:
        named["epsilon"] = verdict["setting"].partition(";")[0].removeprefix("epsilon=")
    name = own_cell(named, paper)
    return name if name in known else ""


def own_unit(paper: str, ids: Sequence[str], seconds: float = 0.0) -> Unit:
    """Cells of one score file, recomputed by one call."""
    first = own_cells(paper)[ids[0]].rows[0]
    module = papers.programs()[paper][1].rows.partition(":")[0]
    return Unit(paper, first["dataset"], tuple(ids), (f"{paper}/{first['method']}",), (), (), seconds, module)


def own_units() -> list[Unit]:
    """What the samples of these papers name: a unit for each method and reading of a score file."""
    out = []
    for paper, (_, program) in papers.programs().items():
        for pattern, seconds in program.samples.items():
            groups: dict[tuple[str, ...], list[str]] = {}
            for i, cell in own_cells(paper).items():
                if fnmatch.fnmatchcase(i, pattern):
                    groups.setdefault((cell.file, *(cell.rows[0][k] for k in ("method", "reading"))), []).append(i)
            out += [own_unit(paper, ids, seconds) for ids in groups.values()]
    return out


def recompute_own(paper: str, ids: Sequence[str], mirror: str | None, raw: str) -> list[Row]:
    """Cells of one score file of such a paper beside their committed numbers."""
    program, known = papers.programs()[paper][1], own_cells(paper)
    (file,) = {known[i].file for i in ids}
    made: dict[str, list[dict]] = {i: [] for i in ids}

    def wanted(row: Mapping[str, str]) -> bool:
        return own_cell(row, paper) in made

    for row in papers.resolve(program.rows)(file, "full", mirror, raw, wanted):
        made[own_cell(row, paper)].append(row)
    pairs = [(i, was, now) for i in ids for was, now in zip(known[i].rows, made[i], strict=True)]
    return [r for i, was, now in pairs for r in own_rows(paper, program.measures, i, was, now)]


def own_rows(paper: str, measures: Mapping[str, str], i: str, was: Mapping[str, str], now: Mapping) -> Iterator[Row]:
    """The lines of one recomputed score row of the cell ``i``: one per measure that is committed."""
    head = i, paper, was["method"], was["dataset"]
    if now["status"] != was["status"]:
        verdict = NOT_RUN if now["status"] == "no_data" else DIFFERS
        yield Row(*head, "status", was["status"], str(now["status"]), verdict, str(now["reason"]))
        return
    if was["status"] == "no_data":
        yield Row(*head, "status", was["status"], "", NOT_RUN, str(now["reason"]))
    for measure, column in measures.items():
        name = column.removeprefix("1 - ")
        old, new = was[name], str(now[name])
        if not old:
            continue
        if name != column:
            old, new = str(1 - float(old)), str(1 - float(new))
        allowed, how = own_tolerance(float(old))
        verdict = EQUAL if old == new else word(float(new), float(old), allowed)
        delta = was.get("delta") or fields(was.get("setting", "")).get("delta")
        why = f"delta {delta}" if column == "ledger_epsilon" and delta else f"{was['repeats']} repetitions"
        how = "" if verdict == EQUAL else f"; {how}"
        yield Row(*head, measure.format(metric=was["metric"]), old, new, verdict, why + how)


def fields(setting: str) -> dict[str, str]:
    """The parts of a setting such as ``epsilon=1;delta=1e-6``."""
    return {k: v for k, sign, v in (part.partition("=") for part in setting.split(";")) if sign}


def compare_program(paper: str, folder: Path) -> list[Number]:
    """All score files of such a paper in ``folder`` beside the committed ones, value by value.

    A value may be a list of numbers, with spaces between them. CPU seconds are not compared.
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


# ---------------------------------------------------------------------------------------------------------- recompute


@dataclass(frozen=True)
class Found:
    """What a unit gave: its score rows, or finished rows of a paper's own code; and CPU seconds."""

    rows: list[dict]
    finished: list[Row]
    seconds: float

    def write(self, path: Path) -> None:
        """Keep it, so that a check that was interrupted goes on."""
        finished = [dataclasses.asdict(r) for r in self.finished]
        write_json(path, {"rows": self.rows, "finished": finished, "seconds": self.seconds})

    @classmethod
    def read(cls, path: Path) -> Found:
        told = json.loads(path.read_text(encoding="utf-8"))
        return cls(told["rows"], [Row(**r) for r in told["finished"]], told["seconds"])


def recompute_one(
    unit: Unit, data: str, raw: str, folder: str, exact: Sequence[dict] = (), results: Path | None = None
) -> Found:
    """Fit and score a unit in this process.

    ``data``: the npz file of its data set; ``raw``: folder of raw files, for a paper's own code; ``folder``: the
    reference. ``exact``: committed rows of the reference posterior that its scores need. ``results``: folder where
    the metadata files stay; None for nowhere.
    """
    start = time.process_time()
    if unit.program:
        mirror = os.environ.get("DPBAYES_MIRROR") or None
        finished = recompute_own(unit.experiment, unit.cells, mirror, raw)
        return Found([], finished, time.process_time() - start)
    with contextlib.redirect_stderr(io.StringIO()), tempfile.TemporaryDirectory() as scratch:
        rows = _scored(unit, data, results or Path(scratch), exact, folder)
    return Found(rows, [], time.process_time() - start)


def _scored(unit: Unit, data_path: str, results: Path, given: Sequence[dict], folder: str) -> list[dict]:
    import datasets
    from datasets.files import write_npz
    from workflow.cell import finish, head_of, requests_of
    from workflow.draws import of_cell
    from workflow.reference_posterior import exact_posteriors
    from workflow.score import rows_of
    from workflow.store import kept_parameters
    from workflow.worker import respond

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


def run_cell(cell: Cell, data_path: str | Path, results: Path, limit_s: float) -> list[dict]:
    """Fit, draw and score one cell that need not be committed, all its splits, below ``results``: its score rows.

    It runs in a process of its own. ``limit_s``: seconds of one fit, whose end is a row ``timeout``.
    """
    import datasets
    from datasets.files import write_npz
    from workflow.cell import run
    from workflow.draws import of_cell
    from workflow.reference_posterior import exact_posteriors
    from workflow.score import rows_of

    limited = dataclasses.replace(cell, timeout_s=limit_s, request_timeout_s=limit_s)
    run([limited], str(data_path), results)
    data, fits = datasets.load(str(data_path)), results / "fits"
    if cell.drawn:
        write_npz(results / "draws" / f"{cell.id}.npz", of_cell(limited, fits, data))
    return rows_of(limited, fits, data, results / "draws", exact_posteriors([limited], fits, data))


def exact_rows(reference: Reference, unit: Unit) -> list[dict]:
    """Committed moments of the exact posterior, if the scores of a unit are distances from it."""
    method = reference.cells[unit.cells[0]].about.exact
    if method in ("", CONJUGATE, *unit.methods):
        return []
    wanted = [c for c in reference.entries[unit.experiment, method] if c.dataset == unit.dataset]
    splits = set(map(str, unit.splits))
    return [r for c in wanted for r in reference.rows_of(c) if r["split"] in splits]


def digest(reference: Reference, unit: Unit, data: Path | None) -> str:
    """Digest of all that a unit's rows depend on: code, libraries, data, committed rows of a reference posterior."""
    if unit.program:
        files = sorted(p for p in (ROOT / "papers" / unit.experiment).glob("reference/scores/*") if p.is_file())
        text = repr((unit, code_hash(unit.program), [hashlib.sha256(p.read_bytes()).hexdigest() for p in files]))
    else:
        roots = sorted(frozenset().union(*(reference.cells[i].score_roots for i in unit.cells)))
        with np.load(data) as npz:
            table = str(npz["table_sha256"])
        text = repr((unit, code_hash(*roots), manifest.versions(), table, exact_rows(reference, unit)))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def recompute(
    reference: Reference,
    units: Sequence[Unit],
    data: Callable[[str], Path | str],
    raw: Path,
    jobs: int,
    keep: Path | None = None,
    log: Path | None = None,
) -> Iterator[tuple[Unit, Found, bool]]:
    """Each unit with what it gave, as they end, in ``jobs`` processes; whether it was there from an interrupted call.

    ``data``: name of a data set -> its npz file, or the reason why there is none, with which this exits.
    ``keep``: folder for what an interrupted call has found with this very code; read, too. ``log``: where the noise of
    the processes goes.
    """
    os.environ.update(arithmetic.environment())
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
            exact = [] if unit.program else exact_rows(reference, unit)
            job = pool.submit(recompute_one, unit, str(table or ""), str(raw), str(reference.folder), exact)
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
    """A process of the pool: what libraries print goes to the log."""
    if log:
        with open(log, "a", encoding="utf-8") as f:
            os.dup2(f.fileno(), 2)


class Tables:
    """The parsed data sets below ``results``, made when they are first asked for.

    ``most_mb``: a download that is larger is not begun; ``quiet``: a context in which nothing is printed.
    """

    def __init__(self, results: Path, most_mb: float = math.inf, quiet: Callable = contextlib.nullcontext):
        self.results, self.most_mb, self.quiet = results, most_mb, quiet
        self.raw = results / "raw"
        self._known: dict[str, Path | str] = {}
        self._offline = False

    def get(self, name: str) -> Path | str:
        """Its npz file, or the reason why there is none."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Path | str:
        import datasets
        from datasets import store
        from datasets.fetch import main as fetch

        own = self.results / "here" / "data" / f"{name}.npz"
        for path in (self.results / "data" / f"{name}.npz", own):
            if path.is_file() and store.status(path) == "ok":
                return path
        size = sum(r.megabytes for r in datasets.get(name).raw)
        if size > self.most_mb and not os.environ.get("DPBAYES_MIRROR") and not (self.raw / name).is_dir():
            return f"{name} is a download of {size:.0f} MB"
        with self.quiet():
            words = [name, "--raw", str(self.raw), "--out", str(own)]
            if self.most_mb < math.inf:  # somebody waits
                words += ["--retries", "0", "--timeout", "15"]
            fetch([*words, *(["--offline"] if self._offline else [])])
        if store.status(own) == "ok":
            return own
        reason = store.load(own).reason
        own.unlink()  # it is tried again by the next call
        self._offline |= any(w in reason for w in ("no connection", "no answer", "no whole answer"))
        return f"no data: {reason.partition(' Tried:')[0]}"


# ------------------------------------------------------------------------------------------------------------ compare


@dataclass(frozen=True)
class Number:
    """One recomputed number beside the committed one.

    ``split``: empty for a number of all splits together. ``metric``: or ``status``, or a column of ``COST``.
    ``committed``, ``here``: as text, empty where it is missing. ``tolerance``: absolute, NaN for what is no number;
    ``why``: what the tolerance is, or what is missing.
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
        """Absolute difference from the committed number; 0 where both are not a number, NaN where one is no number."""
        try:
            was, now = float(self.committed), float(self.here)
        except ValueError:
            return math.nan
        return 0.0 if was == now or (math.isnan(was) and math.isnan(now)) else abs(now - was)

    @property
    def scale(self) -> float:
        """What relative shifts are relative to: the committed number, 1 for zero."""
        return abs(float(self.committed)) or 1.0

    @property
    def seen(self) -> float:
        """The smallest relative shift of this number that is seen for certain: its tolerance and how far it is off."""
        return (self.tolerance + self.shift) / self.scale

    def far(self, limit: float) -> bool:
        """Is it further than ``limit`` from the committed number, relative to one above 1? Not if it is no number."""
        return not math.isnan(self.tolerance) and not self.shift <= limit * max(1.0, self.scale)


def word(here: float, was: float, allowed: float) -> str:
    """equal, within the tolerance ``allowed`` (absolute), or differs; both not a number is equal."""
    if here == was or (math.isnan(here) and math.isnan(was)):
        return EQUAL
    return WITHIN if abs(here - was) <= allowed else DIFFERS


@cache
def same_kernels() -> bool:
    """Does this machine compute with the kernels of the committed scores?"""
    return arithmetic.runs_the_kernels()


def own_tolerance(was: float) -> tuple[float, str]:
    """Tolerance of a number of a paper's own code, and its words."""
    config = tolerances()["tolerances"]
    if same_kernels():
        return config["same_kernels"] * max(1.0, abs(was)), "same kernels"
    return config["single_precision"] * max(1.0, abs(was)), "other kernels"


def tolerance(cell: Cell, metric: str, old: float, rows: Sequence[dict]) -> tuple[float, str]:
    """How far a number may be from the committed one, and why. ``rows``: the committed ones of its cell."""
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
    """Is a cost the committed one? The last digits of epsilon are rounding of the search for its noise."""
    here, was = str(here), str(was)
    if here == was or column != "epsilon" or not (here and was):
        return here == was
    return math.isclose(float(here), float(was), rel_tol=tolerances()["tolerances"]["epsilon"])


def compare(cell: Cell, found: Iterable[dict], old: Sequence[dict], splits: Collection[int]) -> list[Number]:
    """Every number of a recomputed cell beside its committed one; status and cost exactly.

    ``found``: score rows of this call; ``old``: the committed ones of the cell; ``splits``: those that were recomputed.
    Numbers of all splits together are compared if all splits were recomputed.
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


def short_values(unit: Unit, found: Found) -> dict[ShortKey, float]:
    """The numbers of a short run; a split that failed gives its status and NaN."""
    out = {}
    for row in found.rows:
        if row["split"] != "":
            key = unit.experiment, row["method"], row["cell"], row["metric"] or row["status"]
            out[key] = float(row["value"]) if row["metric"] else math.nan
    return out


def compare_short(unit: Unit, found: Found, known: Mapping[ShortKey, float]) -> list[Number]:
    """A short run beside its committed row."""
    config, out = tolerances(), []
    for key, value in short_values(unit, found).items():
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
    """All numbers of a unit beside the committed ones."""
    if unit.program:
        return [_of_row(r) for r in found.finished if r.verdict != NOT_RUN]
    if unit.short:
        return compare_short(unit, found, reference.short_rows())
    of = (reference.cells[i] for i in unit.cells)
    return [n for cell in of for n in compare(cell, found.rows, reference.rows_of(cell), unit.splits)]


def _of_row(row: Row) -> Number:
    try:
        allowed = own_tolerance(float(row.committed))[0]
    except ValueError:
        allowed = math.nan
    return Number(row.cell, "", row.measure, row.committed, row.here, allowed, row.verdict, row.why)


def shown(path: Path) -> str:
    """A path as messages name it: relative to the root of the project."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def sentence(number: Number, where: str) -> str:
    """The red line: number, file, shift and tolerance. ``where``: the file of the committed number."""
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
    """One line for a reader: ``committed`` and ``here`` as text (means over the splits recomputed), and the verdict."""

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
    """A recomputed cell in lines: one per metric, one per cost that is stated, one per split that failed."""
    chosen = sorted(splits)
    told = f"split {', '.join(str(k + 1) for k in chosen)} of {cell.splits}"
    if len(chosen) > 3:
        told = f"{len(chosen)} of {cell.splits} splits"
    line = dataclasses.replace  # of the head of each line
    head_ = Row(cell.id, paper_of(cell.experiment), cell.method, cell.dataset, "", "", "", "", "")
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
        why = told if worst.verdict == EQUAL else f"{told}; allowed {worst.tolerance:.2g} ({worst.why})"
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


def reader_rows(reference: Reference, unit: Unit, found: Found) -> list[Row]:
    """The lines of a unit that is no short run."""
    if unit.program:
        return found.finished
    of = (reference.cells[i] for i in unit.cells)
    return [r for cell in of for r in rows_for_reader(cell, found.rows, reference.rows_of(cell), unit.splits)]
