"""Every command that README, CONTRIBUTING and docs/ print is run, planned, or read by the parser that will read it.

A command is a line of a block of shell, a line of another block behind ``$``, or a piece of code in the text that
begins with one of ``PROGRAMS`` or with ``./``. ``./bench new`` writes below a temporary folder. What goes to Snakemake
is planned (``-n``) at the tiny scale. Of all other commands, which may take minutes, the arguments are parsed. About 4
CPU seconds a plan.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest
import yaml

from workflow import cli, launch

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md")
#: pages of docs/ whose commands are checked too. Made pages repeat what is checked elsewhere, and the page on the cost
#: of tests has a command that measures all of them.
GUIDES = [
    p.relative_to(ROOT).as_posix()
    for p in sorted((ROOT / "docs").rglob("*.md"))
    if not p.is_relative_to(ROOT / "docs/reference") and p.name != "tests.md"
]
SHELLS = ("sh", "bash", "shell")
#: variables that may stand before a command.
VARIABLES = re.compile(r"(DPBAYES_(?:MIRROR|CORES|PYTHON|METHODS|DATASETS)|PYTHONPATH)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """Where commands find what they name: ``root``, where something new is written, and words for the placeholders.

    ``there``: of what the project has; ``fresh``: of what is new.
    """

    root: Path
    there: dict[str, str]
    fresh: dict[str, str]

    def filled(self, words: Sequence[str], values: dict[str, str]) -> list[str]:
        """The words with placeholders replaced. Fails for one that is not known."""
        pattern = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
        found = [re.sub(rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z])", lambda m: values[m[0]], w) for w in words]
        for word in found:
            if (left := re.fullmatch(r"(?:.*[=/])?([A-Z]{3,})(?:\.\w+)?", word)) and not (ROOT / word).exists():
                pytest.fail(f"no word is known for the placeholder {left[1]}; add it to the fixture `place`")
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    root = tmp_path_factory.mktemp("commands")
    table = root / "rows.csv"
    table.write_text("a,b\n" + "".join(f"{k},{k % 7}\n" for k in range(60)))
    for words in (
        ["method", "my_method", "--kind", "bnn_regression", "--family", "elsewhere", "--private"],
        ["dataset", "my_rows", str(table), "--target", "b"],
        ["paper", "made_up"],
    ):
        assert cli.main(["new", *words], root) == 0
    both = {
        "FILE.csv": str(table),
        "COLUMN": "b",
        "KIND": "bnn_regression",
        "DIR": str(root / "out"),
        "FOLDER": str(root / "rows"),
    }
    there = {
        "path/to/my_method.py": str(root / "methods/elsewhere/my_method.py"),
        "path/to/my_rows.py": str(root / "datasets/my_rows.py"),
        "path/to/my_experiment.yaml": str(root / "papers/made_up/experiments/made_up.yaml"),
        "EXPERIMENT/METHOD": "common_network/ridge",
        **{"METHOD": "ridge", "results/extra/TABLE.csv": "results/extra/rdp_figure1.csv", "SPLIT": "0"},
        **{"NAME": "ridge", "KEY": "geumlek2017rdp", "CELL": "wine", "NUMBER": "wine", "TABLE.csv": "table.csv"},
        "ADDRESS": "registry.example/dpbayes",
    }
    return Place(root, both | there, both | {"NAME": "something_new", "KEY": "made2031up"})


def pieces(text: str) -> list[str]:
    """What may be a command in a page, in order."""
    found = []
    blocks = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
    for _, language, body in blocks.findall(text):
        lines = body.replace("\\\n", " ").splitlines()
        if language in SHELLS:
            found += [line for line in lines if line.strip()]
        elif language != "python":
            found += [line.strip()[2:] for line in lines if line.strip().startswith("$ ")]
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", blocks.sub("", text)):
        code = " ".join(code.split())
        first = re.sub(r"^(?:[A-Z_]+=\S* )*", "", code).split(" ")[0]
        if first in PROGRAMS or first.startswith("./"):
            found.append(code)
    return list(dict.fromkeys(found))


def commands(line: str) -> list[list[str]]:
    """The words of each command of a line, comments left out. Fails for what no line of ours needs."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    out: list[list[str]] = [[]]
    for word in reader:
        if word in ("&&", ";"):
            out.append([])
        elif set(word) <= set("();<>|&"):
            pytest.fail(f"`{line}`: this test does not know '{word}'")
        else:
            out[-1].append(word)
    return [words for words in out if words]


# ------------------------------------------------------------------------------------------- how a program is checked


