"""A synthetic table of YearPredictionMSD's shape, only for runs that measure time and memory."""

from __future__ import annotations

from datasets.base import DataSet
from datasets.synthetic import year_shaped

DATASET = DataSet(
    name="synthetic_year",
    title="Synthetic (shape of YearPredictionMSD)",
    n_rows=515_345,
    n_inputs=90,
    columns=tuple(f"x{i}" for i in range(1, 91)),
    target="synthetic year",
    unit="year",
    licence="made by this project",
    doi="",
    generate=year_shaped,
    x_bounds=(None,) * 90,
    y_bounds=(1922.0, 2011.0),
    bounds_citation="by construction, datasets/synthetic.py",
    n_splits=1,
    kind="synthetic",
)
