"""The page "Which method should I take?" and all that the common tasks add to the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from common_tasks import beside_default as common_beside_default
from common_tasks import figures as common_figures
from common_tasks import matrix as common_matrix
from common_tasks import privacy as common_privacy
from common_tasks import rank_figure as common_rank_figure
from common_tasks import ranks as common_ranks
from common_tasks import scale as common_scale
from common_tasks import sentences as common_sentences
from common_tasks import tables as common_tables
from common_tasks.scores import CONDITIONAL_NOTE, Family, column_words
from common_tasks.sentences import Item, Sentence
from reports import site, tables
from reports.blocks import Table
from reports.contents import Added
from reports.figure import Figure
from workflow.files import write_text

NAME = "which_method.html"
#: of the tasks; others come last.
ORDER = ("linear_regression", "logistic_regression", "density", "network")


@dataclass(frozen=True)
class Section:
    """One family: sentences in short, its figure of ranks, and (heading, [(metric, items)]) an epsilon."""

    id: str
    title: str
    short: Sequence[Sentence]
    figure: str
    columns: Sequence[tuple[str, Sequence[tuple[str, Sequence[Item]]]]]


@dataclass(frozen=True)
class Page:
    """Everything that the page shows."""

    scale: str
    banner: str
    sections: Sequence[Section]
    figures: Sequence[Figure]
    tables: Sequence[Table]
    conditional: str = CONDITIONAL_NOTE


def build(
    out: Path,
    families: Sequence[Family],
    ledger: pd.DataFrame,
    sizes: pd.DataFrame,
    scale: str,
    with_site: bool,
    extra: Path | None = None,
    on_privacy: Sequence[str] = (),
) -> Added:
    """Write tables, figures and the page of these families under ``out``; families without a row are left out.

    ``ledger``: of ``reports.ledger.build``; ``sizes``: of ``reports.tables.data_info``; ``extra``: folder of the tables
    that are no scores; ``on_privacy``: notes of the privacy table.
    """
    families = sorted(
        (f for f in families if f.arms), key=lambda f: ORDER.index(f.task) if f.task in ORDER else len(ORDER)
    )
    if not families:
        return Added([], [], [])
    pairs = [pair for f in families for pair in (*common_tables.build(f, scale), common_scale.table(f, scale))]
    across = [common_ranks.ranks_table(families, scale), common_matrix.matrix_table(families, scale)]
    across += common_beside_default.build(families, scale)
    across += [common_tables.controls_table(extra, scale)] if extra else []
    methods = [pair for pair in (*pairs, *across) if pair is not None]
    privacy = [common_privacy.privacy_table(families, ledger, scale, on_privacy)]
    privacy.append(common_privacy.ranges_table(families, scale))
    privacy = [p for p in privacy if p is not None]
    for table, long in [*methods, *privacy]:
        tables.write(out / "tables", table, long)
    shown = [table for table, _ in methods]
    if not with_site:
        return Added(shown, [t for t, _ in privacy], [])
    drawn = common_figures.build(out / "figures", families, sizes, extra)
    page = Page(scale, tables.SCALE_BANNERS[scale], sections(families), drawn, [*shown, *(t for t, _ in privacy)])
    write_text(out / "report" / NAME, render(page))
    return Added(shown, [t for t, _ in privacy], drawn)


def sections(families: Sequence[Family]) -> list[Section]:
    """One a family with a private method."""
    out = []
    for f in families:
        # the tuned column first: there the effort is equal
        ordered = sorted(f.columns, key=lambda c: (float(c[0]), not c[1]))
        columns = [(column_words(c).capitalize(), common_sentences.about(f, c)) for c in ordered]
        columns = [(heading, said) for heading, said in columns if said]
        if columns:
            short, figure = common_sentences.in_short(f), common_rank_figure.name_of_figure(f)
            out.append(Section(f.task, f.title.partition(":")[0], short, figure, columns))
    return out


def render(page: Page) -> str:
    """The HTML text."""
    return site.fill(NAME, page=page, known=frozenset())
