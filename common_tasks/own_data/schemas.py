"""``./bench schema`` drafts a public schema, and ``./bench check-rows`` looks at rows by one, for their owner only.

    ./bench schema FILE.csv --task regression --target COLUMN --rows 300
    ./bench check-rows FILE.csv --schema schema.yaml

A look at rows writes a mark next to the table first: the sha256 of the schema. ``fit`` asks for the mark, and says so
if the schema was changed after the first look.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from datasets import draft, records, row_faults
from datasets.draft import Given
from datasets.files import visible, write_text
from datasets.schema import (
    ABSENT,
    ESTIMATE,
    LEVELS,
    NUMBER,
    OTHER,
    TASKS,
    TO_STATE,
    Schema,
    TableError,
    to_yaml,
)  # fmt: skip
from workflow.cli import Several, stated, table_options

SCHEMA = "schema.yaml"
PRIVATE = (
    "This output is private: it follows from the rows. Do not show it. A schema that is changed by it is not public "
    "any more."
)
_PATH = click.Path(path_type=Path)


def schema_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that adds the options of :func:`schema_of`: a schema, or what it is drafted from."""
    options = [
        click.option("--schema", type=_PATH, metavar="FILE.yaml", help="the public schema of the table"),
        click.option("--task", type=click.Choice(TASKS[:2]), help="kind of regression, if no schema says it"),
        click.option("--target", metavar="COLUMN", help="what is predicted, if no schema says it"),
        click.option("--rows", type=click.IntRange(1), metavar="N", help="public number of rows, likewise"),
        click.option("--bounds", type=_PATH, metavar="FILE.yaml", help="public ranges of columns, for a draft"),
        click.option("--citation", metavar="TEXT", help="where ranges and levels are stated (default: their files)"),
        click.option("--estimate-ranges", is_flag=True, help="estimate ranges that are not stated, from the budget"),
    ]
    for option in reversed(options):
        function = option(function)
    return table_options(function)


def schema_of(args: SimpleNamespace) -> tuple[Schema, bool]:
    """The schema that is given, or one drafted from the options and the header line, and whether it is drafted.

    No row is read. Raises :class:`Problems` with everything that is wrong, or TableError.
    """
    if args.schema is not None:
        names = ("task", "target", "rows", "bounds", "citation", "columns", "drop", "levels", "no_header", "header")
        if more := [n for n in (*names, "encoding", "estimate_ranges") if getattr(args, n)]:
            options = ", ".join(f"--{n.replace('_', '-')}" for n in more)
            raise TableError(f"{options}: the schema states this; correct it there and leave the option out")
        return Schema.read(args.schema), False
    if missing := [f"--{n}" for n in ("task", "target", "rows") if getattr(args, n) is None]:
        raise TableError(f"give --schema FILE.yaml, which ./bench schema drafts, or {', '.join(missing)} as well")
    given = stated(vars(args), rows_are_public=False)
    return Schema.of(drafted(args, given), args.file), True


def drafted(args: SimpleNamespace, given: Given) -> dict[str, Any]:
    """A draft for a fit: what is neither stated nor a level is a number, whose range may be estimated."""
    document = draft.from_header(args.file, args.target, args.task, given, args.rows)
    unstated = []
    for name, column in document["columns"].items():
        if column["kind"] == TO_STATE:
            column["kind"] = NUMBER
        if column.get("range") == TO_STATE:
            unstated.append(name)
            column["range"] = ESTIMATE
        if column.get("source") == TO_STATE:
            column["source"] = ""
    if unstated and not args.estimate_ranges:
        some = ", ".join(unstated[:8]) + (f" and {len(unstated) - 8} more" if len(unstated) > 8 else "")
        raise TableError(
            f"no range is stated for {some}; give lines `column: [lower, upper]` with --bounds FILE.yaml, from a "
            "document or a scale and never from the rows, or estimate them from the budget with --estimate-ranges"
        )
    return document


# -------------------------------------------------------------------------------------------------------- the draft


@click.command(
    SCHEMA.removesuffix(".yaml"), cls=Several,
    epilog="Only the header line of FILE.csv is read. A codebook is a CSV file with the columns column, kind, lower, "
    "upper and levels (separated by |).",
)  # fmt: skip
@click.argument("file", type=_PATH, metavar="FILE.csv", help="your private table")
@click.option("--task", required=True, type=click.Choice(TASKS[:2]), help="linear or logistic regression")
@click.option("--target", required=True, metavar="COLUMN", help="what is predicted")
@click.option("--rows", type=click.IntRange(1), metavar="N", help="public number of rows")
@click.option("--public-sample", type=_PATH, metavar="FILE.csv", help="public rows with the same columns")
@click.option("--codebook", type=_PATH, metavar="FILE.csv", help="kinds, ranges and levels of columns")
@click.option("--bounds", type=_PATH, metavar="FILE.yaml", help="public ranges of columns")
@click.option("--citation", metavar="TEXT", help="where ranges and levels are stated (default: their files)")
@click.option("--out", type=_PATH, metavar="FILE.yaml", help="default: schema.yaml next to the table")
@table_options
def command(**given) -> None:
    """Draft the public schema of a table, and mark what a person has to state. No row is read."""
    args = SimpleNamespace(**given)
    try:
        draft_schema(args)
    except (ValueError, OSError) as e:
        raise click.ClickException(visible(" ".join(str(e).split()))) from None


