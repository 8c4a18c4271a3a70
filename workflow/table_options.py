"""The options of every command that reads a user's table: statements about the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from datasets.reader import Given, TableError, check_levels
from workflow import yaml_file


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the options of :func:`stated`. A command with its own ``--columns`` keeps that."""
    own = {p.name for p in getattr(function, "__click_params__", [])}
    options = [
        click.option(
            "--columns", default="", metavar="A,B,C", help="names of all columns of a file without a header line"
        ),
        click.option("--no-header", is_flag=True, help="the file has no header line; its columns are c1, c2, ..."),
        click.option("--drop", multiple=True, metavar="COLUMN...", help="columns to leave out"),
        click.option(
            "--levels", type=click.Path(path_type=Path), metavar="FILE.yaml",
            help="public levels of columns of text, as lines `column: [level, level]`",
        ),
    ]  # fmt: skip
    for option in reversed(options[1:] if "columns" in own else options):
        function = option(function)
    return function


def stated(given: Mapping[str, Any], rows_are_public: bool) -> Given:
    """The user's statements in the options. Raises TableError if the file of levels cannot be read."""
    path = given["levels"]
    if path is not None and not path.is_file():
        raise TableError(f"no file {path}; write a line `column: [level, level]` for each column of text")
    levels = check_levels(path, yaml_file.read(path, TableError)) if path is not None else {}
    names = tuple(name.strip() for name in given["columns"].split(",")) if given["columns"] else ()
    return Given(names, given["no_header"], tuple(given["drop"]), levels, rows_are_public)
