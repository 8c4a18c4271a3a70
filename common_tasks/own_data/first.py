"""The first sentences of a page, as plain text: the ranges, too few rows for epsilon, more rows, a rare class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from common_tasks import rows as study_of_rows
from common_tasks.advice.answer import NEXT
from common_tasks.advice.sentences import listed
from evaluation.metrics import METRICS, main_metrics
from methods._shared.frames import forecast

#: share of the rows below which a class is called rare.
RARE = 0.1
#: baseline that predicts the mean of the training targets for each row.
CONSTANT = "predict_mean"


def ranges(unknown: Sequence[str], columns: int) -> str:
    """A sentence on the columns of a table without a stated range, and how to state one. "" if all have one."""
    if not unknown:
        return ""
    return (
        f"First, state the ranges of your columns: {len(unknown)} of {columns} have none here ({listed(unknown)}), so "
        'a private method estimates them and spends a part of epsilon on that. Write lines such as "age: [0, 120]" to '
        "a YAML file and give it with --bounds. A range has to be known without the rows, from a document or a scale."
    )


def assumed_ranges(known: bool) -> str:
    """A sentence on the missing ranges of synthetic tables. "" if their ranges are known."""
    if known:
        return ""
    return (
        "First, state the ranges of your columns if you know them without the rows, such as from a document or a "
        "scale. This run takes no range as known, so a private method estimates them and spends a part of epsilon on "
        "that. The same command with --known-ranges shows what stated ranges change."
    )


def hidden_ranges(rows: int, inputs: int, target: bool, epsilon: float, delta: float) -> str:
    """The forecast of a fit by estimated ranges, before it reads a row. "" if nothing is likely to be hidden.

    ``inputs``: number of inputs without a stated range. ``target``: whether a target that is scaled has none.
    """
    if not inputs and not target:
        return ""
    words = forecast(rows, inputs, target, epsilon, delta).words
    return f"At epsilon = {epsilon:g} with {rows} rows: {words}" if words else ""


def too_small(data: pd.DataFrame, rows: int, names: Mapping[str, str], unknown: int = 0) -> list[str]:
    """A sentence for each epsilon at which no private method is significantly better than the trivial baseline.

    If the non-private reference is not better either, there is one sentence for all, because there is no scale. It is
    said that the rows are too few only if all ranges are stated, because estimated ranges may be the reason as well.

    Parameters
    ----------
    data : ``advice.Block.data``. If the unit is "scaled", 0 is the trivial baseline.
    rows : number of rows of a fit.
    names : data set -> its words.
    unknown : number of columns whose range was estimated.
    """
    here = data[(data["dataset"] != NEXT) & (data["unit"] == "scaled") & data["low"].notna()]
    best = here.groupby(["epsilon", "dataset"], sort=False)["low"].max()
    out = []
    if len(data) and not (data["unit"] == "scaled").any():
        out.append(
            f"Too few rows, or too little in the inputs: on {listed([*names.values()])} with {rows} rows, the model is "
            "not significantly better than the trivial baseline even without privacy (level 95 %)."
        )
    for epsilon in here["epsilon"].unique():
        few = [names.get(d, d) for (e, d), low in best.items() if e == epsilon and low <= 0]
        if few and unknown:
            out.append(
                f"At epsilon = {epsilon}, on {listed(few)} with {rows} rows, no private method is significantly better "
                "than the trivial baseline, whose score is 0 (test log-likelihood, level 95 %). The ranges of "
                f"{unknown} columns were estimated, so this run cannot say whether the rows are too few. State the "
                "ranges that are known without the rows with --bounds, and compare again."
            )
        elif few:
            out.append(
                f"Too few rows for epsilon = {epsilon}, as far as was shown: on {listed(few)} with {rows} rows, no "
                "private method is significantly better than the trivial baseline, whose score is 0 (test "
                "log-likelihood, level 95 %). More rows, fewer columns or a larger epsilon may help."
            )
    return out


def rows_needed(task: str, rows: int, epsilons: Sequence[float], known: bool) -> str:
    """The cost of privacy with this number of rows, and the rows needed, by the committed study.

    It is "" for a task without one. ``known``: whether the range of every column is public.
    """
    said = [study_of_rows.sentence(study_of_rows.committed(), task, rows, e, known) for e in epsilons]
    if not any(said):
        return ""
    what = "The cost of privacy is 0 for a fit without privacy and 1 for the training mean."
    return " ".join([what, *dict.fromkeys(said), study_of_rows.LIMITS])


def rare_class(counts: Sequence[int], labels: Sequence[str], scores: pd.DataFrame) -> str:
    """A sentence on a rare class of two, and on the score of a constant prediction. "" if no class is rare.

    ``counts``: rows of each class. ``scores``: tidy scores. Those of ``CONSTANT`` are averaged over the splits.
    """
    if not counts or min(counts) >= RARE * sum(counts):
        return ""
    few, most = (list(labels)[list(counts).index(f(counts))] for f in (min, max))
    constant = scores[(scores["method"] == CONSTANT) & (scores["status"] == "ok")]
    mean = constant["value"].astype(float).groupby(constant["metric"]).mean()
    told = [f"{METRICS[m].title} of {mean[m]:.4g}" for m in main_metrics() if m in mean]
    here = f" Over the splits, the constant prediction has a mean {listed(told)}." if told else ""
    return (
        f"The classes are unbalanced: '{few}' is the class of {min(counts)} of {sum(counts)} rows "
        f"({min(counts) / sum(counts):.2%}). A prediction of '{most}' for each row is right for "
        f"{max(counts) / sum(counts):.2%} of them, and finds no '{few}'.{here} A small test error "
        f"does not show that a method finds '{few}'. Read the average precision of '{few}', which is "
        f"{min(counts) / sum(counts):.2g} for a constant prediction, and the Brier score."
    )
