"""YearPredictionMSD (UCI 203): release year of a song from the timbre of its recording."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from datasets.base import UCI, UCI_OLD, DataError, DataSet, RawFile, Source, Table, parse_lines, require_width

# 12 averages and 78 covariances of timbre. The file has no header.
COLUMNS = tuple(f"timbre_mean_{i}" for i in range(1, 13)) + tuple(f"timbre_covariance_{i}" for i in range(1, 79))
_LINES_PER_BLOCK = 10_000


def parse(path: Path) -> Table:
    """Rows of YearPredictionMSD.txt: no header, comma separated, year first and then 90 inputs.

    It is read in blocks, because 448 MB of text become 375 MB of numbers. So at most one block is in memory with them.
    """
    path = Path(path)
    n = _count_lines(path)
    if n == 0:
        raise DataError(f"{path.name} has no rows; delete the file and fetch it again")
    x = np.empty((n, len(COLUMNS)))
    y = np.empty(n)
    done = 0
    with path.open(encoding="ascii") as file:
        lines = (line for line in file if line.strip())
        while block := list(islice(lines, _LINES_PER_BLOCK)):
            rows = parse_lines(path, block, ",")
            require_width(path, rows, len(COLUMNS) + 1)
            y[done : done + len(rows)] = rows[:, 0]
            x[done : done + len(rows)] = rows[:, 1:]
            done += len(rows)
    return Table(x, y, COLUMNS)


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


# Printed: the years 1922 to 2011, of the tracks of this table (``extremes``). Not documented: a range of any input.
DATASET = DataSet(
    name="year",
    title="YearPredictionMSD",
    n_rows=515_345,
    n_inputs=90,
    columns=COLUMNS,
    target="release year",
    unit="year",
    licence="CC BY 4.0",
    doi="10.24432/C50K61",
    raw=(
        RawFile(
            "YearPredictionMSD.txt",
            "4b6f8e50235b359e01689ae7fb33ad0f89677e9a15f25f3d6259327a6bb927bb",
            (
                Source(
                    UCI + "203/yearpredictionmsd.zip",
                    "YearPredictionMSD.txt",
                    "06f801af323bb7798e800583acce4ea1ed2697ac12c23f4424aea0a7a3d09e11",
                ),
                Source(UCI_OLD + "00203/YearPredictionMSD.txt.zip", "YearPredictionMSD.txt"),
            ),
            megabytes=211.0,
        ),
    ),
    parse=parse,
    x_bounds=(None,) * 90,
    y_bounds=(1922.0, 2011.0),
    extremes=("release year",),  # stated about the tracks of this table
    bounds_citation=(
        "UCI page of data set 203: 'western, commercial tracks ranging from 1922 to 2011'; 'the year (target), "
        "ranging from 1922 to 2011'"
    ),
    n_splits=1,
)