def draft_schema(args: SimpleNamespace) -> Path:
    """Write the draft and say what is to be stated. Raises TableError, or OSError with one line."""
    given = stated(vars(args), rows_are_public=False)
    if args.codebook:
        given = draft.with_codebook(given, args.codebook)
    out = args.out or args.file.with_name(SCHEMA)
    if out.exists():
        raise TableError(f"{out} is there already; name another file with --out")
    if args.public_sample:
        document = from_sample(args, given)
    else:
        document = draft.from_header(args.file, args.target, args.task, given, args.rows)
    write_text(out, to_yaml(document))
    words = [f"{out}: drafted from {'a public sample' if args.public_sample else 'the header line'}."]
    open_points = [k for k, v in document.items() if v == TO_STATE]
    for name, column in document["columns"].items():
        open_points += [f"{name}: {word}" for word, value in column.items() if TO_STATE in (value, *([*value]))]
    if open_points:
        words.append(f"Replace each {TO_STATE} ({len(open_points)}: {', '.join(open_points[:12])}, ...)." if len(
            open_points) > 12 else f"Replace each {TO_STATE}: {', '.join(open_points)}.")  # fmt: skip
    words.append(
        f"A range is [lower, upper], or `{ESTIMATE}`, which costs budget. A number that does not fit makes its row an "
        f"empty row, unless you state another default. State nothing that you know from the rows alone."
    )
    words.append(f"Next: ./bench check-rows {args.file} --schema {out}")
    print(visible("\n".join(words)))
    return out


def from_sample(args: SimpleNamespace, given: Given) -> dict[str, Any]:
    """The draft from public rows, whose numbers are no ranges. Raises TableError."""
    if args.public_sample.resolve() == args.file.resolve():
        print(
            "./bench schema: warning: the table is its own sample, so kinds and levels of the schema follow from its "
            "rows. If they are private, that is a release that no epsilon counts, and the schema is not public.",
            file=sys.stderr,
        )
    found = draft.from_rows(args.public_sample, args.target, args.task, replace(given, rows_are_public=True))
    with records.opened(args.file) as file:
        records.check_header(args.file, records.header(file, found), found)
    document = found.document()
    document["rows"] = str(args.rows) if args.rows else TO_STATE
    for name, column in document["columns"].items():
        if column["kind"] == LEVELS and name != args.target:
            column |= {"default": OTHER, "missing": ABSENT}
        if column.get("range") == ESTIMATE:
            column["range"] = TO_STATE
        if column.get("source") == draft.FROM_ROWS:
            column["source"] = f"public sample {args.public_sample.name}"
    return document


# ------------------------------------------------------------------------------------------------- a look at rows


@click.command("check-rows", cls=Several)
@click.argument("file", type=_PATH, metavar="FILE.csv", help="your private table")
@schema_options
def check_rows(**given) -> None:
    """Look for faults of rows by a schema: formats and shares by column, no values. The output is private."""
    args = SimpleNamespace(**given)
    try:
        schema, _ = schema_of(args)
        with records.opened(args.file) as file:
            records.check_header(args.file, records.header(file, schema), schema)
        set_mark(args.file, schema)
        found = row_faults.of(args.file, schema)
    except (ValueError, OSError) as e:
        raise click.ClickException(visible(" ".join(str(e).split()))) from None
    print(visible("\n".join([PRIVATE, *(f"- {text}" for text in found or ["each field fits its column"])])))


def mark_of(path: Path) -> Path:
    """The file with the sha256 of each schema by which somebody looked at the rows of a table, a line each."""
    return path.with_name(f"{path.name}.checked")


def marks(path: Path) -> list[str]:
    """The sha256 of the schemas of the looks, the first one first."""
    mark = mark_of(path)
    return mark.read_text(encoding="utf-8").split() if mark.is_file() else []


def set_mark(path: Path, schema: Schema) -> None:
    """Add the schema to the marks, before a row is read. Raises OSError."""
    known = marks(path)
    if schema.sha256 not in known:
        write_text(mark_of(path), "".join(f"{line}\n" for line in [*known, schema.sha256]))


def looked(path: Path, schema: Schema) -> Schema:
    """The schema, which says whether it was changed after the first look at the rows."""
    known = marks(path)
    return replace(schema, looked=bool(known) and known[0] != schema.sha256)
