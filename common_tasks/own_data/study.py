"""One study: an experiment of one data set below a results folder, run by the rules of the workflow, with its page.

    <folder>/<experiment>.yaml   the experiment      <folder>/<data set>.py   its data set
    <folder>/tuned.json          settings other than the defaults (``committed_tuning``)
    <folder>/fits, scores, ...   as in any run       <folder>/index.html, advice.md, *.csv, figure.svg   the page

A killed study resumes, because the cells keep their rows for each split.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

import datasets
from common_tasks import best
from datasets.files import ROOT, folder_name, write_json, write_text
from evaluation.summary import checked, read_scores
from methods import contract
from privacy.budget import Ranges
from workflow import committed, environment, papers, score, worker
from workflow.experiments import Cell, cells, jobs

#: task -> kind of model of the common tasks, and the methods at the ends of its scale: the baseline that uses no
#: input, and a non-private reference. For two classes that is EP, because the common tasks' NUTS takes a minute per
#: fit.
KINDS = {
    "regression": "bounded_linear_regression",
    "classification": "bounded_logistic_regression",
    "density": "bounded_mixture",
}
ENDS = {
    "regression": ("predict_mean", "exact_posterior"),
    "classification": ("predict_mean", "ep"),
    "density": ("single_gaussian", "em"),
}
#: task of a command -> name of the common task.
COMMON = {"regression": "linear_regression", "classification": "logistic_regression", "density": "density"}
COMPONENTS = 3
#: CPU seconds of a job in addition to its fits, and of a run in addition to its jobs.
JOB_S, RUN_S = 4.0, 20.0
#: assumed CPU seconds of a fit without a committed run.
FIT_S = 1.0
#: seconds between two lines of progress.
EVERY = 10.0
#: number of groups of methods that run before the others, after both ends of the scale.
LEADING = 4
#: share of the time that may be spent on pages of an unfinished study.
DRAWING = 0.05


class StudyError(RuntimeError):
    """A study that cannot be made. The message is one line with the remedy."""


@dataclass(frozen=True)
class Tuning:
    """Settings that the tuning of a common task chose, on a synthetic surrogate of one of its data sets.

    * ``settings``: method -> epsilon of the study -> settings, empty if the default won.
    * ``dataset``, ``rows``, ``columns``: that data set and its size.
    * ``at``: epsilon of the study -> epsilon of the tuning.

    All are empty if nothing is committed.
    """

    settings: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    dataset: str = ""
    rows: int = 0
    columns: int = 0
    at: Mapping[str, str] = field(default_factory=dict)

    def of(self, groups: Iterable[Sequence[str]]) -> list[tuple[str, str, Mapping[str, Any]]]:
        """(method, epsilon, settings) for the methods of ``groups`` whose settings are not the default."""
        wanted = {name for group in groups for name in group}
        return [
            (name, e, chosen)
            for name, by in sorted(self.settings.items()) if name in wanted
            for e, chosen in by.items() if chosen
        ]  # fmt: skip

    @property
    def words(self) -> str:
        """The origin of the settings, for a sentence."""
        if not self.settings:
            return "Nothing is tuned for this task."
        other = ", ".join(f"{theirs} for {mine}" for mine, theirs in self.at.items() if mine != theirs)
        return (
            "Settings are the defaults, or those that the common tasks chose on synthetic rows of the shape of "
            f"{datasets.get(self.dataset).title} ({self.rows} rows, {self.columns} columns, the nearest in size"
            f"{f'; epsilon = {other}' if other else ''}) if their mean score is no lower."
        )


@dataclass(frozen=True)
class Study:
    """The parameters of a study.

    Parameters
    ----------
    name : of the experiment, with the letters of a file name.
    folder : for all files, relative to the root of the project or absolute.
    task : "regression", "classification" or "density".
    dataset : name of the data set, whose file is ``<folder>/<dataset>.py``.
    epsilons, delta : the budgets, add/remove.
    protocol, splits : split protocol, and number of fits of a method at each budget.
    rows, columns : size of the table of one fit.
    fit_s : seconds after which one fit is stopped.
    minutes : CPU minutes that all fits may take, by their known costs.
    """

    name: str
    folder: Path
    task: str
    dataset: str
    epsilons: tuple[float, ...]
    delta: float
    protocol: str
    splits: int
    rows: int
    columns: int
    fit_s: float
    minutes: float
    #: the requested private methods. Empty: all.
    only: tuple[str, ...] = ()
    #: the data sets over which the page averages. Empty: only ``dataset``.
    sets: tuple[str, ...] = ()
    tuning: Tuning = Tuning()

    @property
    def kind(self) -> str:
        return KINDS[self.task]

    @property
    def config(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    @property
    def tuned(self) -> Path:
        return self.folder / "tuned.json"

    @property
    def scores(self) -> Path:
        return self.folder / "scores" / self.name / f"{self.dataset}.csv"


def make(folder: Path) -> Path:
    """Make the folder unless it exists, and return it. Raises StudyError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    except OSError as e:
        raise StudyError(f"{folder} cannot be made ({e.strerror}); name another folder with --out") from None


