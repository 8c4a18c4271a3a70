"""The simulated table of Honkela et al. (2018): ten standard normal inputs, a linear target with noise of variance 1.

The authors drew it once, from seed 42, and published the rows. Every number of the paper's synthetic half is about
these rows. So they are a table here, and no new rows are drawn. No range of a column is documented.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import DataError, DataSet, RawFile, Source, Table, parse_lines

REPOSITORY = "https://raw.githubusercontent.com/DPBayes/robust-private-lr/ec36e51a52ea303055bbb72c129d12b4d21dcd8a/python/synthdata/"
COLUMNS = tuple(f"x{j + 1}" for j in range(10))


def _numbers(path: Path) -> np.ndarray:
    with Path(path).open(encoding="utf-8") as lines:
        return parse_lines(Path(path), lines, ",")


def parse(x_path: Path, y_path: Path) -> Table:
    """Inputs of x_data.csv and targets of y_data.csv, without a header and with corresponding rows.

    Raises DataError if their numbers of rows differ.
    """
    x, y = _numbers(x_path), _numbers(y_path)
    if len(x) != len(y) or y.shape[1] != 1:
        raise DataError(
            f"{Path(y_path).name} has shape {y.shape} for {len(x)} rows of {Path(x_path).name}; delete both files and "
            "fetch them again"
        )
    return Table(x, y[:, 0].copy(), COLUMNS)


DATASET = DataSet(
    name="honkela2018",
    title="Linear regression (Honkela et al. 2018)",
    n_rows=1000,
    n_inputs=10,
    columns=COLUMNS,
    target="y",
    unit="",
    licence="MIT (copyright 2017 DPBayes)",
    doi="",
    raw=(
        RawFile(
            "x_data.csv",
            "481ac2200e40627d2cc7f324069740864b5c728d87e8326514a001d05f5b0bbf",
            (Source(REPOSITORY + "x_data.csv"),),
        ),
        RawFile(
            "y_data.csv",
            "87c9f55703b92e9f7fe4eab04a9ed5707d1d217f5e106032fd91392203ce9538",
            (Source(REPOSITORY + "y_data.csv"),),
        ),
    ),
    parse=parse,
    table_sha256="7ee4c176ec8d19f80365a934893e078ff496d62787c541ac532dae804df2e7ce",
)
