"""Adult without rows that have missing values, as in the experiment of NA-DPVI (Alrawajfeh, Jalko & Honkela 2025).

Rows with "?" are dropped. That leaves 30,162 of adult.data, then 15,060 of adult.test. The columns are 5 unchanged
numbers, then a dummy for every level of 6 attributes in the order of the characters. Education-num, native-country and
relationship are left out. The levels are those in adult.names, without "Never-worked": such a person has no occupation,
so no complete row. The authors' code takes the levels from its training rows, with the same result.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets import adult
from datasets.base import DataSet, Table

#: number of complete rows in adult.data and adult.test.
TRAIN, TEST = 30_162, 15_060
NUMBERS = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
ATTRIBUTES = ("workclass", "education", "marital-status", "occupation", "race", "sex")
LEVELS = {
    name: tuple(level for level in adult.SORTED_LEVELS[name] if level not in ("?", "Never-worked"))
    for name in ATTRIBUTES
}
COLUMNS = (*NUMBERS, *(f"{name}={level}" for name, levels in LEVELS.items() for level in levels))


def parse(train: Path, test: Path) -> Table:
    """The complete rows with all dummies, made from the table of :mod:`datasets.adult`.

    In that table, one level of each attribute ("?" if the attribute has it) has no column.
    """
    table = adult.parse(train, test)
    at = {column: j for j, column in enumerate(table.columns)}

    def left_out(name: str) -> np.ndarray:
        return 1.0 - table.x[:, [at[f"{name}={level}"] for level in adult.SORTED_LEVELS[name][1:]]].sum(axis=1)

    complete = np.ones(len(table.x), bool)
    for name, levels in adult.SORTED_LEVELS.items():
        if levels[0] == "?":
            complete &= left_out(name) == 0
    columns = [table.x[:, at[name]] for name in NUMBERS]
    for name, levels in LEVELS.items():
        for level in levels:
            first = level == adult.SORTED_LEVELS[name][0]
            columns.append(left_out(name) if first else table.x[:, at[f"{name}={level}"]])
    return Table(np.column_stack(columns)[complete], table.y[complete], COLUMNS)


DATASET = DataSet(
    name="adult_complete",
    title="Adult (complete rows)",
    n_rows=TRAIN + TEST,
    n_inputs=len(COLUMNS),
    columns=COLUMNS,
    target=adult.DATASET.target,
    unit="",
    licence=adult.DATASET.licence,
    doi=adult.DATASET.doi,
    raw=adult.DATASET.raw,
    folder="adult",
    parse=parse,
    x_bounds=(None,) * len(NUMBERS) + ((0.0, 1.0),) * (len(COLUMNS) - len(NUMBERS)),
    extremes=(),  # a coding
    bounds_citation=adult.DATASET.bounds_citation,
    n_splits=20,
    table_sha256="6156521fe5121bacdf2a5b3a2b7e655024061e6f93dbecd764fbf5d758e5cce5",
    task="classification",
    labels=adult.LABELS,
)