def digest(text: str) -> str:
    """Sixteen hexadecimal digits of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def private_methods(kind: str) -> list[list[str]]:
    """Private methods of a kind of model. Those that share one run are adjacent, first the one that makes it."""
    runs: dict[str, list[str]] = {}
    for name in contract.names(kind):
        method = contract.get(name, kind)
        if method.privacy is not None and not contract.left_out(name, kind):
            runs.setdefault(method.run_of or name, []).append(name)
    return [sorted(found, key=lambda n: (n != run, n)) for run, found in sorted(runs.items())]


def common_task(kind: str) -> tuple[str, dict[str, Any]]:
    """Name and config of the common task of a kind of model. Raises KeyError if there is none."""
    for name, path in next(p for p in papers.papers() if p.key == "common_tasks").experiments.items():
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        if config["model"]["kind"] == kind and name.removeprefix("common_") in COMMON.values():
            return name, config
    raise KeyError(f"no common task of {kind}")


def committed_tuning(task: str, rows: int, columns: int, epsilons: Sequence[float]) -> Tuning:
    """Settings that ``common_tasks.tuning`` chose for the data set of that common task with the nearest size.

    Sizes are compared in logarithms.

    The epsilons of the tuning are also the nearest ones in logarithms. No row is read.
    """
    _, config = common_task(KINDS[task])
    path = ROOT / config.get("tuned", "none")
    if not path.is_file():
        return Tuning()
    table = json.loads(path.read_text(encoding="utf-8"))
    about = {d: datasets.get(d) for d in table}
    nearest = min(
        table, key=lambda d: math.log(about[d].n_rows / rows) ** 2 + math.log(about[d].n_inputs / columns) ** 2
    )
    there = sorted({float(e) for by in table[nearest].values() for e in by})
    at = {f"{e:g}": f"{min(there, key=lambda other: abs(math.log(other / e))):g}" for e in epsilons}
    chosen = {
        name: {mine: by[theirs]["settings"] for mine, theirs in at.items() if theirs in by}
        for name, by in table[nearest].items()
    }
    return Tuning(chosen, nearest, about[nearest].n_rows, about[nearest].n_inputs, at)


def seconds_a_fit(kind: str, rows: int, columns: int) -> dict[str, float]:
    """CPU seconds of one fit at this size, by method, from the committed runs of the common task of that kind.

    They are those of the data set with the nearest size, multiplied by the ratio of sizes if this table is larger.
    Elapsed seconds are used if a run has no CPU seconds. A method without a committed run is missing.
    """
    try:
        scores = committed.read(papers.REFERENCE, common_task(kind)[0])
    except FileNotFoundError:
        return {}
    once = scores[scores["seconds"] != ""].drop_duplicates(["cell", "split"])
    size = {d: datasets.get(d).n_rows * datasets.get(d).n_inputs for d in once["dataset"].unique()}
    wanted = rows * columns
    nearest = min(size, key=lambda d: abs(math.log(size[d] / wanted)))
    here = once[once["dataset"] == nearest]
    cpu = here["cpu_seconds"].where(here["cpu_seconds"] != "", here["seconds"])
    mean = cpu.astype(float).groupby(here["method"]).mean()
    return {m: float(s) * max(1.0, wanted / size[nearest]) for m, s in mean.items()}


def usefulness(study: Study) -> dict[str, float]:
    """Method -> probability of being best on the next table, by the committed tables at the nearest epsilon.

    It is the highest over the budgets of the study. It is empty for a task without general advice.
    """
    frame = best.committed()
    frame = frame[(frame["task"] == COMMON[study.task]) & (frame["without"] == "")]
    if frame.empty:
        return {}
    near = {min(frame["epsilon"], key=lambda known: abs(math.log(float(known) / e))) for e in study.epsilons}
    here = frame[frame["epsilon"].isin(near)]
    return {m: float(p) for m, p in here["probability"].groupby(here["method"].str.partition(",")[0]).max().items()}


def affordable(
    study: Study, groups: list[list[str]], known: dict[str, float], useful: Mapping[str, float] | None = None
) -> tuple[list[list[str]], dict[str, str]]:
    """The groups that fit into the minutes, the most useful first (:func:`usefulness`), and why the others do not.

    Methods of one run cost as much as the most expensive of them. A method without a committed run is assumed to cost
    as much as the most expensive known one. A method from outside the suite counts as free and comes first.
    """
    most = max((known[n] for g in groups for n in g if n in known), default=0.0)
    told = known
    known = {n: known.get(n, most if contract.is_ours(n) else 0.0) for g in groups for n in g}
    runs = {g[0]: len(study.epsilons) + len(study.tuning.of([g])) for g in groups}
    cost = {g[0]: JOB_S + study.splits * runs[g[0]] * max(known[n] for n in g) for g in groups}
    worth = {g[0]: max((useful or {}).get(n, 0.0 if contract.is_ours(n) else 1.0) for n in g) for g in groups}
    total = RUN_S + math.fsum(JOB_S + study.splits * told.get(end, FIT_S) for end in ENDS[study.task])
    kept, left, dear = [], {}, []
    for group in sorted(groups, key=lambda g: (-worth[g[0]], cost[g[0]])):
        each = max(known[n] for n in group)
        by = "by the committed runs" if any(n in told for n in group) else "since no committed run says more"
        many = ", ".join(group)
        if not study.only and each > study.fit_s:
            left[many] = f"about {each:.0f} s a fit of this size {by}, over the limit; --fit-seconds raises it"
        elif not study.only and total + cost[group[0]] > 60 * study.minutes:
            dear.append((many, cost[group[0]], by))
        else:
            kept.append(group)
            total += cost[group[0]]
    for many, seconds, by in dear:
        need = math.ceil((total + seconds) / 60)
        left[many] = f"about {seconds:.0f} CPU seconds {by}; --minutes {need} takes it in"
    return kept, left


def experiment(study: Study, groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The config of the study's experiment."""
    budget = {"delta": study.delta, "mode": "enforce", "ranges": str(Ranges.ALL)}
    where = {"protocols": [study.protocol]}
    model: dict[str, Any] = {"kind": study.kind}
    if study.task == "density":
        # as in the common task: three means span two directions, and the noise is the rest of a variance of 1
        share = max(0.25, 1 - (COMPONENTS - 1) / study.columns)
        model |= {"components": COMPONENTS, "noise_sd": round(math.sqrt(share), 6)}
    arms: list[dict[str, Any]] = [{"method": name, **where} for name in ENDS[study.task]]
    for group in groups:
        if len(group) == 1:
            arms.append(
                {"method": group[0], **where, "budget": dict(budget), "budget_grid": {"epsilons": [*study.epsilons]}}
            )
            continue
        for e in study.epsilons:
            arms.append({"methods": [*group], "label": f"epsilon={e:g}", **where, "budget": {"epsilon": e, **budget}})
    for name, e, settings in study.tuning.of(groups):
        arm = {"method": name, "label": f"tuned;epsilon={e}", **where, "settings": dict(settings)}
        arms.append(arm | {"budget": {"epsilon": float(e), **budget}})
    return {
        "experiment": study.name,
        "title": f"{study.task.capitalize()}: {study.rows} rows, {study.columns} columns",
        "sources": [],
        "model": model,
        "datasets": [study.dataset],
        **({"tuned": str(study.tuned)} if study.tuning.of(groups) else {}),
        **({"rare_class": "average_precision"} if study.task == "classification" else {}),
        "timeout_s": study.fit_s,
        # for a request of many fits, at all budgets of a split
        "request_timeout_s": study.fit_s * len(study.epsilons),
        "protocols": {study.protocol: {"splits": study.splits}},
        "scales": {"full": {}, "quick": {}, "tiny": {}},
        "arms": arms,
        "answers": [],
    }


