"""Which method to take: one block a task, with one table, one figure and three sentences.

All numbers are of one metric, the log-likelihood of test rows, on the scale of each data set: 0 is the control that
looks at no input (the mean of the training targets), 1 the reference without privacy (the exact posterior where there
is one); what a task has of both stands in the caption. Means are over the data sets that have a scale. Where fewer than
half have one, numbers are nats a row above the control, or plain scores, on all.

"Told apart": an interval of level 5 % / (number of others) for the difference on that scale leaves out 0. Nothing is
said to be better than what it is not told apart from, and nothing is compared where there is one method only.

    from common_tasks.advice import blocks
    for block in blocks():           # the committed reference
        block.table, block.figure, block.sentences

``standings`` says who is told apart from whom; ``table``, ``sentences`` and ``figure`` show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from common_tasks.advice import figure, sentences, table
from common_tasks.advice.standings import About, Standings, mean_over
from common_tasks.scores import Family, read
from workflow import committed, papers
from workflow.experiments import load

__all__ = ["About", "Block", "Standings", "block", "blocks", "mean_over", "rank"]

#: tasks in the order of the site; others come last.
ORDER = ("linear_regression", "logistic_regression", "density", "network")


@dataclass(frozen=True)
class Block:
    """Advice for one task.

    Parameters
    ----------
    task, title : name of the task (``linear_regression``) and its words.
    table : one row a private method, as text; the best mean first.
    figure : SVG text: score against epsilon with 95 % intervals.
    data : the numbers of table and figure, a row a method, epsilon, choice of settings and data set ("(mean)": of all).
    sentences : what is best by what is told apart; what to take when nothing is tuned, and what it costs; what this
        cannot know.
    caption : of the figure, with every point that its axis leaves out.
    """

    task: str
    title: str
    table: pd.DataFrame
    figure: str
    data: pd.DataFrame
    sentences: tuple[str, str, str]
    caption: str = ""


def blocks(source: Path | pd.DataFrame | Iterable[Family] | None = None) -> list[Block]:
    """A block for every task with a private score.

    ``source``: folder of a reference (None: the committed one), tidy scores of the experiments of ``common_tasks``
    (``evaluation.summary.COLUMNS``, text), or families (``common_tasks.scores.read``). Raises FileNotFoundError for a
    reference without a score.
    """
    if source is None or isinstance(source, str | Path | pd.DataFrame):
        source = _families(papers.REFERENCE if source is None else source)
    made = (block(f) for f in sorted(source, key=rank))
    return [b for b in made if b is not None]


def rank(family: Family) -> int:
    """Place of a task on the site."""
    return ORDER.index(family.task) if family.task in ORDER else len(ORDER)


def _families(source: str | Path | pd.DataFrame) -> list[Family]:
    home = next(p for p in papers.papers() if p.key == "common_tasks")
    if isinstance(source, pd.DataFrame):
        here = [(p, source[source["experiment"] == name]) for name, p in home.experiments.items()]
        return [read(load(p), rows) for p, rows in here if len(rows)]
    known = [(p, name) for name, p in home.experiments.items() if committed.path_of(Path(source), name).is_file()]
    if not known:
        raise FileNotFoundError(f"{source} has no scores of {', '.join(home.experiments)}; name a reference's folder")
    return [read(load(p), committed.read(Path(source), name)) for p, name in known]


def block(family: Family, about: About | None = None) -> Block | None:
    """The advice of one task; None without a private method that has a score on every data set of the mean."""
    if not family.metrics or not any(a.epsilon for a in family.arms):
        return None
    about = about or About()
    found = Standings(family, about)
    columns = [c for c in family.columns if found.of(c).order]
    if not columns:
        return None
    data = pd.DataFrame(found.rows(columns))
    svg, outside = figure.draw(found, columns)
    said = (sentences.best(found), sentences.cheap(found), sentences.limits(found))
    words = family.title.partition(":")[0]
    caption = ". ".join([f"{found.words}, with 95 % intervals", *([f"Beyond the axis: {outside}"] if outside else [])])
    return Block(family.task, words, table.build(found), svg, data, said, caption + ".")
