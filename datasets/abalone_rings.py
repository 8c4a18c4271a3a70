"""Abalone (UCI 1): the number of rings of a shell, from sex, sizes and weights. Rings plus 1.5 are the age in years.

The table of ``datasets.abalone`` with the number of rings as the target. Sex is coded by the levels that abalone.names
lists: one column for I and one for M, and 0 in both for F.
"""

from __future__ import annotations

from pathlib import Path

from datasets import abalone
from datasets.base import DataSet, Table
from datasets.draft import table
from datasets.schema import EMPTY, LEVELS, NUMBER, Column, Schema

TARGET = "rings"
_NUMBERS = tuple(name for name in abalone.COLUMNS if not name.startswith("sex="))
SCHEMA = Schema(
    n=4177,
    target=TARGET,
    task="regression",
    columns=(
        Column("sex", LEVELS, levels=("F", "I", "M"), default=EMPTY, source="documented"),
        *(Column(name, NUMBER, default=EMPTY) for name in _NUMBERS),
        Column(TARGET, NUMBER),
    ),
    header=False,
)
COLUMNS = SCHEMA.coded
_RANGES = dict(zip(abalone.COLUMNS, abalone.DATASET.x_bounds, strict=True))


def parse(path: Path) -> Table:
    """Rows of abalone.data: no header, comma separated; sex (M, F or I), seven numbers, rings. Raises DataError."""
    return table(Path(path), SCHEMA)


DATASET = DataSet(
    name="abalone_rings",
    title="Abalone, rings",
    n_rows=SCHEMA.n,
    n_inputs=len(COLUMNS),
    columns=COLUMNS,
    target=TARGET,
    unit="rings",
    licence=abalone.DATASET.licence,
    doi=abalone.DATASET.doi,
    raw=abalone.DATASET.raw,
    folder="abalone",
    parse=parse,
    x_bounds=tuple(_RANGES[name] for name in COLUMNS),
    y_bounds=(1.0, 29.0),
    extremes=(*_NUMBERS, TARGET),  # 'Min' and 'Max' of the table's own rows; a dummy is a coding
    bounds_citation=(
        "abalone.names of the data set, section 7, 'Statistics for numeric domains', Min and Max (sizes and weights "
        "widened by half of the last digit); sex is 'M, F, and I', so a dummy is 0 or 1"
    ),
    n_splits=20,
    table_sha256="801ee5695357bfde8cc742e626c2e6e86d8eba9904490ff9d87a71af4529bbc3",
)
