"""``./bench compare``: which private method is best on a table that its owner declares public.

    ./bench compare FILE.csv --target COLUMN --task regression --epsilon 1 --delta 1e-5

The table is split at random ten times, nine tenths to train and one to test. Every private method of the common task
runs under the budget with its default settings, and with those that the tuning of the common tasks chose if these
differ. A range that no file states is estimated privately from the budget, as in the common tasks.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import click
import pandas as pd

from common_tasks import advice
from common_tasks.own_data import arguments, first, page, study, table
from datasets import yaml_file
from datasets.draft import FROM_ROWS
from datasets.files import visible
from datasets.schema import TableError
from reports.site.document import plain
from workflow.cli import stated, table_options
from workflow.imports import code_hash

SPLITS = 10
#: the schema that was drafted from the public table.
SCHEMA = "schema.yaml"
_FILE = '''"""A table that was declared public, written by ./bench compare; reader {code}."""

from pathlib import Path

from common_tasks.own_data.table import data_set

DATASET = data_set(Path(__file__).with_suffix(".yaml"))
'''
WHY = (
    "The table was declared public: all scores below are of its rows without noise, and the best method by them is a "
    "choice that its rows made. For private rows that would be a release which no epsilon here counts; there, "
    "`./bench advise` tries synthetic rows of the same size."
)


@arguments.command(
    "compare",
    "Ranges (--bounds) are lines `column: [lower, upper]`, of what is known without the rows. Writes "
    "results/compare/NAME/index.html. Killed, the same command goes on where it was.",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv", help="the table, with a header line")
@click.option("--target", metavar="COLUMN", help="what is predicted; under density: a column to leave out")
@click.option(
    "--bounds", type=click.Path(path_type=Path), metavar="FILE.yaml", help="public ranges (default: private estimates)"
)
@table_options
def command(**given) -> None:
    """Which private method is best on this table? The table has to be public: its scores are shown without noise."""
    args = SimpleNamespace(**given)
    try:
        known = table.facts(args.file, args.target, args.task, stated(given, rows_are_public=True))
        arguments.check("compare", args, known.schema.n * 9 // 10)
        print(visible(f"./bench compare: {args.file.name}: {in_short(known)}"), file=sys.stderr)
        compare(args, known)
    except (TableError, study.StudyError) as e:
        raise click.ClickException(visible(str(e))) from None


def compare(args: SimpleNamespace, known: table.Facts) -> None:
    """Run the study and write its page. Raises StudyError."""
    source = args.file.resolve()
    dataset = "own_" + table.name_of(args.file)
    folder = arguments.home("compare", args.name or f"{table.name_of(args.file)}-{args.task}", args.out)
    epsilons = tuple(sorted(args.epsilon))
    what = study.Study(
        name=f"compare_{args.task}",
        folder=folder,
        task=args.task,
        dataset=dataset,
        epsilons=epsilons,
        delta=args.delta,
        protocol="literature",
        splits=SPLITS,
        rows=known.schema.n * 9 // 10,
        columns=len(known.schema.coded),
        fit_s=args.fit_seconds,
        minutes=args.minutes,
        only=tuple(args.methods or ()),
        tuning=study.committed_tuning(args.task, known.schema.n * 9 // 10, len(known.schema.coded), epsilons),
    )
    facts_path = folder / f"{dataset}.yaml"
    if facts_path.is_file() and yaml_file.read(facts_path, study.StudyError)["sha256"] != known.sha256:
        raise study.StudyError(
            f"{folder} holds the page of another {known.file}; name another folder with --name or --out, or remove it"
        )
    raw = folder / "raw" / dataset / known.file
    raw.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, raw)
    facts = table.write_facts(known)
    facts_path.write_text(facts, encoding="utf-8")
    (folder / SCHEMA).write_text(known.schema.text(), encoding="utf-8")
    code = code_hash("common_tasks.own_data.table")
    # the name contains the digest of the facts, so the table is read again if they differ
    left = study.write(what, _FILE.format(code=f"{code}, facts {study.digest(facts)}"))
    about = advice.About(
        reference=study.ENDS[args.task][1],
        tuning=what.tuning.words,
        limits=f"These are the {known.schema.n} rows of {known.file} and one model; other rows may give another order.",
    )

    def drawn(frame: pd.DataFrame) -> tuple[advice.Block, page.Text]:
        block = arguments.block_of(what, frame, about)
        return block, page_text(args, known, frame, block, folder)

    arguments.run(what, args.cores, "./bench compare", drawn, left)


def in_short(known: table.Facts) -> str:
    """The number of columns of each kind, as plain text."""
    kinds = Counter(c.kind for c in known.schema.columns if c.name != known.schema.target)
    said = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
    return f"{known.schema.n} rows, {kinds.total()} columns ({said}), coded as {len(known.schema.coded)} inputs"


def columns_of(known: table.Facts) -> list[dict[str, str]]:
    """One row per column of the file on its treatment, as plain text."""
    schema = known.schema
    classes = ", ".join(f"'{label}' is {k}" for k, label in enumerate(schema.classes))
    target = [
        f"target: {classes}" if classes else f"target, {c.words}" for c in schema.columns if c.name == schema.target
    ]
    return [
        {"column": c.name, "what was done": target[0] if c.name == schema.target else c.words} for c in schema.columns
    ]


def page_text(args, known: table.Facts, frame: pd.DataFrame, block: advice.Block, folder: Path = Path()) -> page.Text:
    """The page for the scores ``frame`` and their advice."""
    budget = ", ".join(f"{e:g}" for e in sorted(args.epsilon))
    schema = known.schema
    wanted = [*schema.coded, *([schema.target] if args.task == "regression" and schema.target else [])]
    unknown = [c for c in wanted if c not in known.bounds]
    taken = [c.name for c in schema.columns if c.source == FROM_ROWS]
    levels = (
        f" The levels of {', '.join(map(plain, taken[:8]))}{', ...' if len(taken) > 8 else ''} are taken from the "
        "rows, which are public by the user's word. The guarantee takes the levels as known."
    )  # fmt: skip
    return page.Text(
        title=f"Private {args.task} on {known.file} at epsilon = {budget}",
        before=[f"{known.schema.n} rows, {len(known.schema.coded)} inputs, delta = {args.delta:g}. {WHY}"],
        first=[
            first.ranges(unknown, len(wanted)),
            first.rows_needed(args.task, known.schema.n * 9 // 10, sorted(args.epsilon), not unknown),
            first.rare_class(known.counts, schema.classes, frame),
            *first.too_small(
                block.data, known.schema.n * 9 // 10, {d: known.file for d in block.data["dataset"]}, len(unknown)
            ),
            *(
                first.hidden_ranges(
                    known.schema.n * 9 // 10, len({*unknown} - {schema.target}), schema.target in unknown, e, args.delta
                )
                for e in sorted(args.epsilon)
            ),
        ],
        last=arguments.next_steps(args, block, folder / SCHEMA),
        columns=columns_of(known),
        read=f"{schema.words} Rows are counted from 1.{levels if taken else ''}",
        after=[
            arguments.guarantee(args, frame),
            f"{SPLITS} random splits, nine tenths of the rows to train and one to test. Intervals are over the splits, "
            "level 95 %, and say nothing of other rows.",
            f"sha256 of the file: {known.sha256}.",
        ],
    )  # fmt: skip
