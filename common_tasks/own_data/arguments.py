"""The options that ``advise`` and ``compare`` share, their checks, and the page at the end of both."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import pandas as pd
import yaml

from common_tasks import advice, scores
from common_tasks.own_data import page, study
from common_tasks.own_data.study import KINDS, Study, StudyError
from common_tasks.own_data.table import TWO_CLASSES
from datasets.files import ROOT, visible
from dpbayes_bench import fits
from methods import contract
from workflow.cli import Several

WORD = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class Whole(click.ParamType):
    """A type of option: a whole number, which may be written like 1e6."""

    name = "number"

    def convert(self, value, param, ctx) -> int:
        """Convert a value, or fail if it is not a whole number."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not number.is_integer():
            self.fail(f"'{value}' is no whole number", param, ctx)
        return int(number)


WHOLE = Whole()


def cores() -> int:
    """The default of ``--cores``: ``DPBAYES_CORES``, or at most two."""
    given = os.environ.get("DPBAYES_CORES", "")
    return int(given) if given.isdecimal() else min(2, os.cpu_count() or 1)


def command(program: str, after: str) -> Callable[[Callable[..., None]], click.Command]:
    """A decorator that makes a command of a function, with the options that both commands share."""
    path = click.Path(path_type=Path)
    shared = [
        click.option("--task", required=True, type=click.Choice(list(KINDS)), help="which common task"),
        click.option(
            "--classes", type=WHOLE, default=2, metavar="K", help="of a classification: only 2 (default: 2)"
        ),
        click.option(
            "--epsilon", type=float, multiple=True, default=[1.0], metavar="E...",
            help="budgets, add/remove (default: 1)",
        ),
        click.option("--delta", type=float, default=1e-5, metavar="D", help="default: 1e-5"),
        click.option("--name", help="folder of the results (default: made from the arguments)"),
        click.option(
            "--minutes", type=float, default=8.0, metavar="M", help="CPU minutes that all fits may take (default: 8)"
        ),
        click.option(
            "--fit-seconds", type=float, default=300.0, metavar="S",
            help="a fit is given up after this time (default: 300)",
        ),
        click.option("--out", type=path, metavar="DIR", help=f"instead of results/{program}/NAME"),
        click.option(
            "--methods", multiple=True, metavar="NAME...", help="only these private methods, whatever they cost"
        ),
        click.option(
            "--cores", type=WHOLE, default=cores, metavar="N", help="processes at once (default: DPBAYES_CORES, or 2)"
        ),
    ]  # fmt: skip

    def made(function: Callable[..., None]) -> click.Command:
        for option in reversed(shared):
            function = option(function)
        return click.command(program, cls=Several, epilog=after)(function)

    return made


def check(program: str, args: SimpleNamespace, rows: int) -> None:
    """Raise UsageError for a budget or limit without meaning. Warns of a delta that is too large."""
    if args.classes != 2:
        raise click.UsageError(f"--classes {args.classes}: {TWO_CLASSES}")
    for epsilon in args.epsilon:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise click.UsageError(f"--epsilon {epsilon:g} is no budget; give a number above 0")
    if len(set(args.epsilon)) < len(args.epsilon):
        raise click.UsageError("--epsilon has the same number twice; give each once")
    if not 0 < args.delta < 1:
        raise click.UsageError(
            f"--delta {args.delta:g} is no probability; give one above 0 and far below 1/rows = {1 / rows:.1g}"
        )
    for flag, value in (("--minutes", args.minutes), ("--fit-seconds", args.fit_seconds), ("--cores", args.cores)):
        if not value > 0:
            raise click.UsageError(f"{flag} {value:g}; give a number above 0")
    if args.name is not None and not WORD.fullmatch(args.name):
        raise click.UsageError(f"--name '{args.name}'; give small letters, digits and . _ -")
    if args.delta >= 1 / rows:
        print(
            f"./bench {program}: warning: delta = {args.delta:g} is not below 1/rows = {1 / rows:.2g}: a mechanism "
            "that publishes a whole row now and then would pass; take a smaller one",
            file=sys.stderr,
        )


def home(program: str, name: str, out: Path | None) -> Path:
    """Make and return the folder of a study, relative to the root of the project, or ``out``. Raises StudyError."""
    folder = out.resolve() if out else Path("results") / program / name
    os.chdir(ROOT)
    return study.make(folder)


