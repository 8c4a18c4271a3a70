"""Runs Snakemake for ``./bench``: checks the arguments, holds a lock, prints the plan, and ends all processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

from datasets.files import ROOT
from methods import contract
from workflow import arguments, faults, store, worker

#: exit status of a run that has left out a method.
LEFT_OUT = 3
#: exit statuses of a run that was told to end.
TOLD = (128 + signal.SIGTERM, 128 + signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked this process to end. ``args`` holds the signal."""


def stop(number: int, frame) -> None:
    raise Stopped(number)


def scaled(scale: str, rest: list[str]) -> list[str]:
    """Snakemake's arguments for a scale. The user's own ``--config`` and ``--cores`` are kept."""
    command = list(rest)
    if "--config" in command:  # a second --config would replace the first
        command.insert(command.index("--config") + 1, f"scale={scale}")
    else:
        command += ["--config", f"scale={scale}"]
    return with_cores(command)


def with_cores(command: list[str]) -> list[str]:
    """Snakemake's arguments with a number of cores, unless they name one or a profile."""
    given = {a.partition("=")[0] for a in command}
    if command and not {"--cores", "-c", "--profile", "--jobs", "-j", "--executor", "-e", "--help", "-h"} & given:
        command = ["--cores", os.environ.get("DPBAYES_CORES", "all"), *command]
    return ["--cores" if a == "-c" else a for a in command]


def cores() -> int:
    """The number of parallel processes: DPBAYES_CORES, or all cores."""
    given = os.environ.get("DPBAYES_CORES", "all")
    return int(given) if given.isdigit() else os.cpu_count() or 1


def main(argv: list[str]) -> int:
    os.chdir(ROOT)
    try:
        arguments.check_environment()
        full = argv[:1] == ["full"]
        command = arguments.targets_first(argv[1:] if full else argv)
        if full:
            command = scaled("full", command)
        given = arguments.check(command)
        if not full:
            command = with_cores(command)
    except arguments.Wrong as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    if full:
        from workflow.plan import describe

        print(describe("full", given.cores or cores()), file=sys.stderr, flush=True)
    # Snakemake inherits the descriptor of the lock, so the lock is held as long as one of the two lives.
    lock_path = Path(".snakemake") / "bench.lock"
    lock_path.parent.mkdir(exist_ok=True)
    lock = open(lock_path, "a+")  # noqa: SIM115 - held until the process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("bench: another ./bench is running in this folder; wait for it or stop it first", file=sys.stderr)
        return 1
    if not argv:
        from workflow import quickcheck

        try:
            return quickcheck.main(jobs=cores())
        except KeyboardInterrupt:
            print("bench: stopped; the same command goes on where it was", file=sys.stderr)
            return 130
    snakemake = [sys.executable, "-m", "snakemake"]
    # This process holds the lock, so no other run is active: a lock of Snakemake belongs to a killed run.
    if any((Path(".snakemake") / "locks").glob("*")):
        print("bench: clearing the lock of a killed run", file=sys.stderr)
        cleared = subprocess.run([*snakemake, "--unlock"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if cleared.returncode:
            print(f"{cleared.stdout.rstrip()}\nbench: the lock stays until the error above is mended", file=sys.stderr)
            return cleared.returncode
    os.environ["DPBAYES_COMMAND"] = " ".join(["snakemake", *command])
    return planned([*snakemake, *command], lock.fileno(), Path(".snakemake").absolute())


def planned(command: list[str], lock: int, folder: Path) -> int:
    """Run Snakemake, and again without each method whose file ends the process. Returns the exit status.

    ``folder``: for notes on which method is imported, and which are left out.
    """
    note, importing = folder / "left_out", folder / "importing"
    ended: list[str] = []
    while True:
        note.unlink(missing_ok=True)
        importing.unlink(missing_ok=True)
        os.environ |= {store.LEFT_OUT: str(note), store.IMPORTING: str(importing)}
        os.environ[contract.ENDED] = os.pathsep.join(ended)
        code = run(command, lock)
        if not importing.is_file() or code in TOLD:
            return status(code, note)
        file = importing.read_text(encoding="utf-8")
        if file in ended or faults.killed(code):  # by the system, perhaps
            print(f"bench: the plan ended while {file} was imported; nothing was run", file=sys.stderr)
            return code or 1
        print(f"bench: {file} ends the process that imports it; going on without it", file=sys.stderr, flush=True)
        ended.append(file)


def status(code: int, note: Path) -> int:
    """The exit status of a run: 3 if only some methods were left out, 1 if no plan could be made."""
    if code:
        return code
    if not note.is_file():
        print("bench: a file of a method has ended the plan; nothing was run", file=sys.stderr)
        return 1
    left_out = note.read_text().splitlines()
    for why in left_out:
        print(f"bench: left out: {why}", file=sys.stderr)
    return LEFT_OUT if left_out else 0


def run(command: list[str], lock: int) -> int:
    """Run Snakemake, and end it and its processes if this process is told to end. Returns the exit status."""
    for name in ("SIGTERM", "SIGHUP"):
        if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:  # as under nohup
            signal.signal(getattr(signal, name), stop)
    process = None
    while True:
        try:
            process = process or subprocess.Popen(command, pass_fds=(lock,))
            return process.wait()
        except KeyboardInterrupt:
            continue  # the terminal has told Snakemake too
        except Stopped as e:
            # Snakemake would wait hours for its jobs. The next call resumes them.
            print("bench: ending all jobs; the same command goes on where they were", file=sys.stderr, flush=True)
            worker.end_below(os.getpid())
            return 128 + e.args[0]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
