"""The commands of ``./bench``, each imported when it is called. All other words go to Snakemake (``workflow.launch``).

``bench`` calls this module once the environment exists. Bash completes its words after ``eval
"$(_BENCH_COMPLETE=bash_source ./bench)"``.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from workflow.papers import resolve

if TYPE_CHECKING:
    from datasets.draft import Given

#: word -> module and name of its click command.
COMMANDS = {
    "new": "workflow.new:command",
    "doubt": "workflow.recheck:command",
    "try": "workflow.try_method:command",
    "advise": "common_tasks.own_data.advise:command",
    "compare": "common_tasks.own_data.compare:command",
    "schema": "common_tasks.own_data.schemas:command",
    "check-rows": "common_tasks.own_data.schemas:check_rows",
    "fit": "common_tasks.own_data.fit:command",
    "site": "reports.site.__main__:command",
}
#: other first words: scales, and commands of the shell script itself.
WORDS = ("full", "test", "setup", *COMMANDS)
#: receives all other words.
SNAKEMAKE = "workflow.launch:main"
COMPLETION = "_BENCH_COMPLETE"


class Several(click.Command):
    """A command whose repeatable options also take several values: ``--epsilon 0.1 1 8``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeatable = {flag for p in self.params if isinstance(p, click.Option) and p.multiple for flag in p.opts}
        words: list[str] = []
        flag = ""
        for word in args:
            if word.startswith("--"):
                flag = word if word in repeatable else ""
            elif flag and words[-1] != flag:
                words.append(flag)
            words.append(word)
        return super().parse_args(ctx, words)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the options of :func:`stated`."""
    options = [
        click.option(
            "--columns", default="", metavar="A,B,C", help="names of all columns of a file without a header line"
        ),
        click.option("--no-header", is_flag=True, help="the file has no header line; its columns are c1, c2, ..."),
        click.option("--header", is_flag=True, help="the first line is a header, although it looks like values"),
        click.option("--encoding", default="", metavar="NAME", help="such as cp1252 or cp1251 (default: utf-8)"),
        click.option("--drop", multiple=True, metavar="COLUMN...", help="columns to leave out"),
        click.option(
            "--levels", type=click.Path(path_type=Path), metavar="FILE.yaml",
            help="public levels of columns of text, as lines `column: [level, level]`",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def stated(given: Mapping[str, Any], rows_are_public: bool) -> Given:
    """The user's statements in the options. Raises TableError if a file of levels or ranges cannot be read."""
    from datasets.draft import Given, levels_of, ranges_of

    files = [given.get(name) for name in ("levels", "bounds")]
    names = tuple(name.strip() for name in given["columns"].split(",")) if given["columns"] else ()
    return Given(
        names, given["no_header"], given["header"], tuple(given["drop"]), levels_of(files[0]), ranges_of(files[1]),
        given["encoding"], rows_are_public, given.get("citation") or ", ".join(f.name for f in files if f),
    )  # fmt: skip


def nearest(word: str, known: Collection[str]) -> str:
    """``did you mean X?`` if a known word is similar, otherwise all known words."""
    if matches := difflib.get_close_matches(word, list(known), n=1, cutoff=0.6):
        return f"did you mean '{matches[0]}'?"
    return f"there are {', '.join(known)}"


def command(word: str) -> click.Command:
    """The command of a word of ``COMMANDS``."""
    return resolve(COMMANDS[word])


class _Completed(click.Group):
    """All words, for completion in a shell. A command is imported only when its own words are completed."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command(cmd_name) if cmd_name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in WORDS if word.startswith(incomplete)]


def call(made: click.Command, words: Sequence[str], name: str, given: object = None) -> int:
    """The exit status of a command. An error is one line. ``given`` is the ``obj`` of the command's context."""
    try:
        settings = {"obj": given, "help_option_names": ["-h", "--help"]}
        return made.main(list(words), name, standalone_mode=False, **settings) or 0
    except click.Abort:  # Ctrl-C
        return 130
    except click.ClickException as e:
        said = " ".join(e.format_message().split())
        if isinstance(e, click.UsageError):
            said = f"{said.removesuffix('.')}; --help says what there is"
        print(f"{name}: {said}", file=sys.stderr)
        return e.exit_code


def main(argv: Sequence[str], given: object = None) -> int:
    """Run the command that the first word names, or Snakemake. Returns the exit status."""
    if COMPLETION in os.environ:
        _Completed().main([], "bench", complete_var=COMPLETION)
    if argv and argv[0] in COMMANDS:
        return call(command(argv[0]), argv[1:], f"./bench {argv[0]}", given)
    return resolve(SNAKEMAKE)(list(argv))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