def write(study: Study, data_set: str) -> dict[str, str]:
    """Write experiment, data set (its Python text) and tuned settings. Returns why methods are left out."""
    groups, left = affordable(study, *_groups(study), usefulness(study))
    if not groups:
        raise StudyError(f"no private method fits into {study.minutes:g} minutes; give more with --minutes")
    text = yaml.safe_dump(experiment(study, groups), sort_keys=False, width=120)
    for path, content in ((study.config, text), (study.folder / f"{study.dataset}.py", data_set)):
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            write_text(path, content)
    chosen = {n: {e: {"settings": s} for e, s in by.items()} for n, by in study.tuning.settings.items()}
    write_json(study.tuned, {name: chosen for name in study.sets or (study.dataset,)})
    return left


def _groups(study: Study) -> tuple[list[list[str]], dict[str, float]]:
    """Groups of the requested methods, and the cost of a fit of each. Raises StudyError for an unknown one."""
    every = private_methods(study.kind)
    known = sorted(n for g in every for n in g)
    if unknown := [n for n in study.only if n not in known]:
        raise StudyError(f"--methods {unknown[0]} is no private method of this task; those are {', '.join(known)}")
    groups = [[n for n in g if n in study.only or not study.only] for g in every]
    return [g for g in groups if g], seconds_a_fit(study.kind, study.rows, study.columns)


