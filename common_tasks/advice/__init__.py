"""Which method to take: one block per task, with one table, one figure and three short paragraphs.

The winner is that of ``common_tasks.best``, on every page. A task with too few tables has no winner, and its block says
so and shows the scores.

    from common_tasks.advice import blocks
    for block in blocks():           # the committed reference
        block.table, block.figure, block.sentences
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from common_tasks.advice import figure, sentences, table
from common_tasks.advice.answer import Answer
from common_tasks.best import About, Winner
from common_tasks.scores import Family, read, tasks
from workflow import committed, papers
from workflow.experiments import load

__all__ = ["About", "Block", "block", "blocks", "rank"]

#: tasks in the order of the site; others come last.
ORDER = ("linear_regression", "logistic_regression", "density", "network")


@dataclass(frozen=True)
class Block:
    """Advice for one task.

    Parameters
    ----------
    task, title : name of the task, such as ``linear_regression``, and its words.
    table : one row per private method, as text. The most probable winner is first.
    figure : scores of each method on the tables, as SVG text.
    data : numbers of table and figure, one row per method, epsilon and data set. "(next table)" is what the model
        expects.
    sentences : what to take, why, and the limits. Each is a paragraph of plain text.
    answers : what to take as a row per epsilon (``reports.contents.ANSWERS``). There is none without a winner.
    caption : words below the figure.
    budget : words below the table: epsilon, delta, neighbours, and why a score can be above 1.
    winners : epsilon -> winner.
    taken : epsilon -> the method to take; without an epsilon at which there is none.
    """

    task: str
    title: str
    table: pd.DataFrame
    figure: str
    data: pd.DataFrame
    sentences: tuple[str, str, str]
    answers: list[list[str]]
    caption: str
    budget: str
    winners: dict[str, Winner]
    taken: dict[str, str]


def blocks(source: Path | pd.DataFrame | Iterable[Family] | None = None) -> list[Block]:
    """A block for every task with a private score.

    ``source``: folder of a reference (None: the committed one), tidy scores of the experiments of ``common_tasks``
    (``evaluation.summary.COLUMNS``, text), or families (``common_tasks.scores.read``). Raises FileNotFoundError for a
    reference without a score.
    """
    if source is None or isinstance(source, str | Path | pd.DataFrame):
        source = families(papers.REFERENCE if source is None else source)
    made = (block(f) for f in sorted((f for f, _ in tasks(list(source))), key=rank))
    return [b for b in made if b is not None]


def rank(family: Family) -> int:
    """Place of a task on the site."""
    return ORDER.index(family.task) if family.task in ORDER else len(ORDER)


def families(source: str | Path | pd.DataFrame) -> list[Family]:
    """The families of a folder of a reference, or of tidy scores."""
    home = next(p for p in papers.papers() if p.key == "common_tasks")
    if isinstance(source, pd.DataFrame):
        here = [(p, source[source["experiment"] == name]) for name, p in home.experiments.items()]
        return [read(load(p), rows) for p, rows in here if len(rows)]
    known = [(p, name) for name, p in home.experiments.items() if committed.path_of(Path(source), name).is_file()]
    if not known:
        raise FileNotFoundError(f"{source} has no scores of {', '.join(home.experiments)}; name a reference's folder")
    return [read(load(p), committed.read(Path(source), name)) for p, name in known]


def block(family: Family, about: About | None = None) -> Block | None:
    """The advice of one task; None without a score of a private method."""
    found = Answer(family, about or About())
    if not family.metrics or not found.epsilons:
        return None
    words = family.title.partition(":")[0]
    said = (sentences.take(found), sentences.because(found), sentences.limits(found))
    winners = {e: found.at(e).winner for e in found.epsilons}
    taken = {e: method for e in found.epsilons if (method := sentences.taken(found, e))}
    svg, caption = figure.draw(found)
    return Block(
        family.task, words, table.build(found), svg, found.data(), said, sentences.answers(found), caption,
        table.caption(found), winners, taken,
    )  # fmt: skip
