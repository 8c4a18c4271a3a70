"""The commands of ./bench: found, cheap to ask for help, completed, and one line for what cannot be meant."""

import os
import re
import subprocess
import sys

import click
import pytest
from project import ROOT

from workflow import cli

HEAVY = ("torch", "jax", "numba", "scipy.stats", "matplotlib", "pandas", "snakemake")


@pytest.mark.parametrize("word", cli.COMMANDS)
def test_a_command_has_help_and_describes_all_that_it_takes(word):
    command = cli.command(word)
    assert command.help
    for made in [command, *getattr(command, "commands", {}).values()]:
        assert all(p.help for p in made.params), made.name


def test_the_help_before_the_set_up_lists_every_command():
    said = subprocess.run(["./bench", "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\./bench ([a-z][a-z-]*)", said)) == set(cli.WORDS)


@pytest.mark.parametrize(("words", "heavy"), [(["new", "--help"], HEAVY), (["new", "method", "--help"], HEAVY)])
def test_help_imports_nothing_heavy(words, heavy):
    code = f"import sys; from workflow import cli; cli.main({words}); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(
    ("typed", "at", "found"),
    [
        ("bench d", 1, ["doubt"]),
        ("bench ", 1, list(cli.WORDS)),
        ("bench new pa", 2, ["paper"]),
        ("bench doubt --l", 2, ["--list"]),
    ],
)
def test_a_shell_completes_words_and_flags(typed, at, found):
    asked = {cli.COMPLETION: "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(at)}
    command = [sys.executable, "-m", "workflow.cli"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == [f"plain,{word}" for word in found], done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doubt", "--lst", "wine"], "./bench doubt: No such option '--lst'. Did you mean '--list'?"),
        (["new"], "./bench new: Missing command"),
        (["try"], "./bench try: Missing argument 'NAME'"),
        (["site", "--scale", "tny"], "./bench site: Invalid value for '--scale': 'tny' is not one of"),
        (["advise"], "./bench advise: Missing option '--task'. Choose from: regression, classification, density"),
    ],
)
def test_a_wrong_word_is_one_line(words, said, capsys):
    assert cli.main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)
    assert line.endswith("; --help says what there is")


def test_a_command_that_is_stopped_says_so_in_its_status():
    @click.command()
    def stopped():
        raise KeyboardInterrupt

    assert cli.call(stopped, [], "./bench stopped") == 130