#: is given the scores so far, and a sentence on what is missing.
Show = Callable[[pd.DataFrame, str], object]


def run(study: Study, cores: int, log: Path, program: str, show: Show) -> None:
    """Fit and score what is missing, with lines of progress. Raises StudyError. Ends its processes on a signal to stop.

    ``program``: the first word of each line. ``show``: called as methods finish, once both ends of the scale have
    scores. It is called as often as it takes ``DRAWING`` of the time, and at the end with all scores and "".
    """
    before = datasets.outside()
    datasets.take([study.folder / f"{study.dataset}.py"])
    try:
        folder_name(str(study.folder), "the folder of results")
        everything = cells(study.config, "full")
        with open(study.folder / ".lock", "a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(
                    f"another run is writing {study.folder}; wait for it, or give another --name"
                ) from None
            _snakemake(study, everything, cores, log, program, lock.fileno(), show)
            show(read_scores(study.scores), "")
    except ValueError as e:
        raise StudyError(str(e)) from None
    finally:
        datasets.take(before)


def _snakemake(
    study: Study, everything: list[Cell], cores: int, log: Path, program: str, lock: int, show: Show
) -> None:
    config = ["scale=full", f"results={study.folder}", f"experiments={study.config}"]
    config.append(f"datasets={study.folder / f'{study.dataset}.py'}")
    # the lock of the folder keeps other runs out of it; a lock of the whole checkout would block runs elsewhere
    command = [sys.executable, "-m", "snakemake", "--nolock", "--cores", str(cores)]
    command += ["--prioritize", *(f"{study.folder}/done/{job}.fits" for job in leading(study, everything))]
    command += ["--config", *config, "--", str(study.scores)]
    log.parent.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    known = seconds_a_fit(study.kind, study.rows, study.columns)
    first = _done(study, everything)
    print(f"{program}: {forecast(everything, first, known, cores)}", file=sys.stderr, flush=True)
    pages = _Pages(study, everything, show)
    try:
        with open(log, "w", encoding="utf-8") as out:
            variables = os.environ | environment.variables()
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, pass_fds=(lock,), env=variables
            )
            said = ""
            while process.poll() is None:
                line = progress(everything, _done(study, everything), first, known, time.monotonic() - started)
                if line != said:
                    print(f"{program}: {line}", file=sys.stderr, flush=True)
                said = line
                pages.draw()
                try:
                    process.wait(EVERY)
                except subprocess.TimeoutExpired:
                    continue
    except KeyboardInterrupt:
        worker.end_below(os.getpid())
        raise StudyError("stopped; the same command goes on where it was") from None
    except BaseException:
        worker.end_below(os.getpid())
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise StudyError(
            f"the workflow was ended by {name} (killed, or out of memory); {log} has what it said. The same command "
            "goes on where it was, with less memory under --cores 1"
        )
    if process.returncode:
        raise StudyError(f"a step failed; {log} ends with: {_last(log)}")


def leading(study: Study, everything: Iterable[Cell]) -> list[str]:
    """Jobs that run first: both ends of the scale, then those of the methods that are most useful, or cheapest."""
    useful, known = usefulness(study), seconds_a_fit(study.kind, study.rows, study.columns)
    worth: dict[str, tuple[float, float]] = {}
    for cell in everything:
        end = cell.method in ENDS[study.task]
        mine = (-2.0 if end else -useful.get(cell.method, 0.0), known.get(cell.method, math.inf))
        worth[cell.job] = min(mine, worth.get(cell.job, mine))
    return sorted(worth, key=worth.__getitem__)[: len(ENDS[study.task]) + LEADING]


