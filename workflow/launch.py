"""What ``./bench`` runs: looks at the words, keeps a lock, says what is ahead, starts Snakemake and ends it."""

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
#: exit statuses of a run that somebody has told to end.
TOLD = (128 + signal.SIGTERM, 128 + signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked us to end; ``args`` holds the signal."""


def stop(number: int, frame) -> None:
    raise Stopped(number)


def scaled(scale: str, rest: list[str]) -> list[str]:
    """Snakemake's arguments for a scale; the user's own ``--config`` and ``--cores`` are kept."""
    command = list(rest)
    if "--config" in command:  # a second --config would replace the first
        command.insert(command.index("--config") + 1, f"scale={scale}")
    else:
        command += ["--config", f"scale={scale}"]
    return with_cores(command)


def with_cores(command: list[str]) -> list[str]:
    """Snakemake's arguments with a number of cores, where they say none and leave none to a profile."""
    given = {a.partition("=")[0] for a in command}
    if command and not {"--cores", "-c", "--profile", "--jobs", "-j", "--executor", "-e", "--help", "-h"} & given:
        command = ["--cores", os.environ.get("DPBAYES_CORES", "all"), *command]
    return ["--cores" if a == "-c" else a for a in command]


def cores() -> int:
    """Processes at once: DPBAYES_CORES, or all cores."""
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
    # The lock's descriptor is handed on to Snakemake, so it is held as long as either of the two lives.
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
    # We hold our lock, so nobody else runs here: a lock that Snakemake left behind belongs to a killed run.
    if any((Path(".snakemake") / "locks").glob("*")):
        print("bench: clearing the lock of a killed run", file=sys.stderr)
        cleared = subprocess.run([*snakemake, "--unlock"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if cleared.returncode:
            print(f"{cleared.stdout.rstrip()}\nbench: the lock stays until the error above is mended", file=sys.stderr)
            return cleared.returncode
    os.environ["DPBAYES_COMMAND"] = " ".join(["snakemake", *command])
    return planned([*snakemake, *command], lock.fileno(), Path(".snakemake").absolute())


def planned(command: list[str], lock: int, folder: Path) -> int:
    """Run Snakemake, and again without each file of a method that ends its process. Gives the exit status.

    ``folder``: for notes of what is imported, and of what is left out.
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
    """The exit status of a run: 3 if all is well but for methods that were left out, 1 if no plan was made."""
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
    """Run Snakemake to its end, and end it with all that it started where we are told to end. Gives the exit status."""
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
            # Snakemake would wait for its jobs to finish, for hours; they go on with the next call where they were.
            print("bench: ending all jobs; the same command goes on where they were", file=sys.stderr, flush=True)
            worker.end_below(os.getpid())
            return 128 + e.args[0]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
