"""Arguments that ``advise`` and ``compare`` share, their checks, and the end of both: the page."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pandas as pd
import yaml

from common_tasks import advice, scores
from common_tasks.own_data import page
from common_tasks.own_data.study import ENDS, KINDS, Study, StudyError
from datasets.files import ROOT
from evaluation.summary import read_scores

WORD = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help says what there is\n")


def whole(text: str) -> int:
    """A whole number, also written like 1e6. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number")
    return int(number)


def parser(program: str, description: str, after: str) -> Parser:
    """With the arguments of both commands."""
    found = Parser(prog=f"./bench {program}", description=description, epilog=after)
    found.add_argument("--task", required=True, choices=list(KINDS), help="which common task")
    found.add_argument(
        "--epsilon", type=float, nargs="+", default=[1.0], metavar="E", help="budgets, add/remove (default: 1)"
    )
    found.add_argument("--delta", type=float, default=1e-5, metavar="D", help="default: 1e-5")
    found.add_argument("--name", help="folder of the results (default: made from the arguments)")
    found.add_argument(
        "--minutes", type=float, default=8.0, metavar="M", help="CPU minutes that all fits may take (default: 8)"
    )
    found.add_argument(
        "--fit-seconds", type=float, default=300.0, metavar="S", help="a fit is given up after this time (default: 300)"
    )
    found.add_argument("--out", type=Path, metavar="DIR", help=f"instead of results/{program}/NAME")
    found.add_argument("--methods", nargs="+", metavar="NAME", help="only these private methods, whatever they cost")
    given = os.environ.get("DPBAYES_CORES", "")
    cores = int(given) if given.isdecimal() else min(2, os.cpu_count() or 1)
    found.add_argument("--cores", type=whole, default=cores, metavar="N", help=f"processes at once (default: {cores})")
    return found


def check(program: Parser, args: argparse.Namespace, rows: int) -> None:
    """Ends the program with one line for a budget or limit that means nothing; warns of a delta that is too large."""
    for epsilon in args.epsilon:
        if not (math.isfinite(epsilon) and epsilon > 0):
            program.error(f"--epsilon {epsilon:g} is no budget; give a number above 0")
    if len(set(args.epsilon)) < len(args.epsilon):
        program.error("--epsilon has the same number twice; give each once")
    if not 0 < args.delta < 1:
        program.error(
            f"--delta {args.delta:g} is no probability; give one above 0 and far below 1/rows = {1 / rows:.1g}"
        )
    for flag, value in (("--minutes", args.minutes), ("--fit-seconds", args.fit_seconds), ("--cores", args.cores)):
        if not value > 0:
            program.error(f"{flag} {value:g}; give a number above 0")
    if args.name is not None and not WORD.fullmatch(args.name):
        program.error(f"--name '{args.name}'; give small letters, digits and . _ -")
    if args.delta >= 1 / rows:
        print(
            f"{program.prog}: warning: delta = {args.delta:g} is not below 1/rows = {1 / rows:.2g}: a mechanism that "
            "publishes a whole row now and then would pass; take a smaller one",
            file=sys.stderr,
        )


def home(program: str, name: str, out: Path | None) -> Path:
    """Folder of a study: relative to the root of the project, where the workflow runs, or ``out``."""
    folder = out.resolve() if out else Path("results") / program / name
    os.chdir(ROOT)
    return folder


def block_of(study: Study, frame: pd.DataFrame, about: advice.About) -> advice.Block:
    """The advice from scores whose data sets are the study's ``sets``. Raises StudyError without a private score."""
    config = yaml.safe_load(study.config.read_text(encoding="utf-8"))
    family = scores.read({**config, "datasets": list(study.sets or [study.dataset])}, frame)
    found = advice.block(family, about) if family.metrics else None
    if found is None:
        reasons = frame.loc[frame["status"] != "ok", ["method", "reason"]].drop_duplicates("method").to_dict("records")
        told = "; ".join(f"{r['method']}: {r['reason']}" for r in reasons[:3])
        raise StudyError(f"no private method has a score ({told}); {study.scores} has the reasons")
    return found


def scores_of(study: Study) -> pd.DataFrame:
    return read_scores(study.scores)


def spent(frame: pd.DataFrame) -> str:
    """The largest epsilon that a ledger came to, at each budget."""
    paid = frame[(frame["epsilon"] != "") & (frame["epsilon"] != "inf")]
    budget = paid["setting"].str.extract(r"epsilon=([^;]+)")[0]
    most = paid["epsilon"].astype(float).groupby(budget).max()
    return ", ".join(f"{value:.4g} at epsilon = {e}" for e, value in most.items())


def guarantee(args: argparse.Namespace, frame: pd.DataFrame) -> str:
    """What the budget means, and what was spent of it."""
    return (
        f"The guarantee is (epsilon, delta = {args.delta:g}) for one row more or less (add/remove) of one fit whose "
        f"noise is secret. By their ledgers the fits spent at most {spent(frame)}."
    )


def finish(program: Parser, study: Study, block: advice.Block, text: page.Text, left_out: Mapping[str, str]) -> None:
    """Write the page and say in short what it says."""
    path = page.write(study.folder, block, text, left_out)
    print("\n".join(block.sentences))
    for name, why in left_out.items():
        print(f"Left out: {name}: {why}.")
    print(f"Page: {path}")


def reference(task: str) -> str:
    """What is 1 on the scale."""
    return ENDS[task][1]
