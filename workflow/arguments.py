"""Checks the arguments of ``./bench`` before Snakemake gets them. An error names the nearest known word."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from datasets.files import ROOT
from workflow import cli, noise, papers, store
from workflow.experiments import SCALES

#: key of config/config.yaml -> its allowed values; empty: any value.
CONFIG: dict[str, tuple[str, ...]] = {
    "scale": SCALES,
    "reuse": ("none", "reference"),
    "refit": (),
    "retry": tuple(store.RETRIED),
    "noise": tuple(noise.CHOICES),
    "mirror": (),
    "results": (),
    "container": (),
    "methods": (),
    "datasets": (),
    "experiments": (),
}


class Wrong(ValueError):
    """An argument that means nothing. The message names it and the nearest known one."""


def close(word: str, known: Collection[str]) -> str:
    """``did you mean X?`` if a known word is similar, otherwise all known words."""
    if matches := difflib.get_close_matches(word, list(known), n=1, cutoff=0.6):
        return f"did you mean '{matches[0]}'?"
    return f"there are {', '.join(known)}"


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
    out = ["all", *(name for name, many in all_rules().items() if not many)]
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


def all_rules() -> dict[str, bool]:
    """Name of each rule -> whether it makes many files."""
    files = sorted((ROOT / "workflow/rules").glob("*.smk"))
    return {name: many for path in files for name, many in rules(path.read_text(encoding="utf-8")).items()}


def rules(text: str) -> dict[str, bool]:
    """Name of each rule in a Snakefile's text -> whether it makes many files (wildcards in its outputs)."""
    parts = re.split(r"^rule (\w+):", text, flags=re.MULTILINE)
    out = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        made = re.search(r"output:(.*?)\n    \w+:", body, flags=re.DOTALL)
        texts = re.findall(r'(f?)"([^"]*)"', made[1] if made else "")
        out[name] = any(re.search(r"\{\{\w+\}\}" if f else r"\{\w+\}", text) for f, text in texts)
    return out


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
    if all_rules().get(word):
        raise Wrong(f"the rule '{word}' makes many files; name one of them, as results/fits/CELL.json")
    from methods import contract

    if word in contract.names():
        raise Wrong(f"'{word}' is a method: ./bench try {word}")
    from models import kind

    if word in kind.kinds():
        raise Wrong(f"'{word}' is a kind of model; targets are {', '.join(p.key for p in papers.papers())}")
    if word.startswith(tuple(f"{e}-" for e in papers.experiments())):
        raise Wrong(f"'{word}' looks like a cell: ./bench doubt {word}")
    raise Wrong(f"'{word}' is no command and no target; {close(word, [*cli.WORDS, *known])}")


def check_config(entries: Sequence[str]) -> None:
    """Raise Wrong for an entry of ``--config`` that is not KEY=VALUE with a key of config/config.yaml."""
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign:
            raise Wrong(f"--config {entry}: give {entry}=VALUE")
        if key not in CONFIG:
            raise Wrong(f"--config {entry}: unknown key '{key}'; {close(key, list(CONFIG))}")
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


def check(argv: Sequence[str]) -> Namespace:
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
