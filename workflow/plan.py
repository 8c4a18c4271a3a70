"""The work and the cost of a run, printed before it starts."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

import datasets
from datasets.files import ROOT
from dpbayes_bench.tables import own_cell
from evaluation.summary import seconds_of
from workflow import committed, papers, program
from workflow.experiments import Cell, cells, experiment_files, families

#: CPU seconds per cell besides its fits: starting Python, imports, scores, Snakemake. Also per score file of a paper
#: with its own code.
OVERHEAD_S = 3.0

#: a job on a cluster requests this multiple of its forecast (slower nodes, shared disks), within limits in minutes.
SLACK, LEAST_MIN, MOST_MIN = 4.0, 15, 24 * 60

#: numbers of cores for which the forecast is printed.
CORES = (1, 2, 8, 32)


class Estimate(NamedTuple):
    """Cells of a scale, seconds by job, number of cells without a timing, and number of cells with wall time only.

    ``programs``: names of the jobs of papers with their own code.
    """

    cells: list[Cell]
    jobs: dict[str, float]
    unknown: int
    by_clock: int
    programs: frozenset[str] = frozenset()

    @property
    def seconds(self) -> float:
        """Seconds of all jobs together."""
        return sum(self.jobs.values())


def reference_seconds() -> dict[tuple, tuple[float, bool]]:
    """(experiment, dataset, method, setting) -> mean seconds per split of a committed cell, and whether of the CPU.

    If some splits have CPU seconds, the mean is over those.
    """
    folder = ROOT / "reports/reference"
    by_group: dict[tuple, dict[bool, list[float]]] = defaultdict(lambda: {True: [], False: []})
    for name in committed.experiments(folder):
        rows = committed.read(folder, name)
        # A split has a row for each metric, and one fit.
        for row in rows[rows["seconds"] != ""].drop_duplicates(["cell", "split"]).to_dict("records"):
            seconds, cpu = seconds_of(row)
            by_group[row["experiment"], row["dataset"], row["method"], row["setting"]][cpu].append(seconds)
    return {k: (fmean(v[True] or v[False]), bool(v[True])) for k, v in by_group.items()}


def key_of(cell: Cell) -> tuple[str, str, str, str]:
    """The name of a cell that is the same at every scale."""
    return cell.experiment, cell.dataset, cell.method, cell.setting


def estimate(scale: str, chosen: Iterable[Cell] | None = None) -> Estimate:
    """The cost of a scale, by committed timings. ``chosen``: cells of a run, by default those of all experiments."""
    known = reference_seconds()
    full = {key_of(c): dict(c.settings) for p in experiment_files() for c in cells(p, "full")}
    everything = [c for p in experiment_files() for c in cells(p, scale)] if chosen is None else list(chosen)
    # With CPU seconds, each method that reads a run counts its share. Older rows with wall time only count the
    # whole run each: together they cost as much as the most expensive.
    one_run = {name for name, group in families(everything).items() if len({c.method for c in group}) > 1}
    jobs, shares, dearest, unknown, by_clock = defaultdict(float), defaultdict(float), defaultdict(float), 0, 0
    for c in everything:
        key = key_of(c)
        seconds, cpu = known.get(key, (0.0, False))
        unknown += key not in known
        by_clock += key in known and not cpu
        cost = c.splits * seconds * shorter(dict(c.settings), full.get(key, {}))
        if c.family not in one_run:
            for name, share in shares_of(c):
                jobs[name] += OVERHEAD_S + share * cost
        elif cpu:
            shares[c.family] += cost
        else:
            dearest[c.family] = max(dearest[c.family], cost)
    for family, group in families(everything).items():
        for name, share in shares_of(group[0]) if family in one_run else ():
            jobs[name] += OVERHEAD_S + share * max(shares[family], dearest[family])
    own = program_seconds(scale)
    return Estimate(everything, dict(jobs) | own, unknown, by_clock, frozenset(own))


def program_seconds(scale: str = "full") -> dict[str, float]:
    """CPU seconds of each job of the papers with their own code: ``KEY-FILE``, or the chunks of that file.

    They follow from the committed score files. Below full scale they are divided as the repetitions are, and no file
    has chunks. A file that is not committed, or has no seconds, counts as its overhead.
    """
    out = {}
    for key, (paper, own) in papers.programs().items():
        for name in own.scores:
            path = paper.reference / "scores" / f"{name}.csv.gz"
            count = own.chunks.get(name, 1) if scale == "full" else 1
            by_cell = _seconds_by_cell(path, key) if path.is_file() else {}
            if scale != "full" and by_cell:
                repeats = program.config(paper.home)["repeats"]
                by_cell = {cell: s * repeats[scale] / repeats["full"] for cell, s in by_cell.items()}
            for k in range(1, count + 1):
                job = f"{key}-{name}{f'.chunk{k}' if count > 1 else ''}"
                out[job] = OVERHEAD_S + sum(by_cell[c] for c in program.chunk_of(by_cell, k, count))
    return out


def _seconds_by_cell(path: Path, key: str) -> dict[str, float]:
    """CPU seconds of each cell of a committed score file, in its order; 0 if it has none."""
    wanted = {"table", "dataset", "method", "reading", "setting", "epsilon", program.CPU_SECONDS}
    out: dict[str, float] = defaultdict(float)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, usecols=lambda c: c in wanted)
    for row in frame.to_dict("records"):
        out[own_cell(row, key)] += float(row.get(program.CPU_SECONDS) or 0)
    return out


def shares_of(cell: Cell) -> list[tuple[str, float]]:
    """(name, share of the splits) of the jobs that fit a cell: its job, or the chunks of that job."""
    if cell.chunks == 1:
        return [(cell.job, 1.0)]
    numbers = range(1, cell.chunks + 1)
    return [(f"{cell.job}.chunk{k}", len(cell.chunk(k)) / cell.splits) for k in numbers]


def makespan(seconds: Iterable[float], cores: int) -> float:
    """Seconds until jobs with these ``seconds`` have all ended, if each free core takes the longest job that is left.

    That is at most 4/3 - 1/(3 cores) times the shortest possible (Graham 1969, doi:10.1137/0117039).
    """
    ends = [0.0] * cores
    for one in sorted(seconds, reverse=True):
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def shorter(mine: dict, full: dict) -> float:
    """The ratio of epochs, or of steps, to those of the full scale."""
    ratios = [mine[k] / full[k] for k in ("epochs", "steps") if mine.get(k) and full.get(k)]
    return ratios[0] if ratios else 1.0


def runtimes(chosen: Iterable[Cell]) -> dict[str, int]:
    """Minutes that each job requests from a cluster, by job name.

    They follow from committed seconds or, for a cell without them, from the limits of its splits. A job that exceeds
    its time has kept the splits that it finished, and resumes.
    """
    known = reference_seconds()
    seconds: dict[str, float] = defaultdict(float)
    for cell in chosen:
        timed = known.get(key_of(cell))
        seconds[cell.job] += OVERHEAD_S + cell.splits * (SLACK * timed[0] if timed else cell.timeout_s)
    return {name: min(max(ceil(s / 60), LEAST_MIN), MOST_MIN) for name, s in seconds.items()}


def download_mb(names: set[str], results: Path | None = None) -> float:
    """Megabytes of raw files of these data sets; with ``results``, only of those that are not parsed yet."""
    todo = {n for n in names if results is None or not (results / "data" / f"{n}.npz").exists()}
    return sum(raw.megabytes for name in sorted(todo) for raw in datasets.get(name).raw)


def hours_of(jobs: Iterable[tuple[str, Mapping[str, str]]], forecast: Estimate) -> str:
    """A table of the CPU hours of the jobs of a plan, pairs (rule, wildcards), by paper. Empty without a job."""
    paper_of = {c.job: papers.key_of(c.experiment) or c.experiment for c in forecast.cells}
    count, seconds, others = Counter(), Counter(), Counter()
    for rule, found in jobs:
        if rule in ("fit", "fit_chunk"):
            paper, job = paper_of[found["job"]], found["job"]
        elif rule in ("program_scores", "program_chunk"):
            paper, job = found["program"], f"{found['program']}-{found['name']}"
        else:
            others[rule] += 1
            continue
        name = f"{job}.chunk{found['chunk']}" if "chunk" in found else job
        count[paper] += 1
        seconds[paper] += forecast.jobs.get(name, OVERHEAD_S)  # a job that takes the rows of its chunks over
    lines = []
    if seconds:
        rows = [*((key, count[key], seconds[key]) for key in sorted(seconds)), ("all", count.total(), seconds.total())]
        width = max(len(key) for key, *_ in rows)
        lines = ["CPU hours of fits, by their committed seconds:", f"{'paper':{width}}   jobs    hours"]
        lines += [f"{key:{width}}  {n:5d}  {s / 3600:7.2f}" for key, n, s in rows]
    if rest := ", ".join(f"{n} {rule}" for rule, n in sorted(others.items())):
        lines.append(f"Jobs without committed seconds: {rest}.")
    return "\n".join(lines)


def describe(scale: str, cores: int = 2) -> str:
    """A paragraph on cells, time by number of cores, download, and the place of the results."""
    forecast = estimate(scale)
    todo, jobs, unknown, by_clock, own = forecast
    there = sum((ROOT / "results/fits" / f"{c.id}.json").exists() for c in todo)
    mb = download_mb({c.dataset for c in todo}, ROOT / "results")
    text = (
        f"bench: scale {scale}: {len(todo)} cells of experiments in {len(jobs) - len(own)} jobs ({there} cells already "
    )
    text += f"there), {len(own)} jobs of {len(papers.programs())} papers with their own code, up to {mb:.0f} MB to "
    text += "download.\nWhen none is there yet, the fits take about "
    text += ", ".join(
        f"{max(1.0, makespan(jobs.values(), n) / 60):.0f} min on {n} core{'s' if n > 1 else ''}"
        for n in sorted({*CORES, cores})
    )
    longest = max(jobs, key=lambda name: jobs[name])
    text += f", with the longest jobs first. The longest takes {jobs[longest] / 60:.0f} min: {longest}.\n"
    timed = len(todo) - unknown
    text += f"This is simulated from the CPU seconds of {timed - by_clock} committed cells"
    text += f" and the wall time of {by_clock}" if by_clock else ""
    if unknown:
        text += f". {unknown} cells without a committed timing count as their overhead only"
    return text + ".\nResults: results/report/index.html and results/tables/."


if __name__ == "__main__":
    import sys

    print(describe(sys.argv[1] if len(sys.argv) > 1 else "full"))
