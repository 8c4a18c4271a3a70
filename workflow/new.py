"""Writes the skeleton of a new method, data set, kind of model, paper or experiment, which runs unchanged.

    ./bench new method NAME --kind KIND [--family FAMILY] [--private]
    ./bench new dataset NAME [FILE.csv --target COLUMN --task TASK]
    ./bench new kind NAME
    ./bench new paper KEY
    ./bench new experiment NAME

The texts are Jinja2 files in ``workflow/templates``. ``starts.yaml`` there has the lines that depend on the kind of
model. Each command writes below the project, or below the folder that its context has as ``obj``.
"""

from __future__ import annotations

import difflib
import hashlib
import keyword
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import click
import jinja2
import yaml

import datasets
from datasets.draft import Given, from_rows, last_column, table
from datasets.files import ROOT, visible, write_text
from datasets.schema import EMPTY, NUMBER, Column, Schema, TableError
from methods import contract
from models import kind as model_kinds
from workflow import papers
from workflow.cli import Several, nearest, stated, table_options

TEMPLATES = Path(__file__).parent / "templates"
#: kind of model -> code of its simplest posterior; the file explains its keys.
STARTS: dict[str, dict[str, str]] = yaml.safe_load((TEMPLATES / "starts.yaml").read_text(encoding="utf-8"))
TASKS = ("regression", "classification", "density")


class Refused(click.ClickException):
    """The skeleton cannot be written. The message says why and what to give instead."""

    exit_code = 2


@click.group(no_args_is_help=False)
def command() -> None:
    """Write the skeleton of something new, which runs as it is."""