def a_bench(words: list[str], place: Place, given: dict[str, str]) -> None:
    command = words[0] if words else ""
    if command == "new":
        if words[1:] and words[1:] != ["WHAT"]:  # a maker and its arguments; the maker alone is its name in a sentence
            assert words[1] in cli.command("new").commands
            filled = place.filled(words[1:], place.fresh)
            assert len(filled) == 1 or cli.main(["new", *filled], Path(tempfile.mkdtemp(dir=place.root))) == 0
        return
    words = place.filled(words, place.there)
    if command in cli.COMMANDS:
        assert not words[1:] or taken(cli.command(command), words[1:])
    elif command == "test":
        assert not words[1:] or collected(words[1:], given)
    elif command in ("", "setup", "--help", "-h"):
        assert len(words) <= 1 or words == ["setup", "torch"]
    else:
        a_plan(words, given)


def a_plan(words: list[str], given: dict[str, str]) -> None:
    """Words that the launcher hands to Snakemake."""
    full = words[:1] == ["full"]
    made = launch.targets_first(words[1:] if full else words)
    made = launch.scaled("full", made) if full else made
    launch.checked(made)
    if {"--profile", "--report", "--sdm"} & set(made):  # a cluster, a finished run, a container: not here
        return
    # scale and cores of all plans are the same, so that equal plans are made once
    tiny = launch.scaled("tiny", [w for w in made if not w.startswith("scale=") and w != "-n"])
    tiny[tiny.index("--cores") + 1] = "1"
    planned(tuple(tiny), tuple(given.items()))


