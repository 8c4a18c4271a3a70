"""The pages "Which method should I use?" and everything else that the common tasks add to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from common_tasks import advice as common_advice
from common_tasks import beside_default as common_beside_default
from common_tasks import best, noise_aware_page
from common_tasks import figures as common_figures
from common_tasks import matrix as common_matrix
from common_tasks import privacy as common_privacy
from common_tasks import rows as common_rows
from common_tasks import sizes as common_sizes
from common_tasks import tables as common_tables
from common_tasks.advice.answer import Answer
from common_tasks.own_data.study import COMMON
from common_tasks.scores import CONDITIONAL_MARK, CONDITIONAL_NOTE, Family, tasks
from datasets.files import sheet_text, write_text
from reports import tables
from reports.blocks import Block, Figure, Table, entry
from reports.contents import Added, Advice, AdviceSection
from reports.site.document import plain
from reports.tables import SCALE_BANNERS

#: explanation of how to read the pages.
NOTES = (
    "A score on a table is (score - trivial) / (exact - trivial), by the log-likelihood of test rows. Trivial is the "
    "training mean, exact the reference without privacy. A score below 0 counts as 0, because nobody has to publish a "
    "fit that is worse than the training mean.",
    f"A method is best on a table if no other score is more than {best.TIE} higher. The winner of a task is the method "
    "with the highest probability of being best on the next table. A hierarchical model of methods and tables with "
    "heavy-tailed residuals gives the probability. Its posterior is the file common_best.csv.",
    f"Methods within {best.NEAR} of the highest probability are named together. An answer survives leaving out a table "
    "if one of its methods is still first without the table.",
    "A table that was looked at while a method was designed does not count for the method. Two tables from the same "
    "file count once. "
    f"A task with fewer than {best.FEWEST_TABLES} tables gives no general advice.",
)


def build(
    out: Path,
    families: Sequence[Family],
    ledger: pd.DataFrame,
    rows_of: pd.DataFrame,
    scale: str,
    with_site: bool,
    extra: Path | None = None,
    on_privacy: Sequence[str] = (),
) -> Added:
    """Write tables and figures of these families under ``out``. Families without a row are left out.

    * ``ledger``: from ``reports.ledger.build``.
    * ``rows_of``: from ``reports.tables.data_info``.
    * ``extra``: folder of the tables that are not scores.
    * ``on_privacy``: notes of the privacy table.
    """
    families = sorted((f for f in families if f.arms), key=lambda f: common_advice.rank(f))
    if not families:
        return Added([], [], [])
    grouped = tasks(families)
    own = {
        f.task: [best_table(f, scale), sizes_table(f, scale), *(p for g in of for p in common_tables.build(g, scale))]
        for f, of in grouped
    }
    own = {task: [pair for pair in of if pair is not None] for task, of in own.items()}
    across = [common_matrix.matrix_table([f for f, _ in grouped], scale)]
    across += common_beside_default.build(families, scale)
    across += [common_tables.controls_table(extra, scale)] if extra else []
    noise_aware = noise_aware_page.read(extra)
    across += [noise_aware_page.table(noise_aware, scale)] if noise_aware is not None else []
    across = [pair for pair in across if pair is not None]
    study = common_rows.committed(extra).groupby("task", sort=False) if extra else ()
    sized = {COMMON[task]: common_rows.rows_table(scores) for task, scores in study}
    methods = [*(pair for of in own.values() for pair in of), *across, *sized.values()]
    privacy = [common_privacy.privacy_table(families, ledger, scale, on_privacy)]
    privacy.append(common_privacy.ranges_table(families, scale))
    privacy = [p for p in privacy if p is not None]
    shown, guarantees = (tables.write_all(out / "tables", pairs) for pairs in (methods, privacy))
    if not with_site:
        return Added(shown, guarantees, [])
    # a task's further tables are shown only as numbers, because one panel for each would be too many
    drawn = common_figures.build(out / "figures", [of[0] for _, of in grouped], rows_of, extra)
    whole = [] if noise_aware is None else [noise_aware_page.figure(out / "figures", noise_aware)]
    on = [*(t for t, _ in across), *guarantees]
    of_task = {task: [table for table, _ in of] for task, of in own.items()}
    of_rows = {task: (table, common_rows.figure(out / "figures", long)) for task, (table, long) in sized.items()}
    advised = advice([f for f, _ in grouped], of_task, on, drawn, out / "figures", whole, of_rows)
    return Added(shown, guarantees, [*drawn, *whole], advised)


def advice(
    families: Sequence[Family],
    of_task: Mapping[str, Sequence[Table]],
    across: Sequence[Table],
    drawn: Sequence[Figure],
    folder: Path,
    of_all: Sequence[Figure] = (),
    of_rows: Mapping[str, tuple[Table, Figure]] | None = None,
) -> Advice | None:
    """The advice on all tasks, with one section per family with a private method. None if there is none.

    * ``of_task``: the tables of each task.
    * ``across``: the tables of all tasks together, with their figures ``drawn``.
    * ``folder``: for the figures of the advice.
    * ``of_all``: the figures of all tasks together.
    * ``of_rows``: the rows that a task needs.
    """
    made = []
    for family in (f for f in families if f.metrics):  # if no fit has a score, its tables say why
        block = common_advice.block(family)
        if block is not None:
            mine = [f for f in drawn if f.name.startswith(f"common_{family.task}_")]
            rows = (of_rows or {}).get(family.task)
            made.append(section_of(block, of_task.get(family.task, ()), mine, folder, rows))
    said = [text for section in made for texts in (section.answers or [[section.text]]) for text in texts]
    notes = (*NOTES, CONDITIONAL_NOTE) if any(CONDITIONAL_MARK in text for text in said) else NOTES
    return Advice(made, across, of_all, notes) if made else None


def section_of(
    block: common_advice.Block, tables_: Sequence[Table], figures: Sequence[Figure], folder: Path,
    rows: tuple[Table, Figure] | None = None,
) -> AdviceSection:  # fmt: skip
    """The section of a task. Writes its figure to ``folder``."""
    name = f"common_{block.task}_advice"
    write_text(folder / f"{name}.svg", block.figure)
    write_text(folder / f"{name}.csv", sheet_text(block.data))
    table = block.table.rename(columns=plain).map(plain).to_markdown(index=False, disable_numparse=True)
    return AdviceSection(
        block.task,
        block.title,
        text=plain(block.sentences[0]),
        answers=block.answers,
        sentences=[plain(s) for s in block.sentences[1:]],
        table=f"```{{rst-class}} compact\n```\n\n{table}",
        caption=plain(block.budget),
        tables=tables_,
        figures=[Figure(name, f"Scores of private methods: {block.title}", block.caption), *figures],
        rows=rows,
    )


def best_table(family: Family, scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The posterior by epsilon, with methods in rows. The long frame has every table left out."""
    blocks, long = [], []
    for epsilon in family.epsilons if family.metrics else ():
        fitted = best.fit(family, epsilon, best.About())
        if fitted.frame.empty:
            continue
        whole = fitted.frame[fitted.frame["without"] == ""]
        left = fitted.frame[fitted.frame["without"] != ""].set_index("without").groupby("method")["probability"]
        least, most, where = left.min(), left.max(), left.idxmin()
        answer = Answer(family, best.About())
        rows = []
        for r in whole.to_dict("records"):
            numbers = [f"{r['probability']:.2f}", f"{r['regret']:.2f}", f"{r['score']:.2f}"]
            m = r["method"]
            numbers += [f"{least[m]:.2f} to {most[m]:.2f}", family.set_title(where[m])]
            numbers += [str(r["scored"]), r["settings"], f"{r['rhat']:.3f}", f"{r['ess']:.0f}"]
            rows.append((answer.name(r["method"]), [entry(n) for n in numbers]))
        heads = ["probability of being best on the next table", "expected regret", "expected score"]
        heads += ["best, without any one table", "least without", "tables with a score", "settings"]
        heads += ["R-hat", "effective draws"]
        blocks.append(Block(f"epsilon = {epsilon}", "Method", heads, rows))
        long.append(fitted.frame)
    if not blocks:
        return None
    notes = (
        "Probability of being best on the next table, with all tables, and its range if one table is left out. The "
        f"file has the numbers without each table. {best.CHAINS} chains of {best.KEPT} draws.",
    )
    name = f"common_{family.task}_best"
    table = Table(name, f"{family.title}: best on the next table", SCALE_BANNERS[scale], blocks, notes)
    return table, pd.concat(long, ignore_index=True).assign(scale=scale)