def name_of(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The argument NAME."""
    return click.argument("name", help=f"of the {what} and its file: lower case, digits, underscores")


# ---------------------------------------------------------------------------------------------- names, texts, files


def check_name(what: str, word: str) -> None:
    """Raise Refused for a word that cannot name a module."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or keyword.iskeyword(word):
        raise Refused(f"{what} '{word}': give lower-case letters, digits and underscores, a letter first")


def class_name(name: str) -> str:
    """``my_method`` -> ``MyMethod``."""
    return "".join(word.capitalize() for word in name.split("_"))


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters["sorted_lines"] = lambda text: "".join(sorted(f"{line}\n" for line in text.splitlines() if line))
    return made


def render(template: str, name: str, **values: object) -> str:
    """The text of a template for something called ``name``."""
    words = {"name": name, "cls": class_name(name), "title": name.replace("_", " ").capitalize()}
    return _environment().get_template(f"{template}.j2").render(words | values)


def root() -> Path:
    """The folder below which files are written."""
    return click.get_current_context().obj or ROOT


def write_new(files: Mapping[str, str]) -> None:
    """Write texts by path below ``root()``. Raises Refused before anything is written if a file exists."""
    for name in files:
        if (root() / name).exists():
            raise Refused(f"{name} exists")
    for name, text in files.items():
        (root() / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(root() / name, text)


# --------------------------------------------------------------------------------------------------------- a method


def families() -> list[str]:
    """Names of the folders that hold methods."""
    return sorted({contract.module_of(name).split(".")[1] for name in contract.names()})


def method_text(name: str, kind: str, private: bool) -> str:
    """The text of the file. Raises Refused if there is no skeleton of a private method for that kind."""
    start = STARTS.get(kind, {})
    if private and "statistic" not in start:
        known = ", ".join(sorted(k for k, s in STARTS.items() if "statistic" in s))
        raise Refused(f"--private has a skeleton for {known}; for {kind} write it without and add the release")
    scaled = hasattr(model_kinds.kind(kind).model, "inner")
    return render("method.py", name, kind=kind, private=private, start=start, scaled=scaled)


@command.command()
@name_of("method")
@click.option("--kind", required=True, help=f"kind of model that it fits: {', '.join(model_kinds.kinds())}")
@click.option("--family", help="folder of methods/; default: a new one of the method's name")
@click.option("--private", is_flag=True, help="one with a release through the budget")
def method(name: str, kind: str, family: str | None, private: bool) -> None:
    """Write a method: one file, methods/<family>/<name>.py."""
    home = family or name
    for what, word in (("name", name), ("family", home)):
        check_name(what, word)
    if kind not in model_kinds.kinds():
        raise Refused(f"unknown kind of model '{kind}'; {nearest(kind, model_kinds.kinds())}")
    there = f"{contract.module_of(name).replace('.', '/')}.py" if name in contract.names() else contract.left_out(name)
    if there:
        raise Refused(f"there is a method '{name}' already ({there}); to teach it {kind}, add a class to that file")
    close = difflib.get_close_matches(home, families(), n=1, cutoff=0.8)
    if family and family not in families() and close:
        raise Refused(f"no family '{family}'; did you mean '{close[0]}'? (a new family needs a name less like it)")
    path = f"methods/{home}/{name}.py"
    write_new({path: method_text(name, kind, private)})
    click.echo(
        f"{path}: it runs as it is; experiments with `include_unlisted_methods` take it in\n"
        f"next: fill in what says TODO and the fit; `./bench try {name}` checks it and shows its scores"
    )


# ------------------------------------------------------------------------------------------------------- a data set


def check_word(what: str, word: str) -> None:
    """Raise Refused for a name of a file or column that would end a text or docstring of the skeleton."""
    if not word.isprintable() or set(word) & set('"\\$'):
        raise Refused(f"rename the {what} {word!r}: no double quotes, backslashes, dollar signs or control characters")


def described(path: Path, target: str | None, task: str, given: Given) -> dict:
    """The facts of a given table that the skeleton needs. Raises Refused."""
    check_word("file", path.name)
    try:
        target = target or last_column(path, given)
        schema = from_rows(path, target, task, given)
        table(path, schema)
    except TableError as error:
        raise Refused(visible(str(error))) from None
    for column in schema.columns:
        check_word(f"column of {path.name},", column.name)
        for level in column.levels:
            check_word(f"level in {path.name},", level)
    if schema.n < 2:
        raise Refused(f"{path.name} has one row; give one to train on and one to test on at least")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": path.name, "schema": schema, "target": target, "sha256": digest}


def made_up(name: str) -> dict:
    """The facts of a synthetic table, for a skeleton without one."""
    columns = (
        Column("first", NUMBER, default=EMPTY),
        Column("second", NUMBER, default=EMPTY),
        Column("target", NUMBER),
    )
    schema = Schema(100, "target", "regression", columns)
    return {"file": f"{name}.csv", "schema": schema, "target": "target", "sha256": "0" * 64}


@command.command(cls=Several)
@name_of("data set")
@click.argument(
    "file",
    required=False,
    type=click.Path(path_type=Path),
    help="its table, with a header line; default: placeholder values",
)
@click.option("--target", help="name of the target's column; default: the last one")
@click.option(
    "--task", type=click.Choice(TASKS), default="regression",
    help="classes are 0, 1, ..., or listed by --levels (default: regression)",
)  # fmt: skip
@table_options
def dataset(name: str, file: Path | None, target: str | None, task: str, **given: Any) -> None:
    """Write a data set: one file, datasets/<name>.py."""
    check_name("name", name)
    if name in datasets.names():
        raise Refused(f"there is a data set '{name}' already (datasets/{name}.py)")
    if not file and (target or task != "regression" or any(given.values())):
        raise Refused("all options are about a table: name its file")
    try:
        facts = described(file, target, task, stated(given, rows_are_public=False)) if file else made_up(name)
    except TableError as error:
        raise Refused(visible(str(error))) from None
    path = f"datasets/{name}.py"
    write_new({path: render("dataset.py", name, **facts)})
    schema = facts["schema"]
    if file:
        columns = [f"{c.name}: {c.words if c.levels else c.kind}" for c in schema.columns if c.name != facts["target"]]
        click.echo("\n".join([schema.words, *columns]))
    after = "" if file else "name, columns, rows and sha256 of its file, "
    click.echo(
        f"{path}: {schema.n} rows, {len(schema.coded)} inputs; an experiment names it under `datasets`\n"
        f"next: {after}its licence and documented ranges; put the table at DPBAYES_MIRROR/{name}/{facts['file']} or "
        "give its address as a Source; `./bench test tests/datasets/test_registry.py`"
    )


# ------------------------------------------------------------------------ a kind of model, a paper, an experiment


@command.command()
@name_of("kind of model")
def kind(name: str) -> None:
    """Write a kind of model: one file, models/<name>.py."""
    check_name("name", name)
    if name in model_kinds.kinds():
        raise Refused(f"there is a kind of model '{name}' already ({model_kinds.kind(name).model.__module__})")
    path = f"models/{name}.py"
    write_new({path: render("kind.py", name)})
    click.echo(
        f"{path}: a kind of model that runs as it is; an experiment names it under `model`\n"
        f'next: a method whose `models` name "{name}" and that returns {class_name(name)}Posterior; '
        "`./bench test tests/models/test_kind.py`"
    )


@command.command()
@click.argument("key", help="its bibliography key, such as park2017dpem")
def paper(key: str) -> None:
    """Write a paper: one folder, papers/<key>/."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise Refused(f"'{key}': a key has small letters, digits and underscores, and begins with a letter")
    home, tests = f"papers/{key}", f"tests/papers/{key}"
    if (root() / home).exists() or (root() / tests).exists():
        raise Refused(f"{home} or {tests} is there")
    places = {"experiment.yaml": f"{home}/experiments/{key}.yaml", "test_paper.py": f"{tests}/test_paper.py"}
    templates = [path.stem for path in sorted((TEMPLATES / "paper").glob("*.j2"))]
    write_new({places.get(t, f"{home}/{t}"): render(f"paper/{t}", key) for t in templates})
    click.echo(
        f"{home}/: one cheap cell stands in for the paper's own; `./bench {key}` runs it\n"
        f"next: published.csv, experiments/{key}.yaml, claims.py; `./bench test {tests}`"
    )


@command.command()
@name_of("experiment")
def experiment(name: str) -> None:
    """Write an experiment: one file, experiments/<name>.yaml."""
    check_name("name", name)
    if name in papers.experiments():
        raise Refused(
            f"there is an experiment '{name}' already ({papers.experiments()[name].relative_to(ROOT)}); "
            "give another name: scores are filed under it"
        )
    path = f"experiments/{name}.yaml"
    write_new({path: render("experiment.yaml", name, path=path)})
    click.echo(
        f"{path}: two methods on one table; it runs as it is:\n"
        f"./bench --cores 2 results/scores/{name}/wine.csv --config experiments={path}\n"
        "next: its data sets, methods and budgets; the comments say what each key is"
    )
