"""Kill a real run at random, again and again, and compare every score row with a run that nobody killed.

    PYTHONPATH=. .venv/bin/python tests/workflow/kills.py --kills 50 --out kills.csv

It works in a copy of the checkout, at scale tiny, on simulated data: nothing is downloaded. A kill is SIGKILL to one
process of the run (launcher, Snakemake, a cell, a worker) or to all of them, at a random moment. The same command is
then given again. When a run is whole, its rows are compared and its results removed, so that the next kill finds work.
Fifty kills take about half an hour on two quiet cores. The exit status is 1 if a row differs. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from project import copy_project, environment

from workflow.score import MEASURED

TARGETS = (
    "results/scores/rdp_exponential_family/bernoulli_half.csv",
    "results/scores/dpsep_mixture/mixture_of_gaussians.csv",
)
#: who is killed -> words of the command line; no words: everybody.
VICTIMS = {
    "launcher": "workflow.launch",
    "Snakemake": "snakemake",
    "cell": "workflow.cell",
    "worker": "workflow.worker",
    "all": "",
}
#: a kill comes after a random time up to this many seconds.
LATEST_S = 25.0


def processes(project: Path, words: str = "") -> list[psutil.Process]:
    """Processes that run in the folder, with these words in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(project) and words in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def start(project: Path, cores: int) -> subprocess.Popen:
    command = [sys.executable, "-m", "workflow.launch", "--cores", str(cores), *TARGETS, "--config", "scale=tiny"]
    out = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=project, env=environment(), **out)


def rows(project: Path) -> list[tuple]:
    """All score rows, without what is measured."""
    found = []
    for target in TARGETS:
        with open(project / target, newline="", encoding="utf-8") as f:
            found += [tuple((k, v) for k, v in row.items() if k not in MEASURED) for row in csv.DictReader(f)]
    return found


def kill(project: Path, run: subprocess.Popen, rng: random.Random) -> tuple[str, float] | None:
    """Kill somebody after a random time; gives who and when, or None if the run ended first."""
    after = rng.uniform(1.0, LATEST_S)
    try:
        run.wait(after)
        return None
    except subprocess.TimeoutExpired:
        who = rng.choice(list(VICTIMS))
    there = processes(project, VICTIMS[who])
    if not there:  # no such process at this moment
        who, there = "all", processes(project)
    for process in there if who == "all" else [rng.choice(there)]:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return who, after


def ended(project: Path, run: subprocess.Popen) -> int:
    """The exit status of a run, once it and all that it started have ended by themselves."""
    code = run.wait()
    while processes(project):
        time.sleep(0.2)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of who is killed when")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("kills.csv"), help="CSV, one row per kill")
    options = parser.parse_args()
    rng, began, killed, different, compared = random.Random(options.seed), time.monotonic(), [], 0, 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        project = copy_project(Path(folder)).resolve()
        if code := ended(project, start(project, options.cores)):
            raise SystemExit(f"the run that nobody kills ended with status {code}")
        expected = rows(project)
        shutil.rmtree(project / "results")
        runs = 0
        while len(killed) < options.kills or (project / "results").exists():
            run = start(project, options.cores)
            found = kill(project, run, rng) if len(killed) < options.kills else None
            code = ended(project, run)
            if found is None and code:
                raise SystemExit(
                    f"a run that nobody killed ended with status {code}; look into {project}/.snakemake/log"
                )
            if found is not None:
                killed.append({"kill": len(killed) + 1, "who": found[0], "after_s": f"{found[1]:.1f}", "run": runs})
                print(f"kill {len(killed)}: {found[0]} after {found[1]:.1f} s", flush=True)
            if code == 0:
                here = rows(project)
                differ = len(set(here) ^ set(expected)) + abs(len(here) - len(expected))
                different, compared, runs = different + differ, compared + len(here), runs + 1
                print(f"run {runs} is whole: {len(here)} rows, {differ} differ", flush=True)
                if left := list((project / "results").rglob("*.tmp")):
                    print(f"left behind: {', '.join(map(str, left))}")
                shutil.rmtree(project / "results")
    with open(options.out, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, ("kill", "who", "after_s", "run"), lineterminator="\n")
        writer.writeheader()
        writer.writerows(killed)
    minutes = (time.monotonic() - began) / 60
    print(f"{len(killed)} kills, {compared} rows in {runs} whole runs, {different} differ, {minutes:.0f} minutes")
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
