"""CPU seconds and megabytes of planning a run: Snakemake's start, the Snakefile, the graph of jobs.

    python -m benchmarks.plan_run [SCALE]

* ``start``: Python with Snakemake.
* ``parse``: the Snakefile with all experiments (``--list-rules``).
* ``dry run``: the whole plan with every job printed (``-n``).

Each remote job of a cluster costs the first two again. Each row is the smallest of ``ROUNDS`` processes, after one that
fills the caches. CPU seconds include those of child processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 2


def cost(command: list[str], folder: Path = ROOT) -> tuple[float, float, str]:
    """CPU seconds, peak megabytes and standard output of a command that succeeds."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        said = run.stdout.read()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said


def jobs_in(said: str) -> int:
    """Number of jobs that a dry run counts."""
    return next(int(line.split()[1]) for line in said.splitlines() if line.split()[:1] == ["total"])


def measure(scale: str, folder: Path = ROOT, rounds: int = ROUNDS) -> list[tuple[str, float, float]]:
    """(step, CPU seconds, megabytes) in ``folder``. The name of the last step says how many jobs there are."""
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"scale={scale}"]
    commands = {
        "start": [sys.executable, "-c", "import snakemake.cli"],
        "parse": [*snakemake, "--list-rules"],
        "dry run": [*snakemake, "-n"],
    }
    rows = []
    for name, command in commands.items():
        runs = [cost(command, folder) for _ in range(rounds + 1)][1:] if rounds else [cost(command, folder)]
        found = f"{name}, {jobs_in(runs[0][2])} jobs" if name == "dry run" else name
        rows.append((found, min(r[0] for r in runs), max(r[1] for r in runs)))
    return rows


def main() -> None:
    scale = sys.argv[1] if len(sys.argv) > 1 else "full"
    for name, seconds, megabytes in measure(scale):
        print(f"{scale:6s} {name:24s} {seconds:7.1f} CPU s {megabytes:7.0f} MB", flush=True)


if __name__ == "__main__":
    main()
