"""What the report hands to a paper's own tables and figures, and what it takes back.

A paper names functions in its ``PAPER`` (``workflow.papers.Paper``):

``tables``   ``f(run: Run) -> Tables``, called for each of its experiments
``figures``  ``f(run: Run) -> list[Figure]``, likewise, for files under ``run.figures``
``page``     ``f(runs: list[Run], whole: Whole) -> Added``, called once, after all of them
``derived``  ``f(pairs: list[(config, scores)]) -> {file name: frame}``: committed tables that follow from committed
             scores; they are in the paper's ``reference/``, and a gate recomputes them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import datasets
from reports.blocks import Table
from reports.figure import Figure

#: a table as the page shows it, and all its numbers.
Pair = tuple[Table, pd.DataFrame]


@dataclass(frozen=True)
class Run:
    """One experiment of a report. ``every``: scores of all experiments; ``extra``: folder of the tables that are none.

    ``fits``, ``data``: folders of the run; ``figures``: where figures go.
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
        """Heading of its table of all methods."""
        return f"{self.config.get('title', self.name)}: every method, every data set"

    @cached_property
    def real(self) -> pd.DataFrame:
        """Scores without those on tables that are made up for time and memory."""
        return self.scores[~self.scores["dataset"].isin(datasets.names("synthetic"))]


@dataclass(frozen=True)
class Whole:
    """What a page of all experiments of a paper needs besides them.

    ``out``: folder of the report; ``ledger``: of ``reports.ledger.build``; ``sizes``: of ``reports.tables.data_info``.
    """

    out: Path
    ledger: pd.DataFrame
    sizes: pd.DataFrame
    with_site: bool


@dataclass(frozen=True)
class Tables:
    """``methods``: in place of the table of all methods, None for that one; ``privacy``: what is shown of privacy."""

    methods: list[Pair] | None = None
    privacy: list[Pair] = field(default_factory=list)


@dataclass(frozen=True)
class AdviceSection:
    """Advice for one task, Markdown. ``text``: take this, also on the front page; ``sentences``: because, and limits;
    ``table``: of the methods, with its ``caption``. The first of ``figures`` stands on the page of the task. The others
    and ``tables`` stand on the page of its details. ``rows``: how many rows a method needs, on the page of the task.
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


@dataclass(frozen=True)
class Advice:
    """The pages "Which method should I use?": a section per task, tables and figures of all, and how to read them."""

    sections: Sequence[AdviceSection]
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Added:
    """What a paper's own page adds to the report; its files are written. ``advice``: which method for which task."""

    methods: list[Table]
    privacy: list[Table]
    figures: list[Figure]
    advice: Advice | None = None