@cache
def planned(words: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> None:
    command = [sys.executable, "-m", "snakemake", "-n", "--nolock", *words]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | dict(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def collected(words: list[str], given: dict[str, str]) -> bool:
    """Does pytest take these arguments, and find tests?"""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    return True


def taken(command: click.Command, words: list[str]) -> bool:
    """Does a command take these words? Fails where it does not."""
    try:
        return bool(command.make_context(command.name, list(words)))
    except click.UsageError as e:
        pytest.fail(e.format_message())


class Parsed(Exception):
    """The arguments have been read."""


def parsed(module: str, words: list[str]) -> bool:
    """Does the parser of ``python -m module`` take these words? Raises SystemExit where it does not."""
    found = importlib.import_module(module)
    if hasattr(found, "__path__"):
        found = importlib.import_module(f"{module}.__main__")
    if isinstance(made := vars(found).get("command"), click.Command):
        return taken(made, words)
    with pytest.MonkeyPatch.context() as patch:
        read = argparse.ArgumentParser.parse_args

        def parse_and_stop(*a, **more):
            read(*a, **more)
            raise Parsed

        patch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
        patch.setattr(sys, "argv", [module, *words])
        patch.chdir(ROOT)
        try:
            found.main()
        except Parsed:
            return True
    return False


def a_python(words: list[str], place: Place, given: dict[str, str]) -> None:
    if words[:1] == ["-c"]:
        ast.parse(words[1])
        return
    assert words[0] == "-m", "python -m MODULE or python -c CODE"
    module, rest = words[1], place.filled(words[2:], place.there)
    assert importlib.util.find_spec(module), f"no module {module}"
    if module == "pytest":
        collected(rest, given)
    elif module == "pip":
        a_pip(rest, place, given)
    elif rest or "ArgumentParser" in Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8"):
        assert parsed(module, [w for word in rest for w in globbed(word)])


def globbed(word: str) -> list[str]:
    """As a shell gives it."""
    if "*" not in word:
        return [word]
    found = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(word))
    assert found, f"nothing is called {word}"
    return found


def a_pip(words: list[str], place: Place, given: dict[str, str]) -> None:
    assert words[0] == "install"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    rest = iter(words[1:])
    for word in rest:
        if word == "-c":
            assert (ROOT / next(rest)).is_file()
        elif extras := re.fullmatch(r"\.(?:\[([\w,]+)\])?", word):
            assert set(filter(None, (extras[1] or "").split(","))) <= set(project["optional-dependencies"])
        else:
            assert re.search(rf"^{re.escape(word)}==", pinned, re.MULTILINE), f"constraints.txt does not pin {word}"


def a_conda(words: list[str], place: Place, given: dict[str, str]) -> None:
    there = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert words in (["env", "create", "-f", "environment.yml"], ["activate", there["name"]])


def a_ruff(words: list[str], place: Place, given: dict[str, str]) -> None:
    command = [sys.executable, "-m", "ruff", *words, "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr  # 1: something to correct, 2: no such argument


def a_script(path: str) -> Callable[[list[str], Place, dict[str, str]], None]:
    """A program of ours without arguments."""

    def check(words: list[str], place: Place, given: dict[str, str]) -> None:
        assert not words
        assert (ROOT / path).stat().st_mode & stat.S_IXUSR

    return check


def a_removal(words: list[str], place: Place, given: dict[str, str]) -> None:
    """What is removed is all that `./bench new paper` writes."""
    assert words[0] == "-r"
    root = place.root / "removed"
    assert cli.main(["new", "paper", place.fresh["KEY"]], root) == 0
    for word in place.filled(words[1:], place.fresh):
        shutil.rmtree(root / word)
    assert not [p for p in root.rglob("*") if p.is_file()]


def an_activation(words: list[str], place: Place, given: dict[str, str]) -> None:
    assert words == [".venv/bin/activate"]  # `./bench setup` makes it


def a_snakemake(words: list[str], place: Place, given: dict[str, str]) -> None:
    a_plan(place.filled(words, place.there), given)


def a_hook(words: list[str], place: Place, given: dict[str, str]) -> None:
    assert words == ["install"]
    assert yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]


def a_package_of_the_system(words: list[str], place: Place, given: dict[str, str]) -> None:
    assert words[0] == "install"  # as root, on Debian: its names cannot be looked up here


#: first word of a command -> what checks the others.
PROGRAMS: dict[str, Callable[[list[str], Place, dict[str, str]], None]] = {
    "./bench": a_bench,
    ".ci/run": a_script(".ci/run"),
    "snakemake": a_snakemake,
    "python": a_python,
    "pip": a_pip,
    "conda": a_conda,
    "ruff": a_ruff,
    "pre-commit": a_hook,
    "rm": a_removal,
    ".": an_activation,
    "source": an_activation,
    "apt-get": a_package_of_the_system,
}


def check(line: str, place: Place) -> None:
    """Fails where a line is no command, or one whose words are not those of its program."""
    for words in commands(line):
        given: dict[str, str] = {}
        while words and (found := VARIABLES.fullmatch(words[0])):
            given[found[1]] = place.filled([found[2]], place.there)[0]
            words = words[1:]
        if not words or words[0] not in PROGRAMS:
            pytest.fail(f"`{line}`: this test does not know how to check it; add its first word to PROGRAMS")
        try:
            PROGRAMS[words[0]](words[1:], place, given)
        except SystemExit:  # a parser, which has said why
            pytest.fail(f"`{line}`: its arguments are refused")


PRINTED = {
    line: page for page in reversed([*PAGES, *GUIDES]) for line in pieces((ROOT / page).read_text(encoding="utf-8"))
}  # fmt: skip


#: what goes to Snakemake costs seconds to plan, and all tests cost seconds to collect
PLANNED = re.compile(r"\./bench (--co|full|audit|lower_bounds)|\./bench test -|DPBAYES_METHODS=|^snakemake ")


def param(line: str, page: str):
    marks = pytest.mark.nightly if PLANNED.search(line) else ()
    return pytest.param(line, id=f"{page}: {line}", marks=marks)


@pytest.mark.parametrize("line", [param(line, page) for line, page in PRINTED.items()])
def test_a_printed_command_is_one(line, place):
    check(line, place)


def test_there_are_commands_of_every_page():
    assert all(len([p for p in PRINTED.values() if p == page]) >= 5 for page in PAGES)


@pytest.mark.parametrize(
    "line",
    [
        "./bench fulll",
        "./bench --cores 2 --config metods=x common_tasks",
        "./bench new methd NAME --kind KIND",
        "./bench new method NAME",
        "./bench doubt --lst wine",
        "./bench advise --task regresion --rows 5 --columns 2",
        "./bench test tests/nowhere",
        "./bench try WORD",
        "python -m workflow.gatess status",
        "python -m workflow.gates stats",
        "python -m common_tasks.tuning",
        "python -m reports.build reference --config papers/nowhere/*.yaml",
        "snakemake --cores 2 nothing_of_this_name",
        "pip install '.[suit]'",
        "conda activate base",
        "ruff chek .",
        "make all",
        "DPBAYES_CORE=2 ./bench",
        "./bench | tee log",
    ],
)
def test_a_wrong_command_is_seen(line, place):
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError, ModuleNotFoundError)):
        check(line, place)


def test_commands_are_found_where_pages_print_them():
    text = "`./bench a` `DPBAYES_CORES=2 ./bench\nb` `bench` `methods/x.py`\n```sh\n./bench c  # words\nmake d\n```\n"
    text += "```text\n$ ./bench e\noutput\n```\n```python\npython = 1\n```\n"
    assert pieces(text) == ["./bench c  # words", "make d", "./bench e", "./bench a", "DPBAYES_CORES=2 ./bench b"]
    assert commands("./bench c  # words") == [["./bench", "c"]]
    assert commands("ruff check . && ./bench test") == [["ruff", "check", "."], ["./bench", "test"]]
