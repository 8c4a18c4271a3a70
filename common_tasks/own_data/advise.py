"""``./bench advise``: which private method to use for rows of a given size, without reading a private row.

    ./bench advise --task regression --rows 5000 --columns 12 --epsilon 1
    ./bench advise schema.yaml --task regression --epsilon 1

Every private method of the common tasks fits synthetic tables of that size (``common_tasks.own_data.surrogates``). They
have several shapes, with several tables of each. Methods have their default settings, and those that the tuning of the
common tasks chose if these differ. The page says which method is best, by how much, and what that cannot know.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace

import click
import pandas as pd

from common_tasks import advice, best
from common_tasks.advice.answer import titled
from common_tasks.advice.sentences import listed
from common_tasks.own_data import arguments, first, page, study, surrogates
from common_tasks.own_data.table import TWO_CLASSES
from datasets.files import visible
from datasets.schema import Schema, TableError
from reports.site.document import plain
from workflow.imports import code_hash

#: largest count of numbers in a synthetic table, for which memory is requested.
LARGEST = 60_000_000
#: default number of tables per shape.
SEEDS = 5
FEWEST_ROWS = 50
DATASET = "surrogates"
_FILE = '''"""Synthetic tables, written by ./bench advise; generator {code}, rows to test included."""

from common_tasks.own_data.surrogates import data_set

DATASET = data_set("{name}", "{task}", rows={rows}, columns={columns}, seeds={seeds}, known_ranges={known})
'''
WHY = (
    "No method was tried on a private row, and that is the point: to try methods on private rows and keep the best is "
    "to publish which one won, and no epsilon here counts that release. Synthetic rows cost nothing. The numbers of "
    "rows and columns are taken as public."
)


@arguments.command("advise", "Writes results/advise/NAME/index.html. Killed, the same command goes on where it was.")
@click.argument(
    "file",
    required=False,
    type=click.Path(path_type=Path),
    metavar="schema.yaml",
    help="the schema of your table, for its numbers of rows and inputs",
)
@click.option("--rows", type=arguments.WHOLE, metavar="N", help="rows of your table, without a schema")
@click.option("--columns", type=arguments.WHOLE, metavar="D", help="its inputs, without the target")
@click.option(
    "--seeds",
    type=arguments.WHOLE,
    metavar="K",
    help="tables of each shape (default: 5, or fewer large ones)",
)
@click.option("--known-ranges", is_flag=True, help="the range of every column is public (default: estimated privately)")
def command(**given) -> None:
    """Which private method is best for rows of this size? Tries all on synthetic tables, and none on a private row."""
    args = SimpleNamespace(**given)
    try:
        args.rows, args.columns = size_of(args.file, args.task, args.rows, args.columns)
    except TableError as e:
        raise click.ClickException(visible(str(e))) from None
    if args.rows < FEWEST_ROWS:
        raise click.UsageError(f"--rows {args.rows}; give at least {FEWEST_ROWS}")
    if args.columns < 1:
        raise click.UsageError(f"--columns {args.columns}; give at least 1")
    shapes, numbers = len(surrogates.SHAPES[args.task]), (args.rows + surrogates.TEST) * args.columns
    if args.seeds is None:
        args.seeds = min(SEEDS, max(2, LARGEST // (shapes * numbers)))
    if args.seeds < 2:
        raise click.UsageError(f"--seeds {args.seeds}; an interval needs at least 2")
    arguments.check("advise", args, args.rows)
    blocks = args.seeds * shapes
    size = blocks * numbers
    if size > LARGEST:
        raise click.UsageError(
            f"{blocks} tables of {args.rows} x {args.columns} are {8 * size / 1e9:.1f} GB; the largest is "
            f"{8 * LARGEST / 1e9:.1f} GB: fewer --seeds, or fewer --rows (more rows than that change little)"
        )
    try:
        advise(args)
    except study.StudyError as e:
        raise click.ClickException(visible(str(e))) from None


def size_of(path: Path | None, task: str, rows: int | None, columns: int | None) -> tuple[int, int]:
    """Rows and inputs, with levels as columns of 0 and 1, as given or by the schema. Raises UsageError, TableError."""
    if path is None:
        for name, value in (("rows", rows), ("columns", columns)):
            if value is None:
                raise click.UsageError(f"Missing option '--{name}', or a schema.yaml to take it from")
        return rows or 0, columns or 0
    if rows is not None or columns is not None:
        raise click.UsageError("--rows and --columns are for use without a schema; leave them out")
    schema = Schema.read(path)
    if schema.task != task:
        raise TableError(f"{path} is of the task {schema.task}; give --task {schema.task}")
    if task == "classification" and len(schema.classes) != 2:
        raise TableError(f"{path}: the target has {len(schema.classes)} classes: {TWO_CLASSES}")
    return schema.n, len(schema.coded)


def advise(args: SimpleNamespace) -> None:
    """Run the study and write its page. Raises StudyError."""
    epsilons = tuple(sorted(args.epsilon))
    words = "-".join(f"{e:g}" for e in epsilons)
    name = args.name or f"{args.task}-n{args.rows}-d{args.columns}-eps{words}"
    count = args.seeds * len(surrogates.SHAPES[args.task])
    what = study.Study(
        name=f"advise_{args.task}",
        folder=arguments.home("advise", re.sub(r"[^a-z0-9_.-]", "_", name), args.out),
        task=args.task,
        dataset=DATASET,
        epsilons=epsilons,
        delta=args.delta,
        protocol="surrogates",
        splits=count,
        rows=args.rows,
        columns=args.columns,
        fit_s=args.fit_seconds,
        minutes=args.minutes,
        only=tuple(args.methods or ()),
        sets=surrogates.SHAPES[args.task],
        tuning=study.committed_tuning(args.task, args.rows, args.columns, epsilons),
    )
    text = _FILE.format(
        name=DATASET, task=args.task, rows=args.rows, columns=args.columns, seeds=args.seeds, known=args.known_ranges,
        code=code_hash("common_tasks.own_data.surrogates"),
    )  # fmt: skip
    left = study.write(what, text)
    shapes = surrogates.SHAPES[args.task]
    about = advice.About(
        fresh=True,
        reference=study.ENDS[args.task][1],
        tuning=what.tuning.words,
        limits=limits(args, shapes),
    )

    def drawn(scores: pd.DataFrame) -> tuple[advice.Block, page.Text]:
        frame = by_shape(scores, args.task)
        block = arguments.block_of(what, frame, about)
        return block, page_text(args, block, frame, shapes)

    arguments.run(what, args.cores, "./bench advise", drawn, left)


def on_real_tables(task: str, epsilons: tuple[float, ...]) -> str:
    """The winner on the tables of the common tasks, as on the site, at the nearest committed epsilon."""
    kind = study.KINDS[task]
    frame = best.committed()
    frame = frame[frame["task"] == study.COMMON[task]]
    if frame.empty:
        return f"The common tasks give no general advice for {task}: they have fewer than {best.FEWEST_TABLES} tables."
    known = sorted(set(frame["epsilon"]), key=float)
    nearest = {min(known, key=lambda k: abs(math.log(float(k) / e))) for e in epsilons}
    said = []
    for epsilon in sorted(nearest, key=float):
        won = best.winner(frame[frame["epsilon"] == epsilon])
        names = listed([titled(m, kind) for m in won.methods], "or")
        left = "survives leaving out any one table" if won.stable else "changes for at least one table that is left out"
        said.append(
            f"For comparison, on {won.tables} real tables at epsilon = {epsilon}, of other sizes and with the ranges "
            f"that are known of them, the answer is {names}: best on the next table with "
            f"probability {won.probability:.2f}, expected regret {won.regret:.2f}. This answer {left}."
        )
    return " ".join(said)


def by_shape(frame: pd.DataFrame, task: str) -> pd.DataFrame:
    """Scores with the shape as the data set and the seed as the split."""
    shapes = surrogates.SHAPES[task]
    named = frame["split"] != ""
    number = frame.loc[named, "split"].astype(int)
    out = frame.copy()
    out.loc[named, "dataset"] = [shapes[k % len(shapes)] for k in number]
    out.loc[named, "split"] = [str(k // len(shapes)) for k in number]
    return out[named].reset_index(drop=True)


def limits(args, shapes: tuple[str, ...]) -> str:
    """The third paragraph of the block."""
    ranges = "public ranges of all columns" if args.known_ranges else "no public range of any column"
    return (
        f"These are {args.seeds} synthetic tables of each of {len(shapes)} shapes "
        f"({', '.join(s.replace('_', ' ') for s in shapes)}), of {args.rows} rows and {args.columns} columns with "
        f"{ranges}, under one model. If your table is like one of the shapes, read the table by shape."
    )


def page_text(args, block: advice.Block, frame: pd.DataFrame, shapes: tuple[str, ...]) -> page.Text:
    budget = ", ".join(f"{e:g}" for e in sorted(args.epsilon))
    command = f"./bench advise --task {args.task} --rows {args.rows} --columns {args.columns} --epsilon "
    command += f"{budget.replace(',', '')} --delta {args.delta:g} --seeds {args.seeds}"
    command += " --known-ranges" if args.known_ranges else ""
    command += f" --minutes {args.minutes:g} --fit-seconds {args.fit_seconds:g}"
    command += f" --methods {' '.join(args.methods)}" if args.methods else ""
    return page.Text(
        title=f"Private {args.task} for {args.rows} rows and {args.columns} columns at epsilon = {budget}",
        before=[f"Made by `{command}`. {WHY}"],
        first=[
            first.assumed_ranges(args.known_ranges),
            first.rows_needed(args.task, args.rows, sorted(args.epsilon), args.known_ranges),
            *first.too_small(
                block.data,
                args.rows,
                {s: f"the shape {s.replace('_', ' ')}" for s in shapes},
                0 if args.known_ranges else args.columns,
            ),
        ],
        last=arguments.next_steps(args, block, args.file or "schema.yaml"),
        by="By shape of the synthetic tables",
        meaning={s.replace("_", " "): surrogates.MEANING[s] for s in shapes if s in surrogates.MEANING},
        after=[
            arguments.guarantee(args, frame),
            f"Each method fits {args.seeds} tables of each shape, drawn anew, and is scored on "
            f"{surrogates.TEST} fresh rows of each. Each table is one table of the model.",
            plain(on_real_tables(args.task, tuple(sorted(args.epsilon)))),
        ],
    )  # fmt: skip
