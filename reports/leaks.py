"""The table of leaks, which no epsilon counts: question, methods, answer, and the source of the answer.

A method declares its own leaks (``methods.contract.Leak``). Leaks that many methods have, because of their neighbouring
relation or of what they read, are derived here in the same way for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

import datasets
from methods import contract
from methods.contract import LeakKind, Method
from privacy import floating_point
from privacy.ledger import Relation
from reports.blocks import Block, Table, entry
from reports.ledger import CONDITIONAL, guarded, guards
from reports.site.words import kind_title

NAMED, DERIVED = "named by the method", "derived for every method: "
#: kind of a leak -> question
QUESTIONS = {
    LeakKind.PUBLIC_N: "Is the number of rows taken as public?",
    LeakKind.RANGES: "Are ranges of columns taken from the rows?",
    LeakKind.STANDARDISATION: "Are rows centred or scaled by their own mean, spread or norm?",
    LeakKind.PRIVATE_MOMENTS: "Are other averages of the rows used bare?",
    LeakKind.STARTING_VALUES: "Do starting values come from a fit that is not private?",
    LeakKind.PRIORS: "Is a distribution, a prior or a parameter taken as public that nobody has published?",
    LeakKind.TUNED: "Were settings or code chosen with scores or rows in view?",
    LeakKind.BATCHES: "Are batches drawn otherwise than the accountant assumes?",
    LeakKind.SENSITIVITY: "Is noise scaled by a bound that is too small, or private itself?",
    LeakKind.NO_NOISE: "Is a private number released without noise or bound?",
    LeakKind.ACCOUNTING: "Are releases charged at less than they cost?",
    LeakKind.FAILING: "Do rows decide, without noise, whether a step is taken, a run stops or a fit fails?",
    LeakKind.SAMPLER: "Is the released sample exact?",
    LeakKind.FLOATING_POINT: "Does the proof cover double precision?",
}
COLUMNS = ["kind_of_leak", "question", "method", "kind", "title", "leak", "evidence"]
#: number of outputs that are counted for the size of the floating-point leak
OUTPUTS = 2000


def derived(method: Method) -> Iterator[tuple[LeakKind, str, str]]:
    """(kind, sentence, evidence) of the leaks that follow from the method's relation and from what it reads."""
    if method.privacy is None:
        return
    if method.privacy is Relation.ADD_REMOVE and not any(leak.kind is LeakKind.PUBLIC_N for leak in method.leaks):
        yield (
            LeakKind.PUBLIC_N,
            "neighbours differ by one row, and the number of rows is used exactly and stored",
            "its relation; models.task.PublicKnowledge.n",
        )
    if method.reads_ranges:
        where = ", ".join(t.title for t in map(datasets.get, datasets.names("table")) if t.extremes)
        yield LeakKind.RANGES, f"on {where} only: the guarantee is {CONDITIONAL}", "datasets.base.DataSet.extremes"
    if guarded(method):
        for guard in guards(datasets.names("table")):
            yield LeakKind.TUNED, guard, "methods._shared.frames.InFrame; privacy.scaling"
    if not method.releases_a_draw:
        yield (
            LeakKind.FLOATING_POINT,
            "noise and sums are double precision, from generators that are not cryptographic",
            "privacy.budget.GENERATOR; privacy.floating_point",
        )


def frame() -> pd.DataFrame:
    """One row per leak, method and kind of model."""
    rows = []
    for kind, name in contract.pairs():
        method = contract.get(name, kind)
        told = [(leak.kind, leak.sentence, NAMED) for leak in method.leaks]
        told += [(k, text, DERIVED + where) for k, text, where in derived(method)]
        rows += [(str(k), QUESTIONS[k], name, kind, method.title, text, evidence) for k, text, evidence in told]
    return pd.DataFrame(rows, columns=COLUMNS)


def table() -> tuple[Table, pd.DataFrame]:
    """One block per question, and one row per answer with all methods for which it is true."""
    long, blocks, every = frame(), [], kinds_of_titles()
    for kind in QUESTIONS:
        here = long[long["kind_of_leak"] == str(kind)]
        rows = [
            (_names(of, every), [entry(leak), entry(evidence)])
            for (leak, evidence), of in here.groupby(["leak", "evidence"], sort=True)
        ]
        rows = rows or [("none", [entry("no method says so"), entry("")])]
        blocks.append(Block(QUESTIONS[kind], "Methods", ["answer", "evidence"], rows))
    share = floating_point.ruled_out(1.0, 1.0, OUTPUTS, np.random.default_rng(0))
    notes = (
        "A method that a question does not name claims that the answer is no. The audit tests what can be tested. "
        "Brackets name the kinds of model that an answer is about, if they are not all that the method fits.",
        "An epsilon is that of one fit whose noise is secret. Here seeds are public and the budgets of a split share "
        "their random numbers, so two stored posteriors give the private sums back (next table). A row is also used "
        "in many splits, by many methods and at many budgets.",
        f"Size of the last question: {share:.0%} of {OUTPUTS:,} numbers of the Laplace mechanism at epsilon 1 cannot "
        "come from the neighbour at all, by the values that double precision has. The numbers are sampled with a fixed "
        "seed, and all uniform numbers near the inverse are tried. Someone who sees all digits of a posterior learns "
        "this much, and epsilon does not bound it.",
        "Rows outside of a task's declared domain end a fit with an error that names them: a class that does not "
        "exist, or a number that is not finite. No epsilon counts that they do.",
    )
    return Table("leaks", "Leaks: what no epsilon counts", "At every scale", blocks, notes), long


def _names(rows: pd.DataFrame, every: Mapping[str, set[str]]) -> str:
    """The titles of methods, each with its kinds of model unless these are ``every`` kind that it fits."""
    told = []
    for title, of in rows.groupby("title", sort=True)["kind"].agg(set).items():
        kinds = "; ".join(sorted(map(kind_title, of)))
        told.append(title if of == every[title] else f"{title} ({kinds})")
    return "; ".join(told)


def kinds_of_titles() -> dict[str, set[str]]:
    """Title of a method -> the kinds of model that methods of that title fit."""
    out: dict[str, set[str]] = {}
    for kind, name in contract.pairs():
        out.setdefault(contract.get(name, kind).title, set()).add(kind)
    return out
