"""Regression tables with the target cut at a public threshold: classification tasks made for the common tasks.

No source has these tasks. Logistic regression has few tables of its own here. So each of these data sets is a
regression table with the question whether the target reaches a threshold. A threshold is the middle of a documented
scale, or a round number in the unit of the target. It is never a quantile of the rows, because that would be private.
Kin8nm has no such table, because the unit of its target is not stated.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from datasets import naval, power, protein, wang2018, wine
from datasets.base import DataSet, Table

SUFFIX = "_cut"
_WANG = {entry.name: entry for entry in wang2018.DATASETS}


def parse(of: DataSet, threshold: float, *paths: Path) -> Table:
    """The table ``of`` with class 1 if the target is at least ``threshold``, otherwise 0. Raises DataError."""
    table = of.parse(*paths)
    return Table(table.x, (table.y >= threshold).astype(float), table.columns)


def _cut(of: DataSet, threshold: float, words: str, why: str, table_sha256: str) -> DataSet:
    """The data set ``of``, cut at a threshold. ``words``: the threshold with its unit. ``why``: why it is public."""
    kept = ("n_rows", "n_inputs", "columns", "licence", "doi", "raw", "x_bounds", "range_guard")
    about = {name: getattr(of, name) for name in kept}
    extremes = of.extremes and tuple(c for c in of.extremes if c != of.target)
    return DataSet(
        name=of.name + SUFFIX,
        title=f"{of.title}, cut at {words}",
        target=f"{of.target} at least {words} ({why})",
        unit="",
        folder=of.name,
        parse=partial(parse, of, threshold),
        bounds_citation=of.bounds_citation,
        extremes=extremes,
        table_sha256=table_sha256,
        task="classification",
        labels=(f"below {words}", f"at least {words}"),
        **about,
    )


DATASETS = (
    _cut(
        wine.DATASET,
        6.0,
        "6",
        "the upper half of a scale from 0 to 10",
        "f872770d8514a270f8abac46ed37d91bcd4336fc55f6667d1405a13156069c54",
    ),
    _cut(
        power.DATASET,
        450.0,
        "450 MW",
        "a round number",
        "20769ed6e01eb3b658d2c6b68011ea9b429d9e4b59043c53ff39e5d4b6f0684e",
    ),
    _cut(
        naval.DATASET,
        0.975,
        "0.975",
        "the middle of the simulated domain, 0.95 to 1",
        "f8643856310c07160fb3663dbf0f9b3c6ae3ab3f469ceba5e35206824a1c41fb",
    ),
    _cut(
        protein.DATASET,
        10.0,
        "10 angstrom",
        "a round number",
        "0d43aba5fe05a1c9b5a676ebe23eb3c51144f65ab940d6445015eb0f289f6265",
    ),
    _cut(
        _WANG["airfoil"],
        120.0,
        "120 dB",
        "the threshold of pain",
        "fb0e754be1508478c4437264db34382674da6bc6f9c50a1f31e33dbb71f9fc01",
    ),
    _cut(
        _WANG["concrete"],
        40.0,
        "40 MPa",
        "about where concrete is called high-strength",
        "db6a611c2bb5ce1dfb7d1b04933309b1d93cb1b40bffd52677bb24eef6e18828",
    ),
)
