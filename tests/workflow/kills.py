"""Kill a real run at random, again and again, and compare every score row with a run that nobody killed.

    PYTHONPATH=. .venv/bin/python tests/workflow/kills.py --kills 50 --out kills.csv

It works in a copy of the checkout, with methods of the suite on simulated data: nothing is downloaded. A kill is
SIGKILL to one process of the run (launcher, Snakemake, a cell, a worker) or to all of them, at a random moment. The
same command is then given again. When a run is whole, its rows are compared and its results removed, so that the next
kill finds work. Each kill is written to the CSV at once. The exit status is 1 if a row differs. Linux only.
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

#: fits of a third of a second that need no compiler, so that most of a run is fits, and not starts.
EXPERIMENT = """
experiment: kills
title: kills
sources: []
model: {kind: mixture_of_gaussians, components: 4, noise_sd: 0.5, prior_variance: 10.0, prior_seed: 0}
datasets: [mixture_of_gaussians]
protocols: {replicates: {splits: 30}}
arms:
  - {method: em, protocols: [replicates]}
  - {method: dp_em_authors, protocols: [replicates], budget: &one {epsilon: 1.0, delta: 1.0e-5, mode: record}}
  - {method: dp_em_corrected, protocols: [replicates], budget: *one}
scales: {full: {}, quick: {}, tiny: {}}
answers: []
"""
TARGET = "results/scores/kills/mixture_of_gaussians.csv"
#: who is killed -> words of the command line (no words: everybody), and until which share of a run after it is seen.
VICTIMS = {
    "launcher": ("workflow.launch", 0.8),
    "Snakemake": ("snakemake", 0.8),
    "cell": ("workflow.cell", 0.2),
    "worker": ("workflow.worker", 0.2),
    "all": ("", 0.8),
}


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
    command = [sys.executable, "-m", "workflow.launch", "--cores", str(cores), TARGET, "--config"]
    command += ["experiments=kills.yaml", "scale=full"]
    out = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=project, env=environment(), **out)


def rows(project: Path) -> list[tuple]:
    """All score rows, without what is measured."""
    with open(project / TARGET, newline="", encoding="utf-8") as f:
        return [tuple((k, v) for k, v in row.items() if k not in MEASURED) for row in csv.DictReader(f)]


def kill(project: Path, run: subprocess.Popen, rng: random.Random, whole: float) -> tuple[str, float] | None:
    """Kill somebody; who, and how many seconds after the start, or None if the run ended first.

    ``whole``: seconds of a run. Each kind of victim is drawn as often. It is killed a random time after its kind is
    seen; if it has ended by then, another one is killed.
    """
    began, who = time.monotonic(), rng.choice(list(VICTIMS))
    wait = rng.uniform(0.0, whole * VICTIMS[who][1])
    while run.poll() is None and not processes(project, VICTIMS[who][0]):
        time.sleep(0.2)
    try:
        run.wait(wait)
        return None
    except subprocess.TimeoutExpired:
        there = {kind: found for kind, (words, _) in VICTIMS.items() if (found := processes(project, words))}
    if not there:
        return None
    who = who if who in there else rng.choice(list(there))
    for process in there[who] if who == "all" else [rng.choice(there[who])]:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return who, time.monotonic() - began


def ended(project: Path, run: subprocess.Popen) -> int:
    """The exit status of a run, once it and all that it started have ended by themselves. A Ctrl-C ends them."""
    try:
        code = run.wait()
        while processes(project):
            time.sleep(0.2)
        return code
    except KeyboardInterrupt:
        for process in processes(project):
            process.kill()
        raise


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of who is killed when")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("kills.csv"), help="CSV, one row per kill")
    options = parser.parse_args()
    rng, killed, different, compared = random.Random(options.seed), 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder, open(options.out, "w", encoding="utf-8") as out:
        out.write("kill,who,after_s,run,cells,splits\n")
        project = copy_project(Path(folder)).resolve()
        (project / "kills.yaml").write_text(EXPERIMENT, encoding="utf-8")
        began = time.monotonic()
        if code := ended(project, start(project, options.cores)):
            raise SystemExit(f"the run that nobody kills ended with status {code}")
        expected, whole = rows(project), time.monotonic() - began
        print(f"the run that nobody kills: {len(expected)} rows in {whole:.0f} s", flush=True)
        shutil.rmtree(project / "results")
        runs = 0
        while killed < options.kills or (project / "results").exists():
            run = start(project, options.cores)
            found = kill(project, run, rng, whole) if killed < options.kills else None
            stored = [len(list((project / "results").glob(p))) for p in ("fits/*.json", "partial/*/*.npz")]
            code = ended(project, run)
            if found is None and code:
                raise SystemExit(
                    f"a run that nobody killed ended with status {code}; look into {project}/.snakemake/log"
                )
            if found is not None:
                killed += 1
                out.write(f"{killed},{found[0]},{found[1]:.1f},{runs + 1},{stored[0]},{stored[1]}\n")
                out.flush()
                at = f"after {found[1]:.1f} s, with {stored[0]} cells and {stored[1]} splits stored"
                print(f"kill {killed}: {found[0]} {at}", flush=True)
            if code == 0:
                here = rows(project)
                differ = len(set(here) ^ set(expected)) + abs(len(here) - len(expected))
                different, compared, runs = different + differ, compared + len(here), runs + 1
                print(f"run {runs} is whole: {len(here)} rows, {differ} differ", flush=True)
                if left := list((project / "results").rglob("*.tmp")):
                    print(f"left behind: {', '.join(map(str, left))}")
                shutil.rmtree(project / "results")
    minutes = (time.monotonic() - began) / 60
    print(f"{killed} kills, {compared} rows in {runs} whole runs, {different} differ, {minutes:.0f} minutes")
    return int(different > 0)


if __name__ == "__main__":
    raise SystemExit(main())
