"""The interface between the report and a paper's own tables and figures.

A paper names functions in its ``PAPER`` (``workflow.papers.Paper``):

``tables``   ``f(run: Run) -> Tables``, called for each of its experiments
``figures``  ``f(run: Run) -> list[Figure]``, called for each of its experiments, for files under ``run.figures``
``page``     ``f(runs: list[Run], whole: Whole) -> Added``, called once, after all of them
``derived``  ``f(pairs: list[(config, scores)]) -> {file name: frame}``: tables in the paper's ``reference/`` that
             follow from committed scores. ``python -m reports.build check`` makes them again and compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import datasets
from reports.blocks import Figure, Table

#: a table as the page shows it, and a frame with all its numbers.
Pair = tuple[Table, pd.DataFrame]


@dataclass(frozen=True)
class Run:
    """One experiment of a report.

    ``every`` has the scores of all experiments. ``fits`` and ``data`` are folders of the run. ``figures`` is the folder
    for figures, and ``extra`` that of further tables.
    """

    config: dict[str, Any]
    scores: pd.DataFrame
    verdicts: pd.DataFrame
    every: pd.DataFrame
    scale: str
    fits: Path
    data: Path
    figures: Path
    extra: Path | None = None

    @property
    def name(self) -> str:
        """The experiment's name, and the stem of its files."""
        return self.config["experiment"]

    @property
    def title(self) -> str:
        """The heading of its table of all methods."""
        return f"{self.config.get('title', self.name)}: every method, every data set"

    @cached_property
    def real(self) -> pd.DataFrame:
        """The scores, except those on synthetic tables for time and memory."""
        return self.scores[~self.scores["dataset"].isin(datasets.names("synthetic"))]


@dataclass(frozen=True)
class Whole:
    """The further input of a page on all experiments of a paper.

    ``out`` is the folder of the report. ``ledger`` comes from ``reports.ledger.build``, ``sizes`` from
    ``reports.tables.data_info``.
    """

    out: Path
    ledger: pd.DataFrame
    sizes: pd.DataFrame
    with_site: bool


@dataclass(frozen=True)
class Tables:
    """A paper's own tables. ``methods`` replaces the table of all methods unless None. ``privacy``: on privacy."""

    methods: list[Pair] | None = None
    privacy: list[Pair] = field(default_factory=list)


#: headings of the answers of a task.
ANSWERS = ("Epsilon", "Take", "Probability of being best", "Expected regret", "First instead")


@dataclass(frozen=True)
class AdviceSection:
    """Advice for one task, in Markdown.

    ``text`` is the recommendation, of which the front page shows the beginning. ``answers`` has it as rows, one per
    epsilon, if there is a winner (:data:`ANSWERS`). ``sentences`` are its reasons and limits. ``table``
    is the table of the methods, with its ``caption``. The first of ``figures`` is on the page of the task. The others
    and ``tables`` are on the page of its details. ``rows`` is how many rows a method needs, on the page of the task.
    """

    id: str
    title: str
    text: str = ""
    sentences: Sequence[str] = ()
    table: str = ""
    caption: str = ""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    rows: tuple[Table, Figure] | None = None
    answers: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Advice:
    """The pages "Which method should I use?": a section per task, common tables and figures, and how to read them."""

    sections: Sequence[AdviceSection]
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Added:
    """The additions of a paper's own page. Its files are already written. ``advice`` is a method per task."""

    methods: list[Table]
    privacy: list[Table]
    figures: list[Figure]
    advice: Advice | None = None
