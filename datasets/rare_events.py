"""Synthetic: 20,000 rows of which about 1 % are positive, as in fraud or failures. No row is real.

Eight inputs are independent and standard normal. With the slopes w = ``SLOPES`` and the intercept b = ``INTERCEPT``,

    P(y = 1 | x) = 1 / (1 + exp(-(b + w . x))),

whose mean is 1 %. Inputs are clipped to [-4, 4], which is their stated range.
"""

from __future__ import annotations

import numpy as np

from datasets.base import DataSet, Table

ROWS = 20_000
SLOPES = (1.2, -1.0, 0.8, -0.6, 0.4, 0.0, 0.0, 0.0)
#: intercept at which the mean of P over w . x ~ N(0, |w|^2) is 1 %. tests/datasets/test_levels.py integrates it.
INTERCEPT = -6.24
LIMIT = 4.0
COLUMNS = tuple(f"x{j + 1}" for j in range(len(SLOPES)))


def generate(rng: np.random.Generator) -> Table:
    """The table, with targets 0 and 1."""
    x = np.clip(rng.standard_normal((ROWS, len(SLOPES))), -LIMIT, LIMIT)
    p = 1 / (1 + np.exp(-(INTERCEPT + x @ np.array(SLOPES))))
    return Table(x, (rng.random(ROWS) < p).astype(np.float64), COLUMNS)


DATASET = DataSet(
    name="rare_events",
    title="Rare events (synthetic, 1 % positives)",
    n_rows=ROWS,
    n_inputs=len(SLOPES),
    columns=COLUMNS,
    target="event",
    unit="",
    licence="made by this project",
    doi="",
    generate=generate,
    x_bounds=((-LIMIT, LIMIT),) * len(SLOPES),
    bounds_citation="by construction",
    extremes=(),
    n_splits=10,
    kind="synthetic",
    task="classification",
    labels=("no event", "event"),
)