def weights(everything: Sequence[Cell], known: Mapping[str, float]) -> dict[str, float]:
    """Cell id -> CPU seconds of one of its fits. Methods of one run share the cost of the most expensive of them."""
    out: dict[str, float] = {}
    for there in jobs(everything).values():
        methods = {c.method for c in there}
        each = max(known.get(m, FIT_S) for m in methods) / len(methods)
        out |= {c.id: JOB_S / (len(there) * c.splits) + each for c in there}
    return out


def forecast(everything: Sequence[Cell], done: Mapping[str, int], known: Mapping[str, float], cores: int) -> str:
    """A line on the number of fits to run, and their time by the known costs."""
    weight = weights(everything, known)
    fits = sum(c.splits - done[c.id] for c in everything)
    left = math.fsum(weight[c.id] * (c.splits - done[c.id]) for c in everything) + RUN_S
    methods = len({c.method for c in everything})
    clock = left / max(1, min(cores, len({c.job for c in everything})))
    return (
        f"{fits} fits of {methods} methods, about {_duration(left)} of CPU time by the committed runs, so "
        f"{_duration(clock)} or more with {cores} process{'es' if cores > 1 else ''} at once"
    )


class _Pages:
    """The pages of an unfinished study."""

    def __init__(self, study: Study, everything: Sequence[Cell], show: Show):
        self.study, self.show = study, show
        #: cells without rows so far, and rows of the others.
        self.waiting, self.rows = [*everything], []
        self.total = len({c.method for c in everything})
        self.since, self.took = time.monotonic(), 0.0

    def draw(self) -> None:
        """Show the scores so far if there are more than before, and not too soon after the last time."""
        began = time.monotonic()
        if began - self.since < self.took / DRAWING or not self._more():
            return
        methods = {c.method for c in self.waiting}
        if not methods or {*ENDS[self.study.task]} & methods:
            return
        frame = checked(pd.DataFrame(self.rows).fillna("").astype(str), self.study.folder)
        self.show(
            frame,
            f"This run is not finished: {self.total - len(methods)} of {self.total} methods have all their scores. "
            "The page is written again as others finish. Load it again to see them.",
        )
        self.since = time.monotonic()
        self.took = self.since - began

    def _more(self) -> bool:
        """Score the cells that were fitted since the last call. Returns whether there are any."""
        folder = self.study.folder
        ready = [c for c in self.waiting if all((folder / "fits" / f"{c.id}{s}").is_file() for s in (".json", ".npz"))]
        if ready:
            data = datasets.load(folder / "data" / f"{self.study.dataset}.npz")
            for cell in ready:
                self.rows += score.rows_of(cell, folder / "fits", data)
            self.waiting = [c for c in self.waiting if c not in ready]
        return bool(ready)


def _last(log: Path) -> str:
    """The most informative line of a log: the last one with an error in it, else the last."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\w+Error\b", line)]
    return (telling or lines or ["nothing"])[-1][:300]


def _done(study: Study, everything: Sequence[Cell]) -> dict[str, int]:
    """Cell id -> number of its finished fits."""
    lines: dict[str, int] = {}
    for path in (study.folder / "partial").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                cell = json.loads(line).get("cell")
            except ValueError:  # a line that is still being written
                continue
            if cell:
                lines[cell] = lines.get(cell, 0) + 1
    whole = {p.stem for p in (study.folder / "fits").glob("*.json")}
    return {c.id: c.splits if c.id in whole else min(c.splits, lines.get(c.id, 0)) for c in everything}


def progress(
    everything: Sequence[Cell], done: dict[str, int], first: dict[str, int], known: dict[str, float], elapsed: float
) -> str:
    """A line on the finished fits, and the time left at the pace since the start, by the known costs."""
    weight = weights(everything, known)
    all_fits, have = sum(c.splits for c in everything), sum(done.values())
    left = math.fsum(weight[c.id] * (c.splits - done[c.id]) for c in everything)
    made = math.fsum(weight[c.id] * (done[c.id] - first[c.id]) for c in everything)
    text = f"{have} of {all_fits} fits"
    if have == all_fits:
        return f"{text}; scoring"
    if made <= 0:
        return f"{text}; planning, then about {_duration(left)} of CPU time"
    return f"{text}; about {_duration(left / made * elapsed)} left"


def _duration(seconds: float) -> str:
    return f"{max(5, 5 * round(seconds / 5))} s" if seconds < 90 else f"{math.ceil(seconds / 60)} min"
