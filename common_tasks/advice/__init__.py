"""The advice on which method to use: one block per task, with one table, one figure and three short paragraphs.

Every page uses the winner of ``common_tasks.best``. A task with too few tables has no winner. Its block says so and
shows the scores.

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

#: tasks in the order of the site. Others are last.
ORDER = ("linear_regression", "logistic_regression", "density", "network")


@dataclass(frozen=True)
class Block:
    """Advice for one task.

    Parameters
    ----------
    task, title : name of the task, such as ``linear_regression``, and its words.
    table : one row per private method, as text. The most probable winner is first.
    figure : SVG text with the scores of each method on the tables.
    data : numbers of table and figure, one row per method, epsilon and data set. "(next table)" is the prediction of
        the model.
    sentences : what to use, why, and the limits. Each is a paragraph of plain text.
    answers : the method to use, as one row per epsilon (``reports.contents.ANSWERS``). It is empty without a winner.
    caption : text below the figure.
    budget : text below the table, on epsilon, delta, neighbours, and why a score can be above 1.
    winners : epsilon -> winner.
    taken : epsilon -> the method to use, for each epsilon that has one.
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
    """One block for every task with a private score.

    ``source``: one of these: the folder of committed results (by default the committed ones), tidy scores of the
    experiments of ``common_tasks`` (``evaluation.summary.COLUMNS``, text), or families (``common_tasks.scores.read``).

    Raises FileNotFoundError for a folder without a score.
    """
    if source is None or isinstance(source, str | Path | pd.DataFrame):
        source = families(papers.REFERENCE if source is None else source)
    made = (block(f) for f in sorted((f for f, _ in tasks(list(source))), key=rank))
    return [b for b in made if b is not None]


def rank(family: Family) -> int:
    """Position of a task on the site."""
    return ORDER.index(family.task) if family.task in ORDER else len(ORDER)


def families(source: str | Path | pd.DataFrame) -> list[Family]:
    """The families of a folder of results, or of tidy scores."""
    home = next(p for p in papers.papers() if p.key == "common_tasks")
    if isinstance(source, pd.DataFrame):
        here = [(p, source[source["experiment"] == name]) for name, p in home.experiments.items()]
        return [read(load(p), rows) for p, rows in here if len(rows)]
    known = [(p, name) for name, p in home.experiments.items() if committed.path_of(Path(source), name).is_file()]
    if not known:
        raise FileNotFoundError(f"{source} has no scores of {', '.join(home.experiments)}; name a reference's folder")
    return [read(load(p), committed.read(Path(source), name)) for p, name in known]


def block(family: Family, about: About | None = None) -> Block | None:
    """The advice of one task, or None without a score of a private method."""
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