def block_of(what: Study, frame: pd.DataFrame, about: advice.About) -> advice.Block:
    """The advice from scores whose data sets are the study's ``sets``. Raises StudyError without a private score."""
    config = yaml.safe_load(what.config.read_text(encoding="utf-8"))
    family = scores.read({**config, "datasets": list(what.sets or [what.dataset])}, frame)
    found = advice.block(family, about) if family.metrics else None
    if found is None:
        reasons = frame.loc[frame["status"] != "ok", ["method", "reason"]].drop_duplicates("method").to_dict("records")
        told = "; ".join(f"{r['method']}: {r['reason']}" for r in reasons[:3])
        raise StudyError(f"no private method has a score ({told}); {what.scores} has the reasons")
    return found


def run(
    what: Study,
    cores: int,
    program: str,
    drawn: Callable[[pd.DataFrame], tuple[advice.Block, page.Text]],
    left_out: Mapping[str, str],
) -> None:
    """Run a study, write its page as methods finish, and print a short result. Raises StudyError.

    ``drawn`` makes the block and the text of the page from scores.
    """

    def show(frame: pd.DataFrame, state: str) -> None:
        try:
            block, text = drawn(frame)
        except StudyError:
            if state:  # no private score yet
                return
            raise
        if state:
            page.write(what.folder, block, replace(text, state=state), left_out)
        else:
            finish(what, block, text, left_out)

    path = what.folder / "index.html"
    print(f"{program}: {path} fills as methods finish, the most useful first", file=sys.stderr, flush=True)
    study.run(what, cores, what.folder / "logs" / "snakemake.log", program, show)


def guarantee(args: SimpleNamespace, frame: pd.DataFrame) -> str:
    """The meaning of the budget, and how much of it was spent: the largest epsilon by a ledger at each budget."""
    paid = frame[(frame["epsilon"] != "") & (frame["epsilon"] != "inf")]
    budget = paid["setting"].str.extract(r"epsilon=([^;]+)")[0]
    most = paid["epsilon"].astype(float).groupby(budget).max()
    spent = ", ".join(f"{value:.4g} at epsilon = {e}" for e, value in most.items())
    return (
        f"The guarantee is (epsilon, delta = {args.delta:g}) for one row's values against an empty row (add/remove), "
        f"of one fit whose noise is secret. By their ledgers the fits spent at most {spent}."
    )


def next_steps(args: SimpleNamespace, block: advice.Block, schema: str | Path) -> list[str]:
    """The command that fits the recommended method, one paragraph per epsilon. Empty for density, which has no ``fit``.

    ``schema``: file of the public schema of the private table, or of a draft of it.
    """
    if args.task == "density":
        return []
    kind, out = KINDS[args.task], []
    for epsilon, method in block.taken.items():
        name = method.partition(", ")[0]
        words = [
            "PRIVATE.csv",
            "--schema",
            schema,
            "--method",
            name,
            "--epsilon",
            epsilon,
            "--delta",
            f"{args.delta:g}",
        ]
        leaks = [*fits.leaks(contract.get(name, kind), kind)]
        words += ["--accept", *leaks] if leaks else []
        said = f"Next, at epsilon = {epsilon}, fit {scores.title(name, kind)} to private rows, once."
        said += " Its epsilon does not count what --accept names." if leaks else ""
        mine = block.data[(block.data["method"] == method) & (block.data["epsilon"] == epsilon)]
        if "tuned" in set(mine["settings"]):
            said += " Its score here is with tuned settings, and the command has the defaults."
        said += " First correct the number of rows and the ranges in the schema, which have to be public."
        out.append(f"{said} The command is:\n{shlex.join(['./bench', 'fit', *map(str, words)])}")
    return out


def finish(what: Study, block: advice.Block, text: page.Text, left_out: Mapping[str, str]) -> None:
    """Write the page and print a short result."""
    path = page.write(what.folder, block, text, left_out)
    said = [
        *filter(None, text.first),
        *block.sentences,
        *(f"Left out: {name}: {why}." for name, why in left_out.items()),
        *text.last,
        f"Page: {path}",
    ]
    print(visible("\n".join(said)))
