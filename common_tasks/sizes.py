"""How the cost of privacy depends on rows, columns and epsilon: a regression over the tables of a task.

The cost is 1 - score, on the scale of ``common_tasks.best``: 0 is the non-private reference, 1 the training mean. For
each private method, over its tables and budgets, ordinary least squares fits

    log(cost) = constant + a log(rows) + b log(columns) + c log(epsilon),

with the cost between ``best.TIE`` and 1, as in the model there. A slope a is reported as 10^a, the factor of the cost
if there are ten times as many rows. The row ``EVERY`` is for all methods together, each with its own constant.

Intervals resample whole tables, because the numbers of a table share all that is particular to it. They are about other
tables of this kind, and not about subsets of one table, because rows and columns of real tables vary together with all
other properties. Scores at an end of the scale tend to pull slopes to 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

import datasets
from common_tasks import best
from common_tasks.scores import Family, tasks

NAME = "common_sizes.csv"
#: columns. ``factor``: of the cost, with its 95 % interval, if there is ten times as much of ``of``. ``at_an_end``:
#: share of the costs that are at an end of the scale.
COLUMNS = ("task", "method", "of", "factor", "low", "high", "tables", "scores", "at_an_end")
TERMS = ("rows", "columns", "epsilon")
#: name of the row for all methods together.
EVERY = "every method"
#: resamplings of the tables, and their seed.
RESAMPLED, SEED = 2000, 0


def costs(family: Family) -> pd.DataFrame:
    """Costs of privacy: one row per private method, table and epsilon with a score that counts.

    The columns are ``method``, ``dataset``, ``cost`` and ``TERMS``.

    The ``TERMS`` are natural logarithms. Without a scale there is no row. The number of rows is that of the whole
    table.
    """
    found = []
    for epsilon in family.epsilons:
        scores = best.scores_of(family, epsilon, best.About())
        if not scores.scaled:
            continue
        for i, k in zip(*np.nonzero(np.isfinite(scores.counted)), strict=True):
            table = datasets.get(scores.sets[k])
            size = {"rows": table.n_rows, "columns": table.n_inputs, "epsilon": float(epsilon)}
            row = {"method": scores.methods[i], "dataset": scores.sets[k], "cost": 1 - scores.counted[i, k]}
            found.append(row | {t: math.log(v) for t, v in size.items()})
    return pd.DataFrame(found, columns=["method", "dataset", "cost", *TERMS])


def slopes(frame: pd.DataFrame, weights: np.ndarray) -> np.ndarray:
    """Least-squares slopes (k, 3) of log cost on ``TERMS``, with a constant per method.

    ``weights``: (k, tables), how often each table counts, with tables by name. A slope that its rows do not determine
    is NaN.
    """
    y = np.log(frame["cost"].clip(best.TIE, 1.0))
    z = frame[list(TERMS)].assign(y=y).to_numpy()
    method, table = pd.factorize(frame["method"])[0], pd.factorize(frame["dataset"], sort=True)[0]
    ones = np.zeros((table.max() + 1, method.max() + 1))
    sums, squares = np.zeros((*ones.shape, 4)), np.zeros((len(ones), 4, 4))
    np.add.at(ones, (table, method), 1.0)
    np.add.at(sums, (table, method), z)
    np.add.at(squares, table, z[:, :, None] * z[:, None, :])
    mass, total = weights @ ones, np.tensordot(weights, sums, 1)
    about_mean = np.einsum("kmi,kmj->kij", total, total / np.where(mass > 0, mass, 1.0)[:, :, None])
    gram = np.tensordot(weights, squares, 1) - about_mean
    told = np.linalg.matrix_rank(gram[:, :3, :3], hermitian=True) == len(TERMS)
    out = np.full((len(weights), len(TERMS)), np.nan)
    out[told] = np.linalg.solve(gram[told, :3, :3], gram[told, :3, 3:])[..., 0]
    return out


def effects(family: Family, resampled: int = RESAMPLED) -> pd.DataFrame:
    """Effects with columns ``COLUMNS``: all methods together, then each with at least ``best.FEWEST_TABLES`` tables."""
    frame = costs(family)
    every = frame["dataset"].nunique()
    if every < best.FEWEST_TABLES:
        return pd.DataFrame(columns=COLUMNS)
    out = []
    for method in [EVERY, *dict.fromkeys(frame["method"])]:
        mine = frame if method == EVERY else frame[frame["method"] == method]
        if (tables := mine["dataset"].nunique()) < best.FEWEST_TABLES:
            continue
        drawn = np.random.default_rng(SEED).multinomial(tables, np.full(tables, 1 / tables), resampled)
        found = slopes(mine, np.vstack([np.ones(tables), drawn]))
        factor = 10 ** found[0]
        low, high = 10 ** np.nanquantile(found[1:], [0.025, 0.975], axis=0)
        at_an_end = ((mine["cost"] <= best.TIE) | (mine["cost"] >= 1 - best.TIE)).mean()
        out += [
            {"task": family.task, "method": method, "of": term, "factor": factor[j], "low": low[j], "high": high[j],
             "tables": tables, "scores": len(mine), "at_an_end": at_an_end}
            for j, term in enumerate(TERMS)
        ]  # fmt: skip
    numbers = ("factor", "low", "high", "at_an_end")
    return pd.DataFrame(out, columns=COLUMNS).assign(**{c: [round(float(r[c]), 4) for r in out] for c in numbers})


def table(families: Sequence[Family]) -> pd.DataFrame:
    """The effects of every task with enough tables. Experiments of one task are combined."""
    found = [effects(family) for family, _ in tasks(families)]
    found = [f for f in found if len(f)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)