def sizes_table(family: Family, scale: str) -> tuple[Table, pd.DataFrame] | None:
    """The effect of rows, columns and epsilon on the cost of privacy, by method, with the frame of ``sizes``."""
    long = common_sizes.effects(family) if family.metrics else pd.DataFrame()
    if long.empty:
        return None
    answer = Answer(family, best.About())
    rows = []
    for method, of in long.groupby("method", sort=False):
        entries = [f"{r['factor']:.2f} [{r['low']:.2f}, {r['high']:.2f}]" for r in of.to_dict("records")]
        first = of.iloc[0]
        entries += [str(first["tables"]), f"{first['at_an_end']:.0%}"]
        name = method if method == common_sizes.EVERY else answer.name(method)
        rows.append((name, [entry(t) for t in entries]))
    heads = [f"ten times the {t}" if t != "epsilon" else "ten times epsilon" for t in common_sizes.TERMS]
    block = Block("", "Method", [*heads, "tables", "scores at an end"], rows)
    notes = (
        "The cost of privacy is 1 - score. A number is the factor by which the cost changes, with its 95 % interval "
        "over resampled tables. A regression on the logarithms of rows, columns and epsilon gives it.",
        "The tables differ in more than their sizes, so this is not the effect of taking rows away from one table. "
        "Scores at an end of the scale tend to pull a factor to 1.",
    )
    name = f"common_{family.task}_sizes"
    return Table(name, f"{family.title}: rows, columns and epsilon", SCALE_BANNERS[scale], [block], notes), long
