"""Runs Snakemake for ``./bench``: checks the arguments, holds a lock, prints the plan, and ends all processes.

An argument that means nothing is refused before Snakemake starts. The error names the nearest known word.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from datasets.files import ROOT
from methods import contract
from models import kind
from workflow import cli, environment, faults, on_demand, papers, store, worker
from workflow.experiments import SCALES

#: exit status of a run that has left out a method.
LEFT_OUT = 3
#: exit statuses of a run that was told to end.
TOLD = (128 + signal.SIGTERM, 128 + signal.SIGHUP)

#: key of config/config.yaml -> its allowed values; empty: any value.
CONFIG: dict[str, tuple[str, ...]] = {
    "scale": SCALES,
    "reuse": ("none", "reference"),
    "refit": (),
    "retry": tuple(store.RETRIED),
    "noise": environment.NOISES,
    "mirror": (),
    "results": (),
    "container": (),
    "methods": (),
    "datasets": (),
    "experiments": (),
}


# ------------------------------------------------------------------------------------------------------- the arguments


class Wrong(ValueError):
    """An argument that means nothing. The message names it and the nearest known one."""


def check_environment(given: Mapping[str, str] = os.environ) -> None:
    """Raise Wrong for an environment variable of the suite with a value that cannot be used."""
    cores = given.get("DPBAYES_CORES", "all")
    if cores != "all" and not (cores.isdigit() and int(cores) > 0):
        raise Wrong(f"DPBAYES_CORES is '{cores}'; give a number of cores, or 'all'")
    mirror = given.get("DPBAYES_MIRROR", "")
    if mirror and not Path(mirror).is_dir():
        raise Wrong(f"DPBAYES_MIRROR names '{mirror}', which is no folder here; correct it, or unset DPBAYES_MIRROR")


def targets() -> list[str]:
    """Words that Snakemake takes as targets: papers, and rules that make one file each."""
    out = ["all", *(name for name, many in rules().items() if not many)]
    for paper in papers.papers():
        out += [paper.key, *paper.aliases]
    return out


def table_named(word: str) -> str:
    """The file of a paper's table that a word names, with or without suffix and paper; empty if there is none."""
    for paper in papers.papers():
        for table in (t for extra in paper.extra for t in extra.tables):
            if word.removesuffix(".csv").removeprefix(f"{paper.key}_") == table.removesuffix(".csv"):
                return table
    return ""


def rules() -> dict[str, bool]:
    """Name of each rule -> whether it makes many files (wildcards in its outputs)."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    parts = (part.partition(":") for part in re.split(r"^rule ", text, flags=re.MULTILINE)[1:])
    outputs = ((name, re.split(r"\n    \w+:", body.partition("\n    output:")[2])[0]) for name, _, body in parts)
    return {name: "{{" in made for name, made in outputs}


def check_target(word: str) -> None:
    """Raise Wrong for a word that is not a target. The message names the table that holds it, or the nearest target."""
    if word == "tests" or word.startswith("tests/"):
        raise Wrong(f"'{word}' holds tests: ./bench test{'' if word == 'tests' else f' {word}'}")
    known = targets()
    if word in known or "/" in word:
        return
    if word in cli.WORDS:
        raise Wrong(f"'{word}' is a command and stands first: ./bench {word} ...")
    found, holds = papers.experiments(), papers.paper_of(word)
    if holds is not None:
        raise Wrong(
            f"'{word}' is an experiment ({found[word].relative_to(ROOT)}); the target {holds.key} holds it: "
            f"./bench --cores 2 {holds.key}"
        )
    if word == "quick" or word == "tiny":
        raise Wrong(f"'{word}' is a scale: ./bench --cores 2 --config scale={word}")
    if table := table_named(word):
        raise Wrong(f"'{word}' is a table; name its file: ./bench --cores 2 results/extra/{table}")
    if rules().get(word):
        raise Wrong(f"the rule '{word}' makes many files; name one of them, as results/fits/CELL.json")
    if word in contract.names():
        raise Wrong(f"'{word}' is a method: ./bench try {word}")
    if word in kind.kinds():
        raise Wrong(f"'{word}' is a kind of model; targets are {', '.join(p.key for p in papers.papers())}")
    if word.startswith(tuple(f"{e}-" for e in papers.experiments())):
        raise Wrong(f"'{word}' looks like a cell: ./bench doubt {word}")
    raise Wrong(f"'{word}' is no command and no target; {cli.nearest(word, [*cli.WORDS, *known])}")


def check_config(entries: Sequence[str]) -> None:
    """Raise Wrong for an entry of ``--config`` that is not KEY=VALUE with a key of config/config.yaml."""
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign:
            raise Wrong(f"--config {entry}: give {entry}=VALUE")
        if key not in CONFIG:
            raise Wrong(f"--config {entry}: unknown key '{key}'; {cli.nearest(key, list(CONFIG))}")
        if CONFIG[key] and value not in CONFIG[key]:
            raise Wrong(f"--config {entry}: {key} is one of {', '.join(CONFIG[key])}")
        if key == "mirror" and value and not Path(value).is_dir():
            raise Wrong(f"--config {entry}: '{value}' is no folder here")


def targets_first(argv: Sequence[str]) -> list[str]:
    """The arguments, with words after ``--config`` that are not KEY=VALUE moved to the front.

    Snakemake assigns everything after ``--config`` to that option. No target has an equals sign. A key of ``CONFIG``
    without a value stays in place, because its value was probably forgotten.
    """
    found, rest, inside = [], [], False
    for word in argv:
        if word.startswith("-"):
            inside = word in ("--config", "-C")
            rest.append("--config" if inside else word)
        else:
            moved = inside and "=" not in word and word not in CONFIG
            (found if moved else rest).append(word)
    return found + rest


def checked(argv: Sequence[str]) -> Namespace:
    """Check what Snakemake reads in the arguments. Raises Wrong for the first that means nothing."""
    if argv and not argv[0].startswith("-"):
        check_target(argv[0])  # the usual slip, told without Snakemake's parser, which takes a second to import
    from snakemake.cli import get_argument_parser
    from snakemake.exceptions import CliException

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            options, _ = get_argument_parser().parse_known_args(list(argv))
    except CliException as e:  # of a number of cores or jobs
        raise Wrong(str(e)) from None
    except SystemExit as e:
        if not e.code:  # --help, --version
            raise
        raise Wrong(said.getvalue().strip().splitlines()[-1].partition("error: ")[2] or said.getvalue()) from None
    for flag, count in (("--cores", options.cores), ("--jobs", options.jobs)):
        if count is not None and count < 1:
            raise Wrong(f"{flag} {count}; give a number above 0")
    check_config(options.config or [])
    for word in options.targets or []:
        check_target(word)
    return options


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


# -------------------------------------------------------------------------------------------------------- the process


class Stopped(BaseException):
    """Somebody asked this process to end. ``args`` holds the signal."""


def stop(number: int, frame) -> None:
    raise Stopped(number)


def main(argv: list[str]) -> int:
    os.chdir(ROOT)
    try:
        check_environment()
        full = argv[:1] == ["full"]
        command = targets_first(argv[1:] if full else argv)
        if full:
            command = scaled("full", command)
        given = checked(command)
        if not full:
            command = with_cores(command)
    except Wrong as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    if full:
        from workflow.plan import describe

        print(describe("full", given.cores or cores()), file=sys.stderr, flush=True)
        if not given.dryrun:
            on_demand.for_methods([(name, kind) for kind, name in contract.pairs()])
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
