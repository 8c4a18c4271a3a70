"""The work and the cost of a run, printed before it starts."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

import datasets
from datasets.files import ROOT
from evaluation.summary import seconds_of
from workflow import committed, papers
from workflow.experiments import Cell, cells, experiment_files, families
from workflow.program import CPU_SECONDS

#: CPU seconds per cell besides its fits: starting Python, imports, scores, Snakemake.
OVERHEAD_S = 3.0

#: a job on a cluster requests this multiple of its forecast (slower nodes, shared disks), within limits in minutes.
SLACK, LEAST_MIN, MOST_MIN = 4.0, 15, 24 * 60

#: numbers of cores for which the forecast is printed.
CORES = (1, 2, 8, 32)


class Estimate(NamedTuple):
    """Cells of a scale, seconds by job, number of cells without a timing, and number of cells with wall time only."""

    cells: list[Cell]
    jobs: dict[str, float]
    unknown: int
    by_clock: int

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


def estimate(scale: str) -> Estimate:
    """The cost of a scale, by committed timings."""
    known = reference_seconds()
    full = {key_of(c): dict(c.settings) for p in experiment_files() for c in cells(p, "full")}
    everything = [c for p in experiment_files() for c in cells(p, scale)]
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
    return Estimate(everything, dict(jobs), unknown, by_clock)


def program_seconds() -> dict[str, float]:
    """CPU seconds of each paper with its own code whose committed score files all have them."""
    out = {}
    for key, (paper, _) in papers.programs().items():
        files = sorted(paper.reference.glob("scores/*.csv.gz"))
        spent = [pd.read_csv(f, usecols=lambda c: c == CPU_SECONDS) for f in files]
        if files and all(CPU_SECONDS in one for one in spent):
            out[key] = sum(OVERHEAD_S + float(one[CPU_SECONDS].sum()) for one in spent)
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


def describe(scale: str, cores: int = 2) -> str:
    """A paragraph on cells, time by number of cores, download, and the place of the results."""
    forecast = estimate(scale)
    todo, jobs, unknown, by_clock = forecast
    there = sum((ROOT / "results/fits" / f"{c.id}.json").exists() for c in todo)
    mb = download_mb({c.dataset for c in todo}, ROOT / "results")
    text = f"bench: scale {scale}: {len(todo)} cells in {len(jobs)} jobs ({there} cells already there), "
    text += f"up to {mb:.0f} MB to download.\nWhen none is there yet, the fits take about "
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
    if scale == "full" and (own := program_seconds()):
        text += ".\nPapers with programs of their own are not among them, and take further CPU minutes: "
        text += ", ".join(f"./bench {key} {s / 60:.0f}" for key, s in own.items())
    return text + ".\nResults: results/report/index.html and results/tables/."


if __name__ == "__main__":
    import sys

    print(describe(sys.argv[1] if len(sys.argv) > 1 else "full"))
