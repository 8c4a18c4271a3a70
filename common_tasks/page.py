"""The page "Which method should I take?" and all that the common tasks add to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from common_tasks import advice as common_advice
from common_tasks import beside_default as common_beside_default
from common_tasks import figures as common_figures
from common_tasks import matrix as common_matrix
from common_tasks import privacy as common_privacy
from common_tasks import ranks as common_ranks
from common_tasks import scale as common_scale
from common_tasks import sentences as common_sentences
from common_tasks import tables as common_tables
from common_tasks.scores import CONDITIONAL_NOTE, Family, column_words
from common_tasks.sentences import Sentence
from datasets.files import write_csv, write_text
from reports import tables
from reports.blocks import Table
from reports.contents import Added, Advice, AdviceSection
from reports.figure import Figure
from reports.site.document import plain

#: how the page is read.
NOTES = (
    "Two questions, two intervals. The law of the data: would it be so with other rows of the same law, as many? "
    "Paired intervals over the splits that both methods have, corrected for splits that share rows (Nadeau and Bengio "
    '2003). "Best", "separated", "significantly" and all intervals without further words are of this kind. These rows: '
    "is it so on the rows at hand, over all their random splits and all privacy noise? Plain paired t intervals; they "
    "say nothing about other rows.",
    '"Separated" and "significantly": at 5 % divided by the number of comparisons. Intervals in brackets are of level '
    "95 %. What is not separated may still be far: wide intervals do not mean small differences.",
    '"Tuned with equal effort": every private method takes part with the best of its settings on a public stand-in; '
    '"default" beside its name: the tuning chose the default, on that data set or on so many; "default, no grid": it '
    'has nothing to tune. Under a heading without "tuned" every method runs with its default settings; where these '
    "come from is a column of the tables of scores.",
    CONDITIONAL_NOTE,
)


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
    """Write tables and figures of these families under ``out``; families without a row are left out.

    ``ledger``: of ``reports.ledger.build``; ``sizes``: of ``reports.tables.data_info``; ``extra``: folder of the tables
    that are no scores; ``on_privacy``: notes of the privacy table.
    """
    families = sorted((f for f in families if f.arms), key=lambda f: common_advice.rank(f))
    if not families:
        return Added([], [], [])
    own = {f.task: [*common_tables.build(f, scale), common_scale.table(f, scale)] for f in families}
    pairs = [pair for of in own.values() for pair in of]
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
    on = [t for t, _ in (pair for pair in across if pair is not None)] + [t for t, _ in privacy]
    of_task = {task: [pair[0] for pair in of if pair is not None] for task, of in own.items()}
    return Added(shown, [t for t, _ in privacy], drawn, advice(families, of_task, on, drawn, out / "figures"))


def advice(
    families: Sequence[Family],
    of_task: Mapping[str, Sequence[Table]],
    across: Sequence[Table],
    drawn: Sequence[Figure],
    folder: Path,
) -> Advice | None:
    """Which method for which task, a section a family with a private method; None where there is none.

    ``of_task``: tables of each task; ``across``: those of all together; ``folder``: where figures go. This is the one
    place that says what the page of advice holds: of each task its block (``common_tasks.advice``), then all else.
    """
    made = []
    for section in sections(families):
        family = next(f for f in families if f.task == section.id)
        section = replace(section, tables=of_task.get(section.id, ()))
        found = common_advice.block(family)
        made.append(section if found is None else with_block(section, found, folder))
    return Advice(made, across, drawn, NOTES) if made else None


def with_block(section: AdviceSection, block: common_advice.Block, folder: Path) -> AdviceSection:
    """The section with one table, one figure (written to ``folder``) and three sentences before its details.

    The first sentence begins its text: it is what the front page shows of the task.
    """
    name = f"common_{block.task}_advice"
    write_text(folder / f"{name}.svg", block.figure)
    write_csv(folder / f"{name}.csv", block.data)
    table = block.table.rename(columns=plain).map(plain).to_markdown(index=False, disable_numparse=True)
    first, *others = block.sentences
    ranks = ("By average rank", [("Average rank over the data sets", [[s] for s in section.sentences])])
    return replace(
        section,
        text=f"{plain(first)}\n\n```{{rst-class}} compact\n```\n\n{table}",
        sentences=[Sentence("advice", (said,)) for said in others],
        figures=[Figure(name, f"Scores of private methods: {block.title}", block.caption)],
        details=[*([ranks] if section.sentences else []), *section.details],
    )


def sections(families: Sequence[Family]) -> list[AdviceSection]:
    """What is said, a section a family with a private method."""
    out = []
    for f in families:
        # the tuned column first: there the effort is equal
        ordered = sorted(f.columns, key=lambda c: (float(c[0]), not c[1]))
        columns = [(column_words(c).capitalize(), common_sentences.about(f, c)) for c in ordered]
        columns = [(heading, said) for heading, said in columns if said]
        if columns:
            short = common_sentences.in_short(f)
            out.append(AdviceSection(f.task, f.title.partition(":")[0], sentences=short, details=columns))
    return out
